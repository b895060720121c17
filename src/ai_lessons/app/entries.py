"""Jobs that read entries.

Show, list, history, versions, where an entry comes from and who approved it.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons import app
from ai_lessons.app.answers import Approval, Listing, Related, Shown, Why
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.model import expression, lessons, links
from ai_lessons.model.entries import (
    UNVERSIONED,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Relation,
    Status,
)
from ai_lessons.model.layout import blob_id
from ai_lessons.model.lessons import ScopePlace, place_of
from ai_lessons.model.texts import first_of, may_have_headings, texts_of
from ai_lessons.model.versions import AUTO, nearest, newest_first
from ai_lessons.model.versions import score as version_score
from ai_lessons.search.catalog_reader import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from ai_lessons.app.answers import Query, Usage
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.connectors.manifests import Use
    from ai_lessons.git.history import FileRevision
    from ai_lessons.model.approval import BranchView, Evidence, Verdict
    from ai_lessons.model.chunks import TextSection as Cut
    from ai_lessons.search.catalog_reader import CatalogReader

    Stored = Mapping[str, frozenset[str]]

# Packages or versions that a note names; the others are counted
NAMED_IN_NOTE = 6

_VERSION = r"(?:version\s*|v)?[0-9]+(?:\.[0-9x]+)*"
# with a project asked for, any number with a dot names a version; else what "v", "version" or a
# preposition leads
_DOTTED = expression(r"(?<![\w.])v?[0-9]++(?:\.[0-9]++)++(?![\w.]*\w)")
_LED = expression(
    r"(?i)(?<![\w.-])(version\s+v?|v|(?:at|for|from|in|of|on|since|to|under|using|with)\s+(?=[0-9]+\.))"
    r"([0-9]+(?:\.[0-9x]+)*)(?![\w.]*\w)"
)


class Versions(NamedTuple):
    """Versions asked of entries: of projects by their own, and of all others alike.

    Empty asks for nothing.

    `instead` says for which version (as asked) the nearest stored one stands in, by project.
    """

    others: frozenset[str] = frozenset()
    of_project: Mapping[str, frozenset[str]] = MappingProxyType({})
    notes: tuple[str, ...] = ()
    instead: Mapping[str, str] = MappingProxyType({})

    def of(self, project: str) -> frozenset[str]:
        """What is asked of an entry of this project."""
        return self.of_project.get(project, self.others)

    def spellings(
        self, names: Iterable[str]
    ) -> tuple[frozenset[str] | None, dict[str, frozenset[str]]]:
        """Of the versions as entries write them those that fit: for all others (None.

        Whatever), and by project.
        """
        every = list(names)

        def fitting(asked: frozenset[str]) -> frozenset[str]:
            results = []
            for name in every:
                if version_score(asked, {name}) is not None:
                    results.append(name)
            return frozenset(results)

        by_project = {project: fitting(asked) for project, asked in self.of_project.items()}
        return (fitting(self.others) if self.others else None), by_project

    def stand_ins(self, summaries: Iterable[EntrySummary]) -> list[str]:
        """Notes on versions that stand in for others, as far as these entries are of such projects."""
        projects = dict.fromkeys(summary.project for summary in summaries)
        results: list[str] = []
        for project in projects:
            if project in self.instead:
                results.append(self.instead[project])
        return results


def asked_versions(repo: Reading, query: Query) -> Versions:
    """What the query asks for. The catalog is up to date already.

    With nothing asked for, a version that the words name counts, else what the lock files of the
    code around pin.
    """
    filters = query.filters
    asked = frozenset(version for version in filters.versions if version.strip().casefold() != AUTO)
    stored = repo.catalog.versions_of_projects()
    of_project: dict[str, frozenset[str]] = {}
    notes: list[str] = []
    if not filters.versions:
        of_project = _in_words(query, stored)
        if stored:
            used = _in_use(repo, query, asked, stored.keys() - of_project)[0]
        else:
            used = {}
        # versions that were not asked for must not empty the answer
        of_project |= {
            name: versions for name, versions in used.items() if _fitting(versions, stored[name])
        }
    elif len(asked) < len(set(filters.versions)):
        of_project, notes = _in_use(repo, query, asked, None)
    instead = {}
    # asked of no project in particular, a version may well be that of another one
    fits = not filters.project and any(_fitting(asked, versions) for versions in stored.values())
    for project, versions in stored.items():
        asked_of_it = of_project.get(project, frozenset() if fits else asked)
        if (
            not asked_of_it
            or _fitting(asked_of_it, versions)
            or (filters.project and project != filters.project)
        ):
            continue
        names = sorted(name.lstrip("@") for name in asked_of_it)
        if near := {name: stand_in for name in names if (stand_in := nearest(name, versions))}:
            of_project[project] = frozenset(near.values())
            pairs = ", ".join(f"{stand_in} for {name}" for name, stand_in in near.items())
            instead[project] = (
                f"{project} is not stored at the version asked for: the nearest is taken, {pairs}"
            )
    return Versions(asked, of_project, tuple(notes), instead)


def what_there_is(query: Query, stored: Stored) -> list[str]:
    """Which versions there are, where one was asked for that leaves nothing."""
    if not query.filters.versions:
        return []
    project = query.filters.project
    having = []
    for name in [project] if project else stored:
        if name in stored:
            having.append(f"{name} has {_listed(stored[name])}")
    if not having:
        return [
            f"nothing of {project} states a version"
            if project
            else "nothing that is stored states a version"
        ]
    listing = "; ".join(having[:NAMED_IN_NOTE])
    return [f"nothing is stored at version {', '.join(query.filters.versions)}; {listing}"]


def not_here(catalog: CatalogReader, asked: Mapping[str, Iterable[str]]) -> list[str]:
    """A line for each project, tag or version that no entry has.

    What may have been meant, else what there is.
    """
    counted = {"project": catalog.projects, "tag": catalog.tags, "version": catalog.versions}
    lines = []
    for what, name in ((what, name) for what, names in asked.items() for name in names if name):
        names = []
        for tally in counted[what]():
            names.append(tally.name)
        if name not in names:
            # only for a name that is nowhere
            from difflib import get_close_matches

            if what == "project":
                stored = catalog.versions_of_projects()
            else:
                stored = {}
            near = []
            for x in get_close_matches(name, names, 3, 0.5):
                near.append(f"{x}{_having(stored.get(x, ()))}")
            if names:
                other = f"the {what}s here: {', '.join(names[:NAMED_IN_NOTE])}"
            else:
                other = "there is none yet"
            if near:
                other = f"did you mean {what} {' or '.join(near)}?"
            lines.append(f"no {what} {name!r}; {other}")
    return lines


def _having(versions: Iterable[str]) -> str:
    if every := list(versions):
        return f" ({'version' if len(every) == 1 else 'versions'} {_listed(every)})"
    return ""


def _listed(versions: Iterable[str]) -> str:
    every = newest_first(versions)
    if len(every) > NAMED_IN_NOTE:
        return f"{every[-1]} to {every[0]}"
    return ", ".join(every)


def _fitting(asked: Iterable[str], versions: Iterable[str]) -> bool:
    versions_asked = set(asked)
    return any(version_score(versions_asked, {version}) is not None for version in versions)


def _in_words(query: Query, stored: Stored) -> dict[str, frozenset[str]]:
    """Versions that stand behind a project's name, or elsewhere where a project has them.

    With one asked for, of it.
    """
    by_project, text = dict[str, frozenset[str]](), query.text
    for project in stored:
        name = rf"(?<![\w-]){re.escape(project)}[\s@/-]*({_VERSION})(?![\w.]*\w)"
        if named := re.search(name, text, re.IGNORECASE):
            by_project[project] = frozenset({re.sub(r"(?i)version\s*", "", named[1])})
            text = text.replace(named[0], "")
    led = _LED.findall(text)
    if query.filters.project:
        words = _DOTTED.findall(text)
    else:
        words = [word for _, word in led]
    unasked = {
        name: stored[name]
        for name in stored.keys() - by_project
        if query.filters.project in {None, name}
    }
    for project, versions in unasked.items():
        if fitting := frozenset(word for word in words if _fitting({word}, versions)):
            by_project[project] = fitting
    if by_project:
        return by_project
    # the nearest of what is surely a version: "for 1.5 hours" is none
    sure = frozenset(word for lead, word in led if lead[0] in "vV")
    return {
        name: sure
        for name, versions in unasked.items()
        if any(nearest(word, versions) for word in sure)
    }


def _in_use(
    repo: Reading, query: Query, named: frozenset[str], projects: Iterable[str] | None
) -> tuple[dict[str, frozenset[str]], list[str]]:
    """What lock and manifest files around pin for these projects (None.

    Those asked for, or all), and notes on it.
    """
    from ai_lessons.connectors.manifests import in_use, manifests

    if projects is None:
        project = query.filters.project
        if project:
            projects = [project]
        else:
            projects = [tally.name for tally in repo.catalog.projects()]
    files, left_out = manifests(repo.options.cwd)
    uses = in_use(files, list(projects), repo.reading_config.tag_aliases)
    notes = [
        _note(uses, query.filters.project),
        *(f"left out for the versions in use: {file}" for file in left_out),
    ]
    return {
        project: named | {use.version for use in project_uses}
        for project, project_uses in uses.items()
    }, notes


def _note(uses: Mapping[str, Sequence[Use]], project: str | None) -> str:
    """Which versions are in use, and what says so."""
    lines = (
        f"{x.package} {x.version.lstrip('@')} ({x.path})"
        for several in uses.values()
        for x in several
    )
    names = list(dict.fromkeys(lines))
    if not names:
        if project:
            whose = f"of {project!r}"
        else:
            whose = "of any project here"
        return f"versions in use: no lock or manifest file of the code you are in names one {whose}"
    return f"versions in use: {first_of(names, NAMED_IN_NOTE)}"


def show(
    opened: Library, ref: str, *, section: int | None = None, heading: str | None = None
) -> Shown:
    """One entry whole, or one section, by number (from 1) or words of its heading.

    Raises NotFound, AmbiguousName.
    """
    repo, summary = opened.holding(ref)
    catalog = opened.reading.catalog
    entry, raw = contents_of(repo, summary)
    if summary.kind is not Kind.SCRIPT:
        text = entry.body
    else:
        text = entry.body or entry.code
    sections: tuple[Cut, ...] = ()
    chosen, lines = None, list[str]()
    if may_have_headings(text):
        from ai_lessons.model import chunks

        sections, lines = chunks.sections(text), chunks.lines_of(text)
    if section is not None or heading is not None:
        chosen = _choose(sections, section, heading, summary.title)
        text = "".join(lines[chosen.start - 1 : chosen.end])
    notes = (*_notes(opened, repo, summary), *app.edited_files.doubts(repo, summary, raw))
    approval, kept = None, None
    if summary.kind is Kind.RULE:
        approval = approval_of(repo, summary)
        kept = repo.usages.kept([summary]).get(summary.id)
    usage, silent = None, ""
    if summary.kind is Kind.LESSON:
        usage = _usage_of(repo, summary)
        silent = repo.usages.silent([summary]).get(summary.id, "")
    return Shown(
        entry=app.link_effects.vouched(
            opened.reading, app.notes.with_verdicts(opened.reading, [summary])[0]
        ),
        body=text,
        raw=raw,
        frontmatter=entry.fields,
        code=entry.code,
        related=app.link_effects.related_of(
            catalog, links.reach(catalog.edges(summary.id), summary.id)
        ),
        sections=sections,
        section=chosen.number if chosen else None,
        notes=notes,
        approval=approval,
        kept=kept,
        usage=usage,
        silent=silent,
    )


def _notes(opened: Library, repo: RepositorySession, summary: EntrySummary) -> tuple[str, ...]:
    """What is to be known beside an entry."""
    notes: list[str] = []
    if summary.kind is Kind.RULE:
        notes += repo.rules.notes
    return (*notes, *app.notes.notes_whole(opened, summary))


def _usage_of(repo: RepositorySession, lesson: EntrySummary) -> Usage:
    """How a lesson has done here, and what another tool counted of it where an import brought that."""
    usage = repo.usages.of(lesson)
    return usage._replace(elsewhere=app.counted_elsewhere.of_entries(repo.usages).get(lesson.id))


def difference(path: str, old: str, new: str) -> str:
    """How two texts differ, as a unified diff."""
    # a list shows no difference
    from ai_lessons.git.history import unified

    return unified(path, old.encode(), new.encode())


def list_entries(
    opened: Library,
    *,
    kinds: Collection[Kind] = (),
    project: str | None = None,
    tag: str | None = None,
    category: str | None = None,
    versions: Sequence[str] = (),
    status: str | None = "active",
    sort: str = "newest",
    limit: int | None = None,
    silent: bool = False,
    every: bool = False,
    scope: str | None = None,
    origin: str | None = None,
) -> Listing:
    """Entries by filters, as `Filter` sorts.

    `status` None: any, and (also with `every`) the superseded.

    `scope`, `origin`: those of lessons. `silent`: only what is told to nobody who does not ask,
    why, of any status.
    """
    catalog = opened.reading.current()
    at = place_of(scope) if scope else ScopePlace(project or "")
    query = Filter(
        kinds=frozenset(kinds),
        project=at.project or None,
        scopes=at.scopes,
        tags=(tag,) if tag else (),
        category=category,
        versions=tuple(versions),
        status=Status(status) if status is not None else None,
        sort=sort,
        limit=limit or 0,
        without=_superseded(opened.reading)
        if status == Status.ACTIVE and not every
        else frozenset(),
    )
    if silent:
        return _silent_ones(
            opened.reading, query._replace(status=None, without=frozenset(), limit=0), limit
        )
    entries = tuple(summary for summary in catalog.select(query) if origin in {None, summary.from_})
    total = len(entries) if limit is None else catalog.count(query)
    asked = (
        {} if entries else {"project": (project or "",), "tag": (tag or "",), "version": versions}
    )
    return Listing(entries, total, (*opened.reading.notes(), *not_here(catalog, asked)))


def _silent_ones(reading: Reading, query: Filter, limit: int | None) -> Listing:
    """Those of a query that are told to nobody who does not ask, with the reasons."""
    summaries = reading.catalog.select(query)
    why = app.link_effects.silent(reading, summaries)
    quiet = tuple(summary for summary in summaries if summary.id in why)
    return Listing(quiet[:limit], len(quiet), tuple(reading.notes()), why)


def _superseded(reading: Reading) -> frozenset[str]:
    """The ids of superseded entries.

    Where no link says so a list need not load what follows such links.
    """
    if all(edge.relation != Relation.SUPERSEDES for edge in reading.catalog.edges()):
        return frozenset()
    return app.link_effects.superseded(reading)


def tags(opened: Library) -> tuple[Tally, ...]:
    """Every tag with its entries counted, most used first."""
    return tuple(opened.reading.current().tags())


def versions(opened: Library, project: str | None = None) -> tuple[Tally, ...]:
    """Every version with its docs and scripts counted, the newest first, names and `unversioned` last.

    Raises NotFound: no such project.
    """
    catalog = opened.reading.current()
    if project is not None and (unknown := not_here(catalog, {"project": (project,)})):
        raise NotFound("project", project, hint=unknown[0].partition(": ")[2])
    resources = catalog.select(
        Filter(kinds=frozenset(kind for kind in Kind if kind.is_resource), project=project)
    )
    plain = Counter(summary.kind.value for summary in resources if not summary.versions)
    unversioned = (Tally(UNVERSIONED, plain.total(), dict(plain)),) if plain else ()
    tallies = {tally.name: tally for tally in catalog.versions(project)}
    return (*(tallies[name] for name in newest_first(tallies)), *unversioned)


def projects(opened: Library) -> tuple[Tally, ...]:
    """Every project with its entries counted."""
    return tuple(opened.reading.current().projects())


def related(opened: Library, ref: str, depth: int = 1) -> tuple[Related, ...]:
    """Entries reached over links within `depth` steps, either way, nearest first; each once."""
    catalog, start = opened.reading.current(), opened.reading.resolve(ref).id
    edges = catalog.edges(None if depth > 1 else start)
    return app.link_effects.related_of(catalog, links.reach(edges, start, depth))


def log(opened: Library, ref: str) -> tuple[FileRevision, ...]:
    """The commits that touched the entry's file, newest first, followed through renames."""
    repo, summary = opened.holding(ref)
    return repo.history.log(repo.file_of(summary))


