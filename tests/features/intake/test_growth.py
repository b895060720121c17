"""Pages and documents of hostile shapes are read in time with their length, as `tests/test_growth.py` has it."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from ai_lessons.errors import AiLessonsError

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 30


def sitemap() -> None:
    pytest.importorskip("urllib3")
    from ai_lessons.features.intake.web import locations

    assert locations("<loc>" + " " * 2_000_000 + "</loc>" + "<loc>" * 400_000) == [""]


def html() -> None:
    pytest.importorskip("trafilatura")
    from ai_lessons.features.intake.documents import convert

    for pump in (
        "<article>a",
        "<main>a",
        "<!--",
        "<a ",
        "<a b='",
        "<a b=",
        "</",
        "<?",
        "<div>",
        "<![CDATA[",
    ):
        with suppress(AiLessonsError):
            convert("a.html", ".html", f"<body>{pump * (200_000 // len(pump))}".encode())
    with pytest.raises(AiLessonsError, match="more than 300,000 tags"):
        convert("a.html", ".html", b"<p>a" * 400_000)


def docx() -> None:
    pytest.importorskip("mammoth")
    from ai_lessons.features.intake.documents import convert

    for paragraphs, said in (
        (400_000, "more than 300,000 tags"),
        (20_000_000, "in it has more than 32 MB"),
    ):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("word/document.xml", b"<w:p/>" * paragraphs)
        with pytest.raises(AiLessonsError, match=said):
            convert("a.docx", ".docx", packed.getvalue())


READERS: dict[str, Callable[[], None]] = {
    reader.__name__: reader for reader in (sitemap, html, docx)
}


@pytest.mark.parametrize("reader", READERS)
def test_hostile_documents_are_read_in_time_with_their_length(reader: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, reader], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    READERS[sys.argv[1]]()
