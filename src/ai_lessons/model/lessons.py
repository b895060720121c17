"""What only lessons have: the pattern `WHEN … -> DO … -> BECAUSE …`, origin, scope.

And words that may become one.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ai_lessons.errors import Refused, UsageError
from ai_lessons.model import expression
from ai_lessons.model.entries import GLOBAL_PROJECT, Confidence, Pattern, Source, Status, stated_id
from ai_lessons.model.layout import check_path, slug
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.model.entries import EntrySummary

# How sure a lesson is taken to be by who states it
CONFIDENCE = {"ai": "medium", "user": "high"}
GRAMMAR = "WHEN … -> DO … -> BECAUSE …, or DO NOT in place of DO"
# characters of the title that a pattern gives
TITLE_LENGTH = 100
_END = r"(?=\s|\[|->|→|$)"
_ARROW = r"(?:->|→)\s*"
_NOT = expression(rf"NOT{_END}", re.IGNORECASE)
_WHEN = expression(rf"\s*WHEN{_END}", re.IGNORECASE)
_DO = expression(rf"{_ARROW}(?:(?P<not>DO\s+NOT|DON['\u2019]?T)|DO){_END}", re.IGNORECASE)
_BECAUSE = expression(rf"{_ARROW}BECAUSE{_END}", re.IGNORECASE)


def parse(text: str) -> Pattern:
    """The pattern that a text states.

    Raises UsageError: a part is missing or empty, with its line and column.
    """
    when = _WHEN.match(text)
    if when is None:
        if text.strip():
            fault = "the pattern does not begin with WHEN"
        else:
            fault = "the pattern is empty"
        raise _fault(text, len(text) - len(text.lstrip()), fault)
    do = _DO.search(text, when.end())
    because = _BECAUSE.search(text, do.end() if do else when.end())
    if do is None or because is None:
        if do:
            missing = "-> BECAUSE"
        else:
            missing = "-> DO or -> DO NOT"
        raise _fault(
            text,
            because.start() if because else len(text.rstrip()),
            f"the pattern has no {missing}",
        )
    action, negative = _action(text[do.end() : because.start()], negative=bool(do["not"]))
    pattern = Pattern(
        part(text[when.end() : do.start()]), action, part(text[because.end() :]), negative
    )
    if negative:
        verb = "DO NOT"
    else:
        verb = "DO"
    for name, words, mark in (
        ("WHEN", pattern.when, when),
        (verb, action, do),
        ("BECAUSE", pattern.because, because),
    ):
        if not words:
            raise _fault(text, mark.end(), f"{name} is empty")
    return pattern


def build(when: str | None, do: str | None, dont: str | None, because: str | None) -> Pattern:
    """The pattern whose parts are given one by one.

    Raises UsageError: they make none, or another one.
    """
    if do is not None and dont is not None:
        raise UsageError("a pattern has DO or DO NOT, not both", hint="give one of --do and --dont")
    by_name = {"WHEN": when, "DO or DO NOT": do if dont is None else dont, "BECAUSE": because}
    parts = {}
    for name, text in by_name.items():
        parts[name] = part(text or "")
    if missing := [name for name, words in parts.items() if not words]:
        hint = "give --when, --do or --dont, and --because"
        raise UsageError(f"the pattern has no {' and '.join(missing)}", hint=hint)
    action, negative = _action(parts["DO or DO NOT"], negative=dont is not None)
    pattern = Pattern(parts["WHEN"], action, parts["BECAUSE"], negative)
    if parse(str(pattern)) != pattern:
        fault = "a part of the pattern holds the arrow and word of the next part"
        raise UsageError(fault, hint=f"one of each: {GRAMMAR}")
    return pattern


def part(text: str) -> str:
    """One part: white space made single, brackets round the whole of it taken away."""
    words = " ".join(text.split())
    for _ in range(10):
        # pairs of brackets round a part that are taken away
        if _bracketed(words):
            words = words[1:-1].strip()
    return words


def title_of(pattern: Pattern) -> str:
    """What stands in for a title: `editing tmux.conf: read first`.

    At most `TITLE_LENGTH` characters.
    """
    return one_line(
        f"{pattern.when}: {'do not ' if pattern.negative else ''}{pattern.action}", TITLE_LENGTH
    )


def _action(text: str, *, negative: bool) -> tuple[str, bool]:
    """The action, and whether it is forbidden: `DO [not this]` says DO NOT as well."""
    action = part(text)
    while not negative and (match := _NOT.match(action)):
        action, negative = part(action[match.end() :]), True
    return action, negative


def _bracketed(text: str) -> bool:
    """Whether the bracket at the beginning is closed by the one at the end.

    Not so in `[a] or [b]`.
    """
    depths = list(accumulate((character == "[") - (character == "]") for character in text))
    return (
        text.startswith("[")
        and text.endswith("]")
        and 0 in depths
        and depths.index(0) == len(text) - 1
    )


def _fault(text: str, position: int, fault: str) -> UsageError:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    if "\n" not in text.strip() and line == 1:
        where = f"column {column}"
    else:
        where = f"line {line}, column {column}"
    return UsageError(f"{fault} at {where}", hint=f"write {GRAMMAR}")


TYPE, HOW, ORIGINAL = "type", "how", "original"
TIER, ALPHA, BETA = "tier", "alpha", "beta"
PROMOTED = "promoted"


class Type(NamedTuple):
    """`name` as groove has it, its keys, and how people read it.

    The keys that it must have (ours to theirs), and those it may have.
    """

    name: str
    keys: Mapping[str, str]
    sentence: str
    may: tuple[str, ...] = ()


TYPES: Mapping[str, Type] = {
    "transcript": Type(
        "Transcript",
        {"session": "session_id", "index": "message_index"},
        "transcript of session {session}, message {index}",
    ),
    "user_created": Type("UserCreated", {}, "created by the user"),
    "promoted": Type(
        "Promoted",
        {"from_scope": "from_scope", "original": "original_id"},
        "promoted from {from_scope}, there {original}",
        (TIER, ALPHA, BETA),
    ),
    "imported": Type(
        "Imported", {"file": "source_file", "at": "imported_at"}, "imported from {file} on {at}"
    ),
    "enterprise_curated": Type("EnterpriseCurated", {"curator": "curator"}, "curated by {curator}"),
}


def source_line(source: object) -> str:
    """A source in one line, for people."""
    if not isinstance(source, dict):
        return str(source)
    kind = TYPES.get(str(source.get(TYPE)))
    if kind is None or not all(key in source for key in kind.keys):
        figures = []
        for key, value in source.items():
            figures.append(f"{key} {value}")
        return ", ".join(figures)
    if HOW in source:
        how = f"{source[HOW]}; "
    else:
        how = ""
    return how + kind.sentence.format_map({key: str(source[key]) for key in kind.keys})


def faults(source: Mapping[str, Any]) -> Iterator[str]:
    """The faults of a source block."""
    type_name = source.get(TYPE)
    kind = None
    if isinstance(type_name, str):
        kind = TYPES.get(type_name)
    if kind is None:
        yield (
            "source has no type"
            if type_name is None
            else f"source.type {type_name!r} is none of {', '.join(TYPES)}"
        )
        return
    yield from (
        f"source has no {key}, which type {type_name} needs"
        for key in kind.keys
        if key not in source
    )
    keys = (TYPE, HOW, *kind.keys, *kind.may)
    for key, value in source.items():
        if key not in keys:
            yield f"source has no key {key!r} ({', '.join(keys)})"
        elif key != TYPE and not _fits(key, value):
            yield f"source.{key} cannot be {value!r}"


def promoted(
    source: object, original: str, scope: str, tier: str, start: tuple[float, float] | None
) -> dict[str, Any]:
    """The block of an entry that was promoted, of whose `source` the word stays.

    `start`: its alpha and beta.
    """
    if isinstance(source, dict):
        how = source.get(HOW)
    else:
        how = source
    if how in tuple(Source):
        word = {HOW: how}
    else:
        word = {}
    # as YAML here reads them
    if start:
        numbers = {ALPHA: f"{start[0]:.6f}", BETA: f"{start[1]:.6f}"}
    else:
        numbers = {}
    return {TYPE: PROMOTED, **word, "from_scope": scope, ORIGINAL: original, TIER: tier, **numbers}


def original_of(source: object) -> str | None:
    """The id of the entry that this one was promoted from; None if it was not."""
    if not isinstance(source, dict) or source.get(TYPE) != PROMOTED:
        return None
    return stated_id(source.get(ORIGINAL))


_LEVELS = {word.value: level for level, word in enumerate(Confidence)}
_SOURCES = {word.value: level for level, word in enumerate(reversed(Source))}


def trust(summary: EntrySummary) -> tuple[bool, int, int]:
    """A key that sorts lessons by how far they can be trusted, the least first.

    By the mark of being wrong, then confidence, then source.
    """
    return (
        summary.status != Status.WRONG,
        _level(summary.confidence),
        _level_of(summary.stated.source),
    )


def _level(confidence: object) -> int:
    return _LEVELS.get(str(confidence), _LEVELS[Confidence.MEDIUM])


def _level_of(source: object) -> int:
    return _SOURCES.get(str(source), _SOURCES[Source.OBSERVED])


def weakened(fields: Mapping[str, Any], weakest: EntrySummary) -> dict[str, Any]:
    """The fields of a lesson that say more than the weakest of its origins.

    They become as they are where that one is not.
    """
    words = {key: value for key in ("confidence", "source") if (value := weakest.value(key))}
    source = fields.get("source")
    if isinstance(source, dict):
        how = source.get(HOW, source.get(TYPE))
    else:
        how = source
    changes = dict[str, Any]()
    if "confidence" in words and _level(words["confidence"]) < _level(fields.get("confidence")):
        changes["confidence"] = words["confidence"]
    if words.get("source") in _SOURCES and _level_of(words["source"]) < _level_of(how):
        changes["source"] = (
            {**source, HOW: words["source"]} if isinstance(source, dict) else words["source"]
        )
    return changes


def vouching(weakest: Mapping[str, Any]) -> str:
    """The weakest origin of an entry in words.

    `no surer than its origin L-8F3K2A (low, hearsay)`.
    """
    words = [weakest.get("confidence"), weakest.get("source")]
    if weakest.get("status") == Status.WRONG:
        words += [Status.WRONG.value]
    return f"no surer than its origin {weakest['handle']} ({', '.join(str(word) for word in words if word)})"


def start_of(source: object) -> float | None:
    """Where an entry that was promoted begins, 0 to 1, as it stood when it was.

    None if nothing is written down.
    """
    if original_of(source) is None or not isinstance(source, dict):
        return None
    alpha, beta = _number(source.get(ALPHA)), _number(source.get(BETA))
    if alpha and beta:
        return alpha / (alpha + beta)
    return None


# The key that keeps what the author of an import said of its standing
IMPORTED: Final = "imported"


def claimed_of(fields: Mapping[str, Any]) -> float | None:
    """How sure the author of an imported entry was, 0 to 1; None if nothing is written down."""
    kept = fields.get(IMPORTED)
    stated = None
    if isinstance(kept, dict):
        stated = kept.get("confidence")
    if stated in _LEVELS:
        return round(0.1 + 0.2 * _LEVELS[stated], 1)
    number = _number(stated)
    if number is not None and number <= 1:
        return number
    # one that other tools took for wrong
    if not isinstance(stated, bool) and stated in {0, "0", "0.0"}:
        return 0.0
    return None


def _fits(key: str, value: Any) -> bool:
    """Whether a key of a block may have this value."""
    match key:
        case "how":
            return value in tuple(Source)
        case "alpha" | "beta":
            return _number(value) is not None
        case "original":
            return stated_id(value) is not None
        case "from_scope":
            return isinstance(value, str) and is_scope(value)
        case "index":
            return type(value) is int and value >= 0
        case _:
            return isinstance(value, str | int) and bool(str(value).strip())


def _number(value: Any) -> float | None:
    """A number above 0; YAML here keeps one with a point as the text that it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    # no count of uses is larger, and infinity would spoil every mean
    if 0 < number <= 1e9:
        return number
    return None