def diff(opened: Library, ref: str, rev: str | None = None) -> str:
    """Unified diff of the entry: the file on disk against its last commit, or against `rev`."""
    repo, summary = opened.holding(ref)
    path, store = repo.file_of(summary), repo.store
    if rev is None and store.head().commit is None:
        from ai_lessons.git.history import unified

        return app.secrets.masked_file(unified(path, None, store.read(path)), {})
    return app.secrets.masked_file(repo.history.diff(path, rev or "HEAD"), {})


def change_of_rule(opened: Library, ref: str, commit: str) -> str:
    """Unified diff of what one commit changed in the entry's file.

    Raises NotFound: no such commit, or not of it.
    """
    repo, summary = opened.holding(ref)
    log = repo.history.log(repo.file_of(summary))
    pair = next((pair for pair in zip_longest(log, log[1:]) if pair[0].commit == commit), None)
    if pair is None:
        raise NotFound(f"commit of {summary.handle}", commit)
    from ai_lessons.git.history import unified

    after, before = pair
    old = None
    if before:
        old = repo.history.text_at(before.commit, before.path)
    return app.secrets.masked_file(
        unified(after.path, old, repo.history.text_at(after.commit, after.path)), {}
    )


def complete(opened: Library, prefix: str, what: str) -> Sequence[tuple[str, str]]:
    """Completions of `prefix` with a word of help each; `what` is id, project, tag or version."""
    return opened.reading.current().complete(what, prefix)


