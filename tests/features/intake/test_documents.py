import tracemalloc
import zipfile
from io import BytesIO

import pytest

from ai_lessons.errors import InvalidEntry
from ai_lessons.features.intake import documents
from ai_lessons.features.intake.documents import convert
from documents_made import docx, pdf, put_zeros

PAGE = b"""<!doctype html><html><head><title>Retries - Tool</title></head><body><nav><a href="/">Home</a></nav>
<main><h1>Retries<a class="headerlink" href="#r">P</a></h1><p>Retry with
<code>--retries 3</code>, see <a href="/b">more</a>.</p>
<h2>Backoff</h2><div class="highlight-sh"><pre>tool --retries 3
</pre></div><table><tr><th>flag</th><th>does</th></tr><tr><td>-r</td><td>retry</td></tr></table>
<script>alert(1)</script></main><footer>Imprint</footer></body></html>"""


def test_the_main_part_of_a_page_becomes_markdown() -> None:
    text = convert("a.html", ".html", PAGE)
    assert text.startswith(
        "# Retries\n\nRetry with\n`--retries 3`, see [more](/b).\n\n## Backoff\n"
    )
    assert "```sh\ntool --retries 3\n" in text
    assert "| flag | does |" in text
    assert not [word for word in ("Home", "Imprint", "alert") if word in text]


def test_a_page_that_marks_no_main_part_is_read_by_the_extractor() -> None:
    line = "<p>Servers recover, because the wait doubles each time, and this is line {}.</p>"
    body = "".join(map(line.format, range(9)))
    page = f"<html><head><title>Backoff</title></head><body><div>{body}</div></body></html>"
    text = convert("a.html", ".html", page.encode())
    assert text.startswith("# Backoff\n\nServers recover")
    assert "line 8" in text


def test_a_page_in_another_encoding_keeps_its_letters() -> None:
    main = "<body><main><h1>Größe</h1><p>Für alle.</p></main></body>"
    page = f'<html><head><meta charset="iso-8859-1"></head>{main}</html>'
    assert convert("a.html", ".html", page.encode("latin-1")) == "# Größe\n\nFür alle.\n"


def test_a_pdf_is_read_page_by_page() -> None:
    text = convert("r.pdf", ".pdf", pdf("Release 2: retries are on", "Backoff doubles"))
    assert (
        text
        == "# Notes\n\n## Page 1\n\nRelease 2: retries are on\n\n## Page 2\n\nBackoff doubles\n"
    )
    assert convert("r.pdf", ".pdf", pdf("Retries").replace(b"(Notes)", b"(Untitled)")).startswith(
        "# r\n"
    )
    untitled = pdf("Retries").replace(b"/Title", b"/Topic")
    assert convert("Release 2.PDF", ".pdf", untitled) == "# Release 2\n\n## Page 1\n\nRetries\n"


def test_a_word_document_keeps_headings_and_tables() -> None:
    assert (
        convert("r.docx", ".docx", docx("Release 2", "Retries are on."))
        == "# Release 2\n\nRetries are on.\n"
    )


def test_restructured_text_is_read_with_the_roles_and_directives_of_sphinx() -> None:
    text = (
        "=======\n Depth\n=======\n\n.. contents::\n\nSee :ref:`queues <q>`, Calls_ :py:class:`~a.Worker`, |it|.\n\n"
        "Calls\n=====\n\n.. |it| replace:: the *pool*\n\n.. code-block:: python\n   :linenos:\n\n   w_1 = 1\n\n"
        ".. function:: run(job)\n\n   Runs it.\n\n   .. versionadded:: 2\n\n.. include:: /etc/passwd\n\n"
        "+---+---+\n| a | b |\n+===+===+\n| c | d |\n+---+---+\n\n.. toctree::\n\n   pages\n"
    )
    assert [row for row in convert("a.rst", ".rst", text.encode()).split("\n") if row] == [
        "# Depth", "See `queues`, Calls `a.Worker`, the *pool*.", "## Calls", "```python", "w_1 = 1", "```",
        "run(job)", "Runs it.", "| a | b |", "| --- | --- |", "| c | d |",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("*a " * 3_000, "more than 2,000 marks"),
        (
            "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(30)) + "\n|a0|\n",
            "a longer text",
        ),
        (".. |a| replace:: " + "b " * 400 + "\n\n" + "|a|\n\n" * 400, "a longer text"),
        ("- " * 1_000 + "a", "recursion"),
    ],
)
def test_restructured_text_that_would_take_long_is_not_read(text: str, why: str) -> None:
    with pytest.raises(InvalidEntry, match=why):
        convert("a.rst", ".rst", text.encode())


