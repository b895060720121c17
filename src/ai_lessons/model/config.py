"""The repository's settings, `.ai-lessons/config.yaml`, with those of features.

A pulled file: all is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from ai_lessons import extensions
from ai_lessons.errors import InvalidEntry, Problem, UnsupportedRepository, UsageError
from ai_lessons.model import expression
from ai_lessons.model.layout import CONFIG_PATH
from ai_lessons.model.texts import BOM

Files = Mapping[str, bytes]
# new contents by path; None takes a file away
Changes = Mapping[str, bytes | None]

# of the files, which this program reads and writes
FORMAT = 1
DEFAULT_MODEL = "bge-small-en-v1.5"


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long texts are cut, in estimated tokens."""

    target: int = 256
    limit: int = 400
    minimum: int = 128


@dataclass(frozen=True, slots=True)
class RepositoryConfig:
    """The settings in force.

    `autocommit` None: not inside a bigger repository; `events_shared` None: if we commit.
    """

    # of a repository that states none
    format: int = 1
    autocommit: bool | None = None
    approval_branch: str = "main"
    approval_require: str = "merge"
    approval_distinct: bool = False
    approval_forges: tuple[str, ...] = ()
    events: bool = True
    events_shared: bool | None = None
    model: str = DEFAULT_MODEL
    chunking: Chunking = field(default_factory=Chunking)
    index_uri: str | None = None
    tag_aliases: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)

    def of_feature(self, name: str) -> Any:
        """The setting of a feature by its dotted name.

        Its default where the file does not state it.
        """
        return self.features.get(name, keys()[name].default)


class Nonsense(ValueError):
    """What a value must be instead."""


class Key(NamedTuple):
    """One setting: its attribute in `RepositoryConfig`, how its value is read and shown.

    To read raises Nonsense. A setting of a feature has no attribute, but a `default`, and `about`:
    what it is for; perhaps `choices`, the words that it may be, and `people`: no agent changes it.
    """

    attribute: str
    read: Callable[[Any], Any]
    show: Callable[[Any], object] = lambda value: value
    default: Any = None
    about: str = ""
    choices: tuple[str, ...] = ()
    people: bool = False


def _words(attribute: str, words: Mapping[str | bool, Any]) -> Key:
    """A setting that has one of these words, each with the value that it means."""
    names = []
    for word in words:
        if isinstance(word, bool):
            names.append(str(word).lower())
        else:
            names.append(word)

    def read(value: Any) -> Any:
        if not isinstance(value, str | bool) or value not in words:
            raise Nonsense(f"{', '.join(names[:-1])} or {names[-1]}")
        return words[value]

    shown = {value: word for word, value in words.items()}
    return Key(attribute, read, lambda value: shown[value])


def _number(attribute: str, high: int, what: str) -> Key:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
            raise Nonsense(f"a number {what} to {high}")
        return value

    return Key(attribute, read)


def _text(attribute: str, pattern: str, what: str) -> Key:
    def read(value: Any) -> str | None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise Nonsense(what)
        return value or None

    return Key(attribute, read, lambda value: value or "")


def _aliases(value: Any) -> dict[str, str]:
    """Each alias with the tag that it leads to in the end."""
    if not isinstance(value, dict) or not all(
        isinstance(x, str) and x.strip() for x in value.values()
    ):
        raise Nonsense("lines of `alias: tag`")
    ends: dict[str, str] = dict(value)
    for _ in range(len(value).bit_length()):
        # each time as far again
        ends = {alias: ends.get(end, end) for alias, end in ends.items()}
    if any(end in value for end in ends.values()):
        raise Nonsense("aliases that do not lead round in a circle")
    return ends


_EMAIL = expression(r"[^\s<>@,]{1,100}@[^\s<>@,]{1,200}")


def _addresses(value: Any) -> tuple[str, ...]:
    """Addresses of e-mail, in small letters: one, several with commas between them, or a list."""
    if isinstance(value, str):
        parts = value.split(",")
    else:
        parts = value
    if (
        isinstance(parts, list)
        and all(isinstance(part, str) for part in parts)
        and len(parts) <= 20
    ):
        addresses = []
        for part in parts:
            if part.strip():
                addresses.append(part.strip().casefold())
        if all(map(_EMAIL.fullmatch, addresses)):
            return tuple(sorted({*addresses}))
    raise Nonsense("the addresses of forges, as they stand in the commits that these make")


