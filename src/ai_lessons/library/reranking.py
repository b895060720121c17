"""The best matches of a search put into a new order by a reranker, where a search asks for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.index.ranking import Match
    from ai_lessons.index.reranking import Reranker
    from ai_lessons.library.opened import Reading

READ = 30
"""Matches that are read at least. A cross-encoder reads each with the question: that is its cost."""


def reranked(parts: Reading, question: str, matches: Sequence[Match], limit: int) -> tuple[Match, ...]:
    """The best of the matches with the reranker's score in the place of theirs; the others are left out.

    Raises:
        ModelUnavailable, UsageError: there is no such reranker.
    """
    best = matches[: max(READ, limit)]
    reranker = _reranker(parts)
    lights = parts.catalog.many(match.entry_id for match in best)
    known = [match for match in best if match.entry_id in lights]
    texts = [f"{lights[match.entry_id].title}\n{match.heading}\n{match.text}" for match in known]
    scores = reranker.scores(question, texts) if texts else []
    scored = [replace(match, score=score) for match, score in zip(known, scores, strict=True)]
    return tuple(sorted(scored, key=lambda match: (-match.score, match.entry_id)))


def _reranker(parts: Reading) -> Reranker:
    from ai_lessons.index import reranking

    named = parts.options.reranker or reranking.DEFAULT
    folder = parts.options.cwd / Path(named).expanduser()
    return reranking.load_reranker(
        str(folder) if folder.is_dir() else named, parts.options.cache_dir, offline=parts.options.offline
    )
