"""The graph as text, for Graphviz (dot) and for Mermaid. Pure: takes answers, returns text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.doors.terminal import clip, line
from ai_lessons.knowledge.entries import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.doors.terminal import View
    from ai_lessons.knowledge.relations import Line
    from ai_lessons.library.relating import Graph

WIDEST = 60  # cells of a title in a drawing
GONE = "not found"


def text(value: Graph, view: View) -> str:
    """Every entry with the links that it writes; those that hold both ways stand at one of both."""
    if not value.entries:
        return "Nothing is linked yet: ai-lessons contribute link A B --relation R"
    names = {entry.id: view.named(entry.handle, entry.title) for entry in value.entries}
    names |= {name: f"{line(name)} ({GONE})" for name in value.missing}
    ends = {end for one in value.lines for end in (one.source, one.target)}
    rows: list[str] = []
    for entry in value.entries:
        own = [one for one in value.lines if one.source == entry.id]
        if own or entry.id not in ends:
            rows.append(names[entry.id])
            rows += [f"  {_relation(one)} {'<->' if one.both_ways else '->'} {names[one.target]}" for one in own]
    # a link that holds both ways may stand at an id that no entry has
    for name in value.missing:
        both = [f"  {_relation(one)} <-> {names[one.target]}" for one in value.lines if one.source == name]
        rows += [names[name], *both] if both else []
    handles = {entry.id: line(entry.handle) for entry in value.entries}
    topics = ["  " + ", ".join(handles[one] for one in cluster) for cluster in value.clusters]
    return "\n".join([*rows, *(["", view.paint("Related topics:", "heading")] if topics else []), *topics])


def _relation(one: Line) -> str:
    return line(one.relation) + ("" if one.weight is None else f" ({one.weight:g})")


def dot(value: Graph, _view: View) -> str:
    """A directed graph in the language of Graphviz."""
    rows = ["digraph knowledge {", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    for entry in value.entries:
        label = f"{_dot(entry.handle)}\\n{_dot(clip(line(entry.title), WIDEST))}"
        rows.append(f'  "{_dot(entry.id)}" [shape={KINDS[entry.kind].shape}, label="{label}"];')
    rows += [f'  "{_dot(name)}" [shape=box, style=dashed, label="{_dot(name)}\\n{GONE}"];' for name in value.missing]
    for number, cluster in enumerate(value.clusters, 1):
        names = " ".join(f'"{_dot(one)}";' for one in cluster)
        rows.append(f"  subgraph cluster_{number} {{ {names} }}")
    for one in value.lines:
        both = ", dir=none" if one.both_ways else ""
        rows.append(f'  "{_dot(one.source)}" -> "{_dot(one.target)}" [label="{_dot(_relation(one))}"{both}];')
    return "\n".join([*rows, "}"])


def _dot(raw: str) -> str:
    """Inside double quotes, where a backslash begins an escape and `&` the name of a character."""
    return line(raw).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def mermaid(value: Graph, _view: View) -> str:
    """A flowchart for Mermaid, which forges and editors draw in Markdown."""
    names = {name: f"n{n}" for n, name in enumerate([*(entry.id for entry in value.entries), *value.missing], 1)}
    rows = ["flowchart LR"]
    for entry in value.entries:
        left, right = KINDS[entry.kind].brackets
        label = f"{_mermaid(entry.handle)}<br/>{_mermaid(clip(line(entry.title), WIDEST))}"
        rows.append(f'  {names[entry.id]}{left}"{label}"{right}')
    rows += [f'  {names[name]}["{_mermaid(name)}<br/>{GONE}"]:::gone' for name in value.missing]
    for one in value.lines:
        arrow = "---" if one.both_ways else "-->"
        rows.append(f'  {names[one.source]} {arrow}|"{_mermaid(_relation(one))}"| {names[one.target]}')
    rows += ["  classDef gone stroke-dasharray: 4"] if value.missing else []
    return "\n".join(rows)


def _mermaid(raw: str) -> str:
    """Marks of ASCII as the codes that Mermaid knows, so that none of them ends a label, a fence or a tag."""
    return re.sub(r"[^\w\s.,:()/+-]", lambda found: f"#{ord(found[0])};", line(raw), flags=re.ASCII)


FORMATS: Mapping[str, Callable[[Graph, View], str]] = {"text": text, "dot": dot, "mermaid": mermaid}
