"""Cutting any text into stretches of bounded size. Knows lines, sentences and words; nothing of Markdown or code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.knowledge.frontmatter import description

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ai_lessons.knowledge.config import Chunking

_TOKEN = re.compile(r"[A-Za-z]{1,7}|[0-9]{1,3}|[^\sA-Za-z0-9]")
_SEAMS = (
    re.compile(r"\n[ \t]*\r?\n"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:。！？])\s+"),  # noqa: RUF001 - the full-width ones end sentences too
    re.compile(r"\s+"),
)


class Span(NamedTuple):
    """Characters `start` to `end` of a text, and how many tokens they are estimated to be."""

    start: int
    end: int
    tokens: int
    opens: bool = False


def estimate_tokens(text: str) -> int:
    """How many tokens the default model would make of a text: 0.87 to 1.10 of them for nine texts of ten.

    Counts runs of at most seven letters or three digits, and every other visible character.
    """
    return len(_TOKEN.findall(text))


def span(text: str, start: int, end: int, *, opens: bool = False) -> Span:
    """A stretch of a text with its size. `opens`: something new begins here, better not joined to what was before."""
    return Span(start, end, estimate_tokens(text[start:end]), opens)


def fits(text: str, limit: int) -> bool:
    """True if the text is at most so many tokens; cheap for short texts, as a token is a character or more."""
    return len(text) <= limit or estimate_tokens(text) <= limit


def pieces(text: str, whole: Span, target: int, seam: int = 0) -> list[Span]:
    """Cut a stretch into pieces of at most `target` tokens: at blank lines, else lines, sentences, words, anywhere."""
    if whole.tokens <= target:
        return [whole]
    if seam == len(_SEAMS):
        ends = [*range(whole.start + target, whole.end, target), whole.end]
        return [span(text, start, end) for start, end in zip([whole.start, *ends], ends, strict=False)]
    matches = _SEAMS[seam].finditer(text, whole.start, whole.end)
    starts = [whole.start, *(match.end() for match in matches if whole.start < match.end() < whole.end)]
    result: list[Span] = []
    for start, end in zip(starts, [*starts[1:], whole.end], strict=True):
        part = span(text, start, end)
        for piece in pieces(text, part, target, seam + 1):
            joined = result[-1].tokens + piece.tokens if result else 0
            if result and part is piece and joined <= target:
                result[-1] = Span(result[-1].start, piece.end, joined)
            else:
                result.append(piece)
    return result


def packed(text: str, blocks: Iterable[Span], chunking: Chunking) -> list[Span]:
    """Neighbouring blocks joined up to the target; one that is over the limit alone is cut into pieces.

    A stretch below the minimum may grow up to the limit; after one that is not, a block that `opens` starts a new one.
    """
    result: list[Span] = []
    last: Span | None = None
    for block in blocks:
        if block.tokens > chunking.limit:
            result += pieces(text, block, chunking.target)
            last = None
            continue
        joined = Span(last.start, block.end, last.tokens + block.tokens, last.opens) if last else block
        small = last is not None and last.tokens < chunking.minimum
        if last and joined.tokens <= (chunking.limit if small else chunking.target) and (small or not block.opens):
            result[-1] = last = joined
        else:
            result.append(last := block)
    return result


_BLOCK = re.compile(r"\n[ \t]*\r?\n(?=[^\s)\]}])(?!(?:fi|done|esac|end|else|elif|except|finally|EOF)\b)")
_DEFINITION = re.compile(
    r"^(?:export\s+|pub\s+|public\s+|static\s+|async\s+|default\s+)*"
    r"(?:(?:def|class|function|func|fn|sub|proc|module|interface|struct)\s+(\w[\w:.\-]*)|(\w[\w:.\-]*)\s*\(\s*\)\s*\{)",
    re.MULTILINE,
)
_NOT_ABOUT = re.compile(r"(?:vim|author|date|copyright|\(c\)|licen[cs]e|spdx|https?|shellcheck|[\w-]+=)", re.IGNORECASE)
_SUMMARY = 120
_NAMES = 3


def cut_code(code: str, chunking: Chunking) -> list[Span]:
    """Blocks of a script joined up to the target; a function begins a new stretch."""
    starts = [0, *(match.end() for match in _BLOCK.finditer(code))]
    blocks = (
        span(code, start, end, opens=_DEFINITION.search(code, start, end) is not None)
        for start, end in zip(starts, [*starts[1:], len(code)], strict=True)
    )
    return packed(code, blocks, chunking)


def summary(code: str) -> str:
    """The first sentence-like line of the docstring or leading comment; empty if there is none."""
    lines = (line.strip() for line in description(code.encode()).splitlines())
    return next((line[:_SUMMARY] for line in lines if len(line.split()) > 2 and not _NOT_ABOUT.match(line)), "")


def names(code: str) -> str:
    """What is defined at the left margin of a stretch of code, the first few names."""
    defined = [match[1] or match[2] for match in _DEFINITION.finditer(code)]
    return ", ".join(defined[:_NAMES])
