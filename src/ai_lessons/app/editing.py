"""Jobs that write entries: add, change, remove. Each is one commit.

Begin with `add_lesson` and `change`.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

from ai_lessons import app
from ai_lessons.app import authorship, secrets
from ai_lessons.app.additions import NewText
from ai_lessons.app.repetitions import namesakes, opposites
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.errors import Refused, UsageError
from ai_lessons.git import external_files
from ai_lessons.git.store import Applied, Change
from ai_lessons.model import (
    expression,
    failures,
    frontmatter,
    layout,
    lessons,
    markdown,
    simple_commands,
)
from ai_lessons.model.entries import (
    GLOBAL_PROJECT,
    KINDS,
    UNVERSIONED,
    Kind,
    Pattern,
)
from ai_lessons.model.layout import blob_id, project_name
from ai_lessons.model.texts import decode, escaped
from ai_lessons.model.yaml_edit import REMOVE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.agent_sessions import Failure
    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.app.written import LessonDraft, Written
    from ai_lessons.model.entries import Entry, EntrySummary


# A note
UNCHANGED = "nothing changed"
TAKEN_ALONG = "keeps the command that failed in this session and its output, by which it is found at the same failure"
_QUOTED, _WORD = expression(r"`([^`\n]+)`"), expression(r"\w[\w.-]*\w|\w")
_NOT_FIELDS = {"links", "content", "project", "allow_secrets", "options", "further"}


def text_of_file(file: str, cwd: Path) -> str:
    """The text of a file, or of a pipe such as `<(command)`.

    Raises as `files.typed` and `files.read`.
    """
    path = external_files.typed(external_files.expanded(file), cwd)
    return decode(external_files.read(path, pipes=True)[0], file)


def heading_and_text(text: str, file: str) -> tuple[str, str, tuple[str, ...]]:
    """Title and text of a lesson, and its tags, from a text with a heading or frontmatter.

    Else the file's name.

    Raises UsageError: neither is there, or the frontmatter says that it is no lesson. InvalidEntry:
    it cannot be read.
    """
    fields, body = markdown.parse(text, file)
    kind = str(fields.get("kind"))
    if kind in {x.value for x in Kind} - {Kind.LESSON.value}:
        hint = f"take it over as that: ai-lessons admin import {shlex.quote(file)}"
        raise UsageError(
            f"its frontmatter says that this is a {kind}, and add writes lessons", hint=hint
        )
    heading, below = frontmatter.cut_heading(body)
    if file == "-":
        name = ""
    else:
        name = os.path.splitext(os.path.basename(file))[0]
    title = str(fields.get("title") or "") or heading or name
    if not title.strip():
        hint = "say in one line what was observed: --title …, or a heading above the text: # …"
        raise UsageError("the lesson has no title", hint=hint)
    tags = frontmatter.listed(fields.get("tags"))
    if title == heading:
        return title, below, tags
    return title, body, tags


def add_lesson(library: Library, draft: LessonDraft) -> Written:
    """A new lesson.

    Raises InvalidEntry: it breaks the format; NotFound: a linked entry does not exist.
    """
    repo = library.primary
    if not draft.title.strip():
        raise UsageError(
            "the lesson has no title", hint="say in one line what was observed: --title …"
        )
    failure = _failure_of(repo.options, draft)
    if failure:
        draft = draft._replace(content=f"{draft.content.rstrip()}\n\n{failure}".lstrip())
    created = repo.options.now()
    entry_id = frontmatter.new_id(created)
    links: list[tuple[str, str]] = []
    if draft.links:
        library.reading.current()
        links = frontmatter.resolved(draft.links, library.reading.resolve)
        refuse_wrong_kinds(library.reading.catalog, Kind.LESSON, links)
    stated = {name: value for name, value in draft._asdict().items() if name not in _NOT_FIELDS}
    stated |= draft.further
    if repo.options.agent:
        # an agent may say that it speaks for a person
        stated["origin"] = authorship.AI
    project = GLOBAL_PROJECT
    if draft.project:
        project = project_name(draft.project)
    new_text = NewText(Kind.LESSON, project, " \n".join(_texts_of(draft)), draft.options)
    addition = app.additions.additions(repo, new_text)
    globs = (*layout.globs([*draft.applies_to]), *addition.globs)
    stated["applies_to"] = [*dict.fromkeys(globs)]
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), links=links, **stated, **addition.fields
    )
    fields |= secrets.fields(draft.allow_secrets)
    path = layout.new_path(Kind.LESSON, project, draft.title, entry_id, frontmatter.stamp(created))
    data = markdown.render(fields, frontmatter.body_of(draft.content)).encode()
    entry = checked(path, data)
    applied = repo.write(
        f"Add lesson: {draft.title}", [Change(path, data, expect=None)], [("Entry", entry.id)]
    )
    if entry.fields.get("from") == authorship.USER:
        authorship.remember(repo, authorship.USER, entry)
    done = repo.written_one(entry, applied)
    # compared with the catalog as the last look left it: a write does not pay for another look
    notes = [
        *done.notes,
        *addition.notes,
        *app.project_code.unmatched(repo, fields.get("applies_to"), project),
    ]
    notes += namesakes(repo, done.id, entry.title)
    if failure:
        notes.append(TAKEN_ALONG)
    action = draft.do or draft.dont
    if draft.when and action and draft.because:
        repo.current()
        pattern = Pattern(draft.when, action, draft.because, negative=draft.dont is not None)
        notes += opposites(repo, done.id, pattern)
    return done._replace(notes=tuple(notes))


def _texts_of(draft: LessonDraft) -> list[str]:
    """All that a draft says in words, part by part."""
    parts = (draft.title, draft.when, draft.do, draft.dont, draft.because, draft.content)
    return [part for part in parts if part]


def _failure_of(options: Options, draft: LessonDraft) -> str:
    """The failure of an agent's session that its lesson is about, as a block for its text.

    By it the lesson is found.

    Empty for a person, where the text keeps a failure already, and where none fits. The session is
    the one that is named; a server that knows none takes the latest of its folder, if the lesson
    names a program that failed there.
    """
    if not options.agent or failures.keeps_one(draft.content):
        return ""
    state, name = options.state_dir, options.session or ""
    is_known = app.agent_sessions.is_remembered(state, name)
    if is_known:
        kept = app.agent_sessions.failures_of(state, name)
    else:
        kept = app.agent_sessions.failures_in(state, options.cwd)
    text = " ".join(_texts_of(draft))
    quoted = set(_WORD.findall(" ".join(_QUOTED.findall(text)).lower()))
    words = set(_WORD.findall(text.lower()))

    def fits(failure: Failure) -> tuple[int, int]:
        """2: it names the program as code, 1: in its text; then how many words both have."""
        programs = {program.lower() for program in simple_commands.programs(failure.command)}
        named = 0
        if not programs.isdisjoint(quoted):
            named = 2
        elif not programs.isdisjoint(words):
            named = 1
        about = set(_WORD.findall(failure.command.lower()))
        about |= failures.words_of(failures.shape(failure.output))
        return named, len(about & words)

    meant = [failure for failure in kept if fits(failure)[0]]
    if not meant and is_known:
        # no program is named: the last one that was solved and that no lesson has yet
        solved = [failure for failure in kept if failure.solved and not failure.settled]
        meant = solved[-1:]
    if not meant:
        return ""
    # the latest of those that fit as well
    failure = max(reversed(meant), key=fits)
    block = escaped(failures.in_block(failure.command, failure.output))
    if secrets.secrets_in(block):
        return ""
    return block


def update(
    library: Library,
    ref: str,
    *,
    tags: Sequence[str] | None = None,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    versions: Sequence[str] | None = None,
    project: str | None = None,
    content: str | None = None,
    allow_secrets: Sequence[tuple[str, str]] = (),
    only_resources: bool = False,
    options: Mapping[str, Any] | None = None,
    **stated: str | Sequence[str] | Mapping[str, Any] | None,
) -> Written:
    """Change what is given; None leaves a key alone, an empty list removes it.

    Versions and project move the file.

    `options` are those of features. `stated` are further keys of the frontmatter, such as `title`
    and `applies_to`.
    Raises UsageError: nothing is given, or with `only_resources` it is a lesson or a rule.
    """
    repo, summary = library.writing(ref)
    if only_resources:
        _refuse_others(summary, "update")
    new_tags = _new_tags(summary, tags, add_tags, remove_tags)
    plain = None
    if versions is not None:
        plain = [version for version in versions if version != UNVERSIONED]
    keys = _of_kind(repo, summary, {**stated, "tags": new_tags, "versions": plain})
    changes = {key: _as_changed(value) for key, value in keys.items()}
    if stated.get("applies_to"):
        changes["applies_to"] = layout.globs(changes["applies_to"])
    if options:
        new_text = NewText(summary.kind, project or summary.project, options=options)
        changes |= _changes_of_features(repo, new_text, keys.get("applies_to", ()))
    changes |= secrets.fields(allow_secrets, existing=repo.catalog.fields(summary.id))
    if not changes and project is None and content is None:
        raise UsageError(
            "nothing to change", hint="give at least one of --title, --tags, --version, …"
        )
    subject = f"Update {summary.kind}: {keys.get('title') or summary.title}"
    done = change(repo, summary, changes, subject, content=content, project=project, versions=plain)
    repo.note_status(summary, changes.get("status"))
    unmatched = app.project_code.unmatched(
        repo, changes.get("applies_to"), project or summary.project
    )
    return done._replace(notes=(*done.notes, *unmatched))


def _new_tags(
    summary: EntrySummary, tags: Sequence[str] | None, add: Sequence[str], remove: Sequence[str]
) -> list[str] | None:
    """The tags that an entry has then; None: as they are."""
    if tags is None and not add and not remove:
        return None
    if tags is None:
        tags = summary.tags
    return sorted({*tags, *add} - {*remove})


def _as_changed(value: Any) -> Any:
    """A value as `change` takes it: what is empty removes its key, a text excepted."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        value = list(value)
    return value or REMOVE