GLOBAL, USER, PROJECT = "global", "user", "project"


class Scope(NamedTuple):
    """Where something holds: everywhere, for one user, or in the project at a path.

    `global` has no value.
    """

    kind: str
    value: str = ""

    def __str__(self) -> str:
        if self.kind == GLOBAL:
            return self.kind
        return f"{self.kind}:{self.value}"

    @property
    def project(self) -> str:
        """Its project here, the last part of the path, or `global`.

        Raises UsageError: no name is left of the path.
        """
        if self.kind == PROJECT:
            return project_of(self.value)
        return GLOBAL_PROJECT

    @property
    def tagged(self) -> str | dict[str, str]:
        """As groove's export has it: `"Global"`, `{"User": NAME}`, `{"Project": PATH}`."""
        name = self.kind.capitalize()
        if self.kind == GLOBAL:
            return name
        return {name: self.value}


def is_scope(text: str) -> bool:
    """Whether a string names a scope."""
    kind, colon, _ = text.partition(":")
    return text == GLOBAL or (bool(colon) and kind in {USER, PROJECT})


def read_scope(value: Any) -> Scope:
    """The scope that a string or an export names; nothing is `global`.

    Raises UsageError: it is none.
    """
    if value in (None, "", "Global"):
        return Scope(GLOBAL)
    if isinstance(value, str) and is_scope(value):
        kind, _, name = value.partition(":")
        return Scope(kind, name)
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        if str(kind).lower() in {USER, PROJECT} and isinstance(name, str):
            return Scope(str(kind).lower(), name)
    raise UsageError(f"no scope {value!r}"[:100], hint="one of: global, user:NAME, project:PATH")


