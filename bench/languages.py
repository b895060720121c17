"""How well pages in several languages are found: `python -m bench.languages --data FOLDER [--work FOLDER]`.

Every folder of FOLDER is a language and holds its pages, .html or .md: those of Debian's package `debian-handbook` lie
in `/usr/share/doc/debian-handbook/html`. A set that has queries of its own (tldr_nl2bash) gives its pages. *Lines*: a
line of one page only finds that page first. *Forms*: two or three words of a page, each in another form that
stands elsewhere, find it among the first five. Two words are forms of one where only their ends of up to three letters
differ (in Arabic and Hebrew also their beginnings), so that no stemmer judges itself. At most four pages hold any form
of a word, so that a reader who knows all forms finds the page. Lines that the English edition has are not translated,
and give no words.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter, defaultdict
from html import unescape
from itertools import combinations
from typing import TYPE_CHECKING

from ai_lessons.model.languages import script_language
from ai_lessons.settings import folders
from bench import corpora
from bench.harness import Bar, Outcome, arguments, machine, number, table, world
from bench.inside import provide_model
from bench.retrieval import by_library, document, options, repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

ENGLISH = "en-US"
LANGUAGES = "en-US,de-DE,ru-RU,ar-MA,zh-CN,ja-JP,tldr_nl2bash"
LINES, FORMS = 100, 60
LINE_BAR, FORM_BAR = 0.97, 0.85
AFFIX, KERNEL = (
    3,
    4,
)  # Letters by which two forms differ at an end at most, and that they have in common at least
RARE = 4  # Pages that hold any form of a word at most, for it to tell one
PREFIXING = re.compile(
    "[\u0590-\u06ff]"
)  # Letters of scripts in which short words are written before others as one


def main() -> None:
    """Ask every set, print the table and judge the bars."""
    parser = arguments("How well pages are found in the languages that people write.")
    parser.add_argument(
        "--only", default=LANGUAGES, help="names of the folders, separated by commas"
    )
    parser.add_argument("--pages", type=int, default=150, help="at most this many pages of each")
    parser.add_argument(
        "--text-alone", action="store_true", help="make no vectors, which takes most of the time"
    )
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("pages in several languages cannot be made up: give their folder with --data")
    outcome, rows = Outcome(), []
    print(machine())
    with world(asked.work) as home:
        without = options(home.folder / "caches-without-model")._replace(offline=True)
        chosen = without if asked.text_alone else options(home.folder / "caches")
        if not asked.text_alone:
            provide_model(folders(os.environ).cache, chosen.cache_dir)
        english = {line for _, text in pages_of(asked.data / ENGLISH) for line in text.split("\n")}
        for name in filter(lambda name: (asked.data / name).is_dir(), asked.only.split(",")):
            pages = dict(list(pages_of(asked.data / name))[: asked.pages])
            judged = questions(
                f"{name}-{len(pages)}", pages, english if name != ENGLISH else frozenset()
            )
            repo = repository(home, judged, chosen)
            figures = []
            for way in (without,) if asked.text_alone else (chosen, without):
                with by_library(way)(repo) as ask:
                    ranks = {
                        query: _rank(judged, query, ask(text))
                        for query, text in judged.queries.items()
                    }
                for kind, depth in (("line", 1), ("form", 5)):
                    those = [rank for query, rank in ranks.items() if query.startswith(kind)]
                    figures.append(
                        sum(rank <= depth for rank in those) / len(those) if those else None
                    )
            rows.append([name, str(len(pages)), *map(number, figures)])
            outcome.judge(
                Bar(
                    f"lines of {name} that find their page first",
                    figures[0],
                    LINE_BAR,
                    "",
                    at_least=True,
                )
            )
            if figures[1] is not None:
                outcome.judge(
                    Bar(f"other forms in {name}", figures[1], FORM_BAR, "", at_least=True)
                )
    head = ["pages", "number", "lines", "forms", "lines, text alone", "forms, text alone"]
    print(table("languages", head[: len(rows[0])], rows))
    outcome.finish(check=asked.check)


def _rank(judged: corpora.Judged, query: str, paths: list[str]) -> int:
    ranked = [document(judged, path) for path in paths]
    return next(
        (rank for rank, doc in enumerate(ranked, 1) if doc in judged.grades[query]), len(paths) + 99
    )


def pages_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of the pages of a folder, a line each paragraph."""
    if (folder / "corpus.jsonl").exists():
        yield from (
            (name, f"# {title}\n\n{text}" if title else text)
            for name, title, text in corpora.judged(folder).documents
        )
    for file in sorted(folder.glob("*.md")):
        yield file.stem, file.read_text(encoding="utf-8")
    for file in sorted(folder.glob("sect.*.html")):
        text = file.read_text(encoding="utf-8")
        title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
        body = re.search(r'<div[^>]*class="section".*', text, re.DOTALL)
        plain = re.sub(
            r"(?s)<(script|style|pre).*?</\1>|<ul class=\"docnav\">.*?</ul>",
            " ",
            body[0] if body else text,
        )
        blocks = re.split(r"</?(?:p|div|li|h[1-6]|td|dt|dd|br)\b[^>]*>", plain)
        lines = (" ".join(unescape(re.sub(r"<[^>]+>", "", block)).split()) for block in blocks)
        heading = unescape(title[1]).strip() if title else file.stem
        yield file.stem, f"# {heading}\n\n" + "\n\n".join(line for line in lines if len(line) > 3)


