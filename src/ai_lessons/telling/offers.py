"""What may be told at a prompt, before a tool and at a failure, and why.

`start` has what holds at a start.

Only what is sure is offered. What only shares words with an edit or a command is named as left out:
it counts as needed, which moves it up at the next start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.git.external_files import in_project
from ai_lessons.model import command_forms, failures
from ai_lessons.model.dangerous_commands import destroys
from ai_lessons.model.entries import GLOBAL_PROJECT, EntrySummary, Kind, Moment
from ai_lessons.model.layout import ANYTHING, BELOW, BY_KIND, BY_NAME, EXACT
from ai_lessons.model.outcomes import NotShown, carried_out
from ai_lessons.search.terms import BAR, EDIT_BAR, TERMS, edit_bar, prompt_bar
from ai_lessons.telling.filtering import CHOICE, Candidate, entry_filter
from ai_lessons.telling.matching import (
    SYMBOL,
    about_command,
    about_inside,
    by_words,
    chances_of_failure,
    commands_here,
    is_tried,
    naming,
    of_other_commands,
    project_of,
)
from ai_lessons.telling.words import PROMPT, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ai_lessons.app.answers import Context
    from ai_lessons.app.workspace import Library, Reading
    from ai_lessons.model.edits import Edit

_NAMES = {
    SYMBOL: "is about this code",
    EXACT: "names this file",
    BELOW: "names its folder",
    BY_NAME: "names files called like it",
    BY_KIND: "about files of its kind, and about this edit",
    ANYTHING: "about this edit",
}
_NAMES_COMMAND = "names this command"
_BESIDE = "others name this place, too, and its words are not in this edit"


class Occasion(NamedTuple):
    """What a feature is asked about.

    The words of a prompt or an error, the files and edits of a call, its command.

    `folders`: where it is called, and where the session began. `project`: of the code there, None
    where that has none. `named`: entries that name the files, also by what features before this one
    in the table know.
    """

    moment: Moment
    words: str = ""
    paths: Sequence[str] = ()
    edits: Sequence[Edit] = ()
    command: str = ""
    folders: Sequence[str] = ()
    project: str | None = None
    named: Sequence[EntrySummary] = ()


class Offer(NamedTuple):
    """An entry, how surely it is about the moment, and why.

    `near`: how closely it names a file of the call or what is edited in it, as
    `layout.specificity`, or `SYMBOL`. It counts in the entry's own project, and stands back behind
    what names the place more closely. Else it is told whatever else there is. `breaks`: the call
    breaks this rule, and the host shall do so about it (empty: it is told).
    """

    summary: EntrySummary
    level: float = 0.0
    why: str = ""
    near: int = 0
    breaks: str | None = None


class NotAbout(NamedTuple):
    """The id of an entry that names a call's files, or its `command`, and yet is not about it."""

    entry: str
    command: bool = False


# by id
_Offers = dict[str, Offer]


def at_a_prompt(
    library: Library, text: str, shown_before: Collection[str], at_start: Collection[str] = ()
) -> Context:
    """Rules and lessons that are about what a person asks for.

    `at_start` are those that the start told.
    """
    repo = library.up_to_date()
    project = project_of(repo, repo.options.cwd)
    here = _here(project)
    matching = by_words(repo, text, BAR, here)
    _, entries = repo.catalog.postings(())
    bar = prompt_bar(entries)
    best = max((summary.score or 0.0 for summary in matching.values()), default=0.0)
    sure = {}
    for summary in matching.values():
        score = summary.score or 0.0
        # beside a better one only what is nearly as sure: of second ones half as many were needed
        if score >= max(bar, TERMS.nearly * best):
            sure[summary.id] = Offer(summary, score, PROMPT)
    occasion = Occasion(Moment.PROMPT, words=text, project=project)
    sure |= of_features(repo, occasion, here).offers
    offered = _filtered(repo, Moment.PROMPT, sure, shown_before, at_start, project)
    return _with_unsure(offered, matching, PROMPT)