def of_entry(project: str, stated: object = None) -> Scope:
    """The scope of an entry of this project.

    The one that it states, as long as it lies where that belongs.
    """
    try:
        scope = None
        if isinstance(stated, str):
            scope = read_scope(stated)
        if scope and scope.project == project:
            return scope
    except UsageError:
        # a file may say anything; `validate` names it
        pass
    if project == GLOBAL_PROJECT:
        return Scope(GLOBAL)
    return Scope(PROJECT, project)


class ScopePlace(NamedTuple):
    """Where lessons of a scope are: in the folder of this project, stating one of `scopes`.

    `scopes` is empty where they state nothing, or any.
    """

    project: str
    scopes: frozenset[str] = frozenset()
    stated: str = ""

    @property
    def name(self) -> str:
        """The scope in output for people."""
        return self.stated or self.project


def place_of(scope: str | None) -> ScopePlace:
    """The place of `global`, `user:NAME`, `project:PATH` or the name of a project.

    What states no scope holds in all places of its project. Raises UsageError: no name is left of
    the path.
    """
    if not scope or scope == GLOBAL:
        return ScopePlace(GLOBAL_PROJECT, frozenset(("", GLOBAL)))
    if not is_scope(scope):
        return ScopePlace(scope)
    parsed = read_scope(scope)
    if parsed == Scope(PROJECT, parsed.project):
        return ScopePlace(parsed.project)
    return ScopePlace(
        parsed.project, frozenset((scope,) if parsed.kind == USER else (scope, "")), scope
    )


