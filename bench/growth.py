"""Feed every parser of text from others with what grows: twice the text may take 2.5 times the CPU at most.

`python -m bench.fuzz --growth` does it. A pump is one or a few characters that are
repeated, in a frame that puts them where a parser may look back at them.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import signal
import time
import warnings
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ai_lessons.app import answers, secrets
from ai_lessons.approval import signatures
from ai_lessons.connectors import agent_hosts, exporters, importers, packages, web
from ai_lessons.errors import AiLessonsError
from ai_lessons.git import commits as git_commits
from ai_lessons.git import history
from ai_lessons.interfaces import output
from ai_lessons.interfaces import text as interfaces_text
from ai_lessons.interfaces.web import pages
from ai_lessons.learning import statistics
from ai_lessons.model import (
    anchors,
    chunks,
    config,
    frontmatter,
    layout,
    lessons,
    markdown,
    merge,
    rule_checks,
    texts,
    transcripts,
    versions,
)
from ai_lessons.model.config import Chunking
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.transcripts import Transcript
from ai_lessons.search import catalog, ranking, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUMPS = (
    "[", "![", "]", "](", "[](", "[a](", "[a][", "(", ")", "<", "<a", "<a ", "<a b", "<!", "<!--", "<!A", "<![CDATA[",
    "<?", "</", "</a", ">", "*", "**", "*a ", "*a_ ", "a*", "_", "__", "a_", "~", "~~", "`", "` ", "``a`", "&", "&a",
    "&#", "\\", "\\[", "{", "}", "{}", "a", "A", "1", "1.", "a.", "a-", "a/", "a/b.", "A_", "aB", "-", "--", "=", "+",
    "#", "# ", "|", "|a", ":", "::", "a:", ";", ",", "'", '"', "'a", '"a', "$", "$(", "@", "@a", "!", "?", "/", "//",
    "://", "%", "^", ".", "..", " ", "  ", "\t", "a ", " a", "a\t", "\\n", "\r", "é", "中", "\u200d", "\u2060",
    "x\u200d", "\x1b[", "\x1b]", "\x1b", "https://", "http://a:", "www.a", "a@b.", "v1.", "1.1.", "aws'",
    "-----BEGIN", "eyJ", "AKIA", "use ", "do not ", "WHEN ", " -> ", "-> DO ", "“", "\u2018",
)  # fmt: skip
LINES = (
    "\n", "a\n", "\n\n", "a\n\n", " \n", "# a\n", "# a\n\n", "a\n=\n", "a\n-\n", "#\n", "###### a\n", "- a\n", "-\n",
    "- a\n\n", "1. a\n", "> a\n", ">\n", "> > a\n", "```\n", "~~~\n", "```a\n", "    a\n", "\ta\n", "| a\n", "|\n",
    "| a |\n|-|\n", "a | b\n", "[a]: b\n", "[a]:\n", "[a]\n", "<a>\n", "<!--\n", "-->\n", "<pre\n", "<div>\n\n",
    "</div>\n", "---\n", "---\n\n", "***\n", "===\n", "....\n", "----\n", "[source,a]\n", "[source,a]\n----\n",
    "== a\n", "{\n", "[\n", "a: b\n", "a:\n", "- a: b\n", "a: |\n", "? a\n", "a, b\n", "$ a\n", "~~~\n$ a\nb\n",
    "error: a\n", "<<a\n", "<<'a\n", "'\n", '"\n', '"""\n', "//\n", "/*\n", "import a\n", "def a():\n", "a()\n",
    "class a:\n  ", "because: a\n", "@a\n", "- \n", "globs: {a\n", "<!-- >>> ai-lessons >>> -->\n",
    "<!-- >>> ai-lessons\n", "commit a\n", "parent " + 40 * "a" + "\n", "gpgsig a\n", " a\n", "a (#1)\n", "a: b\n\n",
    "@@ -1 +1 @@\n", "-a\n+b\n", "-a\n", "Output:\n", "Exit code 1\n", "\nOutput: ", "\nError: ", "\r\n", "a\r\n",
    "a\r", "WHEN a\n", "[package]\nname = 'a'\n", "[[package]]\n", "a==1\n", "a==1 \\\n", '{"a": 1}\n', "1 2\n",
    "\n[", "\n\t",
)  # fmt: skip
FRAMES = (
    "{}",
    "# {}\n\ntext\n",
    "text {} text\n",
    "- {}\n",
    "| a | b |\n|---|---|\n| {} | b |\n",
    "[{}](x)\n",
    "> {}\n",
)
"""Where pumps of one line are put, for readers of Markdown; the others read them bare and behind `(`, `[` and so on."""

