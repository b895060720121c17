"""What is linked, as a list, and as programs draw it: dot, mermaid."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ai_lessons.interfaces.output import block, clip, line
from ai_lessons.interfaces.text import GONE, WIDEST, weight_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_lessons.app import link_effects
    from ai_lessons.interfaces.output import View
    from ai_lessons.model.links import Line


def graph(value: link_effects.Graph, view: View) -> str:
    """Every entry with the links that it writes; those that hold both ways stand at one of both."""
    if not value.entries:
        return "Nothing is linked yet: ai-lessons contribute link A B --relation R"
    names = {}
    for entry in value.entries:
        names[entry.id] = view.named(entry)
    names |= {name: f"{line(name)} ({GONE})" for name in value.missing}
    linked = {end for link in value.links for end in (link.source, link.target)} | {*value.missing}
    blocks = []
    for name, label in names.items():
        # a link that holds both ways may stand at an id that no entry has
        outgoing = []
        for link in value.links:
            if link.source == name:
                outgoing.append(link)
        links = (
            f"{_relation(link)} {'<->' if link.both_ways else '->'} {names[link.target]}"
            for link in outgoing
        )
        if outgoing or name not in linked:
            blocks += [block(label, links)]
    handles = {}
    for entry in value.entries:
        handles[entry.id] = line(entry.handle)
    topics = []
    for cluster in value.clusters:
        topics.append(", ".join(handles[member] for member in cluster))
    if topics:
        blocks += ["", block(view.paint("Related topics:", "heading"), topics)]
    return "\n".join(blocks)


def _relation(link: Line) -> str:
    return line(link.relation) + weight_of(link)


def dot(value: link_effects.Graph, _view: View) -> str:
    """A directed graph in the language of Graphviz."""
    rows = ["digraph knowledge {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for entry in value.entries:
        label = f"{_dot(entry.handle)}\\n{_dot(clip(line(entry.title), WIDEST))}"
        rows.append(f'  "{_dot(entry.id)}" [label="{label}"];')
    rows += [
        f'  "{_dot(name)}" [style=dashed, label="{_dot(name)}\\n{GONE}"];' for name in value.missing
    ]
    for number, cluster in enumerate(value.clusters, 1):
        names = " ".join(f'"{_dot(member)}";' for member in cluster)
        rows.append(f"  subgraph cluster_{number} {{ {names} }}")
    for link in value.links:
        if link.both_ways:
            direction = ", dir=none"
        else:
            direction = ""
        rows.append(
            f'  "{_dot(link.source)}" -> "{_dot(link.target)}" '
            f'[label="{_dot(_relation(link))}"{direction}];'
        )
    return "\n".join([*rows, "}"])


def _dot(raw: str) -> str:
    """Inside double quotes, where a backslash begins an escape and `&` the name of a character."""
    return line(raw).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def mermaid(value: link_effects.Graph, _view: View) -> str:
    """A flowchart for Mermaid, which forges and editors draw in Markdown."""
    names = {}
    for n, name in enumerate([*(entry.id for entry in value.entries), *value.missing], 1):
        names[name] = f"n{n}"
    rows = ["flowchart LR"]
    for entry in value.entries:
        label = f"{_mermaid(entry.handle)}<br/>{_mermaid(clip(line(entry.title), WIDEST))}"
        rows.append(f'  {names[entry.id]}["{label}"]')
    rows += [f'  {names[name]}["{_mermaid(name)}<br/>{GONE}"]:::gone' for name in value.missing]
    for link in value.links:
        if link.both_ways:
            arrow = "---"
        else:
            arrow = "-->"
        rows.append(
            f'  {names[link.source]} {arrow}|"{_mermaid(_relation(link))}"| {names[link.target]}'
        )
    if value.missing:
        rows += ["  classDef gone stroke-dasharray: 4"]
    return "\n".join(rows)


def _mermaid(raw: str) -> str:
    """Marks of ASCII as the codes that Mermaid knows, so that none of them ends a label, a fence or a tag."""
    return re.sub(r"[^\w\s.,:()/+-]", lambda mark: f"#{ord(mark[0])};", line(raw), flags=re.ASCII)


FORMATS: Mapping[str, Callable[[link_effects.Graph, View], str]] = {
    "text": graph,
    "dot": dot,
    "mermaid": mermaid,
}
