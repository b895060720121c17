"use strict";
// Keys, the search as it is typed, and the search of a folder of files. Everything else works without it.

const writing = (at) => at.matches("input:not([type=checkbox]), textarea, select");

const listed = () => [...document.querySelectorAll(".hits > li")];

function step(by) {
  const hits = listed();
  const now = hits.findIndex((hit) => hit.classList.contains("here"));
  const next = hits[Math.min(Math.max(now + by, 0), hits.length - 1)];
  if (!next) return;
  hits.forEach((hit) => hit.classList.toggle("here", hit === next));
  next.querySelector("a").focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "q" && event.key === "ArrowDown") { step(1); event.preventDefault(); return; }
  if (writing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // the last one that is shown: a step that was opened has the key of its summary again
  const keyed = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)];
  const chosen = keyed.filter((place) => place.checkVisibility()).pop();
  const moves = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };
  if (chosen) {
    if (event.repeat) return; // a key that is held down decides nothing twice
    chosen.click();
  } else if (event.key === "Escape") {
    document.querySelectorAll("details.step[open]").forEach((place) => { place.open = false; });
  } else if (event.key === "/" && document.querySelector("#q, .find input")) {
    document.querySelector("#q, .find input").focus();
  } else if (event.key in moves && document.querySelector(".hits > li")) {
    step(moves[event.key]);
  } else {
    return;
  }
  event.preventDefault();
});

// A step that is opened closes the other one, and has the focus, so that Enter does it.
document.querySelectorAll("details.step").forEach((place) => place.addEventListener("toggle", () => {
  if (!place.open) return;
  document.querySelectorAll("details.step[open]").forEach((other) => { other.open = other === place; });
  place.scrollIntoView({ block: "nearest" });
  place.querySelector("input:not([type=hidden]), button").focus();
}));

// The address follows what is searched for, so that Back and a bookmark lead to the same results.
function searchAsTyped(form) {
  let asked = new AbortController(), soon = 0;
  const results = document.querySelector("#results");
  async function search() {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const address = `${form.action}${query.size ? "?" : ""}${query}`;
    asked.abort();
    asked = new AbortController();
    history.replaceState(null, "", address);
    results.setAttribute("aria-busy", "true"); // what stands there is of the words before
    const mine = asked;
    let html;
    try {
      const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal: asked.signal });
      html = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch (error) {
      if (error.name === "AbortError") return;
      results.textContent = "The program that serves this page has ended: start ai-lessons look again.";
      return;
    } finally {
      if (mine === asked) results.removeAttribute("aria-busy");
    }
    const place = listed().findIndex((hit) => hit.contains(document.activeElement));
    results.replaceChildren(...(html.querySelector("main") ?? html.body).childNodes);
    if (place >= 0) step(place + 1); // who walks through the list stays at the same place of the new one
  }
  // a person who types pauses about so long between words: each request costs a search
  form.addEventListener("input", () => { clearTimeout(soon); soon = setTimeout(search, 250); });
}

// The texts are in `search.js`: a page that was opened as a file may read no other file.
function searchFiles(field) {
  const list = document.querySelector("#results");
  const stem = (word) => (word.length > 4 ? word.replace(/(ing|ed|es|s)$/, "") : word);
  const texts = self.entries.map((entry) => ({ ...entry, all: `${entry.title} ${entry.text}`.toLowerCase() }));
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean).map(stem);
    const named = (entry) => words.filter((word) => entry.title.toLowerCase().includes(word)).length;
    const hits = words.length ? texts.filter((entry) => words.every((word) => entry.all.includes(word))) : [];
    hits.sort((one, other) => named(other) - named(one));
    list.replaceChildren(...hits.slice(0, 50).map((entry) => {
      const item = document.createElement("li"), title = document.createElement("h3"), link = document.createElement("a");
      const snippet = document.createElement("p"), at = Math.max(entry.text.toLowerCase().indexOf(words[0]) - 40, 0);
      link.href = entry.href;
      link.className = "entry";
      snippet.className = "text";
      link.append(...marked(entry.title, words));
      snippet.append(...marked(entry.text.slice(at, at + 200), words));
      title.append(link);
      item.append(title, snippet);
      return item;
    }));
    if (words.length && !hits.length) list.textContent = "Nothing is known of this.";
  });
}

function marked(text, words) {
  const pattern = new RegExp(`((?:${words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})[\\p{L}\\p{N}]*)`, "iu");
  return text.split(pattern).map((piece, place) => {
    const node = place % 2 ? document.createElement("mark") : document.createTextNode(piece);
    if (place % 2) node.textContent = piece;
    return node;
  });
}

// It reads transcripts, so it is asked for once the proposal is on the screen.
async function fill(link) {
  const answer = await fetch(link.href);
  if (answer.ok) link.replaceWith(await answer.text());
}

document.querySelectorAll("#past").forEach(fill);
document.querySelector(".waiting [aria-current]")?.scrollIntoView({ block: "nearest" });
document.querySelectorAll("form[role=search]:has(#q)").forEach(searchAsTyped);
document.querySelectorAll("input[data-site]").forEach(searchFiles);
