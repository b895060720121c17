"""The files and symbols that a text names in backticks, each of which is one place in the code here."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from ai_lessons.errors import AiLessonsError
from ai_lessons.features.anchors.anchors import MOST, Anchor
from ai_lessons.model import expression

if TYPE_CHECKING:
    from ai_lessons.features.anchors.code_folder import CodeFolder

_QUOTED = expression(r"(?<!`)`([^`\n]{2,200})`(?!`)")
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")
_A_PATH = expression(
    r"(?:\./)?(?P<path>[\w.@+-]*(?:/[\w.@+-]+)*/?)(?:::(?P<symbol>[\w.$-]+)|:\d+(?:-\d+)?)?"
)
_A_NAME = expression(r"(?P<name>[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*)(?:\(\))?")


def quotes_anything(text: str) -> bool:
    """Whether a text has a word in backticks, so that the code is worth a look."""
    return _QUOTED.search(text) is not None


def named_in_text(code: CodeFolder, text: str) -> list[Anchor]:
    """The places that a text names: symbols first, then files of which it names no symbol."""
    symbols: list[Anchor] = []
    files: list[Anchor] = []
    quoted_words = dict.fromkeys(_QUOTED.findall(_FENCE.sub("", text)))
    # A doc may have thousands of words in backticks, and each costs a look
    for quoted in islice(quoted_words, 30):
        anchor = _place_named(code, quoted.strip())
        if anchor is None:
            continue
        if anchor.symbol:
            symbols.append(anchor)
        else:
            files.append(anchor)
        if len(symbols) == MOST:
            break
    with_symbols = {anchor.path for anchor in symbols}
    places = dict.fromkeys(symbols)
    for anchor in files:
        # the symbol in it says it more exactly
        if anchor.path not in with_symbols:
            places[anchor] = None
    return list(places)[:MOST]


def _place_named(code: CodeFolder, quoted: str) -> Anchor | None:
    """The one place that a word in backticks names; None: none, or several."""
    name = _A_NAME.fullmatch(quoted)
    match = _A_PATH.fullmatch(quoted)
    if match and ("/" in match["path"] or "." in match["path"]):
        path, symbol = match["path"], match["symbol"] or ""
        matches = _files_called(code, path)
        if not matches and _is_folder(code, path):
            return Anchor(path)
        if len(matches) == 1:
            return _anchor_of_path(code, matches.pop(), symbol)
        # `shop.cart` may be a file and a name: a name it is only where there is no such file
        if matches or not name:
            return None
    # Letters of a name: shorter ones are variables of an example
    if name is None or len(name["name"]) < 3:
        return None
    return _symbol_named(code, name["name"].replace("::", "."))


def _files_called(code: CodeFolder, path: str) -> set[str]:
    """The file of this path, else those whose paths end with it."""
    if path in code.project.paths:
        return {path}
    return {known_path for known_path in code.project.paths if known_path.endswith(f"/{path}")}


def _is_folder(code: CodeFolder, path: str) -> bool:
    if "/" not in path:
        return False
    folder = f"{path.rstrip('/')}/"
    return any(known_path.startswith(folder) for known_path in code.project.paths)


def _anchor_of_path(code: CodeFolder, path: str, symbol: str) -> Anchor | None:
    now = None
    with suppress(AiLessonsError):
        now = code.state(path, symbol)
    if now is None:
        return None
    return Anchor(path, symbol, seen=now.fingerprint)


def _symbol_named(code: CodeFolder, name: str) -> Anchor | None:
    """The one symbol whose whole name ends with this one."""
    places = set()
    for path, symbol in code.defining(name.rpartition(".")[2]):
        if f".{symbol}".endswith(f".{name}"):
            places.add((path, symbol))
    if len(places) != 1:
        return None
    path, symbol = places.pop()
    now = code.state(path, symbol)
    if now is None:
        return None
    return Anchor(path, symbol, seen=now.fingerprint)