_MODEL = r"(?!.*\.\.)[\w][\w./-]{0,199}"
_BRANCH = r"(?!refs/)(?!.*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)))[\w][^\x00-\x20\x7f~^:?*\[\\]*(?<![./])"
_ADDRESS = r"(?:(?:s3|gs|az|abfss?|db)://[^\s\x00-\x1f]{1,1000})?"
_TOKENS = 100_000, "of tokens from 1"
_FLAG: Mapping[str | bool, bool] = {True: True, False: False}
_TYPED = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

# Every setting by its dotted name, in the order of the file; docs/reference describes them
KEYS: Mapping[str, Key] = {
    "format": Key("format", lambda value: _number("format", FORMAT, "up").read(value)),
    "git.autocommit": _words("autocommit", {"auto": None, True: True, False: False}),
    "git.events": _words("events_shared", {"auto": None, "local": False, "shared": True}),
    "approval.branch": _text("approval_branch", _BRANCH, "the name of a branch"),
    "approval.require": _words(
        "approval_require", {word: word for word in ("merge", "forge", "signed")}
    ),
    "approval.distinct": _words("approval_distinct", _FLAG),
    "approval.forges": Key("approval_forges", _addresses, list),
    "events": _words("events", _FLAG),
    "search.model": _text("model", _MODEL, "the name of a model"),
    **{
        f"search.chunking.{size}": _number(f"chunking.{size}", *_TOKENS)
        for size in ("target", "limit", "minimum")
    },
    "search.index": _text(
        "index_uri", _ADDRESS, "empty, or an address that starts with s3://, gs://, az:// or db://"
    ),
    "tag_aliases": Key("tag_aliases", _aliases, dict),
}


@cache
def keys() -> Mapping[str, Key]:
    """Every setting by its dotted name, those of features at the end."""
    added = {}
    for name, place in extensions.named("settings").items():
        added[name] = extensions.load(place)
    return {**KEYS, **added}


def parse_config(text: str) -> RepositoryConfig:
    """The settings that a config file states, the rest as default.

    Unknown keys are left to newer programs.

    Raises InvalidEntry: no YAML, or values that mean nothing. UnsupportedRepository: a newer
    format.
    """
    fields = known_fields(text)
    groups: dict[str, dict[str, Any]] = {"": {}, "chunking": {}, "features": {}}
    problems = []
    for name, key in keys().items():
        value = _find(fields, name)
        group, _, attribute = (
            key.attribute.rpartition(".") if key.attribute else ("features", "", name)
        )
        try:
            if value is not None:
                groups[group][attribute] = key.read(value)
        except Nonsense as expected:
            shown = repr(value[0] if isinstance(value, tuple) else value)[:80]
            problems.append(_problem(text, name, f"{name} must be {expected}, not {shown}"))
    cut = Chunking(**groups["chunking"])
    if not problems and not cut.minimum <= cut.target <= cut.limit:
        message = f"minimum <= target <= limit, not {cut.minimum}, {cut.target}, {cut.limit}"
        problems = [_problem(text, "search.chunking", f"search.chunking must have {message}")]
    if problems:
        raise InvalidEntry(problems)
    return RepositoryConfig(**groups[""], chunking=cut, features=groups["features"])


def known_fields(text: str) -> dict[str, Any]:
    """What a config file states. Raises as `parse_config`, but for values that mean nothing."""
    fields = fields_of(text)
    stated = fields.get("format", RepositoryConfig().format)
    if isinstance(stated, int) and stated > FORMAT:
        raise UnsupportedRepository(
            f"the knowledge repository has format {stated}, this program knows {FORMAT}",
            hint="update ai-lessons from where it was installed",
        )
    return fields


def refuse_older(config: RepositoryConfig) -> None:
    """Raise UnsupportedRepository for a repository of an older format.

    Only files in the newest one are changed.
    """
    if config.format < FORMAT:
        raise UnsupportedRepository(
            f"the knowledge repository has format {config.format}, this program writes {FORMAT}",
            hint="ai-lessons admin migrate",
        )


def fields_of(text: str) -> dict[str, Any]:
    """The unchecked fields of the file. Raises InvalidEntry: no YAML."""
    from ai_lessons.model.markdown import parse_mapping  # noqa: PLC0415  # settings are read by every start

    lead = _lead(text)
    return parse_mapping(text[len(lead) :], CONFIG_PATH, first_line=1 + lead.count("\n"))


def _lead(text: str) -> str:
    """A byte order mark and the `---` that may open a YAML file."""
    match = re.match(rf"{BOM}?(?:(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+---[ \t]*\r?\n)?", text)
    if match:
        return match[0]
    return ""