def named(project: str, stated: object) -> str:
    """The scope of an entry in output for people: the one that it states, else its project."""
    scope = of_entry(project, stated)
    if scope in {Scope(GLOBAL), Scope(PROJECT, project)}:
        return project
    return str(scope)


def project_of(name: object) -> str:
    """The last part of a path as one plain folder name. Raises UsageError: no name is left."""
    last = re.split(r"[/\\]", str(name).rstrip("/\\"))[-1].strip()
    if last in {"", "global"}:
        return GLOBAL_PROJECT
    for candidate in (last, slug(last)):
        try:
            check_path(candidate)
        except Refused:
            continue
        return candidate
    raise UsageError(f"{last!r} cannot be a project")


# --- what a person says to an agent that may hold beyond the session ---

# What each adds, once.
# By its words in English, in German, French or Spanish, and in Chinese, without blanks.
_CUES = (
    (1.2, "remember|keep in mind|from now on|going forward|in (?:the )?future|next time",
     ("merk(?:e)? dir|ab jetzt|künftig|in zukunft|désormais|à l['\u2019]avenir|retiens"
     "|recuerda|a partir de ahora|en adelante"),
     "记住|以后|今后|从现在起"),
    (0.6, ("\\A(?:no(?=[,.!: ])|nope|don['\u2019]?t|do not|wrong|that['\u2019]?s (?:not|wrong)|actually|never|stop)"),
     "\\A(?:nein|nicht|falsch|non|faux|ne|no|nunca)", "\\A(?:不|别|错)"),
    (0.7, "instead|rather|prefer\\w*|better|simply|in place of",
     "stattdessen|lieber|besser|statt|plutôt|à la place|mieux|en lugar de|en vez de|mejor|prefiero",
     "而不是|改成|改用|换成|最好|应该用"),
    (0.6, "we|our|us|ours", "wir|uns|unser\\w*|nous|notre|nos|nosotros|nuestr\\w+|\\w+(?:amos|emos)", "我们|咱们"),
    (0.6, "i (?:think|would|want|mean|like|doubt|prefer)|i['\u2019]d",
     "ich (?:denke|möchte|will|finde|hätte)|je (?:pense|veux|préfère|voudrais)|creo|quiero|pienso",
     "我觉得|我想|我认为|我希望|我要"),
    (0.5, "because|since|so that|otherwise|that['\u2019]s why|the idea|in case|due to|risk\\w*",
     "weil|denn|damit|sonst|deshalb|parce que|car|sinon|afin|pour que|porque|ya que|si no|para que",
     "因为|否则|不然|所以|以免"),
    (0.4, "remove|rename|keep|move|use|revert|drop|include|add",
     ("entfern\\w*|behalt\\w*|benutz\\w*|verwend\\w*|nimm|füg\\w*|supprim\\w*|gard\\w+|utilis\\w+|ajout\\w+|quita\\w*"
     "|elimin\\w+|usa\\w*|utili\\w+|añad\\w+|manten\\w*"),
     "使用|用|删除|保留|改名|加上|去掉"),
    (0.4, "should|must|have to|needs? to|supposed|make sure|ensure|expect(?:ed)?",
     "soll\\w*|muss|müssen|doit|doivent|devrai\\w+|il faut|deb\\w+|tiene que|hay que|asegúrate",
     "应该|必须|需要|要|务必|一定"),
    (0.4, "let['\u2019]?s|let (?:it|us)", "lass(?:t)? uns|vamos a", "让我们|咱们"),
    (0.3, ("don['\u2019]?t|do not|doesn['\u2019]?t|shouldn['\u2019]?t|can['\u2019]?t|cannot|won['\u2019]?t|never"
     "|no need|no longer|without"),
     "nicht|nie|niemals|kein\\w*|ohne|ne|pas|jamais|sans|nunca|jamás|sin|no",
     "不要|不能|别|从不|不用|禁止|不应"),
    (0.3, "always|every|any|all|everywhere|each|only|both|same|in general",
     ("immer|jede\\w*|alle\\w*|überall|nur|toujours|chaque|tou(?:s|tes)|partout|seulement"
     "|siempre|cada|tod[oa]s|sólo|solo"),
     "总是|每|所有|都|只"),
    (0.3, "but|hmm|actually", "aber|eigentlich|mais|pero", "但|其实"),
    (0.2, "why", "warum|wieso|pourquoi|por qué", "为什么"),
)  # fmt: skip