def before_a_tool(
    library: Library,
    paths: Sequence[str],
    command: str,
    folders: Sequence[str],
    shown_before: Collection[str],
    edits: Sequence[Edit] = (),
    at_start: Collection[str] = (),
) -> Context:
    """Rules and lessons about a call that is to be made.

    They name the code that it edits, a file that it touches (`paths`) or the command. What is known
    to fail comes only if it fails more often than not. `folders`: where it is called, and where the
    session began. What names every file, or every one of its kind, comes only if its words are in
    the text that is written, too. What a feature knows not to be about the call does not come.
    """
    repo = library.up_to_date()
    project = project_of(repo, repo.options.cwd)
    here = _here(project)
    offers: _Offers = {}
    unsure: dict[str, EntrySummary] = {}
    beside: list[NotShown] = []
    named = naming(repo, paths, here) if paths else {}
    entries = [summary for summary, _ in named.values()]
    occasion = Occasion(Moment.BEFORE_TOOL, "", paths, edits, command, folders, project, entries)
    from_features = of_features(repo, occasion, here)
    if paths:
        not_about = from_features.not_about_files
        for summary, near in from_features.near.values():
            _, near_by_globs = named.get(summary.id, (summary, 0))
            named[summary.id] = summary, max(near, near_by_globs)
        offers, unsure, beside = _about_an_edit(repo, [*named.values()], edits, here, not_about)
    offers |= from_features.offers
    if command:
        fresh = offers.keys() - set(shown_before)
        about_it, words = _about_a_command(repo, command, folders, here, fresh)
        for name in from_features.not_about_command:
            about_it.pop(name, None)
        offers |= about_it
        unsure |= words
    breaks = {}
    for name, offer in from_features.offers.items():
        if offer.breaks is not None:
            breaks[name] = offer.breaks
    # it is about this edit, whatever was told before
    shown = set(shown_before) - breaks.keys()
    most = max(CHOICE.few, len(breaks))
    offered = _filtered(repo, Moment.BEFORE_TOOL, offers, shown, at_start, project, most)
    if command:
        harmless = {}
        for name, text in offered.texts.items():
            if not destroys(text, ""):
                harmless[name] = text
        offered = offered._replace(texts=harmless)
        if not offered.entries:
            offered = offered._replace(ran_next=_hint(repo, occasion))
    offered = _with_unsure(offered, unsure, WORDS)
    beside = [refused for refused in beside if refused.entry.id not in offers]
    return offered._replace(breaks=breaks, left_out=(*offered.left_out, *beside))


def at_a_failure(
    library: Library,
    error: str,
    shown_before: Collection[str] = (),
    folders: Sequence[str] = (),
    told_before_call: Collection[str] = (),
    *,
    words: bool = False,
) -> Context:
    """Entries that keep a failure like this one, else a hint of a feature.

    `words`: without the index.

    `told_before_call`: what was told before a call, of which only that comes again which says
    something of a failure.
    """
    repo = library.up_to_date()
    # a host waits for a hook, and a bucket answers in hundreds of milliseconds
    words = words or any(part.indexing.is_away for part in repo.every)
    offered = helping(repo, error, None, shown_before, folders, told_before_call, words=words)
    answered = offered.entries or any(refused.reason == "told" for refused in offered.left_out)
    if answered:
        return offered
    occasion = Occasion(Moment.TOOL_FAILED, words=error, folders=folders)
    return offered._replace(ran_next=_hint(repo, occasion))