def _changes_of_features(
    repo: RepositorySession, new_text: NewText, globs: Sequence[str]
) -> dict[str, Any]:
    """The keys that options of features change.

    Globs of files go to `applies_to`, beside those stated there.
    """
    addition = app.additions.additions(repo, new_text)
    changes: dict[str, Any] = {}
    for key, value in addition.fields.items():
        changes[key] = value or REMOVE
    if addition.globs:
        changes["applies_to"] = [*dict.fromkeys((*globs, *addition.globs))]
    return changes


def _of_kind(
    repo: RepositorySession, summary: EntrySummary, stated: Mapping[str, Any]
) -> dict[str, Any]:
    """What is stated, the parts of a pattern as one key.

    Raises UsageError: entries of this kind have no such key.
    """
    keys = {key: value for key, value in stated.items() if value is not None}
    parts: dict[str, Any] = {}
    for part in ("when", "do", "dont", "because"):
        if part in keys:
            parts[part] = keys.pop(part)
    if parts:
        keys["pattern"] = _pattern(repo, summary, parts)
    for key in keys:
        # a key that no kind has is taken as it is
        having = [kind for kind in Kind if key in KINDS[kind].fields]
        if having and summary.kind not in having:
            raise UsageError(
                f"{summary.handle} is a {summary.kind}: only a {' or '.join(having)} has a {key}"
            )
    return keys


