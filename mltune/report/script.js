"use strict";
// The table of measurements, and what is known of a kernel. Only textContent is set.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.rows.map((row) => [
    row[0], row[1], row[2], data.sizes[row[3]], row[4], row[5], row[6], data.kernels[row[7]],
    data.messages[row[8]],
  ]);
  const step = 25;
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
        if (place === 7) {
          const button = document.createElement("button");
          button.type = "button";
          button.className = "kernel";
          button.textContent = value;
          button.dataset.id = rows[i][0];
          cell.replaceChildren(button);
        }
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

  // A click on a kernel or a size: what is known of it.
  const dialog = document.getElementById("detail");
  const part = (name) => dialog.querySelector(name);
  const places = new Map(rows.map((row, place) => [row[0], place]));
  let sources;

  const unpacked = async () => {
    if (!sources) {
      const bytes = Uint8Array.from(atob(data.sources), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      sources = JSON.parse(await new Response(stream).text());
    }
    return sources;
  };

  const open = async (id) => {
    const place = places.get(id);
    if (place === undefined) return;
    const [, trial, phase, size, gflops, micros, status, kernel] = rows[place];
    const [family, ...values] = data.configs[data.rows[place][7]];
    part("h2").textContent = kernel;
    const peak = id in data.of_peak ? `, ${data.of_peak[id]} of the device's peak` : "";
    const speed = gflops === null ? status : `${gflops} GFLOP/s, ${micros} µs${peak}`;
    part(".words").textContent = `${size}: ${speed}; measurement ${id}, trial ${trial}, ${phase}`;
    part(".replay").textContent = `${data.replay} ${id}`;
    part("dl").replaceChildren(...[["family", family], ...values].flatMap(([name, value]) => {
      const term = document.createElement("dt"), what = document.createElement("dd");
      term.textContent = name;
      what.textContent = value;
      return [term, what];
    }));
    part(".note").textContent = "Kernels that are the best of a size have their source here.";
    part(".source").textContent = "";
    if (!dialog.open) dialog.showModal();
    if (kernel in data.measured) {
      part(".note").textContent = data.measured[kernel] ? "" :
        "Written by the current version; the source that was measured was different.";
      part(".source").textContent = (await unpacked())[kernel];
    }
  };

  document.addEventListener("click", (event) => {
    const there = event.target.closest("[data-id]");
    if (there) open(Number(there.dataset.id));
    else if (event.target === dialog) dialog.close();
  });

  // The page of a running search is loaded anew, unless somebody reads a kernel or a picture.
  const seconds = Number(document.body.dataset.refresh);
  const isRead = () => dialog.open || search.value || document.querySelector(".zoomed");
  if (seconds) setInterval(() => isRead() || location.reload(), 1000 * seconds);
})();
