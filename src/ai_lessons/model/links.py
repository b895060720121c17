"""Links between entries: which kinds they may join, and walks over them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

from ai_lessons.model.entries import Edge, Kind, Relation

SYMMETRIC = frozenset(relation.value for relation in Relation if relation.symmetric)
# Relations that make no sense in a circle: an entry would supersede, or derive from, itself.
ACYCLIC = frozenset(
    {Relation.DERIVED_FROM.value, Relation.SUPERSEDES.value, Relation.SPECIALIZES.value}
)

_ANY = frozenset(Kind)
_SAYS = frozenset({Kind.LESSON, Kind.RULE})

# The kinds that a relation may lead from and to.
# No lesson supersedes a rule: a person decides what is in force.
JOINS: Final[Mapping[Relation, tuple[tuple[frozenset[Kind], frozenset[Kind]], ...]]] = {
    Relation.HAS_SCRIPT: ((_ANY, frozenset({Kind.SCRIPT})),),
    Relation.HAS_DOC: ((_ANY, frozenset({Kind.DOC})),),
    Relation.PROVES: (
        (frozenset({Kind.LESSON}), frozenset({Kind.RULE})),
        (frozenset({Kind.SCRIPT}), _SAYS),
    ),
    Relation.DERIVED_FROM: ((_ANY, _ANY),),
    Relation.CONTRADICTS: ((_ANY - {Kind.SCRIPT}, _ANY - {Kind.SCRIPT}),),
    Relation.SUPERSEDES: (
        *((frozenset({kind}), frozenset({kind})) for kind in Kind),
        (frozenset({Kind.RULE}), frozenset({Kind.LESSON})),
    ),
    Relation.SPECIALIZES: ((_SAYS, _SAYS), (frozenset({Kind.DOC}), frozenset({Kind.DOC}))),
    Relation.RELATED_TO: ((_ANY, _ANY),),
}


def joins(relation: str, source: Kind, target: Kind) -> bool:
    """Whether a link of this relation may lead from that kind of entry to this one.

    An unknown relation may not.
    """
    if relation not in set(Relation):
        return False
    for sources, targets in JOINS[Relation(relation)]:
        if source in sources and target in targets:
            return True
    return False


def wrong_kinds(relation: str, source: Kind, target: Kind) -> str:
    """Why no link of this relation may lead between these kinds, and which may.

    Empty if it may, or is unknown.
    """
    if relation not in set(Relation) or joins(relation, source, target):
        return ""
    ways = []
    for start, end in JOINS[Relation(relation)]:
        ways.append(f"from {_any_of(start)} to {_any_of(end)}")
    fitting = ", ".join(name for name in JOINS if joins(name, source, target))
    return (
        f"{relation} leads {', or '.join(ways)}, not from a {source} to a {target}; "
        f"what fits: {fitting}"
    )


def _any_of(kinds: frozenset[Kind]) -> str:
    if kinds == _ANY:
        return "any entry"
    return " or ".join(f"a {kind}" for kind in Kind if kind in kinds)


def derived_from(edges: Iterable[Edge], entry_id: str) -> list[str]:
    """What an entry was derived from, of the links that start or end at it."""
    sources: list[str] = []
    for edge in edges:
        if edge.relation == Relation.DERIVED_FROM and edge.source == entry_id:
            sources.append(edge.target)
    return sources


class GraphStep(NamedTuple):
    """An entry that was reached.

    Over which relation, from which side it was written, and how many links away.
    """

    target: str
    relation: str
    outgoing: bool
    weight: float | None
    depth: int
    source: str


def reach(edges: Iterable[Edge], start: str, depth: int = 1) -> tuple[GraphStep, ...]:
    """Everything within `depth` links of `start`, either way, nearest first, strongest weight first.

    An entry is reached at its smallest depth only, once for every relation that leads to it; circles end where they
    began. A symmetric relation that is written on both sides is one. `start` itself is never in the answer.
    """
    around: dict[str, list[GraphStep]] = defaultdict(list)
    between = [edge for edge in edges if edge.source != edge.target]
    for outgoing in (True, False):
        # what an entry writes itself comes first
        for edge in between:
            source, target = edge.source, edge.target
            if not outgoing:
                source, target = target, source
            step = GraphStep(target, edge.relation, outgoing, edge.weight, 1, source)
            around[source].append(step)
    seen, border = {start}, [start]
    steps: list[GraphStep] = []
    for level in range(1, depth + 1):
        ring: dict[tuple[str, str, bool], GraphStep] = {}
        for source in border:
            for step in around.get(source, ()):
                if step.target not in seen:
                    # a symmetric relation that both sides state is one
                    key = step.target, step.relation, step.outgoing or step.relation in SYMMETRIC
                    ring.setdefault(key, step._replace(depth=level))
        steps += sorted(ring.values(), key=_strongest_first)
        border = list(dict.fromkeys(step.target for step in ring.values()))
        seen.update(border)
    return tuple(steps)


def _strongest_first(step: GraphStep) -> tuple[float, str, bool, str]:
    return (-(step.weight or 0.0), step.relation, not step.outgoing, step.target)


def circles(edges: Iterable[Edge]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(relation, ids) for circles of a relation of `ACYCLIC`, until none is left, at most 50 each.

    The ids of one come in the order of a walk round the circle, the smallest first.
    """
    by_relation: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for edge in edges:
        if edge.relation in ACYCLIC and edge.source != edge.target:
            by_relation[edge.relation][edge.source].append(edge.target)
    result: dict[tuple[str, tuple[str, ...]], None] = {}
    for name, targets in sorted(by_relation.items()):
        left = {}
        for source, ends in sorted(targets.items()):
            left[source] = sorted(ends)
        # find a circle, take away the link that closes it, and look for the next one
        for _ in range(50):
            try:
                TopologicalSorter(left).prepare()
                break
            except CycleError as error:
                # given from end to beginning, and its first one twice
                circle = error.args[1][:0:-1]
                first = circle.index(min(circle))
                result[name, (*circle[first:], *circle[:first])] = None
                left[circle[-1]].remove(circle[0])
    return tuple(result)