def _pattern(
    repo: RepositorySession, summary: EntrySummary, parts: dict[str, Any]
) -> dict[str, Any]:
    """The pattern of a lesson with these parts in place of its own.

    Raises UsageError: they make none.
    """
    entry, _ = repo.load(summary.id)
    stated: dict[str, Any] = {}
    if entry.pattern:
        stated |= entry.pattern.parts
    if {"do", "dont"} & parts.keys():
        # the new one takes the place of either
        stated.pop("do", None)
        stated.pop("dont", None)
    stated |= parts
    return lessons.build(*map(stated.get, ("when", "do", "dont", "because"))).parts


def edit(library: Library, ref: str, editor: Callable[[str, str], str | None]) -> Written | None:
    """Let `editor(text, suffix)` change the file's text; None if it gave up or changed nothing.

    Raises InvalidEntry: what came back breaks the format; Conflict: the file changed meanwhile;
    nothing is written.
    """
    repo, summary = library.writing(ref)
    entry, text = repo.load(summary.id)
    start = text or markdown.render(frontmatter.identity(entry), "")
    new_text = editor(start, ".md")
    if new_text is None or new_text == start:
        return None
    return rewrite(repo, entry, text, new_text, entry.path, f"Edit {summary.kind}: {summary.title}")


def keep(library: Library, ref: str, sure: Callable[[str], bool] = lambda _: False) -> Written:
    """Write down that an entry was looked at today and holds.

    `review` leaves it alone for half a year.

    What silenced it does not count any more, and the code that it speaks of is what that is now.
    `sure` is asked about a text that states what the code does not have any more.
    Raises Refused: it does not say yes.
    """
    repo, summary = library.writing(ref)
    entry, _ = repo.load(summary.id)
    renewed = app.additions.renewed(repo, summary, entry)
    if renewed.outdated:
        outdated, changed = ", ".join(renewed.outdated), "; ".join(renewed.changed)
        question = f"[{summary.handle}] still says {outdated}: {changed}"
        if not sure(question):
            hint = (
                f"ai-lessons contribute update {summary.handle} --title … --content …, then keep it"
            )
            raise Refused(question, hint=hint)
    changes: dict[str, Any] = {"reviewed": frontmatter.stamp(repo.options.now())[:10]}
    for key, value in renewed.fields.items():
        changes[key] = value or REMOVE
    # a person who looked at what an agent's lesson claims stands for it
    if summary.told_by and not repo.options.agent:
        authorship.remember(repo, authorship.USER, entry)
    done = change(repo, summary, changes, f"Keep {summary.kind}: {summary.title}")
    repo.note_status(summary, summary.status)
    return done._replace(notes=(*done.notes, *renewed.notes, *renewed.changed))


