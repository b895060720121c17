"use strict";
// Draws what is linked: topics as areas, dots on a canvas, and as many labels as have room. Labels are links.

const GOLDEN = Math.PI * (3 - Math.sqrt(5)), APART = 46, ROOM = 18000, FIRST = 12;

// Positions are the same each time: what a person remembers of the picture stays where it was.
function spiral(things, apart, flat = 1) {
  things.forEach((thing, n) => {
    const far = apart * Math.sqrt(n + 0.4);
    thing.x = flat * far * Math.cos(n * GOLDEN);
    thing.y = far * Math.sin(n * GOLDEN);
  });
}

// Push apart what is nearer than `room` says, and pull together what the lines join, for a bounded time.
function settle(things, lines, room, pull, rounds, flat = 1) {
  for (let round = 0; round < rounds; round++) {
    const warm = 1 - round / rounds;
    for (const [one, other, weight] of lines) {
      const dx = other.x - one.x, dy = other.y - one.y, far = Math.hypot(dx, dy) || 1, rest = room(one, other);
      const move = far > rest ? (warm * pull * weight * (far - rest)) / far : 0;
      one.x += dx * move; one.y += dy * move; other.x -= dx * move; other.y -= dy * move;
    }
    for (let a = 0; a < things.length; a++) {
      for (let b = a + 1; b < things.length; b++) {
        const one = things[a], other = things[b], dx = other.x - one.x, dy = other.y - one.y, rest = room(one, other);
        if (Math.abs(dx) > rest || Math.abs(dy) > rest) continue;
        const far = Math.hypot(dx, dy) || 1;
        if (far >= rest) continue;
        const move = (rest - far) / far / 2;
        one.x -= dx * move; one.y -= dy * move; other.x += dx * move; other.y += dy * move;
      }
    }
    for (const thing of things) { thing.x *= 1 - (0.02 / flat) * warm; thing.y *= 1 - 0.02 * flat * warm; }
  }
}

const rounds = (many) => Math.max(8, Math.min(160, Math.round(1.2e7 / (many * many + 1))));

function arrange(nodes, lines, flat) {
  const groups = new Map();
  for (const node of nodes) {
    if (!groups.has(node.cluster)) groups.set(node.cluster, { members: [], topic: node.topic });
    groups.get(node.cluster).members.push(node);
  }
  const areas = [...groups.values()].sort((one, other) => other.members.length - one.members.length);
  for (const area of areas) {
    area.members.sort((one, other) => other.near.length - one.near.length);
    spiral(area.members, APART);
    const inside = lines.filter(([one, other]) => one.cluster === other.cluster && groups.get(one.cluster) === area);
    settle(area.members, inside, () => APART, 0.12, rounds(area.members.length));
    const middle = ["x", "y"].map((axis) => area.members.reduce((sum, node) => sum + node[axis], 0) / area.members.length);
    for (const node of area.members) { node.area = area; node.dx = node.x - middle[0]; node.dy = node.y - middle[1]; }
    area.size = Math.max(...area.members.map((node) => Math.hypot(node.dx, node.dy))) + 0.7 * APART;
  }
  spiral(areas, areas.length ? 1.2 * areas[0].size : 0, flat);
  const joins = new Map();
  for (const [one, other] of lines) {
    if (one.cluster === other.cluster) continue;
    const key = [one.cluster, other.cluster].sort((a, b) => a - b).join();
    joins.set(key, (joins.get(key) ?? 0) + 1);
  }
  const between = [...joins].map(([key, many]) => [...key.split(",").map((name) => groups.get(Number(name))), Math.min(1, many / 6)]);
  settle(areas, between, (one, other) => one.size + other.size + 18, 0.06, 2 * rounds(areas.length), flat);
  for (const area of areas) for (const node of area.members) { node.x = area.x + node.dx; node.y = area.y + node.dy; }
  return areas;
}

function element(name, text, parts = {}) {
  const made = Object.assign(document.createElement(name), parts);
  made.append(text);
  return made;
}