def _find(fields: Mapping[str, Any], name: str) -> Any:
    """The value behind a dotted name, None for none.

    One in the place of a group comes in a tuple, which none reads.
    """
    head, _, tail = name.partition(".")
    value = fields.get(head)
    if not tail or value is None:
        return value
    if isinstance(value, dict):
        return _find(value, tail)
    return (value,)


def _problem(text: str, name: str, message: str) -> Problem:
    """Names the line of the last part of the key, as far as a plain search finds it."""
    position = 0
    for part in name.split("."):
        match = re.compile(rf"^[ \t]*['\"]?{re.escape(part)}['\"]?[ \t]*:", re.MULTILINE).search(
            text, position
        )
        if match:
            position = match.end()
    return Problem(CONFIG_PATH, message, text.count("\n", 0, position) + 1)


def values_of(config: RepositoryConfig) -> dict[str, object]:
    """Every setting in force by its dotted name, in the order of the file."""
    values = {}
    for name, key in keys().items():
        if key.attribute:
            value = attrgetter(key.attribute)(config)
        else:
            value = config.of_feature(name)
        values[name] = key.show(value)
    return values


# Settings of earlier versions, which do nothing and do no harm
RETIRED = frozenset({"approval.threshold", "search.chunking.code_whole"})


def unknown_keys(text: str) -> list[Problem]:
    """Keys of a config file that this program does not know.

    Typing errors, or settings of a newer one.
    """
    groups = {name.rpartition(".")[0] for name in keys()} | {"search"}

    def unknown(fields: Mapping[str, Any], above: str) -> Iterator[str]:
        for key, value in fields.items():
            name = f"{above}{key}"
            if name in groups and isinstance(value, dict):
                yield from unknown(value, f"{name}.")
            elif name not in keys() and name not in groups and name not in RETIRED:
                yield name

    names = unknown(fields_of(text), "")
    return [_problem(text, name, f"unknown setting {name!r}{_meant(name)}") for name in names]


def _meant(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped name

    close = get_close_matches(name, keys(), n=1, cutoff=0.85)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return ""


def set_value(text: str, key: str, value: Any) -> str:
    """The file with one setting changed and everything else, comments too, as it was.

    Empty text restores the default.

    `value` may be text as typed (`true`, `300`, `auto`); `tag_aliases.k8s` names one alias. Raises
    UsageError: no such setting, or it cannot have that value. InvalidEntry: the file itself is
    invalid.
    """
    from ai_lessons.model.yaml_edit import REMOVE, edit_mapping  # noqa: PLC0415  # only for a change

    alias = key.startswith("tag_aliases.") and len(key) > len("tag_aliases.")
    if not alias and key not in keys():
        raise UsageError(
            f"no setting {key!r}{_meant(key)}", hint="see them all: ai-lessons admin config get"
        )
    typed = value
    if isinstance(value, str) and not alias:
        # as the file would read it
        word = value.strip().lower()
        if re.fullmatch(r"-?[0-9]{1,9}", word):
            typed = int(word)
        else:
            typed = _TYPED.get(word, value.strip())
    lead = _lead(text)
    body = text[len(lead) :]
    if "\r\n" in text:
        newline = "\r\n"
    else:
        newline = "\n"
    unended = bool(body) and not body.endswith("\n")
    change = {key: REMOVE if typed in ("", None) else typed}
    if alias:
        nesting = 1
    else:
        nesting = 2
    result = edit_mapping(body + newline * unended, change, newline, nesting=nesting)
    result = lead + (result.removesuffix(newline) if unended else result)
    try:
        parse_config(result)
    except InvalidEntry as error:
        raise UsageError(error.problems[0].message) from error
    return result


class Migration(NamedTuple):
    """A step from one version to the next, with its description for people."""

    says: str
    change: Callable[[Files], Changes]


# The step *from* each version; version 1 is the first and the newest.
STEPS: Mapping[int, Migration] = MappingProxyType({})


def migrated_files(
    files: Files, stated: int, target: int = FORMAT, steps: Mapping[int, Migration] = STEPS
) -> dict[str, bytes | None]:
    """What all steps from the stated version to the target change together."""
    now: dict[str, bytes | None] = dict(files)
    for version in range(stated, target):
        now |= steps[version].change({path: data for path, data in now.items() if data is not None})
    changed: dict[str, bytes | None] = {}
    for path, data in now.items():
        if files.get(path) != data:
            changed[path] = data
    return changed
