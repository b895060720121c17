"""Words that the full-text tokenizer would not find: parts of names, names of small words, pairs of CJK characters.

The tokenizer of the index splits at everything that is not a letter or digit and drops stop words. So `snake_case`,
`ORA-00942` and `a/path` come apart by themselves, but `setUserName`, `TS2345` and a run of Chinese are one word each,
with the ASCII words in it, and of `--all` and `is_not` nothing is left. What is missing is appended to the indexed text
and to the query alike (measured for camelCase: +0.06 nDCG@10 on questions about code). Pure.
"""

from __future__ import annotations

import re

CAMEL_WORD = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*|[A-Z]{2,}[a-z][A-Za-z0-9]*)")
CAMEL_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CODE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{1,8})([0-9]{3,})(?![A-Za-z0-9])")
CJK = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
CJK_RUN = re.compile(CJK + "{2,}")
BESIDE_CJK = re.compile(rf"(?<={CJK})[A-Za-z0-9]+|(?<![A-Za-z0-9])[A-Za-z0-9]+(?={CJK})")
NAME = re.compile(
    r"(?<![\w-])--?[A-Za-z][A-Za-z0-9]*(?:[._/:-]+[A-Za-z0-9]+)*"
    r"|(?<![A-Za-z0-9])[A-Za-z0-9]+(?:[._/:-]+[A-Za-z0-9]+)+"
)
"""A flag, or words with nothing but the marks of a name between them."""

LONGEST_NAME = 100
JOINT = "0"
"""What stands for the marks of a name in its whole form, so that this is one word for the tokenizer and no other."""

LOST = frozenset(
    re.findall(
        r"\w+",
        "a about after again against all an and are as at be below between both but by can did do down each few "
        "for from had has have he here how i if in into is it just me more most my no nor not now of off on or "
        "other out over own s same she so some such t than that the their then there these they this through to "
        "too under until up was we what when where while who will with you",
    )
)
"""Stop words: those of these that the index drops in fact (seen by asking it for each)."""


def hidden_parts(text: str) -> list[str]:
    """The parts in order of appearance, each once: `setUserName` gives set, User, Name."""
    parts: dict[str, None] = {}
    for word in CAMEL_WORD.findall(text):
        parts.update(dict.fromkeys(part for part in CAMEL_PART.findall(word) if len(part) > 1))
    for letters, digits in CODE.findall(text):
        parts.update(dict.fromkeys(part for part in (letters, digits) if len(part) > 1))
    for name in NAME.findall(text):
        if whole := _whole(name):
            parts[whole] = None
    for run in CJK_RUN.findall(text):
        parts.update(dict.fromkeys(run[i : i + 2] for i in range(len(run) - 1)))
    parts.update(dict.fromkeys(BESIDE_CJK.findall(text)))
    return list(parts)


def _whole(name: str) -> str:
    """One word for a name that has lost a part to the stop words: `--no-verify` is 0no0verify; else nothing."""
    words = re.split(r"[._/:-]+", name.lower())
    return JOINT.join(words) if len(name) <= LONGEST_NAME and not LOST.isdisjoint(words) else ""


def with_parts(text: str) -> str:
    """The text with its hidden parts on a line below; the text itself if there are none."""
    parts = hidden_parts(text)
    return f"{text}\n{' '.join(parts)}" if parts else text