class Graph {
  constructor(place, found, from) {
    this.place = place;
    this.small = place.classList.contains("small");
    this.nodes = found.nodes.map((node) => ({ ...node, href: new URL(node.href, from).href, near: [], radius: 3.5 + 5 * node.size, kept: true, fits: true }));
    this.byId = new Map(this.nodes.map((node) => [node.id, node]));
    this.lines = found.lines.map((line) => [this.byId.get(line.source), this.byId.get(line.target), 1]);
    found.lines.forEach((line, n) => {
      const [one, other] = this.lines[n];
      one.near.push({ node: other, label: line.label });
      other.near.push({ node: one, label: line.back ?? line.label });
    });
    this.areas = arrange(this.nodes, this.lines, Math.sqrt(place.clientWidth / (place.clientHeight || 1)) || 1);
    this.canvas = element("canvas", "");
    this.labels = element("div", "", { className: "labels" });
    place.replaceChildren(this.canvas, this.labels, ...(this.small ? [] : [this.buttons()]));
    this.pen = this.canvas.getContext("2d");
    this.shown = new Map();
    this.pointers = new Map();
    this.focus = null;
    this.choose(this.byId.get(place.dataset.start) ?? null);
    this.listen();
    new ResizeObserver(() => { if (this.moved) this.draw(); else this.fit(); }).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  buttons() {
    const signs = [["+", "Nearer", () => this.zoom(1.5)], ["−", "Farther", () => this.zoom(1 / 1.5)], ["Fit", "Show all", () => this.fit()]];
    const box = element("div", "", { className: "zoom" });
    for (const [sign, title, onclick] of signs) box.append(element("button", sign, { type: "button", title, onclick }));
    return box;
  }

  fit() {
    const { clientWidth: wide, clientHeight: high } = this.place, seen = this.nodes.filter((node) => node.kept);
    if (!seen.length || !wide) return this.draw();
    const [left, right, top, bottom] = [["x", Math.min], ["x", Math.max], ["y", Math.min], ["y", Math.max]]
      .map(([axis, best]) => seen.reduce((value, node) => best(value, node[axis]), seen[0][axis]));
    this.scale = Math.min((wide - 90) / (right - left + 1), (high - 70) / (bottom - top + 1), this.small ? 1.5 : 1.7);
    this.left = wide / 2 - (this.scale * (left + right)) / 2;
    this.top = high / 2 - (this.scale * (top + bottom)) / 2 - 6;
    this.moved = false;
    this.draw();
  }

  zoom(by, x = this.place.clientWidth / 2, y = this.place.clientHeight / 2) {
    const scale = Math.min(Math.max(this.scale * by, 0.02), 5);
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.moved = true;
    this.draw();
  }

  show(node) {
    this.scale = Math.max(this.scale, 1.1);
    this.left = this.place.clientWidth / 2 - this.scale * node.x;
    this.top = this.place.clientHeight / 2 - this.scale * node.y;
    this.moved = true;
    this.choose(node);
  }

  choose(node) {
    if (node === this.focus) return this.draw();
    this.focus = node;
    this.draw();
    const panel = this.small ? null : document.querySelector("#near");
    if (!panel || !node) return;
    const rows = node.near.filter((near) => near.node.kept);
    const list = element("ul", "", { className: "plain" });
    for (const { node: near, label } of rows.slice(0, FIRST)) {
      const row = element("li", element("span", label, { className: "relation" }));
      row.append(" ", this.link(near));
      list.append(row);
    }
    const more = element("p", "");
    if (rows.length > FIRST) more.append(`and ${rows.length - FIRST} more; `);
    more.append(element("a", "only what is around it", { href: `graph?ref=${node.id}` }));
    panel.replaceChildren(element("h2", this.link(node)), list, more);
  }

  link(node) {
    const link = element("a", element("span", node.handle, { className: `kind ${node.kind}` }), { href: node.href, className: "entry" });
    link.append(" ", element("bdi", node.label));
    return link;
  }

  // Words of titles dim the others; a kind takes them away.
  filter(words, kind) {
    for (const node of this.nodes) {
      node.kept = !kind || node.kind === kind;
      node.fits = words.every((word) => `${node.label} ${node.handle}`.toLowerCase().includes(word));
    }
    this.draw();
    return this.nodes.find((node) => node.kept && node.fits);
  }

  at(node) { return { x: this.left + this.scale * node.x, y: this.top + this.scale * node.y }; }

  radius(node) { return node.radius * Math.min(Math.max(Math.sqrt(this.scale), 0.35), 1.6); }

  under(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, nearest = 6;
    for (const node of this.nodes) {
      const at = this.at(node), far = Math.hypot(at.x - x, at.y - y) - this.radius(node);
      if (node.kept && far < nearest) { best = node; nearest = far; }
    }
    return best;
  }

  listen() {
    const canvas = this.canvas;
    this.place.addEventListener("wheel", (event) => {  // also over a label
      if (this.small && !event.ctrlKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      this.pointers.set(event.pointerId, event);
      this.dragged = this.pointers.size > 1;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = this.pointers.get(event.pointerId);
      if (!before) {
        if (event.pointerType !== "mouse") return;
        const node = this.under(event);
        canvas.style.cursor = node ? "pointer" : "grab";
        if (node) this.choose(node);
        return;
      }
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      if (!this.dragged && Math.hypot(dx, dy) < 5) return;
      this.dragged = this.moved = true;
      const other = [...this.pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
      this.pointers.set(event.pointerId, event);
      if (other) {
        const far = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY) || 1;
        const box = canvas.getBoundingClientRect();
        this.zoom(far(event) / far(before), other.clientX - box.left, other.clientY - box.top);
      } else {
        this.left += dx; this.top += dy;
        this.draw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      this.pointers.delete(event.pointerId);
      const node = this.dragged ? null : this.under(event);
      // a finger cannot point without pressing: its first press shows, the second one opens
      if (node && (event.pointerType === "mouse" || node === this.focus)) location.href = node.href;
      else if (node) this.choose(node);
    });
    canvas.addEventListener("pointercancel", (event) => this.pointers.delete(event.pointerId));
    this.labels.addEventListener("focusin", (event) => this.choose(event.target.node));
    this.labels.addEventListener("pointerover", (event) => { if (event.target.node) this.choose(event.target.node); });
  }

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; if (this.scale) this.paint(); });
  }