def _choose(sections: Sequence[Cut], number: int | None, heading: str | None, title: str) -> Cut:
    """The section of that number, or the first whose heading is, else holds, the words."""
    words = (heading or "").casefold().strip()
    if number is not None:
        fitting = [cut for cut in sections if cut.number == number]
    else:
        fitting = [cut for cut in sections if words in cut.heading.casefold()]
    if fitting:
        return min(fitting, key=lambda cut: cut.heading.casefold() != words)
    headings = ", ".join(f"{cut.number} {cut.heading}" for cut in sections[:12])
    raise NotFound(
        f"section of {title!r}", str(number if number is not None else heading),
        hint=f"it has: {headings}" if headings else "it has no headings: show it whole",
    )  # fmt: skip


def contents_of(repo: RepositorySession, summary: EntrySummary) -> tuple[Entry, str]:
    """The entry as its files are on disk (a rule as it is in force), and the text with its frontmatter or its only one.

    As `RepositorySession.load`, but without YAML, and without what the frontmatter says as values of their own.
    Raises NotFound: it is gone. InvalidEntry.
    """
    place = repo.catalog.locate(summary.id)
    data, side = repo.files_of(place)
    texts = texts_of(place.path, data, side, script=summary.kind is Kind.SCRIPT)
    main = data if side is None else side
    same = (place.hash is None or blob_id(data) == place.hash) and (
        side is None or blob_id(side) == place.side_hash
    )
    # parsed if a file was changed in the moment since the catalog looked
    fields = repo.catalog.fields(place.id) if same else repo.parse(place.path, data, side).fields
    bare = Entry(summary.id, summary.kind, summary.title, summary.path, summary.project)
    body = texts.body
    if place.path.lower().endswith((".rst", ".adoc")):
        # most pages are Markdown
        from ai_lessons.model.frontmatter import as_markdown

        body = as_markdown(place.path, body)
    entry = bare._replace(fields=fields, body=body, code=texts.code)
    if place.hash is None:
        # most entries are whole here
        from ai_lessons.model.frontmatter import with_code

        entry = with_code(entry, data)
    raw = app.secrets.masked_file(main.decode("utf-8", "replace"), fields)
    return app.secrets.masked_entry(entry), raw


