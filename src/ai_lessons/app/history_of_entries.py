"""How an entry came to be as it is: commits, approvals, and why a line stands there.

Begin with `why`.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ai_lessons import app
from ai_lessons.app.answers import Approval, Why
from ai_lessons.errors import AiLessonsError, NotFound
from ai_lessons.model import lessons
from ai_lessons.model.entries import Entry, Kind, Relation
from ai_lessons.model.layout import blob_id
from ai_lessons.model.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ai_lessons.app.answers import Related
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.git.history import FileRevision
    from ai_lessons.model.approval import BranchView, Evidence, Verdict
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.catalog_reader import CatalogReader

# How a rule came in force, as `Evidence.how` says it
WAYS: Final = {
    "merge": "a merge",
    "squash": "a squashed pull request",
    "line": "approve-rule",
    "signed": "a signed merge",
    "forge": "the protected branch",
}


def log(library: Library, ref: str) -> tuple[FileRevision, ...]:
    """The commits that touched the entry's file, newest first, followed through renames."""
    repo, summary = library.holding(ref)
    return repo.history.log(repo.file_of(summary))


def diff(library: Library, ref: str, rev: str | None = None) -> str:
    """Unified diff of the entry: the file on disk against its last commit, or against `rev`."""
    repo, summary = library.holding(ref)
    path, store = repo.file_of(summary), repo.store
    if rev is None and store.head().commit is None:
        from ai_lessons.git.history import unified

        return app.secrets.masked_file(unified(path, None, store.read(path)), {})
    return app.secrets.masked_file(repo.history.diff(path, rev or "HEAD"), {})


def change_of_rule(library: Library, ref: str, commit: str) -> str:
    """Unified diff of what one commit changed in the entry's file.

    Raises NotFound: no such commit, or not of it.
    """
    repo, summary = library.holding(ref)
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
    verdict = _verdict_on(repo, view, rule)
    if view is None or verdict is None or not verdict.in_force:
        return None
    if verdict.blob is None or verdict.path is None:
        return None
    change = _unapproved_change(repo, view, verdict, verdict.path, verdict.blob)
    return _approval(verdict.evidence, change)


def _verdict_on(
    repo: RepositorySession, view: BranchView | None, rule: EntrySummary
) -> Verdict | None:
    if view is None:
        return None
    return view.verdicts.get(repo.catalog.stated([rule.id]).get(rule.id, ""))


def _reason(repo: RepositorySession, rule: EntrySummary) -> str:
    """By which evidence a rule is in force, as a sentence."""
    verdict = _verdict_on(repo, repo.rules.view(readable=True), rule)
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
    lines = [*_author_lines(approval, revisions, summary.origin.stated_by)]
    if summary.origin.stated_by:
        lines.append(f"stated by {summary.origin.stated_by}")
    if summary.kind is Kind.LESSON:
        prefix = "its file says "
    else:
        prefix = ""
    lines += [f"{prefix}{_IN_WORDS.get(key, f'{key}:')} {value}" for key, value in stated.items()]
    lines += [f"derived from {_title(related)}" for related in chain]
    summary = app.link_effects.vouched(library.reading, summary)
    if weakest := summary.origin.weakest:
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
    return Why(summary, approval, tuple(lines), repo.learned.of(summary))


def _linked(
    catalog: CatalogReader, summary: EntrySummary
) -> tuple[tuple[Related, ...], tuple[Related, ...]]:
    """The chain of what it derives from, never back to where it came by another way, and its other neighbours."""
    origins = app.link_effects.origins(catalog, summary.id)
    neighbours = []
    for related in app.link_effects.around(catalog, summary.id):
        if not (related.relation == Relation.DERIVED_FROM and related.outgoing):
            neighbours.append(related)
    return app.link_effects.related_of(catalog, origins), tuple(neighbours)


def _author_lines(
    approval: Approval | None, revisions: Sequence[FileRevision], stated_by: str
) -> Iterator[str]:
    """Who said it: the author of the first commit, of a rule those of its proposal."""
    if revisions:
        first = revisions[-1]
        at, by = first.when, f"{first.author} <{first.email}>"
        if "Agent" in first.trailers:
            by += f", agent {first.trailers['Agent']}"
    elif approval:
        at = approval.approved_at
    elif stated_by:
        yield "not committed yet"
        return
    else:
        yield "not committed yet: git does not know who said it"
        return
    if approval:
        by = approval.suggested_by
    yield f"written by {by or 'an unknown author'} on {at}"
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