def delete(
    library: Library, refs: Sequence[str], *, only_resources: bool = False
) -> tuple[Written, ...]:
    """Remove entries, all in one commit; the removal of a rule is a proposal.

    Git keeps edits that were in no commit.

    Raises UsageError: with `only_resources` one of them is a lesson or a rule; then nothing is
    removed.
    """
    places: dict[RepositorySession, dict[str, EntrySummary]] = {}
    for ref in refs:
        # all are resolved before the first is deleted
        repo, summary = library.writing(ref)
        if only_resources:
            _refuse_others(summary, "delete")
        places.setdefault(repo, {})[summary.id] = summary
    removed: list[Written] = []
    for repo, summaries in places.items():
        removed += remove(repo, list(summaries.values()))
    return tuple(removed)


def _refuse_others(summary: EntrySummary, job: str) -> None:
    """Refuse what is neither a doc nor a script."""
    if not summary.kind.is_resource:
        hint = f"ai-lessons contribute {job} {summary.handle}"
        raise UsageError(
            f"{summary.handle} is a {summary.kind}, neither a doc nor a script", hint=hint
        )


def change(
    repo: RepositorySession,
    summary: EntrySummary,
    changes: Mapping[str, Any],
    subject: str,
    *,
    content: str | None = None,
    project: str | None = None,
    versions: Sequence[str] | None = None,
) -> Written:
    """Change keys of the frontmatter, the body, and project or versions, which move the file.

    None: the body stays as it is.
    """
    entry, text = repo.load(summary.id)
    identity: dict[str, Any] = {}
    if entry.derived:
        # it had no frontmatter: what it is is written down now
        identity = frontmatter.identity(entry)
    block = entry.fields.get("source")
    if "source" in changes and isinstance(block, dict):
        # where it comes from stays
        changes = {**changes, "source": {**block, lessons.HOW: changes["source"]}}
    body = None
    if content is not None:
        body = frontmatter.body_of(content)
    if body is not None and text:
        repo.keep_edits([entry.file])
    new_text = markdown.edit(text, {**identity, **changes}, body)
    to_project = None
    if project:
        to_project = project_name(project)
    moved = layout.relocated(entry.path, to_project, versions)
    return rewrite(repo, entry, text, new_text, moved, subject)


