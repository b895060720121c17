"""The rules in force on their way into the catalog: looked at before every read, judged only when something moved."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ai_lessons import library
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, UnsupportedRepository
from ai_lessons.knowledge.entries import Entry, Kind
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.repository.approval import approval_branch
from ai_lessons.repository.store import Store, blob_id
from ai_lessons.repository.worktree import read_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ai_lessons.index.catalog import Catalog
    from ai_lessons.library.options import Options
    from ai_lessons.repository.approval.approval_types import BranchView
    from ai_lessons.repository.approval.signatures import PinnedSigners

_FORMAT = "2"  # Raise it when the same history would be read into other rules
_ORIGIN = "refs/remotes/origin/"
_TRIES = 4  # Looks at branches that move meanwhile; the first look also notes proposals, which counts as a move


class RulesInForce:
    """The rules of one repository as its approval branch has them. For one thread at a time."""

    def __init__(self, store: Store, options: Options) -> None:
        self._store, self._worktree, self._options = store, store.worktree, options
        # lines that a reader should know: alarms, and rules that cannot be read; and how many rules are in force
        self.notes: tuple[str, ...] = ()
        self.count = 0
        self._texts: dict[str, bytes] = {}
        self._asked = False

    def signers(self, ref: str) -> PinnedSigners:
        """Whose signatures count under the policy `signed`."""
        from ai_lessons.repository.approval.signatures import PinnedSigners

        return PinnedSigners(self._worktree, ref, self._options.config_dir, self._options.now)

    def ref(self) -> str | None:
        """The approval branch of this clone as a full ref; None if there is none. Raises UnsupportedRepository."""
        ref = approval_branch.followed(self._worktree)
        named = ""
        if ref is None:
            with suppress(AiLessonsError):  # what cannot be read names none
                named = _named(self._store.read(CONFIG_PATH))
        return approval_branch.follow_first(self._worktree, named) if named else ref

    def view(self) -> BranchView | None:
        """The approval branch as judged now (under `forge` that of `origin`), or None. Raises UnsupportedRepository."""
        looks = self.looks()
        ask = None if self._options.agent or self._asked else self._options.ask_keys
        # a history that was rewritten down to its first commit would pass for a new repository: alarms come first
        if looks and ask and looks[-1].policy.require == "signed" and not looks[-1].alarms:
            self._asked = True
            if library.signing.pinned_first(self._worktree, looks[-1], self.signers(looks[-1].ref), ask):
                looks = self.looks()
        return looks[-1] if looks else None

    def known(self) -> BranchView | None:
        """The same for readers: None also where the branch cannot be judged, as a note of `bring` says."""
        try:
            return self.view()
        except UnsupportedRepository:
            return None

    def looks(self) -> tuple[BranchView, ...]:
        """The branches looked at, the one that counts last. Raises UnsupportedRepository."""
        from ai_lessons.repository.approval import approval_memory

        ref = self.ref()
        views: list[BranchView] = []
        while ref is not None:
            signers = self.signers(ref)
            view = approval_memory.look(self._worktree, ref, signers)
            if view is None:
                from ai_lessons.repository.approval.approval_history import derive

                view = derive(self._worktree, ref, signers)
            views.append(view)
            forge = view.policy.require == "forge" and len(views) == 1
            ref = f"{_ORIGIN}{approval_branch.short_name(ref)}" if forge else None
        return tuple(views)

    def bring(self, catalog: Catalog) -> None:
        """Bring the catalog's rules up to date; where the branch cannot be judged, they stay, and a note says so."""
        noted, _, summary = catalog.rules_tree().partition("\n")
        noted_state: dict[str, Any] = json.loads(summary) if summary else {"rules": 0, "notes": []}
        self.count, self.notes = noted_state["rules"], tuple(noted_state["notes"])
        try:
            if self._stamp() != noted:
                self._put(catalog, *self._settled())
        except AiLessonsError as error:
            self.notes = (f"the rules in force are those of an earlier look: {error.message}",)

    def text(self, entry_id: str, path: str, blob: str) -> bytes:
        """The text of a rule in force as the branch has it, out of a filter as a checkout shows it. Raises NotFound."""
        self.expect({blob: path})
        if blob not in self._texts:
            raise NotFound("text in force of the rule", entry_id, hint="look at the repository: git fsck")
        return self._texts[blob]

    def expect(self, paths: Mapping[str, str]) -> None:
        """Read these texts (paths by blob) at once, because each will be asked for: singly each may cost a program."""
        missing = {blob: path for blob, path in paths.items() if blob not in self._texts}
        self._texts |= self._read(missing) if missing else {}

    def _stamp(self) -> str:
        """Names everything that the rules in force depend on, in one line; empty where there is no approval branch."""
        ref = self.ref()
        if ref is None:
            return ""
        tip = read_ref(self._worktree, ref) or ""
        forge = read_ref(self._worktree, f"{_ORIGIN}{approval_branch.short_name(ref)}")
        memory = approval_branch.memory(self._worktree.state_dir)
        key = approval_branch.key_of(self._worktree, tip)
        # who signs is only asked for where that was needed before, which wrote down what the repository is called
        name_noted = ref in approval_branch.noted_names(self._worktree)
        keys = self.signers(ref).digest if name_noted else "-"
        # a person who can be asked has perhaps not been asked yet, if the last read was by a program
        if name_noted and keys == "-" and self._options.ask_keys is not None and not self._options.agent:
            keys = "?"
        return f"{memory} {_FORMAT} {ref} {forge} {keys} {key}"

    def _settled(self) -> tuple[str, BranchView | None]:
        """The view, and the stamp that it belongs to; an empty stamp if the branches kept moving."""
        view = None
        for _ in range(_TRIES):
            before = self._stamp()
            view = self.view()
            now = self._stamp()
            # a look without an alarm notes tip and policy, which changes nothing about what it found
            quiet = view is not None and not view.alarms
            if before == now or (quiet and before.partition(" ")[2] == now.partition(" ")[2]):
                return now, view
        return "", view

    def _put(self, catalog: Catalog, stamp: str, view: BranchView | None) -> None:
        verdicts = view.verdicts.values() if view else ()
        places = {
            verdict.rule: (verdict.path, verdict.blob)
            for verdict in verdicts
            if verdict.in_force and verdict.path and verdict.blob
        }
        before = catalog.rules_in_force()
        keep = {rule for rule, place in places.items() if before.get(rule) == place}
        notes = [*self._alarms(view)]
        fresh = {rule: place for rule, place in places.items() if rule not in keep}
        entries = list(self._entries(fresh, notes))
        self.notes, self.count = tuple(notes), len(keep) + len(entries)
        self._texts = {}
        state = f"{stamp}\n{json.dumps({'rules': self.count, 'notes': notes})}" if stamp else ""
        catalog.set_rules_in_force(state, entries, keep=keep)

    def _entries(self, places: dict[str, tuple[str, str]], notes: list[str]) -> Iterator[tuple[Entry, str]]:
        """The rules at these places, each with its blob. What cannot be read is not in force, and a note says so."""
        if not places:
            return
        from ai_lessons.knowledge.frontmatter import read_entry

        texts = self._read({blob: path for path, blob in places.values()})
        for rule, (path, blob) in places.items():
            try:
                entry = read_entry(path, texts[blob])
            except KeyError:
                notes.append(f"{path}: the approved text is missing in git, so the rule is left out: git fsck")
            except InvalidEntry as error:
                notes.append(f"{path}: the approved text cannot be read, so the rule is left out: {error.message}")
            else:
                if entry.kind is Kind.RULE and entry.id == rule:
                    yield entry, blob
                else:
                    notes.append(f"{path}: the approved text is not rule {rule}, so it is left out")

    def _read(self, paths: Mapping[str, str]) -> dict[str, bytes]:
        """Contents of blobs (at these paths), as far as they are there and are what their names say."""
        from ai_lessons.repository import filters
        from ai_lessons.repository.approval.rule_history import read_blobs

        texts = read_blobs(self._worktree, paths)
        return filters.texts(
            self._worktree, paths, {blob: data for blob, data in texts.items() if blob_id(data) == blob}
        )

    def _alarms(self, view: BranchView | None) -> Iterator[str]:
        if view is None:
            return
        for alarm in view.alarms:
            yield f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message
        yield from view.damaged
        if view.tip is None:
            yield f"there is no {approval_branch.branch_name(view.ref)} here, so no rule is in force"
        if view.policy.require == "signed":
            yield from library.signing.notes(view, self.signers(view.ref))
        # a commit alone may not move what people follow
        blob, here = view.files.get(CONFIG_PATH, ""), approval_branch.short_name(view.ref)
        named = _named(self._read({blob: CONFIG_PATH}).get(blob, b"")) if blob else ""
        if named and named != here:
            yield (
                f"the settings name {named} as the approval branch, and {here} is followed here; "
                f"if the change was meant: git config {approval_branch.SETTING} {named}"
            )


def _named(settings: bytes) -> str:
    """The approval branch that a settings file states; empty if it states none or cannot be read."""
    if b"branch" not in settings:
        return ""
    from ai_lessons.knowledge.config import parse_config

    try:
        return parse_config(settings.decode("utf-8", "replace")).approval_branch
    except AiLessonsError:
        return ""
