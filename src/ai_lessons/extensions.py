"""What features add to the core, by the names in their rows.

The only way by which the core reaches a feature.

The table is `ai_lessons.features.ROWS`. It holds names in strings, so that a list or a hook loads
no feature that it does not use. Nothing else in the core names a feature;
`tests/test_architecture.py` looks.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

FEATURES = "ai_lessons.features"
NOTHING: Mapping[str, str] = MappingProxyType({})


class CommandRow(NamedTuple):
    """A command, where it is (`module:name` in the feature's folder), and where it stands.

    `words` are how it is called: one below the program itself, two in a group. `help` is its line
    in the help of the program, which loads no command; without one it is a short name that no help
    lists but that in the section `Short forms`.

    In a group it is listed behind the command `after`, in the `section` of the help that has
    this heading, or only with `--all`.

    A short name with an `example` is among those of every day in the help of the program, behind
    the one that begins with `after`.
    """

    words: tuple[str, ...]
    place: str
    help: str = ""
    after: str = ""
    section: str = ""
    example: str = ""


class PromptRow(NamedTuple):
    """A prompt of MCP: its name, where it is, and what a client shows of it."""

    name: str
    place: str
    help: str


class HostRow(NamedTuple):
    """An agent host: how its sessions call it, where it is, and what shows that an event is from it.

    A hook learns from the row which module to load. `keys` and `events`: those of which an event of
    no other host has one. `folder`: in which it keeps transcripts. `variable`: of the environment,
    names a file whose lines it runs before each command of a session. `client`: its name over MCP,
    if it shows the model the text of an answer and the data of it both.
    """

    agent: str
    place: str
    keys: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    folder: str = ""
    variable: str = ""
    client: str = ""


class Feature(NamedTuple):
    """All that one feature adds.

    Its folder is called `name`; a place is `module:name` in that folder.

    What stands at a place is a function, unless this says otherwise; where the core calls it, its
    types are said:

    - `commands`: of the program; `programs`: click groups of their own, by the name of the program.
      See `interfaces.cli.command`. A command may declare a tool of MCP.
    - `keys`: of frontmatter. What follows up to `beside` is asked of entries that state one of
      them, and of no other.
    - `planners`: classes that decide what files become that are added, by the kind of entry, see
      `features.intake.plan.Planner`.
    - `elsewhere`: a class that leads to texts outside of the repository, whose path stands in its
      facts as `elsewhere`, see `search.catalog_survey.Elsewhere`.
    - `problems`: what is wrong with an entry, as (key, sentence), see `model.checks.check_entry`.
    - `facts`: what the catalog keeps of an entry, see `search.catalog_records.facts_of_features`.
      `facts_version` is raised where the same entry would give others. Of some keys the core knows
      the meaning: see `model.names`.
    - `unproven`: why something that an entry states could not be tried here, see `app.effects`.
    - `notes`: sentences below an answer, and `notes_whole`: below an entry that is shown whole, see
      `app.notes`; `beside`: a verdict on an entry that is shown.
    - `effects`: what a proposal would do once it is approved, see `app.effects`: `stated` by what
      its text says, `code` in the code around, `sessions` in past ones.
    - `shown`: the words of `recall show` for a key of frontmatter, from its value; `described`:
      lines in their place, from all of the frontmatter, see `app.notes.described`.
    - `diagnostics`: what is wrong in a file of code, see `app.notes.diagnostics`.
    - `touched`: entries that speak of what a change touches, see `app.notes.touched`.
    - `options`: more of a command, by its words, and `writing`: what is added to an entry that is
      written, see `interfaces.cli.added_options` and `app.additions`. `renewal`: a new look at an
      entry of which a person says that it holds; `evidence`: what shows a reason of `outdated`.
    - `asks`: what texts of the core ask of agents beside, in words that hold only with it, by the
      text: `instructions`, `before_task`, `after_task` (`interfaces.mcp.guidance`), `statement` and,
      for each file of it, `statement_file` (`telling.words`).
    - `tells`: only its `offers` tell the entries on which it keeps facts, in the words of their
      pattern. These facts are claims: where nobody vouches for an entry they are emptied.
    - `offers`: what may be told, by the moment at which it is asked, see `telling.offers`; `hints`:
      a sentence at a moment at which no entry is told. `hears`: takes note of an event of a session,
      by its moment, see `telling.pipeline`. `enforce`: what breaks rules at an event, and what the
      host shall do about it, see `telling.pipeline`; its facts have the host's `decisions`.
    - `past`: what past sessions say for a proposal, see `app.pending_rules`; `figures`: what
      stored entries would have changed in them, as rows of name and value. It takes a while.
    - `doctor` and `status`: checks by the name of their line, see `app.health`.
    - `measures`: what is done with how long a hook, a check or a search took, by the variable of the
      environment that asks for it, see `interfaces.measures`.
    - `outdated`: reasons to look at an entry again, `unseen`: names of code that is not here, so
      that it cannot be looked at, and `stale`: entries whose source moved on, see `app.outdated`;
      `refresh`: takes in what moved on, see `features.intake.refreshing`.
    - `reread`: takes in again what lies elsewhere, before it is indexed anew, see
      `app.index_upkeep`.
    - `guard`: asked before a write, with the library, the repository and the changes; raises
      Refused.
    - `learned`: a class that says what the events of a repository teach, see
      `app.learned.Learned`; `filter`: a class that tells by it, see `telling.filtering.EntryFilter`.
    - `tables`: `app.overview.Table`s by the page of `look` on which they stand, of a library.
    - `settings`: values (`model.config.Key`) by the key of `.ai-lessons/config.yaml`.
    - `folders`: keys of `config.toml` that name a folder, see
      `settings.Settings.folders_of_features`.
    - `administrators`: a class that reads the file of the administrators of a machine, see
      `settings.AdministratorsFile`, and `enrols`: to which tier of an enterprise code belongs by
      itself, see `settings`.
    - `shares`: what a sync shares beside the repository itself, see `interfaces.cli.sharing`.
    - `door`: who may call the server over HTTP, and as whom, where `config.toml` has a table of the
      feature's name, see `interfaces.mcp.callers.Door`.
    - `prompts`: of MCP, for the one client of standard streams, see `interfaces.mcp.server`.
    - `exports`: forms of `admin export`, see `features.transfer.sites`.
    - `skills`: the files of skills that MCP serves, see `interfaces.mcp.skills.served_skills`.
    - `hosts`: a table of agent hosts (`HostRow`), see `model.agent_hosts`.
    - `schemas`: the JSON Schema of a key of frontmatter, for the reference.
    - `answers`: what `--json` prints, for the reference: the type of an answer by words on it, with
      `[]` for a list.

    `needs`: features whose modules this one imports.
    """

    name: str
    needs: tuple[str, ...] = ()
    commands: tuple[CommandRow, ...] = ()
    programs: Mapping[str, str] = NOTHING
    keys: tuple[str, ...] = ()
    planners: Mapping[str, str] = NOTHING
    elsewhere: str = ""
    problems: str = ""
    facts: str = ""
    facts_version: int = 1
    notes: str = ""
    notes_whole: str = ""
    beside: str = ""
    unproven: str = ""
    effects: Mapping[str, str] = NOTHING
    shown: Mapping[str, str] = NOTHING
    described: Mapping[str, str] = NOTHING
    diagnostics: str = ""
    touched: str = ""
    options: Mapping[str, str] = NOTHING
    writing: str = ""
    renewal: str = ""
    evidence: Mapping[str, str] = NOTHING
    asks: Mapping[str, str] = NOTHING
    tells: bool = False
    offers: Mapping[str, str] = NOTHING
    hints: Mapping[str, str] = NOTHING
    hears: Mapping[str, str] = NOTHING
    enforce: str = ""
    past: str = ""
    figures: str = ""
    doctor: Mapping[str, str] = NOTHING
    status: Mapping[str, str] = NOTHING
    measures: Mapping[str, str] = NOTHING
    outdated: str = ""
    unseen: str = ""
    stale: str = ""
    refresh: str = ""
    reread: str = ""
    guard: str = ""
    learned: str = ""
    filter: str = ""
    tables: Mapping[str, str] = NOTHING
    settings: Mapping[str, str] = NOTHING
    folders: tuple[str, ...] = ()
    administrators: str = ""
    enrols: str = ""
    shares: str = ""
    door: str = ""
    prompts: tuple[PromptRow, ...] = ()
    exports: Mapping[str, str] = NOTHING
    skills: str = ""
    hosts: str = ""
    schemas: Mapping[str, str] = NOTHING
    answers: Mapping[str, str] = NOTHING

    def place(self, place: str) -> str:
        """A place as `load` takes it; without a module what stands there is in the folder's own."""
        if place.startswith(":"):
            return f"{FEATURES}.{self.name}{place}"
        return f"{FEATURES}.{self.name}.{place}"


@cache
def rows() -> tuple[Feature, ...]:
    """Every feature that is here, in the order of the table."""
    table: tuple[Feature, ...] = import_module(FEATURES).ROWS
    return table


def load(place: str) -> Any:
    """What stands at `package.module:name`; loads the module."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def added(what: str) -> Iterator[tuple[str, Any]]:
    """What every feature adds by its row's field `what`, as (name of the feature, what stands at the place)."""
    for feature in rows():
        place = getattr(feature, what)
        if place:
            yield feature.name, load(feature.place(place))


def concerning(what: str, fields: Collection[str]) -> Iterator[tuple[str, Any]]:
    """As `added`, of those features alone of which one of these keys of frontmatter is."""
    for feature in rows():
        place = getattr(feature, what)
        if place and any(key in fields for key in feature.keys):
            yield feature.name, load(feature.place(place))


def telling(features: Collection[str] = ()) -> str:
    """The first of these features that tells entries itself, see `Feature.tells`; empty if none."""
    for feature in rows():
        if feature.tells and feature.name in features:
            return feature.name
    return ""


def enforced(features: Collection[str]) -> bool:
    """Whether one of these features enforces rules."""
    return any(feature.enforce and feature.name in features for feature in rows())


def at(what: str, moment: str) -> Iterator[Any]:
    """What features add for a moment of a session, by a field that maps moments to places."""
    for feature in rows():
        place = getattr(feature, what).get(moment)
        if place:
            yield load(feature.place(place))


def asks(text: str) -> list[str]:
    """What features add to a text of the core that asks something of agents."""
    return [feature.asks[text] for feature in rows() if text in feature.asks]


def prompts() -> Iterator[tuple[PromptRow, str]]:
    """The prompts that features add, each with its place."""
    for feature in rows():
        for row in feature.prompts:
            yield row, feature.place(row.place)


def named(what: str) -> dict[str, str]:
    """The places in a field that maps names to places, of all features, as `load` takes them."""
    places = {}
    for feature in rows():
        for name, place in getattr(feature, what).items():
            places[name] = feature.place(place)
    return places


def measuring(environ: Mapping[str, str]) -> list[Any]:
    """What features do with how long a call took, where a variable asks for it."""
    places = dict[str, None]()
    for variable, place in named("measures").items():
        if environ.get(variable):
            places[place] = None
    return [load(place) for place in places]


@cache
def hosts() -> tuple[HostRow, ...]:
    """Every agent host that is known, each with its place as `load` takes it. Loads none."""
    table = []
    for feature in rows():
        if feature.hosts:
            for row in load(feature.place(feature.hosts)):
                table.append(row._replace(place=feature.place(row.place)))
    return tuple(table)


def commands(*group: str) -> Iterator[tuple[CommandRow, str]]:
    """The commands that features add to the program, or to a group of it, each with its place."""
    for feature in rows():
        for row in feature.commands:
            if row.words[:-1] == group:
                yield row, feature.place(row.place)
