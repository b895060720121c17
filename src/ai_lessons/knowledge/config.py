"""The repository's own settings, `.ai-lessons/config.yaml`, as a value. A pulled file: everything is checked.

Holds what a team shares. Settings of one person or machine are not here, and nothing in this file names a program to
run or a folder to read outside the repository.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ai_lessons.errors import InvalidEntry, Problem, UnsupportedRepository, UsageError
from ai_lessons.knowledge import setting_values as may_be
from ai_lessons.knowledge.governance import VALUES, Policies, Policy
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.knowledge.markdown import REMOVE, edit_mapping, parse_mapping
from ai_lessons.knowledge.texts import BOM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMAT = 1
"""The version of the file format that this program reads and writes."""

FIRST_FORMAT = 1
"""The version of a repository that states none: all others write it down."""

DEFAULT_MODEL = "bge-small-en-v1.5"


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long texts are cut, in estimated tokens.

    Passages aim at `target` and stay below `limit`; neighbours below `minimum` are joined. With `code_whole` a code
    block or table is cut only if it alone is over the limit. The defaults are the measured ones.
    """

    target: int = 256
    limit: int = 400
    minimum: int = 128
    code_whole: bool = True


@dataclass(frozen=True, slots=True)
class RepositoryConfig:
    """The settings in force. `autocommit` None: yes, unless the folder is part of a bigger repository.

    `events_shared` None: where we commit.
    """

    format: int = FIRST_FORMAT
    autocommit: bool | None = None
    approval_branch: str = "main"
    approval_require: str = "merge"
    approval_distinct: bool = False
    approval_threshold: int = 1
    governance: Policies = field(default_factory=Policies)
    events: bool = True
    events_shared: bool | None = None
    model: str = DEFAULT_MODEL
    chunking: Chunking = field(default_factory=Chunking)
    index_uri: str | None = None
    tag_aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting: what it is for, what it may be, and the value it has when nothing is said."""

    help: str
    default: Any
    read: Callable[[Any], Any]


_CUT = Chunking()
_count = may_be.up_to(100_000, "tokens")


def _format(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= FORMAT:
        raise may_be.Nonsense(f"a number up to {FORMAT}")
    return value


def _policy(policy: Policy, what: str) -> Key:
    words = [str(word) for word in VALUES[policy]]
    return Key(f"{what}: {', '.join(words)}", str(Policies().value(policy)), may_be.one_of(*words))


KEYS: Mapping[str, Key] = {
    "format": Key("version of the file format; not for changing by hand", FIRST_FORMAT, _format),
    "git.autocommit": Key("commit every job at once: auto, true or false", None, may_be.truth_or_auto),
    "git.events": Key("share recorded events with other clones: auto, local or shared", None, may_be.sharing),
    "approval.branch": Key("a rule is in force as it stands on this branch", "main", may_be.branch),
    "approval.require": Key(
        "how a rule must have come there: merge, forge or signed", "merge", may_be.one_of("merge", "forge", "signed")
    ),
    "approval.distinct": Key("ask for an approver who made no commit of the proposal", False, may_be.truth),  # noqa: FBT003
    "approval.threshold": Key(
        "how many people have to sign, where `approval.require` is signed", 1, may_be.up_to(20, "people")
    ),
    Policy.OUTBOUND.key: _policy(Policy.OUTBOUND, "entries that leave an enterprise"),
    Policy.FROM_CONTEXT.key: _policy(Policy.FROM_CONTEXT, "entries of its projects that go elsewhere"),
    Policy.PERSONAL.key: _policy(Policy.PERSONAL, "the user's repository, while its projects are worked in"),
    "events": Key("record which entries were used and whether they helped", True, may_be.truth),  # noqa: FBT003
    "search.model": Key("embedding model", DEFAULT_MODEL, may_be.name),
    "search.chunking.target": Key("tokens that a passage aims at", _CUT.target, _count),
    "search.chunking.limit": Key("tokens that no passage is over", _CUT.limit, _count),
    "search.chunking.minimum": Key("passages of fewer tokens join a neighbour", _CUT.minimum, _count),
    "search.chunking.code_whole": Key("keep code blocks and tables whole", True, may_be.truth),  # noqa: FBT003
    "search.index": Key("where the index lives; empty: in the git directory", None, may_be.place),
    "tag_aliases": Key("words that mean the same tag, `alias: tag`", {}, may_be.aliases),
}
"""Every setting by its dotted name, in the order of the file."""


def parse_config(text: str) -> RepositoryConfig:
    """The settings that a config file states, the rest as default. Keys that we do not know are left to newer programs.

    Raises:
        InvalidEntry: no YAML, or values that mean nothing; every one is named.
        UnsupportedRepository: the repository is in a newer format.
    """
    fields = fields_of(text)
    stated = fields.get("format", FIRST_FORMAT)
    if isinstance(stated, int) and stated > FORMAT:
        raise UnsupportedRepository(
            f"the knowledge repository has format {stated}, this program knows {FORMAT}",
            hint="update ai-lessons: pipx upgrade ai-lessons",
        )
    values: dict[str, Any] = {}
    problems = []
    for name, key in KEYS.items():
        found = _find(fields, name)
        try:
            values[name] = key.default if found is None else key.read(found)
        except may_be.Nonsense as expected:
            problems.append(_problem(text, name, f"{name} must be {expected}, not {_shown(found)}"))
    if not problems:
        problems = _contradictions(text, values)
    if problems:
        raise InvalidEntry(problems)
    return _made(values)


def refuse_older(config: RepositoryConfig) -> None:
    """Only files in the newest format are changed.

    Raises:
        UnsupportedRepository: the repository is of an older one.
    """
    if config.format < FORMAT:
        raise UnsupportedRepository(
            f"the knowledge repository has format {config.format}, this program writes {FORMAT}",
            hint="ai-lessons admin migrate",
        )


def fields_of(text: str) -> dict[str, Any]:
    """What the file says, not looked at any closer.

    Raises:
        InvalidEntry: no YAML.
    """
    lead = _lead(text)
    return parse_mapping(text[len(lead) :], CONFIG_PATH, first_line=1 + lead.count("\n"))


def _lead(text: str) -> str:
    """A byte order mark and the `---` that may open a YAML file."""
    found = re.match(rf"{BOM}?(?:(?:[ \t]*(?:#[^\n]*)?\r?\n)*---[ \t]*\r?\n)?", text)
    return found[0] if found else ""


def _find(fields: Mapping[str, Any], name: str) -> Any:
    """The value behind a dotted name; None where it, or what leads to it, is missing or empty."""
    head, _, rest = name.partition(".")
    value = fields.get(head)
    if not rest or value is None:
        return value
    return _find(value, rest) if isinstance(value, dict) else _Misplaced(value)


@dataclass(frozen=True, slots=True)
class _Misplaced:
    """A value that stands where a group of settings belongs; no reader takes it."""

    value: Any


def _shown(value: Any) -> str:
    return repr(value.value if isinstance(value, _Misplaced) else value)[:80]


def _problem(text: str, name: str, message: str) -> Problem:
    """Names the line of the last part of the key, as far as a plain search finds it."""
    position = 0
    for part in name.split("."):
        found = re.compile(rf"^[ \t]*['\"]?{re.escape(part)}['\"]?[ \t]*:", re.MULTILINE).search(text, position)
        position = found.end() if found else position
    return Problem(CONFIG_PATH, message, text.count("\n", 0, position) + 1)


def _contradictions(text: str, values: Mapping[str, Any]) -> list[Problem]:
    target, limit = values["search.chunking.target"], values["search.chunking.limit"]
    minimum = values["search.chunking.minimum"]
    if minimum <= target <= limit:
        return []
    message = f"search.chunking must have minimum <= target <= limit, not {minimum}, {target}, {limit}"
    return [_problem(text, "search.chunking", message)]


def _made(values: Mapping[str, Any]) -> RepositoryConfig:
    return RepositoryConfig(
        format=values["format"],
        autocommit=values["git.autocommit"],
        approval_branch=values["approval.branch"],
        approval_require=values["approval.require"],
        approval_distinct=values["approval.distinct"],
        approval_threshold=values["approval.threshold"],
        governance=Policies(*(of(values[policy.key]) for policy, of in VALUES.items())),  # type: ignore[arg-type]
        events=values["events"],
        events_shared=values["git.events"],
        model=values["search.model"],
        chunking=Chunking(
            target=values["search.chunking.target"],
            limit=values["search.chunking.limit"],
            minimum=values["search.chunking.minimum"],
            code_whole=values["search.chunking.code_whole"],
        ),
        index_uri=values["search.index"],
        tag_aliases=values["tag_aliases"],
    )


def values_of(config: RepositoryConfig) -> dict[str, object]:
    """Every setting in force by its dotted name, in the order of the file."""
    cut = config.chunking
    return dict(
        zip(
            KEYS,
            (
                config.format, "auto" if config.autocommit is None else config.autocommit,
                {None: "auto", True: "shared", False: "local"}[config.events_shared], config.approval_branch,
                config.approval_require, config.approval_distinct, config.approval_threshold,
                *map(str, config.governance), config.events, config.model, cut.target, cut.limit, cut.minimum,
                cut.code_whole, config.index_uri or "", dict(config.tag_aliases),
            ),
            strict=True,
        )
    )  # fmt: skip


def unknown_keys(text: str) -> list[Problem]:
    """Keys of a config file that this program does not know: typing errors, or settings of a newer one."""
    groups = {name.rpartition(".")[0] for name in KEYS} | {"search"}
    problems = []

    def look(fields: Mapping[str, Any], above: str) -> None:
        for key, value in fields.items():
            name = f"{above}{key}"
            if name in groups and isinstance(value, dict):
                look(value, f"{name}.")
            elif name not in KEYS and name not in groups:
                problems.append(_problem(text, name, f"unknown setting {name!r}{_meant(name)}"))

    look(fields_of(text), "")
    return problems


def _meant(name: str) -> str:
    close = get_close_matches(name, KEYS, n=1, cutoff=0.85)
    return f" (did you mean {close[0]!r}?)" if close else ""


def set_value(text: str, key: str, value: Any) -> str:
    """The file with one setting changed and everything else, comments too, as it was.

    `value` may be text as typed on a command line (`true`, `300`, `auto`); empty text takes the key away, which
    restores the default. `tag_aliases.k8s` names one alias.

    Raises:
        UsageError: no such setting, or it cannot have that value. InvalidEntry: the file itself is invalid.
    """
    alias = key.startswith("tag_aliases.") and len(key) > len("tag_aliases.")
    if not alias and key not in KEYS:
        raise UsageError(f"no setting {key!r}{_meant(key)}", hint="see them all: ai-lessons admin config get")
    typed = value if alias else _typed(value)
    if not alias and typed not in ("", None):
        try:
            KEYS[key].read(typed)
        except may_be.Nonsense as expected:
            raise UsageError(f"{key} must be {expected}, not {value!r}") from expected
    lead = _lead(text)
    rest = text[len(lead) :]
    newline = "\r\n" if "\r\n" in text else "\n"
    unended = bool(rest) and not rest.endswith("\n")
    change = {key: REMOVE if typed in ("", None) else typed}
    result = edit_mapping(rest + newline * unended, change, newline, nesting=1 if alias else 2)
    result = lead + (result.removesuffix(newline) if unended else result)
    try:
        parse_config(result)
    except InvalidEntry as error:
        raise UsageError(error.problems[0].message) from error
    return result


def _typed(value: Any) -> Any:
    """What was typed, as the file would read it."""
    if not isinstance(value, str):
        return value
    fields = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    word = value.strip().lower()
    if word in fields:
        return fields[word]
    return int(word) if re.fullmatch(r"-?[0-9]{1,9}", word) else value.strip()
