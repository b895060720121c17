"""Documents turned into Markdown: HTML, PDF, Word, reStructuredText."""

from __future__ import annotations

import logging
import re
import time
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Any
from xml.parsers.expat import ExpatError

import mammoth  # type: ignore[import-untyped]  # it has no types
import trafilatura
from bs4 import BeautifulSoup
from markdownify import markdownify
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from ai_lessons.connectors.archives import Limits, content, files_within
from ai_lessons.errors import InvalidEntry, Problem
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bs4 import Tag

# our error reports what it cannot read
logging.getLogger("pypdf").setLevel(logging.CRITICAL)
# Of the processor, for all of one document
MOST_SECONDS = 60
# The texts that a Word document may have inside
UNPACKED = Limits(64 << 20, 32 << 20, 10_000)
_NO_TEXT = (
    "script, style, noscript, template, nav, aside, svg, iframe, button, .headerlink, .skip-link"
)
# What the packages raise at damaged documents, without documenting it.
_BROKEN = (
    PyPdfError, zipfile.BadZipFile, zlib.error, ExpatError, ValueError, LookupError, TypeError, AttributeError, OSError,
    RuntimeError,
)  # fmt: skip


def convert(name: str, suffix: str, data: bytes) -> str:
    """The text of a document whose name ends so (a key of `CONVERTERS`).

    Raises InvalidEntry: damaged, or no text.
    """
    try:
        text = CONVERTERS[suffix](data)
    except _BROKEN as error:
        raise InvalidEntry(
            [Problem(name, f"cannot be read: {str(error)[:200] or type(error).__name__}")]
        ) from error
    if not text.strip():
        if suffix == ".pdf":
            why = "it is locked, or pictures of pages"
        else:
            why = "it may be made by scripts in a browser"
        raise InvalidEntry([Problem(name, f"there is no text in it: {why}")])
    text = f"{text.strip()}\n"
    if suffix == ".pdf" and not text.startswith("# "):
        # most have no title but their name
        return f"# {name[: -len(suffix)]}\n\n{text}"
    return text


def _refuse_tags(count: int) -> None:
    """Of a page, or of what is inside a Word document."""
    if count > 300_000:
        # a tag of five bytes takes 50 microseconds and a kilobyte: 15 seconds and 300 MB
        raise ValueError("it has more than 300,000 tags")


def _html(data: bytes) -> str:
    """What the page marks as its main part, else what an extractor takes for that."""
    _refuse_tags(data.count(b"<"))
    # html.parser takes time with the square of what is not closed
    soup = BeautifulSoup(data, "lxml")
    title = ""
    if soup.title:
        title = soup.title.get_text(" ", strip=True)
    main = _main_parts(soup)
    if main:
        for part in main:
            for tag in part.select(_NO_TEXT):
                tag.decompose()
        whole = "\n".join(map(str, main))
        text = markdownify(whole, heading_style="ATX", code_language_callback=_language)
    else:
        text = _extracted(data)
    headed = any(row.startswith("# ") for row in text.split("\n"))
    if headed or not title or not text.strip():
        return text
    return f"# {title}\n\n{text}"


def _main_parts(soup: BeautifulSoup) -> list[Tag]:
    """The articles of a page, or the longest of what it marks as its main part."""
    parts = soup.select("main, [role=main]") or soup.select("article")
    outer = [part for part in parts if not _is_within(part, parts)]
    if outer and outer[0].name != "article":
        return [max(outer, key=lambda part: len(part.get_text()))]
    return outer


def _is_within(part: Tag, parts: Sequence[Tag]) -> bool:
    for other in parts:
        if other is not part and other in part.parents:
            return True
    return False


def _extracted(data: bytes) -> str:
    """What an extractor takes for the main part of a page."""
    text = trafilatura.extract(
        data,
        output_format="markdown",
        include_formatting=True,
        include_links=True,
        favor_recall=True,
    )
    return text or ""


def _language(code: Tag) -> str:
    """The language of `<pre>`.

    Highlighters write it in a class of it, of its `<code>` or of a tag around it.
    """
    for tag in (code, *code.find_all("code"), *list(code.parents)[:2]):
        for word in tag.get("class") or ():
            if word.startswith(("language-", "highlight-")):
                return str(word.partition("-")[2])
    return ""


_UNTITLED = expression(r"(?i)untitled[\W\d]*")
_BROKEN_WORD = expression(r"(?<=[^\W\d_])(?:-|\xad)\n(?=[^\W\dA-Z_])")


def _pdf(data: bytes) -> str:
    """The text page by page, each below a heading of its own."""
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return ""
    title = ""
    if reader.metadata:
        title = " ".join((reader.metadata.title or "").split())
    if _UNTITLED.fullmatch(title):
        title = ""
    end = time.process_time() + MOST_SECONDS

    def soon(*_: object) -> None:
        if time.process_time() > end:
            raise ValueError(f"it takes longer than {MOST_SECONDS} seconds")

    pages = []
    # no manual has 5,000 pages
    for number, page in enumerate(reader.pages[:5_000], 1):
        text = page.extract_text(visitor_operand_before=soon).strip()
        if text:
            pages.append(f"## Page {number}\n\n{_BROKEN_WORD.sub('', text)}")
    if title and pages:
        pages.insert(0, f"# {title}")
    return "\n\n".join(pages)


