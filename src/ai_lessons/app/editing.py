"""Jobs that write entries: add, change, remove, link. Each is one commit."""

from __future__ import annotations

import os
import shlex
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app
from ai_lessons.app import authorship, secrets
from ai_lessons.app.link_effects import refuse_circle, superseded
from ai_lessons.app.write_checks import checked, refuse_wrong_kinds
from ai_lessons.errors import Conflict, NotFound, Refused, UsageError
from ai_lessons.git import external_files
from ai_lessons.git.store import Applied, Change
from ai_lessons.learning.statistics import (
    ABLATION,
    ASSESSMENT,
    CONTRADICTED,
    NOTHING,
    OBSERVED,
    Event,
    curiosity,
    learned,
)
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
    ABOUT,
    GLOBAL_PROJECT,
    KINDS,
    LESSONS,
    UNVERSIONED,
    Entry,
    EntrySummary,
    Filter,
    Kind,
    Pattern,
    Relation,
    json_fields,
)
from ai_lessons.model.layout import blob_id, project_name
from ai_lessons.model.texts import decode, escaped
from ai_lessons.model.yaml_edit import REMOVE
from ai_lessons.search.terms import ALIKE, READ, letters, likeness, terms
from ai_lessons.search.tokens import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.app.agent_sessions import Failure
    from ai_lessons.app.answers import LessonDraft, Written
    from ai_lessons.app.options import Options
    from ai_lessons.app.workspace import Library, Reading, RepositorySession
    from ai_lessons.learning.statistics import UsageTally


@json_fields(entry=True)
class Feedback(NamedTuple):
    """What was said of an entry, and how it stands with that."""

    entry: EntrySummary
    outcome: str
    usage: UsageTally
    notes: tuple[str, ...] = ()

    def for_agents(self) -> dict[str, Any]:
        """Of the entry only how to call it."""
        entry = {"id": self.entry.id, "handle": self.entry.handle, "title": self.entry.title}
        return entry | {"outcome": self.outcome, "usage": self.usage, "notes": self.notes}


# A note
UNCHANGED = "nothing changed"
TAKEN_ALONG = "keeps the command that failed in this session and its output, by which it is found at the same failure"
_QUOTED, _WORD = expression(r"`([^`\n]+)`"), expression(r"\w[\w.-]*\w|\w")
_NOT_FIELDS = {"links", "content", "project", "allow_secrets", "about"}


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
    return title, below if title == heading else body, frontmatter.listed(fields.get("tags"))


# So many entries that say the same as a new lesson are named
FEW_COPIES = 2
# So many entries of alike titles are read and compared
COMPARED = 20
# Words by which entries of the same text are looked for: the longest ones are in few entries
_LONGEST_WORDS = 4


def refuse_repetition(opened: Library, draft: LessonDraft) -> list[str]:
    """A sentence for each active lesson that has the same text under another title.

    Raises Conflict: one has the same title and the same text. Nothing that is only alike is
    refused: `A before B` and `B before A` have the same words, too.
    """
    repo = opened.primary
    repo.current()
    pattern = ""
    with suppress(UsageError):
        # none, or the write says what is wrong with it
        # as it is stored, with its WHEN, DO and BECAUSE
        pattern = str(lessons.build(draft.when, draft.do, draft.dont, draft.because))
    text, same = f"{pattern}\n{draft.content}", list[str]()
    for summary in _holding(repo, terms(text[:READ]) or terms(draft.title)):
        stored = _text(repo, summary.id)
        if letters(stored) != letters(text):
            continue
        if _typed(summary.title, stored) == _typed(draft.title, text):
            hint = f"update it: `ai-lessons contribute update {summary.handle}`; or add this one with --anyway"
            raise Conflict(
                f"{summary.handle} {summary.title!r} says the same, word for word", hint=hint
            )
        same.append(f"[{summary.handle}] {summary.title!r} has the same text: update it?")
    return same[:FEW_COPIES]