def helping(
    repo: Reading,
    error: str,
    most: int | None = None,
    shown_ids: Collection[str] | None = None,
    folders: Sequence[str] = (),
    told_before_call: Collection[str] = (),
    *,
    words: bool = False,
) -> Context:
    """What helps with a failure, the surest first: entries that keep one like it.

    `words`: without the index.

    The score of an entry is the chance that it helps: see `transcripts.chance`; where it says of
    the command that it fails, how surely. `shown_ids` None: a person asked. `folders` as for
    `before_a_tool`, `told_before_call` as for `at_a_failure`.
    """
    chances = chances_of_failure(repo, error, by_meaning=not words)
    kept = set(chances)
    alike = {entry_id for entry_id, chance in chances.items() if chance >= failures.BAR}
    named: set[str] = set()
    calls = command_forms.blamed_call(error, folders[0] if folders else "")
    about = about_command(commands_here(repo, folders) if calls else [], calls, folders)
    for summary in about:
        if summary.id not in alike:
            if summary.id in told_before_call:
                # it names the command and says nothing of this failure: "Run `make lint` first"
                continue
            named.add(summary.id)
        # An agent's lesson whose title names the command is no answer to every failure of it. One
        # that keeps a failure is about that failure.
        firm = summary.kind is Kind.RULE or summary.origin.firm
        if firm or (summary.id not in kept and is_tried(summary, calls)):
            chances[summary.id] = max(chances.get(summary.id, 0.0), failures.BAR)
    occasion = Occasion(Moment.TOOL_FAILED, words=error, folders=folders)
    offers = of_features(repo, occasion, None).offers
    for name, offer in offers.items():
        chances[name] = max(chances.get(name, 0.0), offer.level)
    if shown_ids is not None:
        for name in of_other_commands(repo, offers):
            chances.pop(name, None)
    # which of these ten is told depends on versions and outcomes, too
    likeliest = sorted(chances, key=lambda entry_id: -chances[entry_id])[:10]
    summaries = repo.catalog.many(likeliest)
    candidates = []
    for entry_id in likeliest:
        if entry_id in summaries:
            likely = chances[entry_id]
            summary = summaries[entry_id]._replace(score=likely)
            if entry_id in named:
                why = _NAMES_COMMAND
            else:
                why = f"keeps a failure like this one ({likely:.2f})"
            candidates.append(Candidate(summary, why, chance=likely))
    return entry_filter(repo, None, most or CHOICE.few).tell(
        Moment.TOOL_FAILED, candidates, shown_ids
    )


class OfFeatures(NamedTuple):
    """What features know at a moment.

    `offers` by id. `near`: entries that name a file or what is edited in it, by id, each with how
    closely. Ids of what is not about the files, or the command, of a call.
    """

    offers: dict[str, Offer]
    near: dict[str, tuple[EntrySummary, int]]
    not_about_files: set[str]
    not_about_command: set[str]


def of_features(repo: Reading, occasion: Occasion, here: Collection[str] | None) -> OfFeatures:
    """What features know at a moment: entries that are about it, and that are not.

    A feature is loaded only where it keeps facts of an entry. `here`: projects, of which an entry
    that names code is told (None: all).
    """
    knowledge = OfFeatures({}, {}, set(), set())
    for feature in extensions.rows():
        place = feature.offers.get(occasion.moment)
        if not place or (feature.facts and not repo.catalog.facts(feature.name)):
            continue
        offers_of: Callable[[Reading, Occasion], Iterable[Offer | NotAbout]]
        offers_of = extensions.load(feature.place(place))
        named = {summary.id: summary for summary in occasion.named}
        for offer in offers_of(repo, occasion):
            if isinstance(offer, NotAbout):
                ids = knowledge.not_about_command if offer.command else knowledge.not_about_files
                ids.add(offer.entry)
            elif not offer.near:
                knowledge.offers[offer.summary.id] = offer
            elif here is None or offer.summary.project in here:
                knowledge.near[offer.summary.id] = offer.summary, offer.near
                named.setdefault(offer.summary.id, offer.summary)
        occasion = occasion._replace(named=[*named.values()])
    return knowledge


def _hint(repo: Reading, occasion: Occasion) -> str:
    """A sentence of a feature, where no entry is told; empty where none has any."""
    for hint_of in extensions.at("hints", occasion.moment):
        sentence: str = hint_of(repo, occasion)
        if sentence:
            return sentence
    return ""


def _here(project: str | None) -> set[str]:
    return {project or "", GLOBAL_PROJECT}


def _filtered(
    repo: Reading,
    moment: Moment,
    offers: _Offers,
    shown: Collection[str],
    at_start: Collection[str],
    project: str | None,
    most: int = CHOICE.few,
) -> Context:
    """What the filter lets pass of these offers."""
    candidates = []
    for offer in offers.values():
        level = offer.level
        if offer.summary.id in at_start:
            # So much less has what was told at the start: what was not told at all comes first
            level -= 1_000_000.0
        # Of entries that fit equally well those of this project come first, then a person's own
        # before an enterprise's
        personal = offer.summary.tier in {"user", "project"}
        nearness = 0.5 * (offer.summary.project == project) + 0.25 * personal
        candidates.append(Candidate(offer.summary, offer.why, level=level, closeness=nearness))
    offered = entry_filter(repo, None, most).tell(moment, candidates, shown, project)
    reasons = {name: offer.why for name, offer in offers.items()}
    return offered._replace(why=reasons | {**offered.why})


