"""Golden drawings, and drawings of hostile titles read back by small checkers."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.app.link_effects import Graph
from ai_lessons.interfaces import output, text, text_graphs
from ai_lessons.interfaces.output import View, clip, line
from ai_lessons.model.entries import EntrySummary, Kind
from ai_lessons.model.links import Line

VIEW = View()


def summary(kind: Kind, name: str, title: str) -> EntrySummary:
    return EntrySummary(name, f"{kind.letter}-{name}", kind, title, "p", (), (), f"p/{name}.md")


GRAPH = Graph(
    (
        summary(Kind.LESSON, "AAA", "PUT replaces the workflow"),
        summary(Kind.SCRIPT, "BBB", 'say "hi" \\N'),
        summary(Kind.RULE, "CCC", "<b>GET</b> first; #1 `now`"),
        summary(Kind.DOC, "DDD", "Alone"),
    ),
    ("GONE",),
    (
        Line("AAA", "has_script", "BBB", None, both_ways=False),
        Line("AAA", "related_to", "CCC", 0.5, both_ways=True),
        Line("AAA", "related_to", "GONE", None, both_ways=True),
        Line("CCC", "derived_from", "AAA", None, both_ways=False),
    ),
)


def test_a_link_that_holds_both_ways_is_told_though_its_first_end_is_gone() -> None:
    graph = Graph(
        (GRAPH.entries[0],), ("A", "B"), (Line("A", "contradicts", "AAA", None, both_ways=True),)
    )
    assert text_graphs.graph(graph, VIEW) == (
        "A (not found)\n  contradicts <-> [L-AAA] PUT replaces the workflow"
    )


STRING = r'"((?:[^"\\\n]|\\.)*)"'
STATEMENT = re.compile(
    rf"  (?:rankdir=LR|node \[shape=box, fontname={STRING}\]"
    rf"|{STRING} \[(?:style=dashed, )?label={STRING}\]"
    rf"|{STRING} -> {STRING} \[label={STRING}(?:, dir=none)?\]);"
)


def read_dot(text: str) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Labels by node, and edges, from a drawing; fails where it is not of the language."""
    first, *rows, last = text.split("\n")
    assert (first, last) == ("digraph knowledge {", "}")
    nodes, edges = {}, []
    for row in rows:
        found = STATEMENT.fullmatch(row)
        assert found, row
        _, node, label, source, target, relation = (
            one and re.sub(r"\\(.)|&amp;", _plain, one) for one in found.groups()
        )
        if node is not None:
            nodes[node] = label
        elif source is not None:
            edges.append((source, relation, target))
    return nodes, edges


def _plain(escape: re.Match[str]) -> str:
    return {"n": "\n"}.get(escape[1] or "", escape[1] or "&")


def read_mermaid(text: str) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Labels of the nodes n1, n2, …, and edges."""
    first, *rows = text.split("\n")
    assert first == "flowchart LR"
    nodes: list[str] = []
    edges: list[tuple[str, str, str]] = []
    for row in rows:
        node = re.fullmatch(
            r'  n(\d+)(?:\[|\(|\[\[|\{\{)"([^"`<>&;#\\]*<br/>[^"`<>&\\]*)"(?:\]|\)|\]\]|\}\})(:::gone)?',
            row,
        )
        edge = re.fullmatch(r'  (n\d+) (?:-->|---)\|"([^"`<>&\\]*)"\| (n\d+)', row)
        assert node or edge or row == "  classDef gone stroke-dasharray: 4", row
        if node:
            assert int(node[1]) == len(nodes) + 1
            nodes.append(decoded(node[2]))
        elif edge:
            edges.append((edge[1], decoded(edge[2]), edge[3]))
    return nodes, edges


def decoded(text: str) -> str:
    assert "#" not in re.sub(r"#\d+;", "", text)
    return re.sub(r"#(\d+);", lambda code: chr(int(code[1])), text.replace("<br/>", "\n"))


hostile = st.one_of(
    st.text(max_size=40),
    st.text(alphabet='"\\<>`#;&[]{}|-\n n%', max_size=40),
    st.sampled_from(
        [
            '"]; evil [label="',
            '\\"',
            "\\",
            "\\N\\G",
            '"]\n  click n1 call evil()',
            "```",
            "%%{init: {}}%%",
            "end",
        ]
    ),
)


@given(hostile, hostile)
def test_no_title_and_no_relation_leaves_its_place(title: str, relation: str) -> None:
    one, other = summary(Kind.DOC, "AAA", title), summary(Kind.RULE, "BBB", "Other")
    graph = Graph((one, other), (), (Line("AAA", relation, "BBB", None, both_ways=False),))
    shown = clip(line(title), text.WIDEST)
    nodes, edges = read_dot(text_graphs.dot(graph, VIEW))
    assert nodes == {"AAA": f"D-AAA\n{shown}", "BBB": "R-BBB\nOther"}
    assert edges == [("AAA", line(relation), "BBB")]
    labels, drawn = read_mermaid(text_graphs.mermaid(graph, VIEW))
    assert labels == [f"D-AAA\n{shown}", "R-BBB\nOther"]
    assert drawn == [("n1", line(relation), "n2")]
    assert len(text_graphs.graph(graph, VIEW).split("\n")) == 2


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_graphviz_draws_it() -> None:
    done = subprocess.run(
        ["dot", "-Tplain"],
        input=text_graphs.dot(GRAPH, VIEW),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\nnode ") == 5


def test_topics_are_named_and_framed() -> None:
    graph = GRAPH._replace(clusters=(("AAA", "CCC", "DDD"),))
    assert text_graphs.graph(graph, VIEW).endswith("\n\nRelated topics:\n  L-AAA, R-CCC, D-DDD")
    assert (
        '  subgraph cluster_1 { "AAA"; "CCC"; "DDD"; }' in text_graphs.dot(graph, VIEW).splitlines()
    )
    assert output.encode(graph)["clusters"] == [["AAA", "CCC", "DDD"]]
