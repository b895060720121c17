"""The rules in force of a repository: the approval branch as judged now, brought into the catalog."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons import app, git
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, UnsupportedRepository
from ai_lessons.model.entries import Kind
from ai_lessons.model.layout import CONFIG_PATH, blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.app.options import Options
    from ai_lessons.approval.inputs import Inputs
    from ai_lessons.approval.signatures import PinnedSigners
    from ai_lessons.git.store import Store
    from ai_lessons.model import Mandate
    from ai_lessons.model.approval import BranchView
    from ai_lessons.model.entries import Entry
    from ai_lessons.search.catalog import Catalog

NOT_JUDGED = "the rules in force are those of an earlier look: newer commits are not judged yet, the next look goes on"
# The digest where no list of signers is pinned
NO_LIST = "-"
# Raise it when the same history would be read into other rules
_FORMAT = "4"


class Snapshot(NamedTuple):
    """The approval branches as judged, the one that counts last, and the `state` of the clone that this holds for."""

    state: str
    views: tuple[BranchView, ...] = ()

    @property
    def view(self) -> BranchView | None:
        """The one that counts."""
        if self.views:
            return self.views[-1]
        return None


class RulesInForce:
    """The rules of one repository as its approval branch has them. For one thread at a time."""

    def __init__(self, store: Store, options: Options) -> None:
        self._store, self._worktree, self._options = store, store.worktree, options
        # lines that a reader should know: alarms, and rules that cannot be read; and how many rules
        # are in force
        self.notes: tuple[str, ...] = ()
        self.count = 0
        self._texts: dict[str, bytes] = {}
        self._asked = False
        self._snapshot = Snapshot("-")

    def signers(self, ref: str) -> PinnedSigners:
        """Whose signatures count under the policy `signed`."""
        from ai_lessons.approval.signatures import PinnedSigners

        return PinnedSigners(
            self._worktree,
            ref,
            self._options.config_dir,
            self._options.now,
            mandate=self.mandate,
        )

    @cached_property
    def mandate(self) -> Mandate | None:
        """What the administrators of this machine state of the repository."""
        for place in self._options.places.known:
            if place.mandate and os.path.realpath(place.root) == str(self._store.root):
                return place.mandate
        return None

    def ref(self) -> str | None:
        """The approval branch of this clone as a full ref; None if there is none.

        Raises UnsupportedRepository.
        """
        ref = git.approval_branch.followed(self._worktree)
        if ref:
            return ref
        named = self._stated()
        if not named:
            return None
        return git.approval_branch.follow_first(self._worktree, named) or None

    def _stated(self) -> str:
        """The approval branch that the settings file here states; empty if it cannot be read."""
        with suppress(AiLessonsError):
            return branch_stated(self._store.read(CONFIG_PATH))
        return ""

    def missing(self) -> str:
        """That the approval branch is neither here nor on a remote.

        Empty where it is, and before the first commit.
        """
        ref = self.ref()
        if (ref and git.worktree.read_ref(self._worktree, ref)) or not self._store.head().commit:
            return ""
        if ref:
            name = git.approval_branch.branch_name(ref)
        else:
            name = self._stated() or git.approval_branch.DEFAULT
        remote = git.approval_branch.tracking(self._worktree, f"refs/heads/{name}").split("/")[2]
        where, command = "here", f"git config {git.approval_branch.SETTING} BRANCH"
        if (self._worktree.common_dir / "refs" / "remotes" / remote).exists():
            where = f"here or of {remote}"
            command = f"git fetch {remote} {name}:{name}, or name another: {command}"
        return f"there is no approval branch {name} {where}, so no rule is in force: {command}"

    def snapshot(self) -> Snapshot:
        """The approval branches as judged now, kept while their state holds.

        Raises UnsupportedRepository.
        """
        # Looks at branches that move meanwhile; the first look also notes proposals, which counts
        # as a move
        for _ in range(4):
            inputs = self._inputs()
            before = self._key(inputs)
            if before == self._snapshot.state:
                return self._snapshot
            views = self._judged(inputs)
            now = self.state()
            # a look without an alarm notes tip and policy, which changes nothing about what it
            # found
            quiet = bool(views) and not views[-1].alarms
            if before == now or (quiet and before.partition(" ")[2] == now.partition(" ")[2]):
                self._snapshot = Snapshot(now, views)
                return self._snapshot
        return Snapshot("", views)

    def view(self, *, readable: bool = False) -> BranchView | None:
        """The branch that counts (under `forge` the remote's) as judged now, or None.

        Raises UnsupportedRepository.

        `readable`: None also where it cannot be judged, as a note of `bring` says; as it was judged
        last where a hook has no time to judge it.
        """
        try:
            if readable and self._options.is_over():
                return self._judged_last()
            return self.snapshot().view
        except UnsupportedRepository:
            if readable:
                return None
            raise

    def _judged_last(self) -> BranchView | None:
        """The approval branch as the last look judged it."""
        from ai_lessons.approval import state

        ref = self.ref()
        cached = None
        if ref:
            cached = state.noted(self._worktree, ref)
        if cached:
            return cached.view
        return None

    def _judged(self, inputs: Inputs | None) -> tuple[BranchView, ...]:
        from ai_lessons.approval import state

        if inputs is None:
            return ()
        ref = inputs.branch.ref
        views: tuple[BranchView, ...] = (state.derive(self._worktree, ref, self.signers(ref)),)
        if views[0].policy.require == "forge":
            forge = state.forge_ref(self._worktree, inputs)
            views += (state.derive(self._worktree, forge, self.signers(forge)),)
        view, ask = views[-1], self._options.ask_keys
        if self._options.agent or self._asked or ask is None:
            return views
        # a history that was rewritten down to its first commit would pass for a new repository:
        # alarms come first
        if view.policy.require == "signed" and not view.alarms:
            self._asked = True
            from ai_lessons.approval.signatures import pin_first

            if pin_first(self._worktree, view, self.signers(view.ref), ask):
                return self._judged(self._inputs())
        return views

    def bring(self, catalog: Catalog) -> None:
        """Bring the catalog's rules up to date.

        Where the branch cannot be judged, they stay, and a note says so.
        """
        noted, _, summary = catalog.rules_state().partition("\n")
        self.count, self.notes = 0, ()
        if summary:
            noted_state: dict[str, Any] = json.loads(summary)
            self.count, self.notes = noted_state["rules"], tuple(noted_state["notes"])
        try:
            if self.state() != noted and self._options.is_over():
                self.notes = (*self.notes, NOT_JUDGED)
            elif self.state() != noted:
                self._put(catalog, self.snapshot())
            if missing := self.missing():
                self.notes = (missing, *self.notes)
        except AiLessonsError as error:
            self.notes = (f"the rules in force are those of an earlier look: {error.message}",)

    def text(self, entry_id: str, path: str, blob: str) -> bytes:
        """The text of a rule in force as the branch has it, out of a filter as a checkout shows it. Raises NotFound."""
        self.expect({blob: path})
        if blob not in self._texts:
            raise NotFound(
                "text in force of the rule", entry_id, hint="look at the repository: git fsck"
            )
        return self._texts[blob]

    def expect(self, paths: Mapping[str, str]) -> None:
        """Read these texts (paths by blob) at once, because each will be asked for.

        Singly each may cost a program.
        """
        missing = {blob: path for blob, path in paths.items() if blob not in self._texts}
        if missing:
            self._texts |= self._read(missing)

    def state(self) -> str:
        """All that rules in force depend on as it is now, in one line.

        Empty where there is no approval branch.
        """
        return self._key(self._inputs())

    def _inputs(self) -> Inputs | None:
        """What verdicts are made from as it is now; None where there is no approval branch."""
        from ai_lessons.approval.inputs import read_inputs

        ref = self.ref()
        if ref:
            return read_inputs(self._worktree, ref, self._digest, self.mandate)
        return None

    def _digest(self, ref: str) -> str:
        """Of the signers that count on a branch."""
        mandate, digest = self.mandate, NO_LIST
        # else what reads lists need not be loaded
        pinned = (self._options.config_dir / "signers").is_dir()
        if pinned or (mandate and mandate.signers):
            digest = self.signers(ref).digest
        if mandate and mandate.require:
            # another policy judges the same history otherwise
            digest += f" {mandate.require} {mandate.distinct}"
        return digest

    def _key(self, inputs: Inputs | None) -> str:
        if inputs is None:
            return ""
        policy = inputs.branch.remembered.policies.get(inputs.branch.ref)
        signed = policy is not None and policy.require == "signed"
        # a person who can be asked has perhaps not been asked yet, if the last read was by a
        # program
        may_ask = self._options.ask_keys is not None and not self._options.agent
        key = f"{inputs.key} {_FORMAT}"
        if may_ask and signed and inputs.branch.signers == NO_LIST:
            key += " ?"
        return key

    def _put(self, catalog: Catalog, snapshot: Snapshot) -> None:
        view = snapshot.view
        before = catalog.rules_in_force()
        keep: set[str] = set()
        fresh: dict[str, tuple[str, str]] = {}
        if view:
            for verdict in view.verdicts.values():
                if not (verdict.in_force and verdict.path and verdict.blob):
                    continue
                place = (verdict.path, verdict.blob)
                if before.get(verdict.rule) == place:
                    # what the catalog holds of it still holds
                    keep.add(verdict.rule)
                else:
                    fresh[verdict.rule] = place
        notes = list(self._alarms(view))
        entries = list(self._entries(fresh, notes))
        self.notes, self.count = tuple(notes), len(keep) + len(entries)
        self._texts = {}
        noted = ""
        if snapshot.state:
            summary = json.dumps({"rules": self.count, "notes": notes})
            noted = f"{snapshot.state}\n{summary}"
        catalog.set_rules_in_force(noted, entries, keep=keep)

    def _entries(
        self, places: dict[str, tuple[str, str]], notes: list[str]
    ) -> Iterator[tuple[Entry, str]]:
        """The rules at these places, each with its blob.

        What cannot be read is not in force, and a note says so.
        """
        if not places:
            return
        from ai_lessons.model.frontmatter import read_entry

        texts = self._read({blob: path for path, blob in places.values()})
        for rule, (path, blob) in places.items():
            approved = f"{path}: the approved text"
            if blob not in texts:
                notes.append(f"{approved} is missing in git, so the rule is left out: git fsck")
                continue
            try:
                entry = app.secrets.masked_entry(read_entry(path, texts[blob]))
            except InvalidEntry as error:
                reason = f"so the rule is left out: {error.message}"
                notes.append(f"{approved} cannot be read, {reason}")
                continue
            if entry.kind is Kind.RULE and entry.id == rule:
                yield entry, blob
            else:
                notes.append(f"{approved} is not rule {rule}, so it is left out")

    def _read(self, paths: Mapping[str, str]) -> dict[str, bytes]:
        """Contents of blobs (at these paths), as far as they are there and are what their names say."""
        from ai_lessons.git import commits as git_commits
        from ai_lessons.git.commits import read_blobs

        # git does not look again whether an object is what it is called
        contents: dict[str, bytes] = {}
        for blob, data in read_blobs(self._worktree, paths).items():
            if blob_id(data) == blob:
                contents[blob] = data
        return git_commits.texts(self._worktree, paths, contents)

    def _alarms(self, view: BranchView | None) -> Iterator[str]:
        if view is None:
            return
        for alarm in view.alarms:
            if alarm.hint:
                yield f"{alarm.message} ({alarm.hint})"
            else:
                yield alarm.message
        yield from view.damaged
        if view.policy.require == "signed":
            from ai_lessons.approval.signatures import notes_on_signers

            yield from notes_on_signers(view, self.signers(view.ref))
        blob, here = view.files.get(CONFIG_PATH, ""), git.approval_branch.short_name(view.ref)
        if not blob:
            return
        named = branch_stated(self._read({blob: CONFIG_PATH}).get(blob, b""))
        if named and named != here:
            # a commit alone may not move what people follow
            yield (
                f"the settings name {named} as the approval branch, and {here} is followed here; "
                f"if the change was meant: git config {git.approval_branch.SETTING} {named}"
            )


def branch_stated(settings: bytes) -> str:
    """The approval branch that a settings file states.

    Empty if it states none or cannot be read.
    """
    if b"branch" not in settings:
        return ""
    from ai_lessons.model.config import parse_config

    try:
        return parse_config(settings.decode("utf-8", "replace")).approval_branch
    except AiLessonsError:
        return ""
