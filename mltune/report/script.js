"use strict";
// The table of measurements: search, sort, and more rows on request. Only textContent is set.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.rows.map((row) => [
    row[0], row[1], row[2], data.sizes[row[3]], row[4], row[5], row[6], data.kernels[row[7]],
    data.messages[row[8]],
  ]);
  const step = 100;
  const section = document.getElementById("measurements");
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("th")];
  const search = section.querySelector("input");
  const count = section.querySelector("output");
  const more = section.querySelector("button.more");
  const texts = rows.map((row) => row.join(" ").toLowerCase());
  let column = 0, down = false, limit = step;

  const compare = (a, b) => {
    const x = rows[a][column], y = rows[b][column];
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true });
    return down ? -order : order;
  };

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...rows.keys()].filter((i) => words.every((word) => texts[i].includes(word)));
    found.sort(compare);
    body.replaceChildren(...found.slice(0, limit).map((i) => {
      const line = document.createElement("tr");
      rows[i].forEach((value, place) => {
        const cell = line.insertCell();
        cell.textContent = value === null ? "–" : value;
        if (typeof value === "number" || value === null) cell.className = "n";
        if (place === 7) cell.className = "code";
      });
      return line;
    }));
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
    more.hidden = found.length <= limit;
    heads.forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    down = place === column ? !down : false;
    column = place;
    show();
  }));
  search.addEventListener("input", () => { limit = step; show(); });
  more.addEventListener("click", () => { limit += 5 * step; show(); });
  show();
})();
