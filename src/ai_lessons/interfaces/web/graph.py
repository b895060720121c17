"""The page of what is linked: drawn by a program, and as lists for who has none."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.interfaces.web.pages import Page, href
from ai_lessons.model.entries import Relation
from ai_lessons.model.links import Line, communities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.interfaces.web.pages import Asked
    from ai_lessons.model.entries import EntrySummary

DRAWN, LISTED = 5_000, 500  # Entries of a graph that are drawn, and those of its list: a page must stay light


class Topic(NamedTuple):
    """Entries that hang together, the most linked first, and what they are about: a tag, or their project."""

    name: str
    entries: Sequence[EntrySummary]


class Drawing(NamedTuple):
    """What is drawn: topics, the links between their entries, and how many entries were too many.

    `unlinked`: the entries that are linked with nothing, by project; where nothing is linked, those are the topics.
    """

    topics: Sequence[Topic]
    links: Sequence[Line]
    confidence: dict[str, float]
    left_out: int
    unlinked: Sequence[Topic]

    @property
    def entries(self) -> dict[str, EntrySummary]:
        """All that is drawn, by id."""
        return {summary.id: summary for topic in self.topics for summary in topic.entries}


def graph(opened: Library, asked: Asked) -> Page:
    """What is linked: drawn, and as lists of topics, each entry with what it links."""
    drawn = _drawing(opened, asked)
    chosen = {key: asked.get(key, "").strip() for key in ("ref", "project", "kind", "q", "depth")}
    words = chosen["q"].casefold().split()
    every = drawn.entries

    def kept(summaries: Iterable[EntrySummary]) -> list[EntrySummary]:
        return [
            summary
            for summary in summaries
            if chosen["kind"] in {"", summary.kind.value} and all(word in summary.title.casefold() for word in words)
        ]

    summaries = kept(every.values())
    listed = {summary.id for summary in summaries[:LISTED]}
    links = defaultdict(list)
    for link in drawn.links:
        for end, other, outgoing in ((link.source, link.target, True), (link.target, link.source, False)):
            if end in listed and other in every:
                links[end].append((Relation(link.relation).words(outgoing=outgoing), every[other]))
    members = defaultdict[str, list["EntrySummary"]](list)  # of topics with one name
    for topic in drawn.topics:
        members[topic.name] += [summary for summary in topic.entries if summary.id in listed]
    start = every.get(app.entries.show(opened, chosen["ref"]).entry.id) if chosen["ref"] else None
    values = {
        "title": "Graph", "topics": [Topic(*item) for item in members.items() if item[1]], "links": links,
        "chosen": chosen, "start": start, "total": len(summaries), "linked": len(drawn.links),
        "left_out": drawn.left_out, "LISTED": LISTED, "projects": app.entries.projects(opened),
        "unlinked": [Topic(topic.name, lights_of) for topic in drawn.unlinked if (lights_of := kept(topic.entries))],
    }  # fmt: skip
    return Page("graph.html", values)


def graph_data(opened: Library, asked: Asked) -> dict[str, Any]:
    """The same for the program that draws it."""
    drawn = _drawing(opened, asked)
    nodes = [
        {
            "id": summary.id, "handle": summary.handle, "label": summary.title, "kind": summary.kind.value,
            "href": href(summary.id), "project": summary.project, "size": drawn.confidence.get(summary.id, 0.6),
            "cluster": number, "topic": topic.name if len(topic.entries) > 2 else "",
        }
        for number, topic in enumerate(drawn.topics)
        for summary in topic.entries
    ]  # fmt: skip
    lines = [
        {"source": link.source, "target": link.target, "label": Relation(link.relation).words(),
         "back": Relation(link.relation).words(outgoing=False)}
        for link in drawn.links
        if {link.source, link.target} <= drawn.entries.keys()
    ]  # fmt: skip
    return {"nodes": nodes, "lines": lines}


def _drawing(opened: Library, asked: Asked) -> Drawing:
    refs = [asked["ref"]] if asked.get("ref") else []
    depth = int(asked["depth"]) if asked.get("depth") in {"1", "2", "3"} else 2
    project = asked.get("project") or None
    linking = app.contexts.graph(opened, refs, depth=depth, most=DRAWN, project=project)
    linked = {end for link in linking.links for end in (link.source, link.target)}
    every = () if refs else app.entries.list_entries(opened, project=project).entries
    unlinked = _by_project(summary for summary in every if summary.id not in linked)
    confidence = dict(linking.confidence)
    if linking.links or refs:
        return Drawing(_topics(linking), linking.links, confidence, linking.left_out, unlinked)
    return Drawing(unlinked, (), confidence, 0, ())


def _by_project(summaries: Iterable[EntrySummary]) -> list[Topic]:
    projects = [
        Topic(project, list(entries))
        for project, entries in groupby(
            sorted(summaries, key=lambda summary: summary.project), lambda summary: summary.project
        )
    ]
    return sorted(projects, key=lambda topic: (-len(topic.entries), topic.name))


def _topics(drawn: app.contexts.Graph) -> list[Topic]:
    """The groups of the graph, the largest first, named by the tag that marks them off, else by their project."""
    order = {summary.id: (position, summary) for position, summary in enumerate(drawn.entries)}
    groups = [
        [summary for _, summary in sorted(order[member] for member in group if member in order)]
        for group in communities((link.source, link.target) for link in drawn.links)
    ]
    grouped = {summary.id for group in groups for summary in group}
    groups += [[summary] for summary in drawn.entries if summary.id not in grouped]
    every = Counter(tag for summary in drawn.entries for tag in summary.tags)
    topics, taken = [], set[str]()
    for group in filter(None, groups):
        tags = Counter(tag for summary in group for tag in summary.tags if tag not in taken)
        tag = max(tags, key=lambda name: (tags[name] ** 2 / every[name], name), default="")
        project = Counter(summary.project for summary in group).most_common(1)[0][0]
        name = tag if 3 * tags[tag] > len(group) > 1 else project
        taken.add(name)
        topics.append(Topic(name, group))
    return topics
