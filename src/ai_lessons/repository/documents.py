"""Web pages, PDF and Word documents as Markdown. What reads them is of the extra `intake`."""

from __future__ import annotations

import logging
import zipfile
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import mammoth  # type: ignore[import-untyped]  # it has no types
import trafilatura
from bs4 import BeautifulSoup, Tag
from markdownify import markdownify
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from ai_lessons.errors import InvalidEntry, Problem

if TYPE_CHECKING:
    from collections.abc import Callable


logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it cannot read is said in our words
MOST_PAGES = 5_000  # Of one PDF
UNPACKED = 256 * 1024 * 1024  # Bytes that a Word document may have inside
_NO_TEXT = "script, style, noscript, template, nav, aside, svg, iframe, button, .headerlink, .skip-link"
_BROKEN = (PyPdfError, zipfile.BadZipFile, zlib.error, ValueError, LookupError, TypeError, AttributeError, OSError)
"""What the packages raise at documents that are damaged: they say it of none."""


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


def _html(data: bytes) -> str:
    """What the page marks as its main part, else what an extractor takes for that."""
    soup = BeautifulSoup(data, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    main = max(soup.select("main, [role=main], article"), key=lambda one: len(one.get_text()), default=None)
    if main is None:
        text = (
            trafilatura.extract(
                data, output_format="markdown", include_formatting=True, include_links=True, favor_recall=True
            )
            or ""
        )
    else:
        for one in main.select(_NO_TEXT):
            one.decompose()
        text = markdownify(str(main), heading_style="ATX", code_language_callback=_language)
    headed = any(row.startswith("# ") for row in text.split("\n"))
    return text if headed or not title or not text.strip() else f"# {title}\n\n{text}"


def _language(code: Tag) -> str:
    """What `<pre>`, its `<code>` or what is around it says that the code is, as highlighters write it in a class."""
    near = [code, *code.find_all("code"), *list(code.parents)[:2]]
    classes = (word for one in near for word in one.get("class") or ())
    return next((word.partition("-")[2] for word in classes if word.startswith(("language-", "highlight-"))), "")


def _pdf(data: bytes) -> str:
    """The text page by page, each below a heading of its own."""
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        return ""
    title = (reader.metadata.title if reader.metadata else "") or ""
    texts = (page.extract_text().strip() for page in reader.pages[:MOST_PAGES])
    pages = [f"## Page {number}\n\n{text}" for number, text in enumerate(texts, 1) if text]
    return "\n\n".join([f"# {' '.join(title.split())}", *pages] if title and pages else pages)


def _docx(data: bytes) -> str:
    with zipfile.ZipFile(BytesIO(data)) as inside:
        if sum(one.file_size for one in inside.infolist()) > UNPACKED:
            raise ValueError(f"more than {UNPACKED >> 20} MB are packed in it")
    found = mammoth.convert_to_html(BytesIO(data), convert_image=mammoth.images.img_element(lambda _: {}))
    return str(markdownify(found.value, heading_style="ATX", strip=["img"]))


CONVERTERS: dict[str, Callable[[bytes], str]] = {".html": _html, ".htm": _html, ".pdf": _pdf, ".docx": _docx}