def _with_unsure(offered: Context, matching: dict[str, EntrySummary], why: str) -> Context:
    """With what only shares words named as left out.

    It was needed here, as far as words can tell.
    """
    refused = []
    reasons = {**offered.why}
    for summary in matching.values():
        if summary.id not in reasons:
            detail = f"shares words alone ({summary.score or 0.0:.0f})"
            refused.append(NotShown(summary, "unsure", detail))
            reasons[summary.id] = why
    return offered._replace(left_out=(*offered.left_out, *refused), why=reasons)


def _about_an_edit(
    repo: Reading,
    named: Sequence[tuple[EntrySummary, int]],
    edits: Sequence[Edit],
    here: Collection[str],
    not_about: Collection[str],
) -> tuple[_Offers, dict[str, EntrySummary], list[NotShown]]:
    """What is about an edit, what only shares words, and what only names its place, beside others.

    `named`: what names its files or its code, and how closely.
    """
    texts = []
    for edit in edits:
        texts.append(f"{in_project(edit.path, repo.options.cwd)}\n{edit.old}\n{edit.new}")
    likely = by_words(repo, "\n".join(texts), BAR, here)
    offers: _Offers = {}
    scores = {name: summary.score or 0.0 for name, summary in likely.items()}
    # What alone names a place most closely is about each edit of it, and so are a few that name the
    # file, and what names the code. Of more, those are whose words are in the edit.
    of_place = [(summary, near) for summary, near in named if near > BY_KIND]
    closest = max((near for _, near in of_place if near < SYMBOL), default=SYMBOL)
    rivals = sum(near == closest for _, near in of_place)
    # what names a folder is about much in it, what names the file is about this edit
    # More entries about one file than an agent reads before an edit are told by their words
    alone = rivals == 1 or (closest == EXACT and rivals <= 3)
    best = max((scores.get(summary.id, 0.0) for summary, _ in of_place), default=0.0)
    _, entries = repo.catalog.postings(())
    if len(of_place) > 1:
        bar = edit_bar(entries)
    else:
        bar = BAR
    beside = []
    for summary, near in named:
        if summary.id in not_about:
            continue
        score = scores.get(summary.id, 0.0)
        sure = near == SYMBOL or (near == closest and alone)
        if sure or score >= max(bar, TERMS.nearly * best):
            offers[summary.id] = Offer(summary, EDIT_BAR * near + score, _NAMES[near])
        elif near > BY_KIND and score < EDIT_BAR:
            beside.append(NotShown(summary, "beside", _BESIDE))
    unsure = {}
    for name, summary in likely.items():
        if (summary.score or 0.0) >= EDIT_BAR and name not in not_about:
            unsure[name] = summary
    return offers, unsure, beside


def _about_a_command(
    repo: Reading,
    command: str,
    folders: Sequence[str],
    here: Collection[str],
    fresh: Collection[str],
) -> tuple[_Offers, dict[str, EntrySummary]]:
    """What names a command of a line, or is known to fail, and what only shares words with the line.

    What is known of the folder that it goes into comes only beside something `fresh`.
    """
    calls = command_forms.runs(command, folders[0])
    if not calls:
        return {}, {}
    offers: _Offers = {}
    near = commands_here(repo, folders)
    named = about_command(near, calls, folders)
    for summary in named:
        if carried_out(summary.stated.pattern, command):
            # the line does already what it says
            offers.pop(summary.id, None)
        else:
            offers[summary.id] = Offer(summary, EDIT_BAR * EXACT, _NAMES_COMMAND)
    if named and (fresh or offers):
        # about the folder that this line goes into: said along, so that it interrupts once less
        for summary in about_inside(near, calls, folders[0]):
            if summary not in named and not carried_out(summary.stated.pattern, command):
                offers[summary.id] = Offer(summary, EDIT_BAR * EXACT, _NAMES_COMMAND)
    safe = {}
    for name, offer in offers.items():
        if not _destroys(offer.summary):
            safe[name] = offer
    words = " ".join(word for call, _ in calls for word in call)
    return safe, by_words(repo, words, BAR, here)


def _destroys(summary: EntrySummary) -> bool:
    """Whether an entry must not be told before a command, whoever wrote it."""
    return destroys(summary.title, summary.stated.pattern, summary.rationale)