def _holding(repo: RepositorySession, words: Iterable[str]) -> list[EntrySummary]:
    """Active lessons that hold the longest of these words, the newest first."""
    longest = sorted(set(words), key=lambda word: (-len(word), word))[:_LONGEST_WORDS]
    if longest:
        held = repo.catalog.holding(longest)
    else:
        held = []
    return [summary for summary in held if summary.kind is Kind.LESSON][:COMPARED]


def _typed(title: str, text: str) -> tuple[str, ...]:
    """Title and text for a comparison that only case and blanks do not matter to.

    A sign may turn a meaning round.
    """
    results = []
    for part in (title, text):
        results.append(" ".join(fold(part).casefold().split()))
    return tuple(results)


def near_copies(opened: Library, text: str) -> dict[str, str]:
    """Active lessons and rules that say the same as a text in other words, the nearest first.

    By id, a sentence.
    """
    repo = opened.reading
    repo.current()
    app.search.refresh(repo)
    similar = app.search.similarities(repo, text, frozenset({Kind.LESSON, Kind.RULE}))
    ids = sorted(
        (id_ for id_, cosine in similar.items() if cosine >= ALIKE), key=similar.__getitem__
    )[::-1]
    summaries = repo.catalog.many(ids[: FEW_COPIES + 1])
    copies: dict[str, str] = {}
    for id_ in ids:
        if id_ in summaries:
            copies[id_] = _nearly_the_same(summaries[id_], similar[id_])
    return copies