def clusters(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of three ids or more that hang together over these pairs, the largest first.

    Each is in order of its ids. Two entries say no more than the link between them; three are a
    topic.
    """
    around, groups = _around(pairs), []
    while around:
        group = _nearest(around, (next(iter(around)),), len(around))
        if len(group) > 2:
            groups.append(group)
        for entry_id in group:
            del around[entry_id]
    return _largest_first(groups)


def _largest_first(groups: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of ids, each in order of its ids: the same ones come out the same."""
    ordered = [tuple(sorted(group)) for group in groups]
    return tuple(sorted(ordered, key=lambda group: (-len(group), group)))


def communities(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Groups of ids with more links inside than chance would give, the largest first.

    By Louvain's method. Every id of the pairs is in one group. The same pairs give the same groups.
    """
    weights: dict[str, Counter[str]] = {}
    groups = {}
    for name, neighbours in sorted(_around(pairs).items()):
        weights[name] = Counter(sorted(neighbours))
        groups[name] = [name]
    while True:
        home = _moved(weights)
        names = sorted(set(home.values()))
        if len(names) == len(weights):
            return _largest_first(groups.values())
        # Each group becomes one name, and its inner links a link to itself
        joined: dict[str, Counter[str]] = {}
        members: dict[str, list[str]] = {}
        for name in names:
            joined[name], members[name] = Counter(), []
        for name, near in weights.items():
            members[home[name]] += groups[name]
            for other, weight in near.items():
                joined[home[name]][home[other]] += weight
        weights, groups = joined, members


def _moved(weights: Mapping[str, Counter[str]]) -> dict[str, str]:
    """The group of each name, after each moved to the group of a neighbour.

    They move for as long as that joins more links.
    """
    degrees = {name: near.total() for name, near in weights.items()}
    home, load, every = {name: name for name in weights}, dict(degrees), sum(degrees.values())
    moving = True
    while moving:
        moving = False
        for name, near in weights.items():
            into = Counter[str]()
            for other, weight in near.items():
                if other != name:
                    into[home[other]] += weight
            here = home[name]
            load[here] -= degrees[name]
            # whole numbers: rounding could move a name to and fro for ever
            gains = {}
            for group, weight in into.items():
                gains[group] = weight * every - load[group] * degrees[name]
            best = max(gains, key=lambda group: (gains[group], group), default=here)
            if best != here and gains[best] > into[here] * every - load[here] * degrees[name]:
                home[name], moving = best, True
            load[home[name]] += degrees[name]
    return home


class Line(NamedTuple):
    """A link of a drawn graph; one that holds both ways is there once."""

    source: str
    relation: str
    target: str
    weight: float | None
    both_ways: bool


class Drawing(NamedTuple):
    """A part of the graph.

    Ids in their order, the links between them, and how many more ids there would be.
    """

    ids: tuple[str, ...]
    lines: tuple[Line, ...]
    left_out: int = 0


def drawing(
    edges: Iterable[Edge], starts: Sequence[str] = (), *, depth: int = 1, most: int = 1000
) -> Drawing:
    """What lies within `depth` links of `starts`, nearest first.

    Without `starts` all that has links, most linked first. At most `most` ids, but all `starts`.
    Links of an entry to itself are left out.
    """
    between = [edge for edge in edges if edge.source != edge.target]
    around = _around((edge.source, edge.target) for edge in between)
    if starts:
        ordered = _nearest(around, tuple(dict.fromkeys(starts)), depth)
    else:
        ordered = sorted(around, key=lambda name: (-len(around[name]), name))
    kept = ordered[: max(most, len(set(starts)))]
    inside = frozenset(kept)
    lines = set()
    for edge in between:
        if edge.source in inside and edge.target in inside:
            both_ways = edge.relation in SYMMETRIC
            source, target = edge.source, edge.target
            if both_ways:
                source, target = sorted((source, target))
            lines.add(Line(source, edge.relation, target, edge.weight, both_ways))
    # written on both sides with other weights it is still one
    once = {}
    for line in sorted(lines, key=lambda line: (*line[:3], line.weight or 0.0)):
        once[line[:3]] = line
    return Drawing(tuple(kept), tuple(once.values()), len(ordered) - len(kept))


def _around(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """What hangs together with each, either way."""
    around: dict[str, set[str]] = defaultdict(set)
    for start, end in pairs:
        around[start].add(end)
        around[end].add(start)
    return around


def _nearest(around: Mapping[str, set[str]], starts: tuple[str, ...], depth: int) -> list[str]:
    reached = dict.fromkeys(starts)
    border: Iterable[str] = starts
    for _ in range(depth):
        if not border:
            break
        neighbours = set[str]()
        for name in border:
            neighbours |= around.get(name, set())
        border = sorted(neighbours - reached.keys())
        reached |= dict.fromkeys(border)
    return list(reached)
