"""A check that a fix shows: it fires on the text before a commit, and is silent on the one after."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.errors import NotFound
from ai_lessons.features.checks.diffs import between, commit_of
from ai_lessons.features.checks.reading import LARGEST
from ai_lessons.features.checks.runner import PER_TEXT, hurry_after
from ai_lessons.features.checks.text_checks import LONGEST_PATTERN, TextCheck, matches, unproven
from ai_lessons.git import external_files, plumbing, worktree
from ai_lessons.model import expression
from ai_lessons.model.plain import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ai_lessons.features.checks.diffs import Hunk
    from ai_lessons.git.worktree import Worktree

# of a part
_LINES = 12
# a person looks through so few other lines before the check is proposed
_ALARMS = 3
# Tokens beside the changed ones, the most telling first
SURROUNDING = (3, 2, 1, 0)

_LESS_TELLING = expression(
    r"(?i)(?:^|/)(?:tests?|docs?|examples?)(?:/|_)|test_|\.(?:md|rst|txt|toml|cfg|json|ya?ml|lock)$"
)
_TOKEN = expression(r"""(?<!\s)(?P<blank>\s*+)(?P<token>\w+|'[^'\n]*'|"[^"\n]*"|[^\w\s])""")


class Token(NamedTuple):
    """A word, a literal or a sign of a line, behind some blanks."""

    blank: str
    text: str


class Drafted(NamedTuple):
    """A check that fires on the text before a fix and is silent after it.

    `alarms`: other lines on which it fires.
    """

    check: dict[str, Any]
    path: str
    alarms: int

    @property
    def sentence(self) -> str:
        """What the fix shows, and how it was tried."""
        what = f"regex {self.check['regex']}"
        if "unless" in self.check:
            what += f" unless {self.check['unless']}"
        tried = "it fires on the text before and not on the one after"
        if self.alarms:
            tried += f"; it fires on {count(self.alarms, 'other line')} now"
        return f"drafted from {self.path}: {what}; {tried}"


def draft(cwd: Path, fix: str) -> Drafted:
    """A check that a commit of the code around a folder shows.

    Raises NotFound: no such commit, or it shows none.
    """
    top = external_files.top_of(cwd)
    if top is None:
        raise NotFound("git repository around", str(cwd), hint="stand in the code that was fixed")
    return draft_from(worktree.locate(top), fix)


def draft_from(git: Worktree, fix: str) -> Drafted:
    """As `draft`, for a repository."""
    after = commit_of(git, fix)
    before = commit_of(git, f"{after}^")
    hunks = [hunk for hunk in between(git, before, after) if any(map(str.strip, hunk.old))]
    hunks.sort(key=lambda hunk: bool(_LESS_TELLING.search(hunk.path)))
    # a larger commit is no fix of one thing
    for hunk in hunks[:30]:
        for check in _telling_checks(git, before, after, hunk):
            alarms = _alarms(git, after, check)
            if alarms <= _ALARMS:
                return Drafted(_as_stated(check), hunk.path, alarms)
    why = "it takes no line away"
    if hunks:
        why = "nothing that it took away tells the text before from other lines"
    example = "--check '{files: …, regex: …, bad: …, good: …}'"
    raise NotFound("check in the fix", fix, hint=f"{why}; write one: {example}")


def _telling_checks(git: Worktree, before: str, after: str, hunk: Hunk) -> Iterator[TextCheck]:
    """The checks of a part of a fix that tell the file before from the one after."""
    old, new = text_at(git, before, hunk.path), text_at(git, after, hunk.path)
    first_behind = hunk.start + max(len(hunk.new) - 1, 0)
    behind = new.split("\n")[first_behind:]
    for check in drafts(hunk.path, hunk.old, hunk.new, behind):
        if any(matches(check, old, hunk.path)) and not any(matches(check, new, hunk.path)):
            yield check


def _as_stated(check: TextCheck) -> dict[str, Any]:
    """A drafted check as a person writes it: one file and one sample, without what is empty."""
    fields: dict[str, Any] = {}
    for key, value in check._asdict().items():
        if value:
            fields[key] = value[0] if isinstance(value, tuple) else value
    return fields


def text_at(git: Worktree, commit: str, path: str) -> str:
    """The text of a file in a commit; empty if it is not there, or too large to be looked at."""
    text = plumbing.run(git, "cat-file", "blob", f"{commit}:{path}").out.decode("utf-8", "replace")
    return text if len(text) <= LARGEST else ""


def _alarms(git: Worktree, commit: str, check: TextCheck) -> int:
    """On how many lines of the commit a check fires; counted no farther than needed."""
    count = 0
    globs = [f":(glob)**/{glob}" for glob in check.files]
    asked = ("grep", "-l", "-z", "-F", "-I", "-e", telling_word(check.regex), commit, "--", *globs)
    for name in plumbing.run(git, *asked).names:
        path = name.partition(":")[2]
        text = text_at(git, commit, path)
        count += sum(1 for _ in matches(check, text, path, None, hurry_after(PER_TEXT)))
        if count > _ALARMS:
            break
    return count