def rewrite(
    repo: RepositorySession, entry: Entry, text: str, new_text: str, path: str, subject: str
) -> Written:
    """Put the new text of an entry's frontmatter file in place, under another path if it moves.

    A rule is proposed.
    """
    if entry.kind is Kind.RULE:
        if new_text == text and path == entry.path:
            return repo.written_one(entry, Applied(), (UNCHANGED,))
        return app.proposals.propose_text(repo, entry, path, new_text)
    is_script = entry.kind is Kind.SCRIPT
    old_file, new_file = entry.file, path
    code, data = b"", new_text.encode()
    if is_script:
        # its text is that of the file beside it
        new_file = layout.side_of(path)
        if entry.code:
            code = repo.store.read(entry.path)
        written = checked(path, code, data, was=entry)
    else:
        written = checked(path, data, None, was=entry)
    # a link that is there may stay, also one that would not be taken today
    added = [link[:2] for link in written.links if link not in entry.links]
    refuse_wrong_kinds(repo.catalog, written.kind, added)
    has_file = bool(text) or not is_script
    # what was read, not what is there by now
    expect = None
    if has_file:
        expect = blob_id(text.encode())
    changes = []
    if new_file != old_file:
        changes.append(Change(new_file, data, expect=None))
        if has_file:
            changes.append(Change(old_file, None, expect=expect))
        if is_script and entry.code:
            changes.append(Change(path, code, executable=repo.executable(entry.path), expect=None))
            changes.append(Change(entry.path, None, expect=blob_id(code)))
    elif new_text != text:
        changes.append(Change(new_file, data, expect=expect))
    applied = repo.write(subject, changes, [("Entry", written.id)])
    if changes:
        return repo.written_one(written, applied)
    return repo.written_one(written, applied, (UNCHANGED,))


def remove(repo: RepositorySession, every: Sequence[EntrySummary]) -> tuple[Written, ...]:
    """Remove entries in one commit; the removal of a rule is a proposal."""
    catalog = repo.current()
    summaries = [summary for summary in every if summary.kind is not Kind.RULE]
    proposed: list[Written] = []
    for summary in every:
        if summary.kind is Kind.RULE:
            proposed.append(app.proposals.removal(repo, summary.id))
    if not summaries:
        return tuple(proposed)
    files: dict[str, None] = {}
    for place in catalog.locations([summary.id for summary in summaries]):
        # without a hash: a script that stays where it is, outside of the repository
        if place.hash:
            files[place.path] = None
        if place.side_path and place.side_hash:
            files[place.side_path] = None
    what = f"{len(summaries)} entries"
    if len(summaries) == 1:
        what = f"{summaries[0].kind}: {summaries[0].title}"
    trailers = [("Entry", summary.id) for summary in summaries]
    repo.keep_edits(list(files))
    applied = repo.write(f"Delete {what}", [Change(path, None) for path in files], trailers)
    return (*proposed, *repo.reports(summaries, applied))
