"""Sentences that say what to do: found in texts of people, and made into the one line of an entry. Pure."""

from __future__ import annotations

from ai_lessons.model import expression

LINE = 80  # Characters of a decision in one line (design 17): a hundred of them fit into a start
_HEADING_WORDS = 5  # A title of so many words, such as `Code Quality`, may name a subject and say nothing

_IMPERATIVES = frozenset({
    "add", "allow", "answer", "append", "apply", "ask", "assert", "assume", "avoid", "begin", "branch", "break",
    "build", "call", "catch", "change", "check", "choose", "clean", "close", "commit", "compare", "confirm",
    "convert", "copy", "cover", "create", "declare", "default", "define", "delete", "describe", "disable",
    "document", "drop", "edit", "enable", "ensure", "exclude", "expect", "explain", "export", "extract", "fetch",
    "find", "fix", "follow", "format", "generate", "get", "give", "group", "handle", "hide", "ignore", "implement",
    "import", "include", "inject", "install", "inspect", "keep", "launch", "leave", "let", "limit", "link", "lint",
    "list", "load", "log", "look", "make", "mark", "match", "measure", "merge", "mock", "move", "name", "note",
    "omit", "open", "organize", "pass", "pin", "place", "plan", "prefer", "prefix", "provide", "pull", "push",
    "put", "raise", "read", "rebase", "refer", "reject", "release", "remove", "rename", "repeat", "replace",
    "report", "request", "require", "reset", "resolve", "return", "reuse", "review", "revert", "run", "save",
    "search", "see", "send", "separate", "set", "show", "skip", "sort", "split", "squash", "start", "state",
    "stay", "stick", "stop", "store", "structure", "submit", "sync", "tag", "take", "tell", "test", "throw", "treat",
    "try", "turn", "type", "update", "use", "validate", "verify", "wait", "wrap", "write",
})  # fmt: skip
"""Words that an order begins with. Some are nouns, too (`Test coverage`): those count only before another word."""

_NOUNS_TOO = frozenset({
    "branch", "build", "change", "commit", "copy", "default", "document", "export", "format", "group", "import",
    "link", "list", "log", "mark", "match", "name", "note", "place", "plan", "prefix", "release", "report",
    "request", "review", "search", "state", "structure", "tag", "test", "type", "update",
})  # fmt: skip

_ORDERS = expression(
    r"(?i)(?<![\w'])(?:must|should|shall|never|always|only|need(?:s|ed)? (?:to|a|an|tests?)|needs|required?|requires"
    r"|do not|don['\u2019]t|cannot|can['\u2019]t|forbidden|prohibited|mandatory|not allowed|may not|no longer"
    r"|instead of|rather than|prefer(?:red)?|avoid|make sure|at (?:most|least)"
    r"|nie|niemals|immer|muss|müssen|soll(?:en)?|darf nicht|verboten|nur"
    r"|jamais|toujours|doit|doivent|interdit|nunca|siempre|debe(?:n)?|prohibido|deve|devono|sempre|mai)(?!\w)"
    r"|禁止|必须|不要|务必|应该|しないで|必ず|してください|すべき|반드시|하지 마"
)
_MARKS = expression(r"^(?:[-*+>]|\d{1,3}[.)]|#{1,6}|\[[ xX]\])\s+")
_ENDS = expression(r"(?<=[.!?;])\s+(?=[\"'`(*_]*[A-Z0-9`\"'])|(?<=[\u3002\uff01\uff1f])")
_FIRST_WORD = expression(r"[`*_\"'(]*([A-Za-z]+)(['\u2019]t)?\b")
_MOST_ROWS = 2_000  # Rows of a text that are looked at: a longer one is no statement


def sentences(text: str) -> list[str]:
    """The sentences of a text in their order, without marks of lists and headings; code blocks are left out."""
    result: list[str] = []
    paragraph: list[str] = []
    fenced = False
    for row in [*text.split("\n", _MOST_ROWS)[:_MOST_ROWS], ""]:
        stripped = row.strip()
        fence = stripped.startswith(("```", "~~~"))
        item = _MARKS.match(stripped) is not None
        if fence or fenced or item or not stripped:
            result += _parted(" ".join(paragraph))
            paragraph = []
        if fence:
            fenced = not fenced
        elif stripped and not fenced:
            paragraph.append(_unmarked(stripped))
            if stripped.startswith("#"):
                result += _parted(paragraph.pop())
    return result


def _unmarked(row: str) -> str:
    """A row without the marks at its beginning: `- [ ] 1. Use x` is `Use x`."""
    for _ in range(4):
        mark = _MARKS.match(row)
        if mark is None:
            break
        row = row[mark.end() :]
    return row


def _parted(paragraph: str) -> list[str]:
    parts = (part.strip() for part in _ENDS.split(paragraph))
    return [part for part in parts if part]


def prescribes(sentence: str) -> bool:
    """Whether a sentence says what to do: it begins with an order, or has a word such as `must`, `never`, `only`.

    >>> prescribes("Use uv"), prescribes("Functions must have type hints"), prescribes("Code Quality")
    (True, True, False)
    """
    if sentence.rstrip().endswith("?"):
        return False
    if _ORDERS.search(sentence):
        return True
    first = _FIRST_WORD.match(sentence)
    if first is None:
        return False
    word = first[1].lower()
    if word not in _IMPERATIVES:
        return False
    after = sentence[first.end() :].strip(" *_")
    if not after or after.startswith(":"):
        return False  # `Note: …`, or a heading of one word
    # `Test Coverage` is a heading, `Test each branch` an order
    return word not in _NOUNS_TOO or (len(after.split()) > 1 and not after[:1].isupper())


def is_heading(title: str) -> bool:
    """Whether a title may only name a subject: it is short and says nothing of what to do."""
    return len(title.split()) <= _HEADING_WORDS and not prescribes(title)


def says(title: str, text: str) -> bool:
    """Whether an entry prescribes: its title or a sentence of its text says what to do."""
    return prescribes(title) or any(prescribes(sentence) for sentence in sentences(text))


def decision(title: str, text: str, width: int = LINE) -> str:
    """An entry in one line of about `width` characters, cut at a word: what it says to do.

    The title, and where that may be a heading, the first sentence that prescribes behind it.
    """
    line = title
    if is_heading(title):
        order = next((sentence for sentence in sentences(text) if prescribes(sentence)), "")
        if order and order.casefold() != title.casefold():
            line = f"{title}: {order}"
    return shortened(line, width)


def shortened(line: str, width: int) -> str:
    """A line of at most `width` characters, cut at a word; `…` stands for what is missing."""
    line = " ".join(line.split())
    if len(line) <= width:
        return line
    start = line[: width - 1]
    at_a_word, _, _ = start.rpartition(" ")
    return f"{(at_a_word if len(at_a_word) > width // 2 else start).rstrip(' ,;:.')}…"
