// Zoom, pan and read-out for the figures of a page. Without this script they are plain SVG, as in print.
//
// `data-axes` of a figure describes its plots: box in SVG units, limits, labels, names of the lines. Curves are the
// paths that are drawn already, so nothing is stored twice: zooming transforms them and redraws the ticks.
(() => {
  const NS = "http://www.w3.org/2000/svg";
  const NEAR = 40, SMALLEST_DRAG = 6, STEP = 1.6, DEEPEST = 1e5;
  const log10 = (value, is_log) => (is_log ? Math.log10(value) : value);
  const back = (value, is_log) => (is_log ? 10 ** value : value);
  const unit_of = (label) => (/\(([^()]*)\)\s*$/.exec(label) || ["", ""])[1];
  const quantity_of = (label) => label.replace(/\s*\([^()]*\)\s*$/, "");
  const element = (parent, name, attributes) => {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
    return made;
  };

  function words(value, span, is_log) {
    if (is_log) return value.toPrecision(3);
    const places = Math.min(Math.max(Math.ceil(-Math.log10(span / 1000)), 0), 9);
    return value.toFixed(places).replace(/^-(0\.?0*)$/, "$1");
  }

  function ticks(low, high, is_log, most) {
    if (is_log && high - low >= 1) {
      const found = [];
      for (let power = Math.ceil(low); power <= high; power++) found.push(power);
      return found;
    }
    const raw = (high - low) / most, decade = 10 ** Math.floor(Math.log10(raw));
    const step = decade * ([1, 2, 5, 10].find((leading) => decade * leading >= raw * 0.999) || 10);
    const found = [];
    for (let number = Math.ceil(low / step); number * step <= high + step * 1e-9; number++) found.push(number * step);
    return found;
  }

  function tick_words(value, step, is_log) {
    if (is_log) return Number(back(value, true).toPrecision(3)).toString();
    const places = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 9);
    return value.toFixed(places).replace(/^-(0\.?0*)$/, "$1");
  }

  class Curve {
    constructor(group, name) {
      const path = group.querySelector("path:not(defs path)");
      this.name = name;
      this.colour = path ? getComputedStyle(path).stroke : "currentColor";
      this.points = [];
      for (const found of (path ? path.getAttribute("d") : "").matchAll(/([ML])\s*(\S+)\s+(\S+)/g))
        this.points.push([Number(found[2]), Number(found[3]), found[1] === "M"]);
      this.rises = this.points.every((point, i) => !i || point[0] >= this.points[i - 1][0]);
    }

    // Where the curve is at a place along x, in the figure's own units; nothing in a gap.
    at(x) {
      const points = this.points;
      if (!points.length || x < points[0][0] || x > points[points.length - 1][0]) return null;
      let low = 0, high = points.length - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (points[middle][0] <= x) low = middle; else high = middle;
      }
      const [x0, y0] = points[low], [x1, y1, begins] = points[high];
      if (begins && high > low) return x - x0 < 1 ? [x0, y0] : x1 - x < 1 ? [x1, y1] : null;
      return [x, x1 > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : y1];
    }
  }

  class Plot {
    constructor(figure, meta, number) {
      Object.assign(this, meta);
      this.figure = figure;
      this.group = figure.svg.querySelector(`[data-al="axes-${number}"]`);
      this.full = [log10(meta.x[0], meta.xlog), log10(meta.x[1], meta.xlog),
        log10(meta.y[0], meta.ylog), log10(meta.y[1], meta.ylog)];
      this.view = [...this.full];
      this.content = null;
    }

    get curves() {
      this._curves ||= this.names.map(([number, name]) =>
        new Curve(this.group.querySelector(`[data-al="line-${number}"]`), name));
      return this._curves;
    }

    get along_x() {
      return !this.map && this.curves.length > 0 && this.curves.every((curve) => curve.rises);
    }

    holds([x, y]) {
      const [left, top, width, height] = this.box;
      return x >= left && x <= left + width && y >= top && y <= top + height;
    }

    // From the picture as it was drawn to the picture as it is shown: x' = a x + c, y' = d y + f.
    get map_px() {
      const [left, top, width, height] = this.box, [x0, x1, y0, y1] = this.view, [X0, X1, Y0, Y1] = this.full;
      const a = (X1 - X0) / (x1 - x0), d = (Y1 - Y0) / (y1 - y0);
      return { a, d, c: left + ((X0 - x0) / (x1 - x0)) * width - a * left,
        f: top + height - ((Y0 - y0) / (y1 - y0)) * height - d * (top + height) };
    }

    data([x, y]) {
      const [left, top, width, height] = this.box, [x0, x1, y0, y1] = this.view;
      return [x0 + ((x - left) / width) * (x1 - x0), y0 + ((top + height - y) / height) * (y1 - y0)];
    }

    // Clipped things move inside their clip; markers keep their size.
    prepare() {
      if (this.content) return;
      this.content = { moved: [], marks: [] };
      for (const clipped of [...this.group.querySelectorAll("[clip-path]")]) {
        const marks = clipped.querySelectorAll("use");
        if (clipped.tagName === "g" && marks.length) {
          for (const mark of marks)
            this.content.marks.push([mark, Number(mark.getAttribute("x")), Number(mark.getAttribute("y"))]);
          continue;
        }
        const clip = document.createElementNS(NS, "g");
        clip.setAttribute("clip-path", clipped.getAttribute("clip-path"));
        clipped.removeAttribute("clip-path");
        clipped.replaceWith(clip);
        const moved = element(clip, "g", { class: "moved" });
        moved.append(clipped);
        this.content.moved.push(moved);
      }
    }

    show(view) {
      const whole = view.every((edge, i) => Math.abs(edge - this.full[i]) < 1e-9 * Math.abs(this.full[i | 1] - this.full[i & 2]));
      this.view = whole ? [...this.full] : view;
      this.prepare();
      const { a, c, d, f } = this.map_px;
      for (const moved of this.content.moved) moved.setAttribute("transform", `matrix(${a} 0 0 ${d} ${c} ${f})`);
      for (const [mark, x, y] of this.content.marks) {
        mark.setAttribute("x", a * x + c);
        mark.setAttribute("y", d * y + f);
      }
      this.group.classList.toggle("zoomed", !whole);
      this.own_ticks?.remove();
      if (!whole) this.draw_ticks();
      else this.own_ticks = null;
    }

    draw_ticks() {
      const [left, top, width, height] = this.box, [x0, x1, y0, y1] = this.view;
      const group = this.own_ticks = document.createElementNS(NS, "g");
      group.setAttribute("class", "ticks");
      this.group.firstElementChild.after(group);
      const xs = ticks(x0, x1, this.xlog, Math.max(width / 45, 2)), ys = ticks(y0, y1, this.ylog, Math.max(height / 22, 2));
      for (const x of xs) {
        const at = left + ((x - x0) / (x1 - x0)) * width;
        if (this.grid) element(group, "path", { d: `M${at} ${top}v${height}` });
        if (this.xticks)
          element(group, "text", { x: at, y: top + height + 12, "text-anchor": "middle" }).textContent =
            tick_words(x, xs[1] - xs[0] || 1, this.xlog);
      }
      for (const y of ys) {
        const at = top + height - ((y - y0) / (y1 - y0)) * height;
        if (this.grid) element(group, "path", { d: `M${left} ${at}h${width}` });
        if (this.yticks)
          element(group, "text", { x: left - 5, y: at + 3, "text-anchor": "end" }).textContent =
            tick_words(y, ys[1] - ys[0] || 1, this.ylog);
      }
    }

    // About a place, in the plot's own units; plots over time keep their height.
    zoom(factor, [x, y]) {
      let [x0, x1, y0, y1] = this.view;
      if ((this.full[1] - this.full[0]) / ((x1 - x0) / factor) > DEEPEST) return;
      [x0, x1] = [x + (x0 - x) / factor, x + (x1 - x) / factor];
      if (!this.along_x) [y0, y1] = [y + (y0 - y) / factor, y + (y1 - y) / factor];
      this.figure.show(this, this.kept([x0, x1, y0, y1]));
    }

    // Never farther out than the whole.
    kept([x0, x1, y0, y1]) {
      const inside = (low, high, least, most) => {
        if (high - low >= most - least) return [least, most];
        const by = Math.max(least - low, 0) - Math.max(high - most, 0);
        return [low + by, high + by];
      };
      return [...inside(x0, x1, this.full[0], this.full[1]), ...inside(y0, y1, this.full[2], this.full[3])];
    }

    zoom_to([ax, ay], [bx, by]) {
      const [left, top, width, height] = this.box;
      const wide = Math.abs(bx - ax), high = Math.abs(by - ay);
      if (Math.max(wide, high) < SMALLEST_DRAG) return;
      let [x0, , , y1] = [...this.data([Math.min(ax, bx), 0]), 0, this.data([0, Math.min(ay, by)])[1]];
      let x1 = this.data([Math.max(ax, bx), 0])[0], y0 = this.data([0, Math.max(ay, by)])[1];
      if (this.along_x && wide > 3 * high) [y0, y1] = [this.view[2], this.view[3]];
      else if (this.along_x && high > 3 * wide) [x0, x1] = [this.view[0], this.view[1]];
      else if (this.map) {  // as many metres a pixel on either axis as before
        const part = Math.max(wide / width, high / height, 1e-6);
        const x = (x0 + x1) / 2, y = (y0 + y1) / 2;
        const half_x = ((this.view[1] - this.view[0]) * part) / 2, half_y = ((this.view[3] - this.view[2]) * part) / 2;
        [x0, x1, y0, y1] = [x - half_x, x + half_x, y - half_y, y + half_y];
      }
      this.figure.show(this, [x0, x1, y0, y1]);
    }

    pan(right, down) {
      const [, , width, height] = this.box, [x0, x1, y0, y1] = this.view;
      const dx = (-right / width) * (x1 - x0), dy = (down / height) * (y1 - y0);
      this.figure.show(this, this.kept([x0 + dx, x1 + dx, y0 + dy, y1 + dy]));
    }

    // The values at the cursor: lines of [colour, text], and dots to mark.
    reading(at) {
      const { a, c, d, f } = this.map_px, [x, y] = this.data(at);
      const x_label = this.figure.x_label(this), x_unit = unit_of(x_label), y_unit = unit_of(this.ylabel);
      const value = (py) => back(this.data([0, py])[1], this.ylog);
      const spans = [this.view[1] - this.view[0], this.view[3] - this.view[2]];
      const x_words = `${words(back(x, this.xlog), spans[0], this.xlog)} ${x_unit}`.trim();
      const lines = [], dots = [];
      if (this.along_x) {
        lines.push(["", `${quantity_of(x_label)} ${x_words}`.trim()]);
        for (const curve of this.curves) {
          const found = curve.at((at[0] - c) / a);
          if (!found) continue;
          const py = d * found[1] + f;
          lines.push([curve.colour, `${curve.name || quantity_of(this.ylabel)} ${words(value(py), spans[1], this.ylog)} ${y_unit}`]);
          dots.push([at[0], py, curve.colour]);
        }
        return { lines, dots };
      }
      let nearest = null;
      for (const curve of this.curves)
        for (const [px, py] of curve.points) {
          const distance = Math.hypot(a * px + c - at[0], d * py + f - at[1]);
          if (distance < (nearest?.distance ?? NEAR)) nearest = { distance, curve, at: [a * px + c, d * py + f] };
        }
      const [sx, sy] = nearest ? this.data(nearest.at) : [x, y];
      if (nearest) {
        lines.push([nearest.curve.colour, nearest.curve.name || quantity_of(this.ylabel)]);
        dots.push([...nearest.at, nearest.curve.colour]);
      }
      lines.push(["", `${quantity_of(x_label)} ${words(back(sx, this.xlog), spans[0], this.xlog)} ${x_unit}`]);
      lines.push(["", `${quantity_of(this.ylabel)} ${words(back(sy, this.ylog), spans[1], this.ylog)} ${y_unit}`]);
      return { lines, dots };
    }
  }

  class Figure {
    constructor(svg) {
      this.svg = svg;
      this.picture = svg.parentElement;
      this.plots = JSON.parse(svg.dataset.axes || "[]").map((meta) => new Plot(this, meta, meta.number));
      this.whole = svg.viewBox.baseVal;
      this.drawn = [this.whole.x, this.whole.y, this.whole.width, this.whole.height];
      this.overlay = element(svg, "g", { class: "overlay" });
      this.readout = document.createElement("div");
      this.readout.className = "readout";
      this.readout.hidden = true;
      this.picture.append(this.readout);
      this.tools();
      svg.addEventListener("pointermove", (event) => this.moved(event));
      svg.addEventListener("pointerleave", () => this.clear());
      svg.addEventListener("pointerdown", (event) => this.pressed(event));
      svg.addEventListener("pointerup", (event) => this.released(event));
      svg.addEventListener("pointercancel", () => { this.drag = null; this.clear(); });
      svg.addEventListener("dblclick", () => this.reset());
      svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    }

    tools() {
      const row = document.createElement("div");
      row.className = "tools";
      const deeds = [["+", "zoom in", () => this.step(STEP)], ["−", "zoom out", () => this.step(1 / STEP)],
        ["reset", "show everything (double click)", () => this.reset()],
        ["enlarge", "over the full width of the page", () => this.svg.closest("figure").classList.toggle("wide")]];
      for (const [label, title, deed] of deeds) {
        const button = document.createElement("button");
        Object.assign(button, { type: "button", textContent: label, title });
        button.addEventListener("click", deed);
        row.append(button);
      }
      const hint = document.createElement("span");
      hint.textContent = this.plots.length ? "drag: zoom · shift+drag: move · ctrl+wheel" : "drag: move · ctrl+wheel: zoom";
      row.append(hint);
      this.picture.before(row);
    }

    at(event) {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
      return [place.x, place.y];
    }

    plot_at(place) {
      return this.plots.find((plot) => plot.holds(place));
    }

    x_label(plot) {
      return plot.xlabel || this.plots.find((other) => other.shared === plot.shared && other.xlabel)?.xlabel || "";
    }

    show(plot, view) {
      for (const each of this.plots)
        if (each === plot) each.show(view);
        else if (each.shared === plot.shared) each.show([view[0], view[1], each.view[2], each.view[3]]);
      this.clear();
    }

    step(factor) {
      if (!this.plots.length) return this.zoom_whole(factor, [this.whole.x + this.whole.width / 2, this.whole.y + this.whole.height / 2]);
      const seen = new Set();
      for (const plot of this.plots) {
        if (seen.has(plot.shared)) continue;
        seen.add(plot.shared);
        plot.zoom(factor, [(plot.view[0] + plot.view[1]) / 2, (plot.view[2] + plot.view[3]) / 2]);
      }
    }

    reset() {
      for (const plot of this.plots) plot.show([...plot.full]);
      this.svg.setAttribute("viewBox", this.drawn.join(" "));
      this.clear();
    }

    // A figure without plots, such as a view in three dimensions, is enlarged as a picture.
    zoom_whole(factor, [x, y]) {
      const [left, top, width, height] = this.drawn, box = this.whole;
      const wide = Math.min(Math.max(box.width / factor, width / 50), width), part = wide / box.width;
      this.place_whole(x + (box.x - x) * part, y + (box.y - y) * part, wide, (wide * height) / width);
    }

    place_whole(x, y, wide, high) {
      const [left, top, width, height] = this.drawn;
      x = Math.min(Math.max(x, left), left + width - wide);
      y = Math.min(Math.max(y, top), top + height - high);
      this.svg.setAttribute("viewBox", [x, y, wide, high].join(" "));
    }

    wheel(event) {
      if (!event.ctrlKey && !event.metaKey) return;  // the page scrolls
      event.preventDefault();
      const place = this.at(event), plot = this.plot_at(place), factor = 1.0015 ** -event.deltaY;
      if (plot) plot.zoom(factor, plot.data(place));
      else if (!this.plots.length) this.zoom_whole(factor, place);
    }

    pressed(event) {
      if (event.button !== 0 || event.pointerType === "touch") return;
      const start = this.at(event), plot = this.plot_at(start);
      if (!plot && this.plots.length) return;
      this.drag = { start, last: start, plot, pans: !plot || event.shiftKey };
      this.svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    }

    moved(event) {
      const place = this.at(event);
      this.clear();
      if (!this.drag) {
        const plot = this.plot_at(place);
        if (plot) this.tell(plot, place, event);
        return;
      }
      const { start, last, plot, pans } = this.drag;
      if (pans && plot) plot.pan(place[0] - last[0], place[1] - last[1]);
      else if (pans) this.place_whole(this.whole.x + last[0] - place[0], this.whole.y + last[1] - place[1], this.whole.width, this.whole.height);
      else
        element(this.overlay, "rect", { class: "drag", x: Math.min(start[0], place[0]), y: Math.min(start[1], place[1]),
          width: Math.abs(place[0] - start[0]), height: Math.abs(place[1] - start[1]) });
      this.drag.last = plot ? place : this.at(event);
    }

    released(event) {
      const drag = this.drag;
      this.drag = null;
      if (drag && !drag.pans) drag.plot.zoom_to(drag.start, this.at(event));
    }

    tell(plot, place, event) {
      const { lines, dots } = plot.reading(place), [left, top, width, height] = plot.box;
      if (plot.along_x) element(this.overlay, "path", { class: "cursor", d: `M${place[0]} ${top}v${height}` });
      for (const [x, y, colour] of dots)
        if (plot.holds([x, y])) element(this.overlay, "circle", { cx: x, cy: y, r: 2.6, fill: colour });
      this.readout.replaceChildren(...lines.map(([colour, text]) => {
        const line = document.createElement("div");
        if (colour) {
          const key = document.createElement("i");
          key.style.background = colour;
          line.append(key);
        }
        line.append(text);
        return line;
      }));
      this.readout.hidden = false;
      const frame = this.picture.getBoundingClientRect();
      const x = event.clientX - frame.left, y = event.clientY - frame.top, wide = this.readout.offsetWidth;
      this.readout.style.left = `${Math.max(x + 14 + wide > frame.width ? x - wide - 14 : x + 14, 0)}px`;
      this.readout.style.top = `${Math.max(y - this.readout.offsetHeight / 2, 0)}px`;
    }

    clear() {
      this.overlay.replaceChildren();
      this.readout.hidden = true;
    }
  }

  for (const svg of document.querySelectorAll(".picture svg")) new Figure(svg);
})();