# Words and lines of a prompt, the last of which nobody types: set by 877 labelled prompts
_FEW, _SHORT, _LONG, _LINES, _TYPED = 6, 12, 80, 15, 150
_PASTED = expression(
    r"(?im)^[ \t]*>"
    r"|\b(?:feedback|review(?:er)?|comments?|copilot|coderabbit|bugbot) (?:said|says|wrote|from|on|in|for)\b"
    r"|\b(?:got|have|received) (?:this|the following|some) (?:feedback|review|comment)\b"
    r"|https?://\S{1,300}/(?:pull|merge_req\w*)/"
)
_QUOTES = expression(r"[\"“„«](?P<inner>[^\"“„«”»]{80,})[\"”»]")
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")


@cache
def _patterns() -> tuple[tuple[float, re.Pattern[str]], ...]:
    patterns = []
    for adds, english, further, signs in _CUES:
        patterns.append((adds, re.compile(rf"(?i)\b(?:{english}|{further})\b|{signs}")))
    return tuple(patterns)


def weight(text: str, edits: int = 0) -> float:
    """How much speaks for it that a person states here what holds longer.

    `edits` were made before the next prompt.

    >>> pip = "let's use `uv add` instead, because pip ignores the lock file"
    >>> weight("commit this") < 1 < weight(pip, 1)
    True
    """
    words_only = _FENCE.sub(" ", text)
    words = len(words_only.split()) + len(re.findall("[\u3400-\u9fff]", words_only)) // 2
    total = 1.0 * (edits > 0) + 0.5 * (edits > 3)
    total += sum(adds for adds, pattern in _patterns() if pattern.search(words_only[:2000]))
    return (
        total
        - 0.8 * (words < _FEW)
        - 0.5 * (words < _SHORT)
        - 0.7 * (words > _LONG)
        - 0.6 * (text.count("\n") > _LINES)
    )


def is_pasted(text: str) -> bool:
    """Whether a person hands on what another wrote, such as a comment of a review or a page.

    Nobody types so much.
    """
    return bool(_PASTED.search(text) or _QUOTES.search(text)) or len(text.split()) > _TYPED