def _docx(data: bytes) -> str:
    """The texts in it, unpacked only if they are small enough; pictures are left out."""
    texts, tags = BytesIO(), 0
    with zipfile.ZipFile(BytesIO(data)) as inside, zipfile.ZipFile(texts, "w") as copy:
        for part in files_within(inside, UNPACKED, lambda name: name.endswith((".xml", ".rels"))):
            text = content(inside, part)
            tags += text.count(b"<")
            _refuse_tags(tags)
            copy.writestr(part.filename, text)
    html = mammoth.convert_to_html(
        texts, convert_image=mammoth.images.img_element(lambda _: {})
    ).value
    return str(markdownify(html, heading_style="ATX", strip=["img"]))


_ROLE = expression(r":([A-Za-z][\w:+.-]{0,60}):`")
_DIRECTIVE = expression(r"\.\.[ \t]+(?:\|[^|\n]*\|[ \t]+)?([A-Za-z][\w:+.-]*)::")
_CODE = frozenset({"code", "code-block", "sourcecode"})
_SILENT = frozenset(
    {"contents", "currentmodule", "highlight", "image", "index", "tabularcolumns", "toctree"}
)


_SETTINGS_OF_DOCUTILS = {
    "_disable_config": True, "file_insertion_enabled": False, "raw_enabled": False, "report_level": 5,
    "halt_level": 5, "doctitle_xform": False, "initial_header_level": 1, "syntax_highlight": "none",
    "stylesheet_path": "", "embed_stylesheet": False, "output_encoding": "unicode",
}  # fmt: skip


def _rst(data: bytes) -> str:
    """By docutils, without what it would include.

    Raises ImportError: it is not here; ValueError: it takes too long.
    """
    from docutils import nodes
    from docutils.core import publish_doctree, publish_from_doctree
    from docutils.parsers.rst import Parser

    end = time.process_time() + MOST_SECONDS

    class Bounded(Parser):  # type: ignore[misc]  # it has no types
        def parse(self, text: str, document: Any) -> None:
            def at_each_line(*_: object) -> None:
                if time.process_time() > end:
                    raise ValueError(f"it takes longer than {MOST_SECONDS} seconds")

            document.note_source = at_each_line
            super().parse(text, document)
            texts = document.substitution_defs
            uses = (
                texts.get(use["refname"]) for use in document.findall(nodes.substitution_reference)
            )
            nested = any(text.next_node(nodes.substitution_reference) for text in texts.values())
            # substitutions may make a text five times as long; nested ones make gigabytes
            if nested or sum(len(use.astext()) for use in uses if use) > 4 * len(text):
                raise ValueError("its substitutions make a longer text of it")

    text = data.decode()
    # docutils spends time with the square of the marks in a paragraph or table
    if any(sum(map(block.count, "`*|_+")) > 2_000 for block in re.split(r"\n[ \t]*\n", text)):
        raise ValueError("a paragraph has more than 2,000 marks")
    _take_as_text(text)
    tree = publish_doctree(text, parser=Bounded(), settings_overrides=_SETTINGS_OF_DOCUTILS)
    for literal in tree.findall(nodes.literal):
        literal["classes"].append("code")
    for inside in [link for link in tree.findall(nodes.reference) if "refid" in link]:
        inside.replace_self(inside.children)
    html = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS_OF_DOCUTILS)
    as_it_is: Any = {"escape_underscores": False, "escape_asterisks": False}
    body = html[html.index("<body") :]
    return str(markdownify(body, heading_style="ATX", code_language_callback=_language, **as_it_is))


def _take_as_text(text: str) -> None:
    """Let docutils take the roles and directives of a text that it does not know, which are those of Sphinx."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.parsers.rst.languages import en

    class AnyOption(dict[str, Any]):
        def __bool__(self) -> bool:
            return True

        def __missing__(self, _: str) -> type[str]:
            return str

    class Other(Directive):  # type: ignore[misc]
        optional_arguments, final_argument_whitespace, has_content, option_spec = (
            1,
            True,
            True,
            AnyOption(),
        )

        def run(self) -> list[Any]:
            if self.name in _CODE:
                code = "\n".join(self.content)
                return [
                    nodes.literal_block(
                        code, code, classes=[f"highlight-{name}" for name in self.arguments]
                    )
                ]
            whole, argument = nodes.container(), "".join(self.arguments)
            if self.name in _SILENT:
                return []
            if argument and not (
                self.name.startswith(("version", "deprecated")) and len(argument.split()) == 1
            ):
                whole += nodes.paragraph("", "", *self.state.inline_text(argument, self.lineno)[0])
            self.state.nested_parse(self.content, self.content_offset, whole)
            return list(whole.children)

    def role(_: str, raw: str, text: str, *__: object) -> tuple[list[Any], list[Any]]:
        return [
            nodes.literal(
                raw, re.sub(r"(?<!\s)\s*<[^<>]*>$", "", nodes.unescape(text)).lstrip("!~")
            )
        ], []

    for name in {name.lower() for name in _ROLE.findall(text)} - en.roles.keys():
        roles.register_local_role(name, role)
    for name in {name.lower() for name in _DIRECTIVE.findall(text)} - (
        en.directives.keys() - _CODE - _SILENT
    ):
        directives.register_directive(name, Other)


CONVERTERS: dict[str, Callable[[bytes], str]] = {
    ".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx, ".rst": _rst,
}  # fmt: skip
