"""The anchors that an entry gets when it is written: what `--about`, a text or a session names."""

from __future__ import annotations

import os
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons.app.code_folder import CodeFolder, code_around, package_name
from ai_lessons.app.code_history import file_stamp
from ai_lessons.errors import AiLessonsError, NotFound, Refused, UsageError
from ai_lessons.git import external_files
from ai_lessons.model import anchors, definitions, expression
from ai_lessons.model.anchors import Anchor, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_lessons.app.workspace import RepositorySession

_QUOTED = expression(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")
_A_PATH = expression(
    r"(?:\./)?(?P<path>[\w.@+-]*(?:/[\w.@+-]+)*/?)(?:::(?P<symbol>[\w.$-]+)|:\d+(?:-\d+)?)?"
)


_A_NAME = expression(r"(?P<name>[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*)(?:\(\))?")


class Spoken(NamedTuple):
    """What an entry is about, as its file has it, with notes for the writer.

    `about` is the value of that field; `globs` belong into `applies_to`.
    """

    about: list[dict[str, str]]
    globs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def stated(repo: RepositorySession, texts: Iterable[str] | None, text: str, project: str) -> Spoken:
    """What `--about` says in the words of people, else what a text names.

    `texts` None: neither. A name with `*`, `?`, `[` or `{` is a glob, unless a file here is called
    so. Raises UsageError: it is no anchor, or too many. NotFound: it is not in the code here; names
    the nearest.
    """
    named = list(dict.fromkeys(texts or ()))
    code, globs, commands = anchors.sorted_out(named)
    called = []
    for glob in globs:
        if os.path.lexists(repo.options.cwd / glob):
            called.append(glob)
    code, globs = [*code, *called], [glob for glob in globs if glob not in called]
    if len(code) + len(commands) > anchors.MOST:
        hint = "name what the entry stands or falls with"
        raise UsageError(
            f"{len(code) + len(commands)} anchors, more than {anchors.MOST}", hint=hint
        )
    items, notes = _anchored(
        repo, None if texts is None or (named and not code) else code, text, project
    )
    return Spoken(
        [*items, *({"command": command} for command in commands)], tuple(globs), tuple(notes)
    )


def _anchored(
    repo: RepositorySession, texts: Sequence[str] | None, text: str, project: str
) -> tuple[list[dict[str, str]], list[str]]:
    """The anchors of `texts`; where that is empty, of what `text` names in backticks, with a note.

    `texts` None: none at all.
    """
    named = list(texts or ())
    if texts is None or (not named and not _QUOTED.search(text)):
        return [], []
    code = code_around(repo)
    if code is None:
        if not named:
            return [], []
        raise Refused(
            "there is no code here to look at",
            hint="call it in the git repository that the entry speaks of",
        )
    try:
        chosen = list[Anchor]()
        for name in named:
            chosen.append(_resolved(code, name, repo.options.cwd))
        if not named:
            chosen = _proposed(code, text)
    finally:
        code.close()
    if not code.whole and not code.is_called(project):
        # the entry is of another project: its anchors say in which code they are
        for at, anchor in enumerate(chosen):
            if not anchor.package:
                chosen[at] = anchor._replace(repository=code.names[0])
    fields = [anchor.fields for anchor in dict.fromkeys(chosen)]
    if named or not chosen:
        return fields, []
    names = ", ".join(map(str, chosen))
    # nobody asked for these, so the writer is told how to leave them out
    return fields, [f"speaks of {names}, as its text does (--no-about leaves that out)"]


def of_session(
    repo: RepositorySession, edited: Iterable[str], programs: Iterable[str], project: str
) -> list[str]:
    """Anchors for what a session taught: the files it edited, and versions like those in use.

    Empty where the caller's folder is not the code of the project.
    """
    code = code_around(repo)
    if code is None or not (code.whole or code.is_called(project)):
        return []
    pins = {}
    for program in programs:
        pins[program] = code.pins().get(f"pypi/{program}", ("", ""))[0]
    inside = (os.path.relpath(code.top / file, code.top) for file in edited)
    paths = []
    for path in dict.fromkeys(inside):
        if path in code.paths:
            paths.append(path)
    code.close()
    versions = []
    for program, version in pins.items():
        # a range (">=8") does not say which version is in use
        if version.startswith("@"):
            versions.append(f"pypi/{program}^{version[1:]}")
    return [*paths, *versions][: anchors.MOST]


def anchor_as_typed(text: str, cwd: Path, top: Path | None) -> Anchor:
    """An anchor as it was typed: from the top of the repository, else from the caller's folder.

    Raises UsageError.
    """
    path, mark, tail = text.strip().partition("::")
    whole = os.path.normpath(cwd / os.path.expanduser(path))
    try:
        with suppress(ValueError):
            anchor = anchors.parse(text)
            if (
                anchor.package
                or top is None
                or os.path.lexists(top / anchor.path)
                or not os.path.lexists(whole)
            ):
                return anchor
        base = top
        if os.path.isabs(os.path.expanduser(path)):
            base = external_files.top_of(Path(whole).parent) or top or cwd
        if base and whole.startswith(f"{base}{os.sep}"):
            text = os.path.relpath(whole, base) + "/" * path.endswith("/") + mark + tail
        return anchors.parse(text)
    except ValueError as error:
        hint = "path, path::symbol, path::NAME=value or pypi/name<8.2"
        raise UsageError(f"{text!r} names no code: {error}", hint=hint) from error


def _resolved(code: CodeFolder, text: str, cwd: Path) -> Anchor:
    """The anchor of a text with the fingerprint of what is there now.

    Raises NotFound, UsageError; as `state`.
    """
    anchor = anchor_as_typed(text, cwd, code.top)
    if anchor.package:
        return _resolved_package(code, anchor)
    if file_stamp(code.top / anchor.path.rstrip("/")) is None:
        name = anchor.path.rpartition("/")[2]
        near = get_close_matches(anchor.path, code.paths, 3, 0.4) or [
            x for x in code.paths if x.endswith(f"/{name}")
        ]
        raise NotFound("file or folder", anchor.path, hint=_near(near[:3]))
    now = code.state(anchor.path, anchor.symbol)
    if now == anchors.UNREADABLE:
        raise UsageError(
            f"Python cannot parse {anchor.path}", hint="mend it, or name the file alone"
        )
    if now is None:
        every = definitions.names(anchor.path, code.text(anchor.path))
        last = anchor.symbol.rpartition(".")[2]
        near = [x for x in every if x.rpartition(".")[2] == last][:3] or get_close_matches(
            anchor.symbol, every, 3, 0.4
        )
        raise NotFound(f"name in {anchor.path}", anchor.symbol, hint=_near(near))
    if anchor.value is not None and anchors.judged(anchor, now) is not Verdict.HOLDS:
        if now.value is not None:
            held = f"{anchor.symbol}={now.value}"
        else:
            held = f"no plain value for {anchor.symbol}"
        raise NotFound(
            f"value in {anchor.path}", f"{anchor.symbol}={anchor.value}", hint=f"it has {held}"
        )
    if anchor.value is not None:
        return anchor
    return anchor._replace(seen=now.fingerprint)


def _resolved_package(code: CodeFolder, anchor: Anchor) -> Anchor:
    pins = code.pins()
    version, path = pins.get(package_name(anchor), ("", ""))
    if not version:
        near = get_close_matches(package_name(anchor), pins, 3, 0.5)
        raise NotFound("package that this project pins", anchor.package, hint=_near(near))
    if not anchors.in_range(anchor.versions, version):
        hint = "name versions that it holds for"
        raise UsageError(
            f"{anchor} does not hold here: {path} has {version.lstrip('@')}", hint=hint
        )
    return anchor


def _near(names: Iterable[str]) -> str:
    listed = " or ".join(names)
    if listed:
        return f"did you mean {listed}?"
    return "--no-about leaves it out"


def _proposed(code: CodeFolder, text: str) -> list[Anchor]:
    """The files and symbols that a text names in backticks, each of which is one place here."""
    symbols: list[Anchor] = []
    paths: list[Anchor] = []
    # a doc may have thousands of words in backticks: each costs a look
    for quoted in islice(dict.fromkeys(_QUOTED.findall(_FENCE.sub("", text))), 30):
        anchor = _place_named(code, quoted.strip())
        if anchor is not None:
            if anchor.symbol:
                symbols.append(anchor)
            else:
                paths.append(anchor)
        if len(symbols) == anchors.MOST:
            break
    within = {anchor.path for anchor in symbols}
    proposed = dict.fromkeys(symbols)
    for anchor in paths:
        # the symbol in it says it more exactly
        if anchor.path not in within:
            proposed[anchor] = None
    return list(proposed)[: anchors.MOST]


def _place_named(code: CodeFolder, quoted: str) -> Anchor | None:
    """The one place that a word in backticks names; None: none, or several."""
    name = _A_NAME.fullmatch(quoted)
    if (
        (match := _A_PATH.fullmatch(quoted))
        and match["path"]
        and ("/" in match["path"] or "." in match["path"])
    ):
        path, symbol = match["path"], match["symbol"] or ""
        matches = {x for x in code.paths if x == path} or {
            x for x in code.paths if x.endswith(f"/{path}")
        }
        if (
            "/" in path
            and not matches
            and any(x.startswith(f"{path.rstrip('/')}/") for x in code.paths)
        ):
            return Anchor(path)
        if len(matches) == 1:
            with suppress(AiLessonsError):
                place = Anchor(next(iter(matches)), symbol)
                now = code.state(place.path, symbol)
                if now:
                    return place._replace(seen=now.fingerprint)
                return None
        if matches or not name:
            return None
    if not name or len(name["name"]) < 3:
        return None
    whole = name["name"].replace("::", ".")
    defining = code.defining(whole.rpartition(".")[2])
    places = {(path, symbol) for path, symbol in defining if f".{symbol}".endswith(f".{whole}")}
    if len(places) != 1:
        return None
    path, symbol = places.pop()
    now = code.state(path, symbol)
    if now:
        return Anchor(path, symbol, seen=now.fingerprint)
    return None