_STATED = (
    "confidence",
    "source",
    "from",
    "category",
    "scope",
    "rationale",
    "source_path",
    "source_ref",
    "path",
)

_IN_WORDS = {"source_path": "copied from", "source_ref": "as of", "path": "its file is"}


def approval_of(repo: RepositorySession, rule: EntrySummary) -> Approval | None:
    """Who approved this rule; None if it is no more in force. Call `current` first.

    Raises NotFound: no text in git.
    """
    view = repo.rules.view(readable=True)
    verdict = None
    if view:
        verdict = view.verdicts.get(repo.catalog.stated([rule.id]).get(rule.id, ""))
    if (
        view is None
        or verdict is None
        or not verdict.in_force
        or verdict.blob is None
        or verdict.path is None
    ):
        return None
    return _approval(
        verdict.evidence, _unapproved_change(repo, view, verdict, verdict.path, verdict.blob)
    )


def _reason(repo: RepositorySession, rule: EntrySummary) -> str:
    """By which evidence a rule is in force, as a sentence."""
    view = repo.rules.view(readable=True)
    verdict = None
    if view:
        verdict = view.verdicts.get(repo.catalog.stated([rule.id]).get(rule.id, ""))
    if verdict and verdict.evidence.reason:
        return f"its evidence: {verdict.evidence.reason}"
    return ""