  paint() {
    const { pen, canvas, scale } = this, { clientWidth: wide, clientHeight: high } = this.place;
    const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const dense = devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(high * dense)) {
      canvas.width = Math.round(wide * dense);
      canvas.height = Math.round(high * dense);
    }
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, wide, high);
    const near = new Set(this.focus ? [this.focus, ...this.focus.near.map((link) => link.node)] : []);
    pen.fillStyle = colour("area");
    for (const area of this.areas) {
      if (!area.topic || !area.members.some((node) => node.kept)) continue;
      const at = this.at(area);
      pen.beginPath();
      pen.arc(at.x, at.y, area.size * scale, 0, 7);
      pen.fill();
    }
    const path = (chosen) => {
      pen.beginPath();
      for (const [one, other] of this.lines) {
        if (!one.kept || !other.kept || !chosen(one, other)) continue;
        const from = this.at(one), to = this.at(other);
        pen.moveTo(from.x, from.y);
        pen.lineTo(to.x, to.y);
      }
      pen.stroke();
    };
    pen.lineWidth = scale < 0.4 ? 0.6 : 1;
    pen.strokeStyle = colour("edge");
    path((one, other) => one.fits && other.fits);
    if (this.focus) {
      pen.lineWidth = 2;
      pen.strokeStyle = colour("accent");
      path((one, other) => one === this.focus || other === this.focus);
    }
    const sheet = colour("sheet"), accent = colour("accent"), kinds = new Map();
    for (const node of this.nodes) {
      if (!node.kept) continue;
      if (!kinds.has(node.kind)) kinds.set(node.kind, colour(node.kind));
      const at = this.at(node), radius = this.radius(node);
      if (at.x < -20 || at.y < -20 || at.x > wide + 20 || at.y > high + 20) continue;
      pen.globalAlpha = node.fits || near.has(node) ? 1 : 0.15;
      pen.beginPath();
      pen.arc(at.x, at.y, radius, 0, 7);
      pen.fillStyle = kinds.get(node.kind);
      pen.fill();
      pen.lineWidth = node === this.focus ? 3 : 1;
      pen.strokeStyle = near.has(node) ? accent : sheet;
      if (scale > 0.3 || near.has(node)) pen.stroke();
    }
    pen.globalAlpha = 1;
    this.name(near, wide, high);
  }

  // What matters most has its label first; a label comes only where it covers no other one, and no other dot.
  name(near, wide, high) {
    const boxes = [], kept = new Map(), most = (wide * high) / ROOM;
    const dots = this.nodes.filter((thing) => thing.kept).map((thing) => [this.at(thing), thing, this.radius(thing) + 1])
      .filter(([at]) => at.x > 0 && at.y > 0 && at.x < wide && at.y < high);
    const meet = (box, other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
    // nor does it lie over the area of another topic, unless it is what one points at
    const areas = this.areas.filter((area) => area.topic && !this.small && area.members.some((thing) => thing.kept))
      .map((area) => [this.at(area), area, area.size * this.scale]);
    const inside = (box, at, far) =>
      Math.hypot(at.x - Math.max(box[0], Math.min(at.x, box[2])), at.y - Math.max(box[1], Math.min(at.y, box[3]))) < far;
    const free = (box, thing, over) => box[0] > 2 && box[1] > 2 && box[2] < wide - 2 && box[3] < high - 2 &&
      !boxes.some((other) => meet(box, other)) &&
      !areas.some(([at, area, far]) => area !== thing && area !== thing.area && thing !== this.focus && inside(box, at, far)) &&
      (over || !dots.some(([at, dot, far]) => dot !== thing && meet(box, [at.x - far, at.y - far, at.x + far, at.y + far])));
    const put = (thing, text, width, box) => {
      boxes.push(box);
      const label = this.shown.get(thing) ?? (thing.members ? element("span", text, { className: "topic" }) : element("a", text, { href: thing.href, node: thing, title: thing.label }));
      label.style.transform = `translate(${Math.round(box[0])}px, ${Math.round(box[1])}px)`;
      label.style.width = `${Math.ceil(width)}px`;
      label.classList.toggle("near", near.has(thing));
      kept.set(thing, label);
    };
    const node = (thing, over) => {
      const at = this.at(thing), far = this.radius(thing) + 2;
      const width = Math.min((thing.measured ??= this.measure(thing.label, "12.5px")) + 6, thing === this.focus ? 300 : this.small ? 120 : 180);
      const places = [[at.x - width / 2, at.y + far], [at.x - width / 2, at.y - far - 17], [at.x + far, at.y - 9], [at.x - far - width, at.y - 9]];
      const near = places.map(([x, y]) => [x, y, x + width, y + 17]), fits = (covers) => near.find((place) => free(place, thing, covers));
      const box = fits(false) ?? (over ? fits(true) : undefined);
      if (box) put(thing, thing.label, width, box);
    };
    [...near].filter((thing) => thing.kept).slice(0, 20).forEach((thing) => node(thing, true));
    for (const area of this.areas) {
      if (this.small || !area.topic || area.size * this.scale < 8 || kept.size > most || !area.members.some((thing) => thing.kept && thing.fits)) continue;
      const at = this.at(area), width = Math.min((area.measured ??= this.measure(area.topic, "600 14px")) + 8, 240);
      if (at.y < 30 || at.y > high) continue;
      const above = Math.max(at.y - area.size * this.scale - 8, 3), places = [above, above + 12, at.y - 11, at.y + area.size * this.scale - 22];
      const box = places.map((y) => [at.x - width / 2, y, at.x + width / 2, y + 22]).find((place) => free(place, area, true));
      if (box) put(area, area.topic, width, box);
    }
    // what has most links gives a topic its shape, and is named also where it is dense
    for (const area of this.areas) {
      if (!this.small && area.size * this.scale > 130) area.members.slice(0, 4).forEach((thing) => { if (thing.kept && thing.fits && !kept.has(thing)) node(thing, true); });
    }
    this.order ??= [...this.nodes].sort((one, other) => other.near.length - one.near.length);
    for (const thing of this.order) {
      if (kept.size > most) break;
      if (thing.kept && thing.fits && !kept.has(thing) && !near.has(thing) && (this.scale > 0.5 || this.nodes.length < 60)) node(thing, false);
    }
    for (const [thing, label] of this.shown) if (!kept.has(thing)) label.remove();
    for (const [thing, label] of kept) if (!this.shown.has(thing)) this.labels.append(label);
    this.shown = kept;
  }

  measure(text, font) {
    this.pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
    return this.pen.measureText(text).width;
  }
}