# --- from lines to regexes ---


def drafts(
    path: str, old: Sequence[str], new: Sequence[str], after: Sequence[str]
) -> Iterator[TextCheck]:
    """Checks that may tell the `old` lines of a part of a fix from the `new` ones, more specific first.

    `after`: the lines that follow it, for a sample where nothing takes the place of the old ones.
    """
    name = path.rpartition("/")[2]
    files = (f"*.{name.rpartition('.')[2]}",) if "." in name else (name,)
    for line in old[:_LINES]:
        if not _has_word(line):
            continue
        other = _successor(line, new[:_LINES])
        good = other or next(filter(_has_word, (*new, *after)), "")
        if not good or len(line) > LONGEST_PATTERN:
            continue
        for regex, unless in dict.fromkeys(_generalised(line, other)):
            check = TextCheck(
                files, regex=regex, unless=unless, bad=(line.strip(),), good=(good.strip(),)
            )
            if regex and not any(unproven(check)):
                yield check


def _has_word(text: str) -> bool:
    return re.search(r"\w", text) is not None


def _successor(line: str, new: Sequence[str]) -> str:
    """The new line that an old one became; empty: none is half the same."""
    # share of a line that stays where another one took its place
    best, successor = 0.5, ""
    for other in new:
        ratio = SequenceMatcher(None, line.strip(), other.strip()).ratio()
        if ratio > best or (ratio == best and other > successor):
            best, successor = ratio, other
    return successor


def _tokens(line: str) -> list[Token]:
    return [Token(match["blank"], match["token"]) for match in _TOKEN.finditer(line.strip())]


def _generalised(line: str, other: str) -> Iterator[tuple[str, str]]:
    """(regex, unless) of a line that became `other` (empty: that went)."""
    tokens = _tokens(line)
    texts = [token.text for token in tokens]
    changed, added = _differences(tokens, _tokens(other)) if other else ([], [])
    for start, end in changed:
        for beside in SURROUNDING:
            part = tokens[max(start - beside, 0) : end + beside]
            if any(_has_word(token.text) for token in part):
                yield _regex(part), ""
    if changed:
        return
    for at, inserted in added:
        # an argument that was missing: the call without it breaks the rule
        call = _call_around(texts, at)
        words = [token.text for token in inserted if re.match(r"\w", token.text)]
        if call and words:
            start, end = call
            yield _regex(tokens[start : end + 1]), _regex([Token("", words[0])])
    yield _regex(tokens), ""
    call = _call_around(texts, len(texts))
    if call and not other:
        start, end = call
        yield _regex(tokens[start : end + 1]), ""


def _differences(
    old: Sequence[Token], new: Sequence[Token]
) -> tuple[list[tuple[int, int]], list[tuple[int, Sequence[Token]]]]:
    """The ranges of old tokens that went, and where new ones stand between the old."""
    old_texts, new_texts = [token.text for token in old], [token.text for token in new]
    changed: list[tuple[int, int]] = []
    added: list[tuple[int, Sequence[Token]]] = []
    blocks = SequenceMatcher(None, old_texts, new_texts, autojunk=False).get_opcodes()
    for operation, start, end, new_start, new_end in blocks:
        if operation in {"replace", "delete"}:
            changed.append((start, end))
        elif operation == "insert":
            added.append((start, new[new_start:new_end]))
    return changed, added


def _call_around(texts: Sequence[str], at: int) -> tuple[int, int] | None:
    """The first and the last token of the call in which, or at whose end, a token stands.

    A call is `name(` or `a.b.name(`.
    """
    depth = 0
    for end in range(min(at, len(texts)) - 1, 0, -1):
        depth += (texts[end] == ")") - (texts[end] == "(")
        opens_call = texts[end] == "(" and re.match(r"\w", texts[end - 1])
        if opens_call and (depth < 0 or at == len(texts)):
            start = end - 1
            while start > 1 and texts[start - 1] == "." and re.match(r"\w", texts[start - 2]):
                start -= 2
            return start, end
    return None


def _regex(tokens: Sequence[Token]) -> str:
    """A regex of these tokens, whatever blanks stand between them."""
    if not tokens:
        return ""
    regex, before = "", ""
    for token in tokens:
        if before:
            regex += _gap(before, token)
        regex += re.escape(token.text)
        before = token.text
    if re.match(r"\w", tokens[0].text):
        regex = rf"\b{regex}"
    if re.search(r"\w$", before):
        regex += r"\b"
    return regex


def _gap(before: str, token: Token) -> str:
    """What may stand between two tokens."""
    if re.search(r"\w$", before) and re.match(r"\w", token.text):
        return r"\s+"
    return r"\s*" if token.blank else ""


def telling_word(regex: str) -> str:
    """The longest text that stands on each line that a drafted regex fits.

    Empty if there is none.
    """
    plain = re.sub(r"\\([bs])[*+]?|\\(.)", _plain, regex)
    return max(plain.split("\0"), key=len)


def _plain(escape: re.Match[str]) -> str:
    """What an escape stands for; a zero for what stands for no text."""
    return "\0" if escape[1] else escape[2]
