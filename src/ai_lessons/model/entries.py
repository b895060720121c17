"""Domain types: kinds, entries, links, ids, handles, tiers.

And which fields of an answer are keys of its JSON.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons import extensions
from ai_lessons.model import expression

if TYPE_CHECKING:
    from ai_lessons.errors import Problem

T = TypeVar("T")


class JsonFields(NamedTuple):
    """Names of fields or properties that are keys; `optional` ones are left out while empty.

    `entry`: the keys of the summary in the field `entry` stand in front, on the same level. A name
    such as `from_` is the key `from`.
    """

    names: tuple[str, ...]
    optional: tuple[str, ...] = ()
    entry: bool = False


_DECLARED = "__json_fields__"


def json_fields(
    *names: str, hidden: Sequence[str] = (), optional: tuple[str, ...] = (), entry: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declare the keys of a class, see `JsonFields`.

    Without `names` they are all fields but the `hidden` ones.
    """

    def declare(answer: type[T]) -> type[T]:
        left_out = {*hidden, *optional, *(["entry"] if entry else [])}
        keys = names or tuple(name for name in _field_names(answer) or () if name not in left_out)
        if _DECLARED in vars(answer):
            raise TypeError(f"{answer.__name__} declares its keys twice")
        setattr(answer, _DECLARED, JsonFields(keys, optional, entry))
        return answer

    return declare


def _field_names(answer: type) -> tuple[str, ...] | None:
    names = getattr(answer, "_fields", None) or getattr(answer, "__dataclass_fields__", None)
    if names is None:
        return None
    return tuple(names)


def fields_of(answer: type) -> JsonFields | None:
    """The keys of a class that declares them, of a NamedTuple or of a dataclass.

    None for other types.
    """
    declared: JsonFields | None = getattr(answer, _DECLARED, None)
    if declared is not None:
        return declared
    names = _field_names(answer)
    if names is None:
        return None
    return JsonFields(names)


def record(value: Any) -> dict[str, Any]:
    """The keys of a value of such a class, with what they hold.

    Raises TypeError: its class has no fields.
    """
    fields = fields_of(type(value))
    if fields is None:
        raise TypeError(f"{type(value).__name__} has no fields")
    if fields.entry:
        data: dict[str, Any] = value.entry.as_json()
    else:
        data = {}
    data |= {name.rstrip("_"): getattr(value, name) for name in fields.names}
    return data | {name: held for name in fields.optional if (held := getattr(value, name))}


# Fewest characters of an id that a handle shows
HANDLE_LENGTH = 6