async function start(place) {
  const answer = await fetch(place.dataset.from), graph = new Graph(place, await answer.json(), answer.url);
  // where entries and areas are drawn, for programs that drive the page
  place.drawn = {
    getElementById: (id) => ({ renderedPosition: () => graph.at(graph.byId.get(id)) }),
    areas: () => graph.areas.filter((area) => area.topic).map((area) => (
      { ...graph.at(area), far: area.size * graph.scale, topic: area.topic, titles: area.members.map((node) => node.label) })),
  };
  const form = document.querySelector("#graph-form");
  if (graph.small || !form) return;
  const { q, kind } = form.elements;
  function filter() {
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean), best = graph.filter(words, kind.value);
    const kept = new Set(graph.nodes.filter((node) => node.kept && node.fits).map((node) => node.href));
    document.querySelectorAll(".topic li").forEach((row) => { row.hidden = !kept.has(row.querySelector("a").href); });
    document.querySelectorAll("details.topic").forEach((topic) => { topic.hidden = !topic.querySelector("li:not([hidden])"); });
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", `${form.action}${query.size ? "?" : ""}${query}`);
    return words.length ? best : null;
  }
  q.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  for (const name of ["project", "depth"]) form.elements[name]?.addEventListener("change", () => form.submit());
  form.addEventListener("submit", (event) => {
    if (document.activeElement !== q) return;
    event.preventDefault();
    const best = filter();
    if (best) graph.show(best);
  });
  if (q.value || kind.value) filter();
}

document.querySelectorAll(".graph[data-from]").forEach(start);
