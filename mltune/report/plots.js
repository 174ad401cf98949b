// Plots: what a dot is, and a part of a picture enlarged, by pointer and by keyboard.
(() => {
  const NEAR = 12, SMALLEST = 0.01, HELP = "arrows: from dot to dot; + and -: zoom; 0: all of it; " +
    "Enter: the kernel";
  const CHARACTER = 7.5; // an upper bound of a digit's width, in units
  const FACTORS = { "+": 0.5, "=": 0.5, "-": 2, 0: Infinity };

  // Where everything stands while all of a picture is seen, and which part of it is seen.
  class Plot {
    constructor(picture) {
      this.picture = picture;
      this.inside = picture.querySelector(".inside");
      this.axes = JSON.parse(picture.dataset.axes);
      const box = this.inside.viewBox.baseVal;
      this.low = [box.x, box.y];
      this.size = [box.width, box.height];
      this.part = [[0, 1], [0, 1]];
      this.at = -1;
      this.shapes = [...this.inside.children].map((shape) => {
        const corners = this.corners(shape), { beside } = shape.dataset;
        if (!beside) return [shape, corners, [0, 0]];
        const place = beside.split(" ").map(Number);
        return [shape, [place], place.map((value, axis) => corners[0][axis] - value)];
      });
      this.ticks = picture.querySelector(".ticks");
      this.allTicks = [...this.ticks.children];
    }

    corners(shape) {
      const value = (name) => Number(shape.getAttribute(name));
      if (shape.matches(".dots")) {
        const found = shape.getAttribute("d").matchAll(/M([-\d.]+) ([-\d.]+)/g);
        return [...found].map((each) => [Number(each[1]), Number(each[2])]);
      }
      if (shape.matches("polyline")) {
        return shape.getAttribute("points").split(" ").map((each) => each.split(",").map(Number));
      }
      if (shape.matches("g")) return [this.low, this.low.map((one, axis) => one + this.size[axis])];
      if (shape.matches("line")) return [[value("x1"), value("y1")], [value("x2"), value("y2")]];
      if (shape.matches("rect")) {
        return [[value("x") + value("width") / 2, value("y") + value("height") / 2]];
      }
      return [[value("x"), value("y")]];
    }

    place([x, y]) {
      return [x, y].map((value, axis) => {
        const [from, to] = this.part[axis];
        const share = (value - this.low[axis]) / this.size[axis];
        return this.low[axis] + (share - from) / (to - from) * this.size[axis];
      });
    }

    // What has a hint: where it stands now, and its words.
    points() {
      return this.shapes.flatMap(([shape, corners, shift]) => {
        if (shape.dataset.hints) {
          const words = shape.dataset.hints.split("\n");
          return corners.map((corner, at) => [...this.place(corner), words[at], null]);
        }
        if (!shape.dataset.hint) return [];
        const placed = corners.map((corner) => this.place(corner));
        const middle = [0, 1].map((axis) =>
          placed.reduce((sum, one) => sum + one[axis], shift[axis]) / placed.length);
        return [[...middle, shape.dataset.hint, shape.dataset.id ?? null]];
      }).filter(([x, y]) => [x, y].every((value, axis) =>
        value > this.low[axis] - 1 && value < this.low[axis] + this.size[axis] + 1));
    }

    // Show a part: shares of the whole, across and down.
    show(part) {
      this.part = part.map(([from, to], axis) => {
        const most = this.axes["xy"[axis]].length ? SMALLEST : 1; // no ticks: names stand beside it
        const wide = Math.min(1, Math.max(to - from, most));
        const start = Math.min(Math.max(from, 0), 1 - wide);
        return [start, start + wide];
      });
      this.at = -1;
      this.picture.classList.toggle("zoomed", this.isZoomed());
      for (const each of this.shapes) this.move(...each);
      this.drawTicks();
    }

    isZoomed() {
      return this.part.some(([from, to]) => to - from < 1);
    }

    zoom(factor, middle) {
      this.show(this.part.map(([from, to], axis) => {
        const half = (to - from) * factor / 2;
        return [middle[axis] - half, middle[axis] + half];
      }));
    }

    // A shape beside its place, such as a letter or one of several marks, keeps its distance.
    move(shape, corners, shift) {
      const placed = corners.map((corner) => this.place(corner).map((one) => one.toFixed(1)));
      const set = (...pairs) => pairs.forEach(([name, value]) => shape.setAttribute(name, value));
      if (shape.matches(".dots")) set(["d", placed.map(([x, y]) => `M${x} ${y}h0`).join("")]);
      else if (shape.matches("polyline")) set(["points", placed.map(String).join(" ")]);
      else if (shape.matches("line")) {
        set(["x1", placed[0][0]], ["y1", placed[0][1]], ["x2", placed[1][0]], ["y2", placed[1][1]]);
      } else if (shape.matches("g")) {
        const [from, to] = corners.map((corner) => this.place(corner));
        const scale = [0, 1].map((axis) => (to[axis] - from[axis]) / this.size[axis]);
        const shift = [0, 1].map((axis) => from[axis] - scale[axis] * this.low[axis]);
        set(["transform", `translate(${shift.join(" ")}) scale(${scale.join(" ")})`]);
      } else {
        const [x, y] = placed[0].map((one, axis) => Number(one) + shift[axis]);
        const half = (name) => Number(shape.getAttribute(name) ?? 0) / 2;
        set(["x", x - half("width")], ["y", y - half("height")]);
      }
    }

    drawTicks() {
      if (!this.isZoomed()) return void this.ticks.replaceChildren(...this.allTicks);
      const [left, top] = this.low, right = left + this.size[0], floor = top + this.size[1];
      const wide = this.picture.viewBox.baseVal.width;
      let taken = 0;
      const across = this.marks("x").flatMap(([share, words]) => {
        const x = left + share * this.size[0], half = words.length * CHARACTER / 2;
        const line = element("line", { x1: x, x2: x, y1: top, y2: floor, class: "grid" });
        const at = Math.min(x, wide - half);
        if (at - half < taken) return [line]; // its words would overlap their neighbour's
        taken = at + half;
        return [line, element("text", { x: at, y: floor + 17, "text-anchor": "middle" }, words)];
      });
      const up = this.marks("y").flatMap(([share, words]) => {
        const y = floor - share * this.size[1];
        return [element("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }),
          element("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, words)];
      });
      this.ticks.replaceChildren(...across, ...up);
    }

    // The ticks of an axis in the part that is seen: share of the part, and words.
    marks(name) {
      const axis = this.axes[name];
      let [from, to] = this.part[name === "x" ? 0 : 1];
      if (name === "y") [from, to] = [1 - to, 1 - from];
      const seen = (share) => (share - from) / (to - from);
      const inside = ([share]) => share >= 0 && share <= 1;
      if (typeof axis[0] !== "number") {
        return axis.map(([share, words]) => [seen(share), words]).filter(inside);
      }
      const [low, high, log, writer] = axis;
      const value = (share) => log ? low * (high / low) ** share : low + share * (high - low);
      const share = (one) => log ? Math.log(one / low) / Math.log(high / low)
        : (one - low) / (high - low);
      return rounds(value(from), value(to), log)
        .map((one) => [seen(share(one)), WRITERS[writer](one)]).filter(inside);
    }
  }

  const element = (name, attributes, words = "") => {
    const made = document.createElementNS(document.querySelector("svg").namespaceURI, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.textContent = words;
    return made;
  };

  const rounds = (low, high, log) => {
    const ticks = [];
    if (log && high / low > 8) {
      const digits = high / low > 3000 ? [1] : [1, 2, 5];
      for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
        ticks.push(...digits.map((digit) => digit * 10 ** power));
      }
      return ticks;
    }
    const power = 10 ** Math.floor(Math.log10((high - low) / 5));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one * 5 >= high - low);
    for (let one = Math.ceil(low / step); one * step <= high; one++) ticks.push(one * step);
    return ticks;
  };

  const whole = (value) => String(Number(value.toPrecision(6)));
  const number = (value) => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(4)));
  const WRITERS = {
    number,
    whole,
    percent: (value) => `${number(100 * value)} %`,
    seconds: (value) => {
      const [unit, size] = [["s", 1], ["ms", 1e-3], ["µs", 1e-6], ["ns", 1e-9]]
        .find(([, each]) => value >= 0.9995 * each) ?? ["ns", 1e-9];
      return `${number(value / size)} ${unit}`;
    },
  };

  const bubble = document.createElement("div");
  bubble.className = "bubble";
  bubble.hidden = true;
  bubble.setAttribute("role", "status");
  document.body.append(bubble);

  const say = (words, x, y) => {
    bubble.textContent = words;
    bubble.hidden = false;
    bubble.style.left = `${Math.max(8, Math.min(x + 12, innerWidth - bubble.offsetWidth - 8))}px`;
    bubble.style.top = `${Math.min(y + 14, innerHeight - bubble.offsetHeight - 8)}px`;
  };

  const plots = new Map();
  const plotOf = (target) => {
    const picture = target.closest?.("svg.plot");
    if (picture && !plots.has(picture)) plots.set(picture, new Plot(picture));
    return picture ? plots.get(picture) : null;
  };

  // From the window to the picture's units, and back.
  const units = (plot, event) => {
    const box = plot.picture.getBoundingClientRect();
    const scale = plot.picture.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  const share = (plot, point) => point.map((value, axis) => {
    const [from, to] = plot.part[axis];
    const seen = Math.min(Math.max((value - plot.low[axis]) / plot.size[axis], 0), 1);
    return from + seen * (to - from);
  });
  const sayAt = (plot, [x, y, words]) => {
    const box = plot.picture.getBoundingClientRect();
    const scale = box.width / plot.picture.viewBox.baseVal.width;
    say(words, box.left + x * scale, box.top + y * scale);
  };

  let drag = null;
  document.addEventListener("pointerdown", (event) => {
    const plot = plotOf(event.target);
    if (!plot || event.pointerType === "touch" || event.button) return;
    drag = { plot, start: units(plot, event), frame: null };
  });
  document.addEventListener("pointermove", (event) => {
    if (drag) return enlarge(event);
    const plot = plotOf(event.target);
    bubble.hidden = true;
    if (!plot) return;
    const [x, y] = units(plot, event);
    const [distance, hint] = plot.points().reduce((best, [px, py, words]) => {
      const square = (px - x) ** 2 + (py - y) ** 2;
      return square < best[0] ? [square, words] : best;
    }, [NEAR ** 2, ""]);
    if (distance < NEAR ** 2) say(hint, event.clientX, event.clientY);
  });
  const enlarge = (event) => {
    const { plot, start } = drag, end = units(plot, event);
    const [wide, high] = [0, 1].map((axis) => Math.abs(end[axis] - start[axis]));
    if (!drag.frame && Math.max(wide, high) < NEAR) return;
    if (!drag.frame) {
      drag.frame = element("rect", { class: "frame" });
      plot.picture.append(drag.frame);
    }
    const values = { x: Math.min(start[0], end[0]), y: Math.min(start[1], end[1]),
      width: wide, height: high };
    Object.entries(values).forEach(([key, value]) => drag.frame.setAttribute(key, value));
    event.preventDefault();
  };
  document.addEventListener("pointerup", (event) => {
    if (drag?.frame) {
      drag.frame.remove();
      const ends = [drag.start, units(drag.plot, event)].map((one) => share(drag.plot, one));
      drag.plot.show([0, 1].map((axis) => ends.map((end) => end[axis]).sort((a, b) => a - b)));
      const swallow = (click) => click.stopPropagation();
      addEventListener("click", swallow, { capture: true });
      setTimeout(() => removeEventListener("click", swallow, { capture: true }));
    }
    drag = null;
  });
  document.addEventListener("dblclick", (event) => {
    const plot = plotOf(event.target);
    if (!plot) return;
    if (plot.isZoomed()) plot.show([[0, 1], [0, 1]]);
    else plot.zoom(0.3, share(plot, units(plot, event)));
  });

  document.addEventListener("keydown", (event) => {
    const plot = plotOf(event.target);
    if (!plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const points = plot.points().sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const here = points[plot.at];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && points.length) {
      plot.at = Math.min(Math.max(plot.at + step, 0), points.length - 1);
      sayAt(plot, points[plot.at]);
    } else if (event.key in FACTORS) {
      plot.zoom(FACTORS[event.key], share(plot, here?.slice(0, 2) ??
        plot.low.map((value, axis) => value + plot.size[axis] / 2)));
    } else if (event.key === "Enter" && here?.[3]) {
      plot.inside.querySelector(`[data-id="${here[3]}"]`).dispatchEvent(
        new MouseEvent("click", { bubbles: true }));
    } else if (event.key === "Escape") bubble.hidden = true;
    else return;
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    const plot = plotOf(event.target);
    if (plot && event.target.matches(":focus-visible")) sayAt(plot, [...plot.low, HELP]);
  });
  document.addEventListener("focusout", () => { bubble.hidden = true; });
})();
