"""Web pages, PDF and Word documents as Markdown. What reads them is of the extra `intake`."""

from __future__ import annotations

import logging
import time
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import mammoth  # type: ignore[import-untyped]  # it has no types
import trafilatura
from bs4 import BeautifulSoup
from markdownify import markdownify
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from ai_lessons.errors import InvalidEntry, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bs4 import Tag


logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # our error reports what it cannot read
MOST_PAGES = 5_000  # Of one PDF
MOST_SECONDS = 60  # Of the processor, for all pages of one PDF
MOST_TAGS = 300_000  # Of a page, or inside a Word document. A tag of five bytes takes 50 microseconds and a kilobyte
UNPACKED = 64 * 1024 * 1024  # Bytes of the texts that a Word document may have inside
_NO_TEXT = "script, style, noscript, template, nav, aside, svg, iframe, button, .headerlink, .skip-link"
_BROKEN = (PyPdfError, zipfile.BadZipFile, zlib.error, ValueError, LookupError, TypeError, AttributeError, OSError)
"""What the packages raise at damaged documents, without documenting it."""


def convert(name: str, suffix: str, data: bytes) -> str:
    """The text of a document whose name ends so (a key of `CONVERTERS`). Raises InvalidEntry: damaged, or no text."""
    try:
        text = CONVERTERS[suffix](data)
    except (*_BROKEN, RecursionError) as error:
        raise InvalidEntry([Problem(name, f"cannot be read: {str(error)[:200] or type(error).__name__}")]) from error
    if not text.strip():
        why = "it is locked, or pictures of pages" if suffix == ".pdf" else "it may be made by scripts in a browser"
        raise InvalidEntry([Problem(name, f"there is no text in it: {why}")])
    titled = suffix != ".pdf" or text.startswith("# ")
    return ("" if titled else f"# {name[: -len(suffix)]}\n\n") + text.strip() + "\n"


def _refuse_tags(count: int) -> None:
    if count > MOST_TAGS:
        raise ValueError(f"it has more than {MOST_TAGS:,} tags")


def _html(data: bytes) -> str:
    """What the page marks as its main part, else what an extractor takes for that."""
    _refuse_tags(data.count(b"<"))
    soup = BeautifulSoup(data, "lxml")  # html.parser takes time with the square of what is not closed
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    parts = soup.select("main, [role=main], article")
    main = max(parts, key=lambda part: len(part.get_text()), default=None)
    if main is None:
        text = trafilatura.extract(
            data, output_format="markdown", include_formatting=True, include_links=True, favor_recall=True
        )
        text = text or ""
    else:
        for tag in main.select(_NO_TEXT):
            tag.decompose()
        text = markdownify(str(main), heading_style="ATX", code_language_callback=_language)
    headed = any(row.startswith("# ") for row in text.split("\n"))
    return text if headed or not title or not text.strip() else f"# {title}\n\n{text}"


def _language(code: Tag) -> str:
    """The language of `<pre>`: highlighters write it in a class of it, of its `<code>` or of a tag around it."""
    tags = [code, *code.find_all("code"), *list(code.parents)[:2]]
    classes = (word for tag in tags for word in tag.get("class") or ())
    return next((word.partition("-")[2] for word in classes if word.startswith(("language-", "highlight-"))), "")


def _pdf(data: bytes) -> str:
    """The text page by page, each below a heading of its own."""
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return ""
    title = (reader.metadata.title if reader.metadata else "") or ""
    end = time.process_time() + MOST_SECONDS

    def soon(*_: object) -> None:
        if time.process_time() > end:
            raise ValueError(f"it takes longer than {MOST_SECONDS} seconds")

    texts = (page.extract_text(visitor_operand_before=soon).strip() for page in reader.pages[:MOST_PAGES])
    pages = [f"## Page {number}\n\n{text}" for number, text in enumerate(texts, 1) if text]
    return "\n\n".join([f"# {' '.join(title.split())}", *pages] if title and pages else pages)


def _docx(data: bytes) -> str:
    """The texts in it, unpacked only if they are small enough; pictures are left out."""
    texts, tags = BytesIO(), 0
    with zipfile.ZipFile(BytesIO(data)) as inside, zipfile.ZipFile(texts, "w") as copy:
        parts = [part for part in inside.infolist() if part.filename.endswith((".xml", ".rels"))]
        if sum(part.file_size for part in parts) > UNPACKED:  # a part that is larger than it says does not unpack
            raise ValueError(f"more than {UNPACKED >> 20} MB are packed in it")
        for part in parts:
            text = inside.read(part)
            tags += text.count(b"<")
            _refuse_tags(tags)
            copy.writestr(part.filename, text)
    html = mammoth.convert_to_html(texts, convert_image=mammoth.images.img_element(lambda _: {})).value
    return str(markdownify(html, heading_style="ATX", strip=["img"]))


CONVERTERS: dict[str, Callable[[bytes], str]] = {".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx}
