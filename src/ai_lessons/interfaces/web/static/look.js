"use strict";
// Keys, the drawn graph, and the search of a folder of files. Everything else works without it.

const writing = (at) => at.matches("input:not([type=checkbox]), textarea, select");

const listed = () => [...document.querySelectorAll(".hits > li")];

function step(by) {
  const hits = listed();
  const now = hits.findIndex((one) => one.classList.contains("here"));
  const next = hits[Math.min(Math.max(now + by, 0), hits.length - 1)];
  if (!next) return;
  hits.forEach((one) => one.classList.toggle("here", one === next));
  next.querySelector("a").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "q" && event.key === "ArrowDown") { step(1); event.preventDefault(); return; }
  if (writing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const asked = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  const moves = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };
  if (asked) {
    if (asked.matches("input")) asked.focus(); else asked.click();
  } else if (event.key === "/" && document.querySelector("#q")) {
    document.querySelector("#q").focus();
  } else if (event.key in moves && document.querySelector(".hits > li")) {
    step(moves[event.key]);
  } else {
    return;
  }
  event.preventDefault();
});

// Results that come while a person walks through the list leave the focus at the same place of the new list.
let place = -1;
document.addEventListener("htmx:before:swap", () => {
  place = listed().findIndex((one) => one.contains(document.activeElement));
});
document.addEventListener("htmx:after:swap", () => { if (place >= 0) step(place + 1); });

async function draw(place) {
  const found = await (await fetch(place.dataset.from)).json();
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const nodes = found.nodes.map((one) => ({ data: { ...one, colour: colour(one.kind), wide: 14 + 30 * one.size } }));
  const edges = found.lines.map((data) => ({ data }));
  const drawn = cytoscape({
    container: place, elements: [...nodes, ...edges], maxZoom: 3,
    layout: { name: "cose", animate: false, randomize: false, padding: 30, nodeRepulsion: 9000, idealEdgeLength: 90 },
    style: [
      { selector: "node", style: {
        "background-color": "data(colour)", width: "data(wide)", height: "data(wide)", label: "data(label)",
        color: colour("ink"), "font-size": 13, "min-zoomed-font-size": 7, "text-valign": "bottom", "text-margin-y": 4,
        "text-wrap": "ellipsis", "text-max-width": 150, "text-outline-color": colour("sheet"), "text-outline-width": 2 } },
      { selector: "edge", style: {
        width: 1, "line-color": colour("soft"), opacity: 0.6, "curve-style": "bezier", "target-arrow-shape": "triangle",
        "target-arrow-color": colour("soft"), "arrow-scale": 0.7 } },
      { selector: "edge:selected, edge.near", style: {
        label: "data(label)", "font-size": 12, color: colour("soft"), "text-background-color": colour("sheet"),
        "text-background-opacity": 1 } },
      { selector: "node[cluster > 0]", style: { "border-width": 3, "border-color": colour("accent"), "border-opacity": 0.5 } },
    ],
  });
  drawn.on("mouseover", "node", (event) => event.target.connectedEdges().addClass("near"));
  drawn.on("mouseout", "node", (event) => event.target.connectedEdges().removeClass("near"));
  drawn.on("tap", "node", (event) => { location.href = event.target.data("href"); });
  place.drawn = drawn;
}

async function searchFiles(field) {
  const entries = await (await fetch(field.dataset.from)).json();
  const list = document.querySelector("#results");
  const all = [...list.children];
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { list.replaceChildren(...all); return; }
    const named = (one) => words.filter((word) => one.title.toLowerCase().includes(word)).length;
    const holds = (one) => words.every((word) => (one.title.toLowerCase() + one.text).includes(word));
    const found = entries.filter(holds).map((one) => [named(one), one]);
    found.sort(([a], [b]) => b - a);
    list.replaceChildren(...found.slice(0, 50).map(([, one]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = one.href;
      link.textContent = one.title;
      item.append(link);
      return item;
    }));
  });
}

document.querySelector(".waiting [aria-current]")?.scrollIntoView({ block: "nearest" });
document.querySelectorAll("#graph").forEach(draw);
document.querySelectorAll("input[data-from]").forEach(searchFiles);
