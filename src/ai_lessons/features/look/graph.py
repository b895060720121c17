"""The page of what is linked: drawn by a program, and as lists for who has none."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.features.look.drawing import href
from ai_lessons.features.look.pages import Page
from ai_lessons.model.entries import Relation
from ai_lessons.model.links import communities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import Library
    from ai_lessons.features.look.pages import Asked
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.model.links import Line

# Entries of a graph that are drawn, and those of its list: a page must stay light
DRAWN, LISTED = 5_000, 500


class Topic(NamedTuple):
    """Entries that hang together, the most linked first, and what they are about.

    A tag, or their project.
    """

    name: str
    entries: Sequence[EntrySummary]


class Drawing(NamedTuple):
    """What is drawn: topics, the links between their entries, and how many entries were too many.

    `unlinked`: the entries that are linked with nothing, by project; where nothing is linked, those
    are the topics.
    """

    topics: Sequence[Topic]
    links: Sequence[Line]
    confidence: dict[str, float]
    left_out: int
    unlinked: Sequence[Topic]

    @property
    def entries(self) -> dict[str, EntrySummary]:
        """All that is drawn, by id."""
        entries: dict[str, EntrySummary] = {}
        for topic in self.topics:
            for summary in topic.entries:
                entries[summary.id] = summary
        return entries


def graph(library: Library, asked: Asked) -> Page:
    """What is linked: drawn, and as lists of topics, each entry with what it links."""
    drawn = _drawing(library, asked)
    chosen = {key: asked.get(key, "").strip() for key in ("ref", "project", "kind", "q", "depth")}
    words = chosen["q"].casefold().split()
    every = drawn.entries

    def is_kept(summary: EntrySummary) -> bool:
        title = summary.title.casefold()
        return chosen["kind"] in {"", summary.kind.value} and all(word in title for word in words)

    summaries = list(filter(is_kept, every.values()))
    listed = {summary.id for summary in summaries[:LISTED]}
    links = defaultdict(list)
    for link in drawn.links:
        for end, other, outgoing in (
            (link.source, link.target, True),
            (link.target, link.source, False),
        ):
            if end in listed and other in every:
                links[end].append((Relation(link.relation).words(outgoing=outgoing), every[other]))
    # topics may have one name
    members = defaultdict[str, list["EntrySummary"]](list)
    for topic in drawn.topics:
        members[topic.name] += [summary for summary in topic.entries if summary.id in listed]
    start = None
    if chosen["ref"]:
        start = every.get(app.entries.show(library, chosen["ref"]).entry.id)
    unlinked: list[Topic] = []
    for topic in drawn.unlinked:
        entries = list(filter(is_kept, topic.entries))
        if entries:
            unlinked.append(Topic(topic.name, entries))
    values = {
        "title": "Graph", "topics": [Topic(*item) for item in members.items() if item[1]], "links": links,
        "chosen": chosen, "start": start, "total": len(summaries), "linked": len(drawn.links),
        "left_out": drawn.left_out, "LISTED": LISTED, "projects": app.entries.projects(library),
        "unlinked": unlinked,
    }  # fmt: skip
    return Page("graph.html", values)


def graph_data(library: Library, asked: Asked) -> dict[str, Any]:
    """The same for the program that draws it."""
    drawn = _drawing(library, asked)
    nodes = []
    for number, topic in enumerate(drawn.topics):
        for summary in topic.entries:
            nodes.append(
                {
                    "id": summary.id,
                    "handle": summary.handle,
                    "label": summary.title,
                    "kind": summary.kind.value,
                    "href": href(summary.id),
                    "project": summary.project,
                    "size": drawn.confidence.get(summary.id, 0.6),
                    "cluster": number,
                    "topic": topic.name if len(topic.entries) > 2 else "",
                }
            )
    lines = []
    for link in drawn.links:
        if {link.source, link.target} <= drawn.entries.keys():
            lines.append(
                {
                    "source": link.source,
                    "target": link.target,
                    "label": Relation(link.relation).words(),
                    "back": Relation(link.relation).words(outgoing=False),
                }
            )
    return {"nodes": nodes, "lines": lines}


def _drawing(library: Library, asked: Asked) -> Drawing:
    refs: list[str] = []
    if asked.get("ref"):
        refs.append(asked["ref"])
    depth = 2
    if asked.get("depth") in {"1", "3"}:
        # what else the address says is none of the three that the page offers
        depth = int(asked["depth"])
    project = asked.get("project") or None
    linking = app.link_effects.graph(library, refs, depth=depth, most=DRAWN, project=project)
    unlinked: list[Topic] = []
    if not refs:
        linked: set[str] = set()
        for link in linking.links:
            linked |= {link.source, link.target}
        every = app.entries.list_entries(library, project=project).entries
        unlinked = _by_project([summary for summary in every if summary.id not in linked])
    confidence = dict(linking.confidence)
    if linking.links or refs:
        return Drawing(_topics(linking), linking.links, confidence, linking.left_out, unlinked)
    return Drawing(unlinked, (), confidence, 0, ())


def _by_project(summaries: Iterable[EntrySummary]) -> list[Topic]:
    """The entries of each project, the largest first."""
    projects = defaultdict[str, list["EntrySummary"]](list)
    for summary in summaries:
        projects[summary.project].append(summary)
    topics = [Topic(project, entries) for project, entries in projects.items()]
    return sorted(topics, key=lambda topic: (-len(topic.entries), topic.name))


def _topics(drawn: app.link_effects.Graph) -> list[Topic]:
    """The groups of the graph, the largest first, named by the tag that marks them off, else by their project."""
    group_of: dict[str, int] = {}
    ends = [(link.source, link.target) for link in drawn.links]
    for number, members in enumerate(communities(ends)):
        group_of |= dict.fromkeys(members, number)
    # in the order of the entries, the most linked first; what is in no group stands alone
    groups = defaultdict[int, list["EntrySummary"]](list)
    alone: list[list[EntrySummary]] = []
    every = Counter[str]()
    for summary in drawn.entries:
        every.update(summary.tags)
        if summary.id in group_of:
            groups[group_of[summary.id]].append(summary)
        else:
            alone.append([summary])
    topics: list[Topic] = []
    taken: set[str] = set()
    for group in (*(groups[number] for number in sorted(groups)), *alone):
        topic = Topic(_name_of(group, every, taken), group)
        taken.add(topic.name)
        topics.append(topic)
    return topics


def _name_of(group: Sequence[EntrySummary], every: Counter[str], taken: set[str]) -> str:
    """The tag that marks a group off from all entries, if a third of the group has it, else its project."""
    tags = Counter[str]()
    for summary in group:
        tags.update(tag for tag in summary.tags if tag not in taken)
    tag = max(tags, key=lambda name: (tags[name] ** 2 / every[name], name), default="")
    if 3 * tags[tag] > len(group) > 1:
        return tag
    projects = Counter(summary.project for summary in group)
    return projects.most_common(1)[0][0]