def questions(
    name: str, pages: dict[str, str], english: AbstractSet[str] = frozenset()
) -> corpora.Judged:
    """The pages with their lines and other forms as questions. No forms are taken from the lines in `english`."""
    dice, queries, grades = (
        random.Random(corpora.SEED),
        dict[str, str](),
        dict[str, dict[str, int]](),
    )
    lines = defaultdict(set)
    for page, text in pages.items():
        for line in text.split("\n")[1:]:
            if 25 <= len(line) <= 200 and not line.isupper():
                lines[line].add(page)
    single = sorted((line, *owners) for line, owners in lines.items() if len(owners) == 1)
    for line, page in dice.sample(single, min(LINES, len(single))):
        query = f"line{len(queries)}"
        queries[query], grades[query] = line, {page: 1}
    holding, translated = defaultdict(set), set[str]()
    letters = Counter[str]()
    for page, text in pages.items():
        for line in text.split("\n"):
            words = set(re.findall(r"(?:(?![\u3040-\u9fff])[^\W\d_]){5,}", line.lower()))
            if line not in english:
                translated |= words
                letters.update(map(script_language, filter(str.isalpha, line)))
            for word in words:
                holding[word].add(page)
    script = letters.most_common(1)[0][0] if letters else ""
    forms = _forms({word for word in holding if script_language(word) == script})
    pages_of_forms = {
        word: set().union(*map(holding.__getitem__, (word, *forms[word]))) for word in [*forms]
    }
    order = list(pages)
    for page in dice.sample(order, len(order)):
        pairs = [
            other
            for word in sorted(forms)
            if page in holding[word] and word in translated and len(pages_of_forms[word]) <= RARE
            for other in forms[word]
            if page not in holding[other]
            and other in translated
            and len(pages_of_forms[other]) <= RARE
        ]
        if len(pairs) >= 2 and len(grades) < LINES + FORMS:
            query = f"form{len(queries)}"
            queries[query], grades[query] = (
                " ".join(dice.sample(pairs, min(len(pairs), 3))),
                {page: 1},
            )
    return corpora.Judged(
        name, tuple((page, "", text) for page, text in pages.items()), queries, grades
    )


def _forms(words: set[str]) -> dict[str, list[str]]:
    """For each word the others that differ only at their ends."""
    kernels = defaultdict(set)
    for word in words:
        for start in range(min(AFFIX, len(word) - KERNEL) + 1 if PREFIXING.match(word) else 1):
            kernels[word[start : start + KERNEL + 1]].add(word)
    forms = defaultdict[str, list[str]](list)
    for group in kernels.values():
        for one, other in combinations(sorted(group), 2):
            if _is_form(one, other) and other not in forms[one]:
                forms[one].append(other)
                forms[other].append(one)
    return forms


def _is_form(word: str, other: str) -> bool:
    """Whether a kernel of most of their letters is left without ends of up to three letters."""
    starts = AFFIX + 1 if PREFIXING.match(word) else 1
    start = next((n for n in range(starts) if other[n : n + KERNEL] == word[:KERNEL]), None)
    if start is None:
        return any(word[n : n + KERNEL] == other[:KERNEL] for n in range(1, starts)) and _is_form(
            other, word
        )
    same = next(
        (n for n, letter in enumerate(word) if other[start + n : start + n + 1] != letter),
        len(word),
    )
    return (
        3 * same >= 2 * max(len(word), len(other))
        and max(len(word), len(other) - start) - same <= AFFIX
    )


if __name__ == "__main__":
    main()