@pytest.mark.parametrize(
    ("suffix", "data", "said"),
    [
        (".html", b"<html><body><script>app()</script></body></html>", "made by scripts"), (".html", b"", "no text"),
        (".pdf", b"%PDF-1.7 nothing", "cannot be read"), (".pdf", b"", "cannot be read"),
        (".pdf", pdf(""), "pictures of pages"), (".docx", b"PK", "cannot be read"), (".docx", b"", "cannot be read"),
        (".docx", docx("One", "a < b"), "cannot be read: not well-formed"),
        (".docx", docx("One", "a \0 b"), "cannot be read: not well-formed"),
        (".docx", docx("One", "Two").replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1"), "encrypted"),
    ],
)  # fmt: skip
def test_what_is_damaged_or_empty_says_so(suffix: str, data: bytes, said: str) -> None:
    with pytest.raises(InvalidEntry, match=said):
        convert("a" + suffix, suffix, data)


def test_a_document_cut_off_anywhere_is_read_or_refused() -> None:
    for suffix, whole in (
        (".pdf", pdf("One", "Two")),
        (".docx", docx("One", "Two")),
        (".html", PAGE),
    ):
        for end in range(0, len(whole), max(1, len(whole) // 60)):
            try:
                convert("a" + suffix, suffix, whole[:end])
            except InvalidEntry:
                continue


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [([1 << 30], "'word/0.xml' in it has more than 32 MB"), ([30 << 20] * 3, "more than 64 MB")],
)
def test_a_word_document_that_unpacks_to_too_much_is_refused(sizes: list[int], reason: str) -> None:
    packed = BytesIO(docx("One", "Two"))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as inside:
        for number, size in enumerate(sizes):
            put_zeros(inside, f"word/{number}.xml", size)
    with pytest.raises(InvalidEntry, match=reason):
        convert("a.docx", ".docx", packed.getvalue())


def test_a_word_document_of_too_many_files_is_refused() -> None:
    packed = BytesIO(docx("One", "Two"))
    with zipfile.ZipFile(packed, "a") as inside:
        for number in range(documents.UNPACKED.members):
            inside.writestr(f"word/{number}.xml", b"")
    with pytest.raises(InvalidEntry, match="more than 10,000 files"):
        convert("a.docx", ".docx", packed.getvalue())


def test_no_more_comes_out_of_a_file_than_its_entry_says() -> None:
    packed = BytesIO(docx("One", "Two"))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as inside:
        put_zeros(inside, "word/0.xml", 1 << 27)
        inside.getinfo("word/0.xml").file_size = 1_000
    tracemalloc.start()
    try:
        with pytest.raises(InvalidEntry, match="cannot be read: Bad CRC-32"):
            convert("a.docx", ".docx", packed.getvalue())
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_a_pdf_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_SECONDS", -1)
    with pytest.raises(InvalidEntry, match="takes longer than -1 seconds"):
        convert("a.pdf", ".pdf", pdf("One"))


def test_of_main_parts_inside_of_each_other_the_outer_one_is_read_and_both_beside_each_other() -> (
    None
):
    page = "<body><p>menu</p><article><h1>A</h1><article><p>first</p></article><p>second</p></article></body>"
    assert convert("a.html", ".html", page.encode()) == "# A\n\nfirst\n\nsecond\n"
    both = b"<html><body><article><h1>A</h1><p>One</p></article><article><p>Two</p></article></body></html>"
    text = convert("a.html", ".html", both)
    assert ("One" in text, "Two" in text) == (True, True)