def approvals_of(repo: Reading, rules: Iterable[EntrySummary]) -> dict[str, Approval]:
    """Who approved these rules, by id, without a look for unapproved changes.

    Call `current` first.
    """
    summaries, approvals = list(rules), dict[str, Approval]()
    tiers = {rule.tier for rule in summaries}
    places = {}
    for place in repo.every:
        if place.options.tier in tiers:
            places[place.options.tier] = place
    views = {tier: place.rules.view(readable=True) for tier, place in places.items()}
    stated = {
        tier: place.catalog.stated([rule.id for rule in summaries])
        for tier, place in places.items()
    }
    for rule in summaries:
        view = views.get(rule.tier)
        verdict = None
        if view:
            verdict = view.verdicts.get(stated[rule.tier].get(rule.id, ""))
        if verdict and verdict.in_force:
            approvals[rule.id] = _approval(verdict.evidence)
    return approvals


def _approval(evidence: Evidence, unapproved_change: str = "") -> Approval:
    from ai_lessons.model.approval import moment

    return Approval(
        approved_by=str(evidence.by or ""),
        approved_at=moment(evidence.at),
        suggested_by=", ".join(map(str, evidence.suggested_by)),
        commit=evidence.commit,
        evidence=evidence.level,
        how=evidence.how,
        unapproved_change=unapproved_change,
    )


