"""What the checks of a proposed rule would do: in words, in the code around, and in past sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app.proposal_context import entry_of
from ai_lessons.app.rules_here import holds
from ai_lessons.features.checks import forms
from ai_lessons.features.checks.facts import of_entry
from ai_lessons.features.checks.files import ProjectFiles
from ai_lessons.features.checks.played import playable, would_speak
from ai_lessons.features.checks.regexes import InvalidPattern
from ai_lessons.features.checks.runner import Rule, Run, hurry_after
from ai_lessons.features.checks.text_checks import runs
from ai_lessons.git import external_files
from ai_lessons.model.entries import EntrySummary, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_lessons.app.effects import Speaks
    from ai_lessons.app.workspace import Library
    from ai_lessons.app.written import Pending
    from ai_lessons.model.entries import Entry
    from ai_lessons.model.transcripts import Transcript

# lines that are named
_NAMED = 3


def stated(entry: Entry) -> list[str]:
    """What each check will do once the rule is in force."""
    return forms.effects(entry.fields)


def in_sessions(entry: Entry) -> Speaks | None:
    """Whether a check of commands, or of what was done, would have spoken in a session."""
    checks = playable(forms.checks_of(entry.fields))
    if not checks:
        return None

    def speaks(transcript: Transcript) -> bool | None:
        try:
            return would_speak(checks, transcript)
        except InvalidPattern:
            return None

    return speaks


def in_code(library: Library, proposals: Sequence[Pending]) -> tuple[Pending, ...]:
    """The proposals, each saying among its effects how many lines of the project around break its checks today."""
    repo = library.reading
    cwd = repo.options.cwd
    top = external_files.top_of(cwd)
    if top is None or top == library.primary.store.root:
        return tuple(proposals)
    of_proposals = _rules_of(library, proposals, external_files.names_of(cwd))
    every = [rule for rules in of_proposals for rule in rules]
    if not every:
        return tuple(proposals)
    # seconds of CPU in which a reviewer is told what breaks the checks of proposals today
    hurry = hurry_after(2.0)
    run = Run(every, hurry)
    around = ProjectFiles(repo, top, [], "")
    for path in around.names:
        if hurry():
            run.stopped |= {rule.key for rule in every}
            break
        run.see(around, top, path)
    weighed = []
    for proposal, rules in zip(proposals, of_proposals, strict=True):
        weighed.append(_with_lines(run, proposal, rules))
    return tuple(weighed)


def _rules_of(
    library: Library, proposals: Sequence[Pending], names: Sequence[str]
) -> list[list[Rule]]:
    """The checks of texts of each proposal that would hold in a project of these names."""
    of_proposals: list[list[Rule]] = []
    number = 0
    for proposal in proposals:
        rules: list[Rule] = []
        entry = _if_approved(proposal)
        if entry is not None:
            summary = _summary_of(library, proposal, entry)
            if holds(summary, names):
                for check in forms.of_texts(forms.checks_of(entry.fields)):
                    if runs(check):
                        # two proposals may be about the same rule: a number of its own tells their
                        # checks apart
                        rules.append(Rule(summary, check, number))
                        number += 1
        of_proposals.append(rules)
    return of_proposals


def _if_approved(proposal: Pending) -> Entry | None:
    """What a proposal would be in force; None: no rule, or one that goes."""
    if proposal.change == "removal":
        return None
    texts = {}
    for file in proposal.files:
        if file.new is not None:
            texts[file.path] = file.new.encode()
    entry = entry_of(proposal.path, texts)
    if entry is None or entry.kind != Kind.RULE:
        return None
    return entry


def _summary_of(library: Library, proposal: Pending, entry: Entry) -> EntrySummary:
    return EntrySummary(
        entry.id,
        proposal.handle,
        Kind.RULE,
        entry.title,
        entry.project,
        (),
        (),
        entry.path,
        tier=library.primary.options.tier,
        facts={"checks": of_entry(entry)},
    )


def _with_lines(run: Run, proposal: Pending, rules: Sequence[Rule]) -> Pending:
    keys = {rule.key for rule in rules}
    if not keys:
        return proposal
    places = set()
    for finding in run.findings:
        if finding.key in keys and finding.first:
            places.add((finding.path, finding.line))
    is_partial = bool(keys & run.stopped)
    if places:
        named = [f"{path}:{line}" for path, line in sorted(places)[:_NAMED]]
        if len(places) > _NAMED:
            named.append("…")
        number = f"{len(places):,}"
        if is_partial:
            number = f"at least {number}"
        sentence = f"lines of the code here that break it today: {number} ({', '.join(named)})"
    elif is_partial:
        sentence = "the code here was not all looked at for lines that break it today"
    else:
        sentence = "no line of the code here breaks it today"
    return proposal._replace(effects=(*proposal.effects, sentence))