def repetitions(repo: RepositorySession) -> dict[str, str]:
    """Which active lessons and rules say nearly the same as an older one.

    By id, a sentence that names the older.
    """
    query, gone = (
        Filter(kinds=frozenset({Kind.LESSON, Kind.RULE}), sort="created"),
        superseded(repo),
    )
    summaries = [summary for summary in repo.catalog.select(query) if summary.id not in gone]
    common = Counter(word for summary in summaries for word in {*terms(summary.title)})
    holding: defaultdict[tuple[Kind, str], list[EntrySummary]] = defaultdict(list)
    text, repeated = cache(partial(_text, repo)), {}
    for summary in summaries:
        title = sorted({*terms(summary.title)}, key=lambda word: (common[word], word))
        # titles that are alike have more than half of the words of each in common, so one of the
        # rarer half
        telling = [(summary.kind, word) for word in title[: len(title) // 2 + 1]]
        older = {other.id: other for word in telling for other in holding[word][-COMPARED:]}
        near = []
        for other in older.values():
            if likeness(other.title, summary.title) >= ALIKE:
                near.append(other)
        share, first = max(
            ((likeness(text(summary.id), text(other.id)), other) for other in near),
            default=(0.0, summary),
        )
        if share >= ALIKE:
            repeated[summary.id] = _nearly_the_same(first, share)
        for word in telling:
            holding[word].append(summary)
    return repeated


def _text(repo: RepositorySession, entry_id: str) -> str:
    entry = repo.load(entry_id)[0]
    return f"{entry.opening}\n{entry.body}"


def _nearly_the_same(summary: EntrySummary, share: float) -> str:
    return f"close to {summary.handle} {summary.title!r}, {share:.2f}: update it?"


def opposites(repo: Reading, written: str, pattern: Pattern) -> list[str]:
    """A suggestion for each active lesson of its project and `global` that says the opposite for the same case."""
    new = repo.catalog.many([written]).get(written)
    if new is None:
        return []
    filters = (
        Filter(kinds=LESSONS, project=project)
        for project in dict.fromkeys((new.project, GLOBAL_PROJECT))
    )
    active = []
    for query in filters:
        for summary in repo.catalog.select(query):
            if summary.id != written:
                active.append(summary)
    return [
        f"[{summary.handle}] says the opposite for the same case; if so, say it: "
        f"ai-lessons contribute link {new.handle} {summary.handle} --relation contradicts"
        for summary in opposed(active, pattern)
    ]


def namesakes(repo: Reading, written: str, title: str) -> list[str]:
    """A suggestion for each active lesson of the same title."""
    summaries = repo.catalog.select(Filter(kinds=LESSONS, title=title))
    results: list[str] = []
    for summary in summaries:
        if summary.id != written:
            results.append(
                f"[{summary.handle}] has the same title; to change that one: ai-lessons "
                f"contribute update {summary.handle}"
            )
    return results


def opposed(summaries: Iterable[EntrySummary], pattern: Pattern) -> list[EntrySummary]:
    """Those lessons whose pattern says the opposite of this one for the same case, as far as their words tell."""
    opposed_lessons = []
    for summary in summaries:
        with suppress(UsageError):
            # no pattern: a file may say anything
            stated = lessons.parse(summary.pattern)
            sides = (stated.when, pattern.when), (stated.action, pattern.action)
            if stated.negative != pattern.negative and all(
                likeness(*texts) >= ALIKE for texts in sides
            ):
                opposed_lessons.append(summary)
    return opposed_lessons


def add_lesson(opened: Library, draft: LessonDraft) -> Written:
    """A new lesson.

    Raises InvalidEntry: it breaks the format; NotFound: a linked entry does not exist.
    """
    repo = opened.primary
    if not draft.title.strip():
        raise UsageError(
            "the lesson has no title", hint="say in one line what was observed: --title …"
        )
    failure = _failure_of(repo.options, draft)
    draft = (
        draft._replace(content=f"{draft.content.rstrip()}\n\n{failure}".lstrip())
        if failure
        else draft
    )
    created = repo.options.now()
    entry_id = frontmatter.new_id(created)
    links: list[tuple[str, str]] = []
    if draft.links:
        opened.reading.current()
        links = frontmatter.resolved(draft.links, opened.reading.resolve)
        refuse_wrong_kinds(opened.reading.catalog, Kind.LESSON, links)
    stated = {name: value for name, value in draft._asdict().items() if name not in _NOT_FIELDS}
    if repo.options.agent:
        # an agent may say that it speaks for a person
        stated["origin"] = authorship.AI
    project = project_name(draft.project) if draft.project else GLOBAL_PROJECT
    written = " \n".join(
        filter(None, (draft.title, draft.when, draft.do, draft.dont, draft.because, draft.content))
    )
    about, globs, about_notes = app.anchor_writing.stated(repo, draft.about, written, project)
    stated["applies_to"] = [*dict.fromkeys((*layout.globs([*draft.applies_to]), *globs))]
    fields = frontmatter.lesson_fields(
        entry_id, frontmatter.stamp(created), links=links, about=about, **stated
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
        *about_notes,
        *app.project_code.unmatched(repo, fields.get("applies_to"), project),
    ]
    notes += [*namesakes(repo, done.id, entry.title), *([TAKEN_ALONG] if failure else [])]
    action = draft.do or draft.dont
    if draft.when and action and draft.because:
        repo.current()
        pattern = Pattern(draft.when, action, draft.because, negative=draft.dont is not None)
        notes += opposites(repo, done.id, pattern)
    return done._replace(notes=tuple(notes))


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
    text = " ".join(
        filter(None, (draft.title, draft.when, draft.do, draft.dont, draft.because, draft.content))
    )
    quoted, words = (
        {*_WORD.findall(text.lower())} for text in (" ".join(_QUOTED.findall(text)), text)
    )

    def fits(failure: Failure) -> tuple[int, int]:
        programs = set()
        for program in simple_commands.programs(failure.command):
            programs.add(program.lower())
        about = {*_WORD.findall(failure.command.lower())} | failures.words_of(
            failures.shape(failure.output)
        )
        return 2 * (not programs.isdisjoint(quoted)) or int(not programs.isdisjoint(words)), len(
            about & words
        )

    named = [failure for failure in kept if fits(failure)[0]]
    named = (
        named
        or [failure for failure in kept if is_known and failure.solved and not failure.settled][-1:]
    )
    if not named:
        return ""
    failure = max(reversed(named), key=fits)
    block = escaped(failures.in_block(failure.command, failure.output))
    if secrets.secrets_in(block):
        return ""
    return block


def update(
    opened: Library,
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
    about: Sequence[str] | None = None,
    **stated: str | Sequence[str] | Mapping[str, Any] | None,
) -> Written:
    """Change what is given; None leaves a key alone, an empty list removes it.

    Versions and project move the file.

    `stated` are further keys of the frontmatter, such as `title` and `applies_to`.
    Raises UsageError: nothing is given, or with `only_resources` it is a lesson or a rule.
    """
    repo, summary = opened.writing(ref)
    if only_resources:
        _refuse_others(summary, "update")
    new_tags = _new_tags(summary, tags, add_tags, remove_tags)
    plain = None
    if versions is not None:
        plain = [v for v in versions if v != UNVERSIONED]
    keys = _of_kind(repo, summary, {**stated, "tags": new_tags, "versions": plain})
    changes = {}
    for key, value in keys.items():
        changes[key] = _as_changed(value)
    if stated.get("applies_to"):
        changes["applies_to"] = layout.globs(changes["applies_to"])
    if about is not None:
        changes |= _changes_of_about(
            repo, summary, about, project or summary.project, keys.get("applies_to", ())
        )
    changes |= secrets.fields(allow_secrets, existing=repo.catalog.fields(summary.id))
    if not changes and project is None and content is None:
        raise UsageError(
            "nothing to change", hint="give at least one of --title, --tags, --version, …"
        )
    subject = f"Update {summary.kind}: {keys.get('title') or summary.title}"
    done = change(repo, summary, changes, subject, content=content, project=project, versions=plain)
    repo.usages.note_status(summary, changes.get("status"))
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
    return sorted({*(summary.tags if tags is None else tags), *add} - {*remove})


def _as_changed(value: Any) -> Any:
    """A value as `change` takes it: what is empty removes its key, a text excepted."""
    if isinstance(value, str):
        return value
    return (value if isinstance(value, dict) else list(value)) or REMOVE


def _changes_of_about(
    repo: RepositorySession,
    summary: EntrySummary,
    about: Sequence[str],
    project: str,
    globs: Sequence[str],
) -> dict[str, Any]:
    """The keys that `--about` changes.

    Globs of files go to `applies_to`, beside those stated there.
    """
    spoken = app.anchor_writing.stated(repo, about, "", project)
    if not spoken.globs:
        return {ABOUT: spoken.about or REMOVE}
    if summary.kind not in {Kind.LESSON, Kind.RULE}:
        raise UsageError(
            f"{summary.handle} is a {summary.kind}: only lessons and rules are about "
            "files by a glob"
        )
    return {ABOUT: spoken.about or REMOVE, "applies_to": [*dict.fromkeys((*globs, *spoken.globs))]}


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
        having = []
        for kind in Kind:
            if key in KINDS[kind].fields:
                having.append(kind)
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
    if entry.pattern:
        old = entry.pattern.parts
    else:
        old = {}
    if {"do", "dont"} & parts.keys():
        old = {key: words for key, words in old.items() if key not in {"do", "dont"}}
    stated = old | parts
    return lessons.build(*map(stated.get, ("when", "do", "dont", "because"))).parts


def links_to(opened: Library, refs: Sequence[str]) -> list[str]:
    """A sentence for each link to these entries that another one states."""
    entries = {summary.id: summary for _, summary in map(opened.writing, refs)}
    sentences = []
    for summary in entries.values():
        for edge in opened.reading.catalog.edges(summary.id):
            if edge.target == summary.id and edge.source not in entries:
                source = opened.reading.catalog.many([edge.source])[edge.source]
                words = Relation(edge.relation).words()
                sentences.append(
                    f"{source.handle} {source.title!r} links to {summary.handle}: {words}"
                )
    return sentences


def edit(opened: Library, ref: str, editor: Callable[[str, str], str | None]) -> Written | None:
    """Let `editor(text, suffix)` change the file's text; None if it gave up or changed nothing.

    Raises InvalidEntry: what came back breaks the format; Conflict: the file changed meanwhile;
    nothing is written.
    """
    repo, summary = opened.writing(ref)
    entry, text = repo.load(summary.id)
    start = text or markdown.render(frontmatter.identity(entry), "")
    new_text = editor(start, ".md")
    if new_text is None or new_text == start:
        return None
    return rewrite(repo, entry, text, new_text, entry.path, f"Edit {summary.kind}: {summary.title}")


def keep(opened: Library, ref: str, sure: Callable[[str], bool] = lambda _: False) -> Written:
    """Write down that an entry was looked at today and holds.

    `review` leaves it alone for half a year.

    What silenced it does not count any more, and the code that it speaks of is what that is now.
    `sure` is asked about a text that states what the code does not have any more.
    Raises Refused: it does not say yes.
    """
    repo, summary = opened.writing(ref)
    entry, _ = repo.load(summary.id)
    text = "\n".join((entry.title, str(entry.pattern or ""), entry.rationale, entry.body))
    about, notes, changed, outdated = app.anchor_renewal.looked_again(repo, summary, text)
    if outdated:
        question = f"[{summary.handle}] still says {', '.join(outdated)}: {'; '.join(changed)}"
        if not sure(question):
            hint = (
                f"ai-lessons contribute update {summary.handle} --title … --content …, then keep it"
            )
            raise Refused(question, hint=hint)
    changes: dict[str, Any] = {"reviewed": frontmatter.stamp(repo.options.now())[:10]}
    changes |= {} if about is None else {ABOUT: about or REMOVE}
    # a person who looked at the counts of an agent's lesson stands for them
    if summary.seen and not repo.options.agent:
        authorship.remember(repo, authorship.USER, entry)
    done = change(repo, summary, changes, f"Keep {summary.kind}: {summary.title}")
    repo.usages.note_status(summary, summary.status)
    return done._replace(notes=(*done.notes, *notes, *changed))


def delete(
    opened: Library, refs: Sequence[str], *, only_resources: bool = False
) -> tuple[Written, ...]:
    """Remove entries, all in one commit; the removal of a rule is a proposal.

    Git keeps edits that were in no commit.

    Raises UsageError: with `only_resources` one of them is a lesson or a rule; then nothing is
    removed.
    """
    places: dict[RepositorySession, dict[str, EntrySummary]] = {}
    for ref in refs:
        # all are resolved before the first is deleted
        repo, summary = opened.writing(ref)
        if only_resources:
            _refuse_others(summary, "delete")
        places.setdefault(repo, {})[summary.id] = summary
    return tuple(
        written
        for repo, summaries in places.items()
        for written in remove(repo, list(summaries.values()))
    )


def link(opened: Library, a: str, b: str, relation: str, weight: float | None = None) -> Written:
    """Write an edge into `a`.

    The same again, or a symmetric one that `b` states, only changes its weight.

    Raises UsageError: wrong kinds, or both are the same entry. Conflict: it would close a circle.
    """
    start, end = _pair(opened, a, b)
    refuse_wrong_kinds(opened.reading.catalog, start.kind, [(relation, end.id)])
    refuse_circle(opened.reading, start, relation, end)
    end_entry, _ = opened.reading.of(end.id).load(end.id)
    if Relation(relation).symmetric and (relation, start.id) in {
        (x.relation, x.target) for x in end_entry.links
    }:
        start, end = end, start
    entry, _ = opened.reading.of(start.id).load(start.id)
    kept = []
    for x in entry.links:
        if (x.relation, x.target) != (relation, end.id):
            kept.append(x)
    links = frontmatter.link_items(kept, add=(relation, end.id, weight))
    subject = f"Link: {start.title} {relation} {end.title}"
    repo, _ = opened.writing(start.id)
    done = change(repo, start, {"links": links}, subject)
    if relation in authorship.SILENCING:
        authorship.remember_link(repo, start.id, end.id)
    return done


def unlink(opened: Library, a: str, b: str, relation: str | None = None) -> Written:
    """Take the edges between two entries away (of one relation, or all).

    Raises NotFound: there is none.
    """
    start, end = _pair(opened, a, b)
    for summary, other in ((start, end), (end, start)):
        entry, _ = opened.reading.of(summary.id).load(summary.id)
        kept = []
        for x in entry.links:
            if x.target != other.id or relation not in {None, x.relation}:
                kept.append(x)
        if len(kept) != len(entry.links):
            links = frontmatter.link_items(kept) or REMOVE
            subject = f"Unlink: {summary.title} and {other.title}"
            return change(opened.writing(summary.id)[0], summary, {"links": links}, subject)
    raise NotFound(
        f"link between {start.handle} and",
        end.handle,
        hint=f"ai-lessons recall related {start.handle}",
    )


def _pair(opened: Library, a: str, b: str) -> tuple[EntrySummary, EntrySummary]:
    reading = opened.reading
    reading.current()
    start, end = reading.resolve(a), reading.resolve(b)
    if start.id == end.id:
        raise UsageError("an entry cannot be linked to itself")
    return start, end


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
    """Change keys of the frontmatter, the body (None.

    As it is), project or versions, which move the file.
    """
    entry, text = repo.load(summary.id)
    if entry.derived:
        identity: dict[str, Any] = frontmatter.identity(entry)
    else:
        identity = {}
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
    moved = layout.relocated(entry.path, project_name(project) if project else None, versions)
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
    old_file, new_file = entry.file, layout.side_of(path) if is_script else path
    if is_script and entry.code:
        code = repo.store.read(entry.path)
    else:
        code = b""
    data = new_text.encode()
    written = checked(path, code if is_script else data, data if is_script else None, was=entry)
    refuse_wrong_kinds(
        repo.catalog, written.kind, (link[:2] for link in written.links if link not in entry.links)
    )
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
    return repo.written_one(written, applied, () if changes else (UNCHANGED,))


def remove(repo: RepositorySession, every: Sequence[EntrySummary]) -> tuple[Written, ...]:
    """Remove entries in one commit; the removal of a rule is a proposal."""
    catalog = repo.current()
    summaries = []
    for summary in every:
        if summary.kind is not Kind.RULE:
            summaries.append(summary)
    rules = []
    for summary in every:
        if summary.kind is Kind.RULE:
            rules.append(summary)
    proposed = tuple(app.proposals.removal(repo, summary.id) for summary in rules)
    if not summaries:
        return proposed
    places = catalog.locations([summary.id for summary in summaries])
    pairs = []
    for at in places:
        for pair in ((at.path, at.hash), (at.side_path, at.side_hash)):
            pairs.append(pair)
    files = list(dict.fromkeys(path for path, blob in pairs if path and blob))
    if len(summaries) == 1:
        what = f"{summaries[0].kind}: {summaries[0].title}"
    else:
        what = f"{len(summaries)} entries"
    trailers = [("Entry", summary.id) for summary in summaries]
    repo.keep_edits(files)
    applied = repo.write(f"Delete {what}", [Change(path, None) for path in files], trailers)
    return (*proposed, *repo.reports(summaries, applied))


def feedback(opened: Library, ref: str, outcome: str, note: str = "") -> Feedback:
    """Say that an entry was helpful, ignored or contradicted: one event. Raises Refused."""
    repo, summary = opened.holding(ref)
    repo.refuse_other_formats()
    usages = repo.usages
    if not usages.recording:
        raise Refused(
            "this repository records no events",
            hint="record them: ai-lessons admin config set events true",
        )
    if outcome == CONTRADICTED and repo.options.agent and summary.firm:
        authorship.ask(repo, summary, f"says that it is contradicted{f': {note}' if note else ''}")
        kept = f"{summary.handle} is firm: a person stated it, so this is kept as a question: ai-lessons admin review"
        return Feedback(summary, outcome, usages.of(summary), (kept,))
    before = usages.tallies([summary.id]).get(summary.id, NOTHING)
    events = [
        Event("", "", outcome, summary.id, note=note),
        *learned(outcome, usages.edge_of(summary.id)),
    ]
    if repo.options.session and summary.kind is Kind.LESSON:
        # where there are sessions, how much is left to learn says how often to ask, and how often
        # to leave out
        events += [
            Event(
                "", "", OBSERVED, ASSESSMENT, value=round(curiosity(before.outcomes), 6), weight=1.0
            ),
            Event(
                "", "", OBSERVED, ABLATION, value=round(curiosity(before.left_out), 6), weight=1.0
            ),
        ]
    usages.record(events)
    return Feedback(summary, outcome, usages.of(summary))