def _unapproved_change(
    repo: RepositorySession, view: BranchView, verdict: Verdict, path: str, blob: str
) -> str:
    """The diff to the working tree if the rule was edited there, else to the branch."""
    approved = _unix(repo.rules.text(verdict.rule, path, blob))
    text_here = _text(lambda: repo.store.read(path))
    if text_here != approved:
        # a tree at another commit may simply have another text
        head = repo.store.head().commit
        if head and (
            head == view.tip or text_here != _text(lambda: repo.history.text_at("HEAD", path))
        ):
            return _diff(path, approved, text_here, "working tree")
    for arrival in verdict.unapproved:
        if arrival.blob != blob:
            # else another copy of the same text
            text = None
            if arrival.blob:
                text = _unix(repo.rules.text(verdict.rule, arrival.path, arrival.blob))
            return _diff(path, approved, text, "approval branch")
    return ""


def _text(read: Callable[[], bytes]) -> bytes | None:
    try:
        return _unix(read())
    except AiLessonsError:
        # gone, or replaced by what is no plain file
        return None


def _unix(data: bytes) -> bytes:
    """As git would store it where it changes line ends on checkout."""
    return data.replace(b"\r\n", b"\n")


def _diff(path: str, approved: bytes, other: bytes | None, where: str) -> str:
    # most have none, and need not load what reads git's objects
    from ai_lessons.git.history import unified

    if other is not None:
        other_name = f"{path} ({where})"
    else:
        other_name = f"removed from the {where}"
    return unified(path, approved, other, (f"{path} (in force)", other_name))