LEADS = (
    "{}",
    "({}",
    "[{}",
    '"{}',
    "'{}",
    "<{}>",
    "a{}",
    "${}",
    "`{}",
    "$(a {}",
    "error: {}\n",
    "{}\n!",
    "{}a",
    "a: {}",
    "WHEN {}",
    "WHEN a -> DO {}",
    '{{"a": "{}"}}',
)
NESTS = (
    "> ",
    "- ",
    "1. ",
    "* ",
    ">",
    "  - ",
    "<div>",
    "<b>",
    "<article>",
    "[",
    "{",
    '{"a":',
    "((",
    "*",
    "_",
    "**a ",
    "![",
    "<ul><li>",
    "<table><tr><td>",
    "<!--",
    "<p>",
    "<a ",
    "<a href='",
    "<span>",
    "<font>",
    "&lt;",
)


def growing(size: int) -> dict[str, str]:
    """Texts of about this size that are no repetition: each line another one."""

    def to(make: Callable[[int], str]) -> str:
        out, length, n = [], 0, 0
        while length < size:
            out.append(make(n))
            length += len(out[-1])
            n += 1
        return "".join(out)

    return {
        "headings": to(lambda n: f"## h{n}\n\ntext {n}\n\n"),
        "headings down": to(lambda n: "#" * max(1, 6 - n % 6) + f" h{n}\n"),
        "lines": to(lambda n: f"line {n}\n"),
        "words": to(lambda n: f"word{n} "),
        "definitions": to(lambda n: f"[a{n}]: b{n}\n"),
        "keys": to(lambda n: f"key{n}: v\n"),
        "backticks": to(lambda n: "`" * (n + 1) + " "),
        "fences": to(lambda n: "`" * (n % 1000 + 3) + "\n"),
        "indented": to(lambda n: " " * (n % 2000) + "- a\n"),
        "quotes deeper": to(lambda n: ">" * (n % 2000) + " a\n"),
        "rows": "|" + "a|" * 100 + "\n|" + "-|" * 100 + "\n" + to(lambda _: "|" * 101 + "\n"),
        "columns": "|" + "a|" * (size // 8) + "\n|" + "-|" * (size // 8) + "\n" + "|a\n" * (size // 8),
        "underlines": to(lambda n: f"h{n}\n" + "!\"#$%&'()*+,-./:;<=>?@[]^`{|}~"[n % 30] * 4 + "\n"),
        "globs": "---\nglobs: " + to(lambda n: f"a{n},") + "\n---\na\n",
        "packages": to(lambda n: f'[[package]]\nname = "a{n}"\nversion = "1"\n'),
        "pnpm": to(lambda n: " " * (n % 500) + f"a{n}:\n"),
        "toml": to(lambda n: f"a{n} = 1\n"),
        "dotted": to(lambda n: f"[a.b{n}]\n"),
        "dots": to(lambda _: "a.") + "b = 1\n",
        "events": to(lambda n: json.dumps({"at": n, "e": "x"}) + "\n"),
        "json": "[" + to(lambda n: f"{n},") + "0]",
        "numbers": to(lambda n: str(n % 10)),
        "diff": "--- a\n+++ b\n" + to(lambda n: f"-a{n}\n+b{n}\n"),
        "locations": to(lambda n: f"<url><loc>https://a/{n}</loc></url>"),
        "articles": to(lambda n: f"<article>a{n}"),
        "failures": to(lambda n: f"~~~\n$ a{n}\nerror: b{n}\n~~~\n"),
        "imports": to(lambda n: f"- [a{n}](b{n}.md) x\n"),
    }


def texts_of(size: int) -> Iterator[tuple[str, str]]:
    """Name and text of every pump in every frame."""
    for pump in PUMPS:
        for frame in dict.fromkeys((*FRAMES, *LEADS)):
            yield f"{pump!r} in {frame!r}", frame.format(pump * (size // len(pump)))
    for line in LINES:
        for lead in ("", "x\n\n", "```\n", "---\n", '"""', "/*", "$ a\n"):
            yield f"{line!r} after {lead!r}", lead + line * (size // len(line))
    for nest in NESTS:
        yield f"nested {nest!r}", nest * (size // len(nest)) + "a"
        yield f"nested {nest!r} ends", nest * (size // len(nest)) + "a\n\nb\n"
    yield from growing(size).items()


def _entry(path: str) -> Callable[[str], object]:
    return lambda text: read_entry(path, text.encode())


def _split(text: str) -> object:
    return chunks.split(read_entry("p/docs/1.0/a.md", text.encode()), Chunking(256, 400, 128))


def _script(text: str) -> object:
    entry = read_entry("p/scripts/unversioned/a.sh", text.encode())
    return chunks.split(entry, Chunking(256, 400, 128))


def _merge(text: str) -> object:
    data = text.encode()
    half = len(data) // 2
    return merge.merge_file("p/lessons/a.md", data, b"x\n" + data[:half] + b"\ny\n" + data[half:], data + b"\nz\n")


def _diff(text: str) -> object:
    half = len(text) // 2
    return history.unified("a", text.encode(), (text[:half] + "\nx\n" + text[half:] + "\ny\n").encode())


def _docx(text: str) -> object:
    inside = io.BytesIO()

    body = "".join(f"<w:p><w:r><w:t>{html.escape(one)}</w:t></w:r></w:p>" for one in text.split("\n"))
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with zipfile.ZipFile(inside, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
        made.writestr(
            "_rels/.rels", '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
        )
    return web.convert("a.docx", ".docx", inside.getvalue())


def _transcript(text: str) -> object:
    to = Transcript()
    to.take(1, {"message": {"role": "user", "content": text}})
    to.take(
        2,
        {
            "type": "response_item",
            "payload": {"type": "function_call", "call_id": "a", "arguments": json.dumps({"command": text})},
        },
    )
    to.take(3, {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "a", "output": text}})
    to.take(
        4,
        {
            "type": "gemini",
            "toolCalls": [
                {
                    "id": "a",
                    "status": "success",
                    "args": {"command": "a"},
                    "result": [{"functionResponse": {"response": {"output": text}}}],
                }
            ],
        },
    )
    to.take(
        5,
        {
            "type": "response_item",
            "payload": {"type": "custom_tool_call", "call_id": "b", "name": "apply_patch", "input": text},
        },
    )
    return to.closed()


def _mapping(text: str) -> object:
    from ai_lessons.model.markdown import edit

    return edit(f"---\n{text}\n---\n", {"title": "a", "tags": ["x"]})


def _anchors(path: str) -> Callable[[str], object]:
    """What a file defines, and a name in it."""
    return lambda text: (anchors.names(path, text), anchors.definition(path, text, "a.b"))


def _checked(text: str) -> object:
    check = rule_checks.check_of({"check": {"regex": r"\w+\.get\(.*\)", "unless": "a=", "bad": "a.get()", "good": "b"}})
    assert check
    return list(rule_checks.matches(check, text))


TARGETS: dict[str, Callable[[str], object]] = {
    "lesson": _entry("p/lessons/a.md"),
    "doc": _split,
    "script": _script,
    "sections": chunks.sections,
    "code blocks": chunks.code_blocks,
    "description": lambda text: frontmatter.description(text.encode()),
    "edit": _mapping,
    "merge": _merge,
    "diff": _diff,
    "side by side": pages.side_by_side,
    "page": pages.markdown,
    "rst": markdown.rst,
    "adoc": markdown.adoc,
    "notebook": markdown.notebook,
    "html": lambda text: web.convert("a.html", ".html", text.encode()),
    "docx": _docx,
    "sitemap": web.locations,
    "note": lambda text: importers.note("a.md", text.encode(), None, NOW),
    "memory": lambda text: importers.memory("a.md", text.encode(), None, NOW),
    "memories": lambda text: importers.memories(text, "a", None, NOW),
    "linked": lambda text: importers.linked([importers.note("a.md", text.encode(), None, NOW)]),
    "instructions": lambda text: exporters.instructions("AGENTS.md", text.encode(), split_up=True),
    "instruction": lambda text: [
        exporters.rule(one, None, NOW) for one in exporters.instructions(".cursor/rules/a.mdc", text.encode())
    ],
    "matter": exporters.matter_of,
    "told": lambda text: exporters.section("L-A", read_entry("p/lessons/a.md", text.encode()), 2),
    "is ours": lambda text: exporters.is_exported_rule(text.encode()),
    "bundle": lambda text: exporters.read(text, "a"),
    "one line": texts.one_line,
    "escaped": texts.escaped,
    "slug": layout.slug,
    "telling": transcripts.telling,
    "headline": transcripts.headline,
    "shape": transcripts.shape,
    "looks failed": transcripts.looks_failed,
    "recorded": lambda text: list(transcripts.recorded(read_entry("p/lessons/a.md", text.encode()))),
    "before failure": transcripts.before_failure,
    "programs": transcripts.programs,
    "attempts": transcripts.attempts,
    "adds a lesson": transcripts.adds_a_lesson,
    "query": catalog.parse_query,
    "gist": catalog.gist,
    "pattern": lessons.parse,
    "versions": lambda text: versions.score([text], ["1.0", text]),
    "listed": versions.listed,
    "glob": lambda text: layout.matches(text[:3000], "a/b.py"),
    "config": config.parse_config,
    "json edited": lambda text: agent_hosts.with_added(text, {"a": [1]}),
    "uv.lock": lambda text: packages.packages("uv.lock", text),
    "requirements.txt": lambda text: packages.packages("requirements.txt", text),
    "package-lock.json": lambda text: packages.packages("package-lock.json", text),
    "pnpm-lock.yaml": lambda text: packages.packages("pnpm-lock.yaml", text),
    "go.mod": lambda text: packages.packages("go.mod", text),
    "pyproject.toml": lambda text: packages.direct("pyproject.toml", text),
    "ties": lambda text: answers.ties(text, ["my shop"]),
    "transcript": _transcript,
    "hidden words": ranking.with_parts,
    "names": ranking.names,
    "question": ranking.question,
    "phrase": lambda text: re.search(ranking.pattern(text[:500]), ranking.fold(text)),
    "snippet": lambda text: ranking.snippet(text, "merge a b"),
    "secrets": secrets.secrets_in,
    "detectors": lambda text: [list(detector.analyze_string(text)) for detector in secrets.detectors()],
    "overlap": lambda text: terms.likeness(text, text + " a"),
    "events": lambda text: statistics.read_lines(text.encode()),
    "terminal": output.clean,
    "clip": lambda text: output.clip(text, 80),
    "line": output.line,
    "table": lambda text: output.columns([[text, text]], output.View()),
    "rendered diff": lambda text: interfaces_text.diff(text, output.View()),
    "commit": lambda text: git_commits.RawCommit(b"a" * 40 + b" " + b"b" * 40 + b"\n" + text.encode()),
    "signers": lambda text: signatures.parse_signers(text.encode()),
    **{f"anchors {suffix}": _anchors(f"a.{suffix}") for suffix in ("py", "ts", "rs", "sql", "toml", "json", "yaml")},
    "rule with a check": lambda text: list(
        rule_checks.faults({"check": {"regex": text[:500], "bad": "a", "good": "b"}})
    ),
    "checked": _checked,
}


class Slow(Exception):
    """The time of one try is over."""


def seconds(work: Callable[[str], object], text: str, most: float) -> float:
    """CPU of one try, at most `most`."""

    def stop(*_: object) -> None:
        raise Slow

    signal.signal(signal.SIGPROF, stop)
    began = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, most)
    try:
        with contextlib.suppress(AiLessonsError, ValueError):
            work(text)
    except Slow:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - began


FLOOR, MOST, SIZE = 0.3, 3.0, 1 << 17
"""Seconds below which nothing is compared, and after which a try ends; characters of a text."""


def slow(target: str) -> Iterator[str]:
    """The pumps for which twice the text takes more than 2.5 times the CPU, each with its seconds."""
    work, size = TARGETS[target], SIZE
    warnings.simplefilter("ignore")
    shorter = dict(texts_of(size // 2))
    for name, text in texts_of(size):
        if seconds(work, text, FLOOR) < FLOOR:
            continue
        tries = [(seconds(work, shorter[name], MOST), seconds(work, text, MOST)) for _ in range(2)]
        before, after = (min(column) for column in zip(*tries, strict=True))
        if after >= MOST or after > 2.5 * max(before, FLOOR / 2.5):
            yield f"{name}: {before:.2f} s, {after:.2f} s"