UNVERSIONED = "unversioned"
# Crockford's base 32, as ULIDs are written
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = expression(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
SHARED = "shared"
GLOBAL_PROJECT = "global"


class Moment(StrEnum):
    """An event of an agent's session at which hints are shown."""

    BEGIN = "begin"
    PROMPT = "prompt"
    BEFORE_TOOL = "before-tool"
    TOOL_DONE = "tool-done"
    TOOL_FAILED = "tool-failed"
    STOP = "stop"


class Confidence(StrEnum):
    """How sure the author of a lesson is, weakest first."""

    VERY_LOW = "very-low"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    VERY_HIGH = "very-high"


class Source(StrEnum):
    """How the author of a lesson learned it."""

    TESTED = "tested"
    DOCUMENTED = "documented"
    OBSERVED = "observed"
    INFERRED = "inferred"
    HEARSAY = "hearsay"


class Status(StrEnum):
    """State of a lesson, or of a doc that records a decision.

    Only `active` and `proposed` ones are in results.
    """

    ACTIVE = "active"
    WRONG = "wrong"
    PROMOTED = "promoted"
    PROPOSED = "proposed"
    SUPERSEDED = "superseded"
    DEPRECATED = "deprecated"
    REJECTED = "rejected"


OF_LESSONS = (Status.ACTIVE, Status.WRONG, Status.PROMOTED)
# What a doc is that does not hold: it is found only by who asks for all.
NO_LONGER = frozenset({Status.SUPERSEDED, Status.DEPRECATED, Status.REJECTED})


class Category(StrEnum):
    """What sort of thing a lesson teaches."""

    CODE_PATTERN = "code_pattern"
    PREFERENCE = "preference"
    SOLUTION = "solution"
    ERROR_RECOVERY = "error_recovery"
    TOOL_USAGE = "tool_usage"
    HARNESS_KNOWLEDGE = "harness_knowledge"


class Kind(StrEnum):
    """What an entry is; all that differs between kinds is in `KINDS`.

    A *resource* is a kind that carries versions.
    """

    LESSON = "lesson"
    RULE = "rule"
    DOC = "doc"
    SCRIPT = "script"

    @property
    def letter(self) -> str:
        """The first letter of a handle."""
        return KINDS[self].letter

    @property
    def folder(self) -> str:
        """The folder below the project that holds this kind, and the name of its group in answers."""
        return KINDS[self].folder

    @property
    def is_resource(self) -> bool:
        """True for docs and scripts: they have versions and an outside source."""
        return KINDS[self].versioned


class KindFacts(NamedTuple):
    """What one kind is.

    `heading` stands above its group of results. `fields` are the keys of its frontmatter besides
    those of every kind, with the value of a new entry (None: left out); `required` must be stated,
    `choices` have one of these words. `summarised` are those that an `EntrySummary` has,
    `in_results` those of them that a result shows in JSON. `opening` is the key whose text is
    embedded in front of the body.
    """

    letter: str
    folder: str
    heading: str
    fields: Mapping[str, Any]
    versioned: bool = False
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    required: tuple[str, ...] = ()
    choices: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    summarised: tuple[str, ...] = ()
    in_results: tuple[str, ...] = ()
    opening: str = ""


REVIEW_KEYS = ("review_by", "reviewed")
# The key of any kind that says what it speaks of: a feature reads it
ABOUT = "about"
# The key by which the enterprise of an entry lets it go: for each tier the digest of the text meant
RELEASED = "release_to"
# A fact of any feature: where its confidence begins, which counts once its author is known
BEGINS = "begins"
# A fact of any feature: where the text of an entry lies outside of the repository
ELSEWHERE = "elsewhere"
_COPIED = ("source_path", "source_ref", "content_hash")
_OF_PAGE = ("source_url", "source_date", "etag")

# Every kind, in the order of the groups of an answer.
# All other tables by kind derive from this one.
KINDS: Mapping[Kind, KindFacts] = {
    Kind.RULE: KindFacts(
        "R", "rules", "Rules (follow these):", dict.fromkeys(("rationale", "applies_to", "check", "source_path")),
        required=("rationale",), summarised=("rationale", "applies_to", *REVIEW_KEYS),
        in_results=("rationale", "applies_to"), opening="rationale",
    ),
    Kind.SCRIPT: KindFacts(
        "S", "scripts", "Scripts (try these):", dict.fromkeys(("path", *_COPIED, "interpreter")),
        versioned=True, summarised=REVIEW_KEYS,
    ),
    Kind.LESSON: KindFacts(
        "L", "lessons", "Lessons (context):",
        {"confidence": "medium", "source": "observed", "from": "user", "status": "active"}
        | dict.fromkeys(("category", "scope", "contexts", "applies_to", "pattern", "seen")),
        statuses=frozenset(OF_LESSONS),
        choices={
            "confidence": tuple(Confidence), "source": tuple(Source), "from": ("ai", "user"), "status": OF_LESSONS,
            "category": tuple(Category),
        },
        summarised=("confidence", "from", "category", "scope", "applies_to", *REVIEW_KEYS),
        in_results=("confidence", "source", "status"), opening="pattern",
    ),
    Kind.DOC: KindFacts(
        "D", "docs", "Docs (reference):", dict.fromkeys((*_COPIED, *_OF_PAGE, "source")),
        versioned=True, statuses=NO_LONGER | {Status.ACTIVE, Status.PROPOSED},
        summarised=REVIEW_KEYS,
    ),
}  # fmt: skip
LESSONS = frozenset({Kind.LESSON})


class Relation(StrEnum):
    """How one entry stands to another. `contradicts` and `related_to` hold both ways."""

    RELATED_TO = "related_to"
    DERIVED_FROM = "derived_from"
    HAS_SCRIPT = "has_script"
    HAS_DOC = "has_doc"
    PROVES = "proves"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    SPECIALIZES = "specializes"

    @property
    def symmetric(self) -> bool:
        """True where a link from A to B holds from B to A, too."""
        return self in {Relation.RELATED_TO, Relation.CONTRADICTS}

    def words(self, *, outgoing: bool = True) -> str:
        """The relation in words, also as the other end has it."""
        if outgoing or self.symmetric:
            return self.value.replace("_", " ")
        return BACKWARDS[self]


BACKWARDS = {
    Relation.DERIVED_FROM: "origin of",
    Relation.HAS_SCRIPT: "script of",
    Relation.HAS_DOC: "doc of",
    Relation.PROVES: "proved by",
    Relation.SUPERSEDES: "superseded by",
    Relation.SPECIALIZES: "general case of",
}


class Link(NamedTuple):
    """One edge of the graph, as written in the entry that carries it. `target` is a full id."""

    relation: str
    target: str
    weight: float | None = None


class Edge(NamedTuple):
    """A link as written.

    The entry `source` says that it stands in `relation` to `target`, which may not exist.
    """

    source: str
    relation: str
    target: str
    weight: float | None = None


class Pattern(NamedTuple):
    """WHEN `when` -> DO (or, if `negative`, DO NOT) `action` -> BECAUSE `because`."""

    when: str
    action: str
    because: str
    negative: bool = False

    @property
    def parts(self) -> dict[str, Any]:
        """Its keys and values in frontmatter."""
        return {
            "when": self.when,
            "dont" if self.negative else "do": self.action,
            "because": self.because,
        }

    def as_json(self) -> dict[str, str]:
        """The parts; `do` is the action, whether to do it or not."""
        if self.negative:
            action = "dont"
        else:
            action = "do"
        return {"when": self.when, "action": action, "do": self.action, "because": self.because}

    def __str__(self) -> str:
        return f"WHEN {self.when} -> {'DO NOT' if self.negative else 'DO'} {self.action} -> BECAUSE {self.because}"


# End of the rationale that earlier versions wrote for an imported rule whose source states none.
UNSTATED = "which does not say why: say it before you approve"


class Entry(NamedTuple):
    """One lesson, rule, doc or script, as read from its file or files.

    `path` is relative to the repository, with `/`: the Markdown file, or for a script the runnable
    file, whose `side_path` is then the Markdown beside it (None where there is none). `body` is the
    Markdown below the frontmatter; `code` the text of a script. `fields` is the whole frontmatter,
    unknown keys included. `derived` says that the id comes from the path because no file states
    one. `faults`: why what looks like frontmatter is part of the body. `hidden`: what looks like a
    secret and is masked in all of these, a line each.
    """

    id: str
    kind: Kind
    title: str
    path: str
    project: str
    tags: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    fields: Mapping[str, Any] = MappingProxyType({})
    body: str = ""
    code: str = ""
    side_path: str | None = None
    derived: bool = False
    faults: tuple["Problem", ...] = ()
    hidden: str = ""
    # how much of its file perhaps does not mean what it says, see `checks.doubts`
    doubtful: int = 0

    @property
    def file(self) -> str:
        """The file that holds the frontmatter (for a plain script: the one that would hold it)."""
        if self.kind is not Kind.SCRIPT:
            return self.path
        return self.path + ".md"

    @property
    def status(self) -> Status:
        """One of the statuses of its kind, else active."""
        value = self.fields.get("status")
        if value in tuple(KINDS[self.kind].statuses):
            return Status(value)
        return Status.ACTIVE

    @property
    def source(self) -> str | None:
        """Of a lesson, in one word.

        `source.how`, else `source.type`, else the word that stands there.
        """
        source = self.fields.get("source")
        if isinstance(source, dict):
            source = source.get("how", source.get("type"))
        if isinstance(source, str):
            return source
        return None

    @property
    def rationale(self) -> str:
        """Why a rule is so; empty where an import found no reason, see also `UNSTATED`."""
        rationale = str(self.fields.get("rationale") or "")
        if rationale.endswith(UNSTATED):
            return ""
        return rationale

    @property
    def opening(self) -> str:
        """Text of the frontmatter that is embedded in front of the body; empty if there is none."""
        key = KINDS[self.kind].opening
        if key == "pattern":
            text = str(self.pattern) if self.pattern else None
        else:
            text = self.fields.get(key)
        if isinstance(text, str) and not text.endswith(UNSTATED):
            return text.strip()
        return ""

    @property
    def pattern(self) -> Pattern | None:
        """The lesson's WHEN, DO, BECAUSE, if it states all three."""
        return pattern_of(self.fields)


def pattern_of(fields: Mapping[str, Any]) -> Pattern | None:
    """The WHEN, DO, BECAUSE that frontmatter states, if it states all three."""
    raw = fields.get("pattern")
    if not isinstance(raw, dict) or not raw.get("when") or not raw.get("because"):
        return None
    negative = "dont" in raw
    action = raw.get("dont" if negative else "do")
    if action:
        return Pattern(str(raw["when"]), str(action), str(raw["because"]), negative)
    return None


class Beside(NamedTuple):
    """What features find of an entry when it is shown.

    The worst `verdict` in one word, the same as a sentence (`warning`), and in `details` what was
    looked at, each with what became of it. `silences`: a lesson is not told unasked for it.
    """

    verdict: str = ""
    warning: str = ""
    silences: bool = False
    details: Sequence[tuple[str, str]] = ()


class Stated(NamedTuple):
    """What the file of an entry states beside what lists show, empty where it does not.

    `from_` is the key `from`.
    """

    applies_to: str | Sequence[str] | None = None
    review_by: str = ""
    reviewed: str = ""
    source: str | None = None
    from_: str = ""
    category: str = ""
    scope: str = ""
    pattern: str = ""


class Origin(NamedTuple):
    """What the history tells of a lesson: who stated it, and whether that is a person who works here.

    `weakest`: of what an entry comes from, the lesson that vouches for less than the entry itself.
    """

    stated_by: str = ""
    firm: bool = False
    weakest: Mapping[str, Any] | None = None


class Doubts(NamedTuple):
    """What a person should look at in the files of an entry.

    How many values look like secrets that nobody allowed (`masked` wherever it is shown), and how
    many keys and lines are `doubtful`, as `Entry.doubtful`.
    """

    masked: int = 0
    doubtful: int = 0


class EntrySummary(NamedTuple):
    """An entry as lists and results show it, from the catalog alone.

    `handle` is unique in the repository at the time it was read. `rationale`, `status` and
    `confidence` stand as in its file, empty where it has none.
    """

    id: str
    handle: str
    kind: Kind
    title: str
    project: str
    tags: tuple[str, ...]
    versions: tuple[str, ...]
    path: str
    snippet: str = ""
    tier: str = "user"
    score: float | None = None
    created: str = ""
    rationale: str = ""
    status: str = ""
    confidence: str | None = None
    stated: Stated = Stated()
    origin: Origin = Origin()
    doubts: Doubts = Doubts()
    # what features found of it; see `app.notes`
    beside: Beside = Beside()
    # what features keep of it, by their names
    facts: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def told_by(self) -> str:
        """The feature whose offers alone tell it where words or commands bring it; mostly none."""
        return extensions.telling(self.facts or ())

    @property
    def elsewhere(self) -> str:
        """Where its text lies outside of the repository, as a feature says; mostly nowhere."""
        for facts in (self.facts or {}).values():
            if ELSEWHERE in facts:
                return str(facts[ELSEWHERE])
        return ""

    def value(self, key: str) -> Any:
        """What its file states for a key, by the name of the field here or in `stated`."""
        if key in Stated._fields:
            return getattr(self.stated, key)
        return getattr(self, key)

    def as_json(self, *, scored: bool = False) -> dict[str, Any]:
        """What every entry has, and what results of its kind show.

        Only a result of a search is `scored`.
        """
        data: dict[str, Any] = {
            "id": self.id,
            "handle": self.handle,
            "kind": self.kind.value,
            "title": self.title,
            "project": self.project,
            "tier": self.tier,
            "tags": list(self.tags),
            "versions": list(self.versions),
            "path": self.path,
            "snippet": self.snippet,
        }
        if scored:
            data["score"] = self.score
        for key in KINDS[self.kind].in_results:
            data[key] = self.value(key)
        if self.kind is Kind.DOC and self.status:
            data["status"] = self.status
        extra = {
            "verdict": self.beside.verdict,
            "warning": self.beside.warning,
            "weakest": self.origin.weakest,
        }
        for key, value in extra.items():
            if value:
                data[key] = value
        return data


_LETTERS = frozenset(kind.letter for kind in Kind)


class Filter(NamedTuple):
    """Which entries, in which order.

    Empty fields ask for nothing; an entry carries all `tags` and all `versions`.

    `since`: as `created` is written. `status` None shows every status, `limit` 0 everything.
    `without`: ids that are left out. `scopes`: what an entry may state as its scope, "" for
    nothing. A passage holds every one of `phrases`. A search, which takes `versions` as ranges,
    asks for `spelled`: unless None, entries that carry none of these spellings, but carry others,
    are left out. `spelled_in` says so for single projects, which `spelled` leaves alone.
    """

    kinds: frozenset[Kind] = frozenset()
    project: str | None = None
    tags: Sequence[str] = ()
    versions: Sequence[str] = ()
    since: str | None = None
    status: Status | None = Status.ACTIVE
    scopes: frozenset[str] = frozenset()
    title: str | None = None
    category: str | None = None
    ids: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    phrases: Sequence[str] = ()
    spelled: frozenset[str] | None = None
    spelled_in: Mapping[str, frozenset[str]] = {}
    sort: str = "newest"
    limit: int = 0


def stated_id(value: object) -> str | None:
    """A stated id in capitals.

    Anything that is not a ULID is a foreign file's own and stays a field.
    """
    if isinstance(value, str) and _ULID.fullmatch(value.upper()):
        return value.upper()
    return None


def ulid(milliseconds: int, chance: bytes) -> str:
    """A ULID of a time (since 1970) and ten random bytes.

    Written out, because the package loads slowly.
    """
    number = int.from_bytes(milliseconds.to_bytes(6, "big") + chance, "big")
    results = []
    for shift in range(125, -1, -5):
        results.append(_ALPHABET[number >> shift & 31])
    return "".join(results)


def handle(kind: Kind, entry_id: str, length: int = HANDLE_LENGTH) -> str:
    """`L-8F3K2A`: kind letter and the last `length` characters of the id."""
    return f"{kind.letter}-{entry_id[-length:]}"


def id_end(name: str) -> str:
    """The end of an id that a handle names (`L-8F3K2A`), in capitals; other names as they are."""
    letter, _, end = name.strip().upper().partition("-")
    if letter in _LETTERS:
        return end
    return name.strip().upper()


def shared_tail(left: str, right: str) -> int:
    """How many characters at the end of two ids are the same."""
    pairs = enumerate(zip(reversed(left), reversed(right), strict=False))
    return next((count for count, (a, b) in pairs if a != b), min(len(left), len(right)))


def handle_lengths(ids: Iterable[str]) -> dict[str, int]:
    """For every id the number of last characters that no other id here ends with.

    At least `HANDLE_LENGTH`.
    """
    ordered = sorted({i[::-1] for i in ids})
    lengths = {}
    for n, reversed_id in enumerate(ordered):
        neighbours = ordered[max(n - 1, 0) : n] + ordered[n + 1 : n + 2]
        common = max(
            (shared_tail(reversed_id[::-1], other[::-1]) for other in neighbours), default=0
        )
        lengths[reversed_id[::-1]] = max(HANDLE_LENGTH, common + 1)
    return lengths