def why(library: Library, ref: str) -> Why:
    """Who said it, from what, who approved it.

    Raises NotFound, AmbiguousName: not one entry answers to `ref`.
    """
    repo, summary = library.holding(ref)
    entry, _ = repo.load(summary.id)
    revisions = repo.history.log(repo.file_of(summary))
    approval = None
    if summary.kind is Kind.RULE:
        approval = approval_of(repo, summary)
    stated = {}
    for key in _STATED:
        if entry.fields.get(key) not in (None, ""):
            stated[key] = lessons.source_line(entry.fields[key])
    chain, neighbours = _linked(library.reading.catalog, summary)
    lines = [*_author_lines(approval, revisions, summary.stated_by)]
    if summary.stated_by:
        lines.append(f"stated by {summary.stated_by}")
    if summary.kind is Kind.LESSON:
        prefix = "its file says "
    else:
        prefix = ""
    lines += [f"{prefix}{_IN_WORDS.get(key, f'{key}:')} {value}" for key, value in stated.items()]
    lines += [f"derived from {_title(related)}" for related in chain]
    summary = app.link_effects.vouched(library.reading, summary)
    if weakest := summary.weakest:
        lines.append(lessons.vouching(weakest))
    for related in neighbours:
        lines.append(
            f"{Relation(related.relation).words(outgoing=related.outgoing)} {_title(related)}"
        )
    if summary.kind is not Kind.RULE:
        lines += _merge_lines(repo, summary)
    elif approval:
        if approval.approved_by:
            by = f" by {approval.approved_by}"
        else:
            by = ""
        lines.append(
            f"approved{by} on {approval.approved_at} by {WAYS[approval.how]}, commit "
            f"{approval.commit[:10]}"
        )
        lines += filter(None, [_reason(repo, summary)])
        if approval.unapproved_change:
            lines.append("an unapproved change of it exists; the approved text is in force")
    return Why(summary, approval, tuple(lines), repo.usages.of(summary))


# How a rule came in force, as `Evidence.how` says it
WAYS: Final = {
    "merge": "a merge",
    "squash": "a squashed pull request",
    "line": "approve-rule",
    "signed": "a signed merge",
    "forge": "the protected branch",
}


def _linked(
    catalog: CatalogReader, summary: EntrySummary
) -> tuple[tuple[Related, ...], tuple[Related, ...]]:
    """The chain of what it derives from, never back to where it came by another way, and its other neighbours."""
    steps = links.reach(catalog.edges(summary.id), summary.id)
    near = []
    for step in steps:
        if not (step.relation == Relation.DERIVED_FROM and step.outgoing):
            near.append(step)
    return app.link_effects.related_of(
        catalog, app.link_effects.origins(catalog, summary.id)
    ), app.link_effects.related_of(catalog, near)


def _author_lines(
    approval: Approval | None, revisions: Sequence[FileRevision], stated_by: str
) -> Iterator[str]:
    """Who said it: the author of the first commit, of a rule those of its proposal."""
    if revisions:
        first, agent = revisions[-1], revisions[-1].trailers.get("Agent")
        by, at = f"{first.author} <{first.email}>{f', agent {agent}' if agent else ''}", first.when
    elif approval:
        by, at = "", approval.approved_at
    else:
        yield "not committed yet" + ("" if stated_by else ": git does not know who said it")
        return
    yield f"written by {(approval.suggested_by if approval else by) or 'an unknown author'} on {at}"
    if len(revisions) > 1:
        last = revisions[0]
        if len(revisions) == 2:
            times = "once"
        else:
            times = f"{len(revisions) - 1} times"
        yield f"changed {times} since, last by {last.author} on {last.when}"


def _title(related: Related) -> str:
    if related.entry:
        return f"{related.entry.handle} {related.entry.title}"
    return f"{related.target} (not here)"


def _merge_lines(repo: RepositorySession, summary: EntrySummary) -> Iterator[str]:
    """Who took the proposals of it, newest first; nothing where it was simply written."""
    # only the history of an entry asks for it
    from ai_lessons.approval.outcomes import taken_on

    for proposal in taken_on(repo.store.worktree, repo.rules.ref(), summary.id):
        if proposal.how == "merge":
            way = f"by a merge of {proposal.proposal}"
        else:
            way = f"by a commit of {proposal.proposal}"
        if proposal.approved_by:
            by = f" by {proposal.approved_by}"
        else:
            by = ""
        who = proposal.suggested_by
        yield f"approved{by} on {proposal.approved_at}, {way} (suggested by {who}), commit {proposal.commit[:10]}"
