"""Words that the full-text tokenizer would not find: parts of camelCase names, and pairs of CJK characters.

The tokenizer of the index splits at everything that is not a letter or digit, so `snake_case` and `a.b.c` come apart
by themselves, but `setUserName` and a run of Chinese are one word each. Their parts are appended to the indexed text
and to the query alike (measured: +0.06 nDCG@10 on questions about code). Pure.
"""

from __future__ import annotations

import re

CAMEL_WORD = re.compile(r"[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*")
CAMEL_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CJK_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]{2,}")


def hidden_parts(text: str) -> list[str]:
    """The parts in order of appearance, each once: `setUserName` gives set, User, Name."""
    parts: dict[str, None] = {}
    for word in CAMEL_WORD.findall(text):
        parts.update(dict.fromkeys(part for part in CAMEL_PART.findall(word) if len(part) > 1))
    for run in CJK_RUN.findall(text):
        parts.update(dict.fromkeys(run[i : i + 2] for i in range(len(run) - 1)))
    return list(parts)


def with_parts(text: str) -> str:
    """The text with its hidden parts on a line below; the text itself if there are none."""
    parts = hidden_parts(text)
    return f"{text}\n{' '.join(parts)}" if parts else text
