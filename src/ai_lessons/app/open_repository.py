"""What is open in one repository.

Options, files, catalog, settings, what this user trusts, rules in force.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ai_lessons import extensions, git
from ai_lessons.app.secrets import masked_entry
from ai_lessons.errors import (
    AiLessonsError,
    AmbiguousName,
    InvalidEntry,
    NotFound,
    Refused,
    StorageFailed,
    UnsupportedRepository,
)
from ai_lessons.model import USER, Places, expression
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.layout import CONFIG_PATH, blob_id, is_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ai_lessons.approval.inputs import Inputs
    from ai_lessons.approval.signatures import PinnedSigners
    from ai_lessons.git.commit import Committer
    from ai_lessons.git.history import History
    from ai_lessons.git.store import Store
    from ai_lessons.model.approval import BranchView
    from ai_lessons.model.config import RepositoryConfig
    from ai_lessons.model.entries import EntrySummary
    from ai_lessons.search.catalog import Catalog, Location
    from ai_lessons.search.catalog_update import Elsewhere

# called as `progress(what, done, total)`, in the thread that does the work
Progress = Callable[[str, int, int], None]

T = TypeVar("T")


def silent(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


class Limits(NamedTuple):
    """Files a caller may name.

    Below `root`, and none that is `secret_file` (device, inode) or holds the `secret`.
    """

    root: Path | None = None
    secret: bytes = b""
    secret_file: tuple[int, int] | None = None

    def refuse_place(self, path: Path) -> None:
        """Look at where a path leads, links followed; the file need not exist.

        Raises Refused: outside of `root`.
        """
        if self.root is not None and not Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(self.root)
        ):
            raise Refused(
                f"{path} is not below {self.root}",
                hint="name a file that is: this server reads no other",
            )

    def refuse_content(self, path: Path, data: bytes) -> None:
        """Look at a file that was read.

        Raises Refused: it is the file with the secret, or holds it, too.
        """
        status = path.stat()
        if (status.st_dev, status.st_ino) == self.secret_file or (
            self.secret and self.secret in data
        ):
            raise Refused(f"{path} holds the token of this server", hint="name another file")


class Options(NamedTuple):
    """What an interface knows that the repository does not.

    This machine's folders, who is calling, how to ask.

    `cache_dir` may be deleted; `state_dir` holds what this user trusts; `index_dir`: folder or URI
    of the search index. `ask_trust(path, text)` is asked before an unknown script runs (None:
    refused), `ask_keys(question, keys)` once whom to trust where approvals are signed,
    `ask_source(doc, path, file)` before a doc is read from elsewhere than before. `agent` calls if
    no person does, as `agent_by` (a variable or file) says. `tier` is of the repository that is
    opened, `places` what is read beside it. `warm`: the folder of the helper that stays in memory;
    None: none. `virtual_env`: the environment of Python that is active. `outcomes`: whether hooks
    write down what sessions show of entries that they told. `measure`: whether lessons are left out
    now and then, on purpose, to see whether they make a difference. `until`: when a hook has to
    answer with what is known, on the monotonic clock; 0: when all is read.
    """

    cache_dir: Path
    state_dir: Path
    config_dir: Path
    cwd: Path
    model_dir: Path | None = None
    index_dir: str | None = None
    agent: str | None = None
    agent_by: str = ""
    session: str | None = None
    tier: str = USER
    offline: bool = False
    virtual_env: Path | None = None
    ask_trust: Callable[[str, str], bool] | None = None
    ask_keys: Callable[[str, list[str]], bool] | None = None
    ask_source: Callable[[str, str, str], bool] | None = None
    progress: Progress = silent
    now: Callable[[], datetime] = partial(datetime.now, UTC)
    places: Places = Places()
    limits: Limits = Limits()
    warm: Path | None = None
    outcomes: bool = True
    measure: bool = False
    until: float = 0

    def is_over(self) -> bool:
        """Whether a caller that has to answer by then has no more time to read and judge what is new."""
        return bool(self.until) and monotonic() >= self.until

    def each(self, what: str, items: Sequence[T]) -> Iterator[T]:
        """The items one after the other; how many are done is shown as progress of `what`."""
        for number, item in enumerate(items):
            self.progress(what, number, len(items))
            yield item
        self.progress(what, len(items), len(items))

    def refuse_agents(self, what: str, command: str) -> None:
        """Raises Refused: an agent calls.

        `what` completes "an agent cannot", `command` is how a person does it.
        """
        if self.agent:
            if self.agent_by.isupper():
                where = f", without {self.agent_by} in the environment"
            else:
                where = ""
            raise Refused(
                f"an agent cannot {what}: a person does", hint=f"ask the user: {command}{where}"
            )


class LazyElsewhere:
    """The way to texts outside of the repository, which a list that meets none does not load."""

    def __init__(self, place: str, state_dir: Path) -> None:
        """`place`: of the class of a feature."""
        self._place, self._state_dir = place, state_dir

    @cached_property
    def _way(self) -> Elsewhere:
        way: Elsewhere = extensions.load(self._place)(self._state_dir, time_ns)
        return way

    def stamp(self, entry_id: str, path: str) -> str:
        """Differs once the file was changed."""
        return self._way.stamp(entry_id, path)

    def code(self, entry_id: str, path: str) -> bytes:
        """What the file holds now."""
        return self._way.code(entry_id, path)

    def shown(self, entry: Entry) -> Entry:
        """The entry with its code as it may be shown."""
        return self._way.shown(entry)


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

        return PinnedSigners(self._worktree, ref, self._options.config_dir, self._options.now)

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
            return _named(self._store.read(CONFIG_PATH))
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
        shared = (self._worktree.common_dir / "refs" / "remotes" / remote).exists()
        if shared:
            fetch = f"git fetch {remote} {name}:{name}, or name another: "
        else:
            fetch = ""
        return (
            f"there is no approval branch {name} here{f' or of {remote}' if shared else ''}, so no rule is in force: "
            f"{fetch}git config {git.approval_branch.SETTING} BRANCH"
        )

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
        view, ask = (
            views[-1],
            None if self._options.agent or self._asked else self._options.ask_keys,
        )
        # a history that was rewritten down to its first commit would pass for a new repository:
        # alarms come first
        if ask and view.policy.require == "signed" and not view.alarms:
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
        if summary:
            noted_state: dict[str, Any] = json.loads(summary)
        else:
            noted_state = {"rules": 0, "notes": []}
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
        missing = {}
        for blob, path in paths.items():
            if blob not in self._texts:
                missing[blob] = path
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
            return read_inputs(self._worktree, ref, self._digest)
        return None

    def _digest(self, ref: str) -> str:
        """Of the signers that count on a branch."""
        # else what reads lists need not be loaded
        pinned = (self._options.config_dir / "signers").is_dir()
        if pinned:
            return self.signers(ref).digest
        return NO_LIST

    def _key(self, inputs: Inputs | None) -> str:
        if inputs is None:
            return ""
        policy = inputs.branch.remembered.policies.get(inputs.branch.ref)
        signed = policy is not None and policy.require == "signed"
        # a person who can be asked has perhaps not been asked yet, if the last read was by a
        # program
        may_ask = self._options.ask_keys is not None and not self._options.agent
        asking = may_ask and signed and inputs.branch.signers == NO_LIST
        return f"{inputs.key} {_FORMAT}{' ?' if asking else ''}"

    def _put(self, catalog: Catalog, snapshot: Snapshot) -> None:
        view, state = snapshot.view, snapshot.state
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
        noted = f"{state}\n{json.dumps({'rules': self.count, 'notes': notes})}" if state else ""
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
            try:
                entry = masked_entry(read_entry(path, texts[blob]))
            except KeyError:
                notes.append(
                    f"{path}: the approved text is missing in git, so the rule is left "
                    "out: git fsck"
                )
            except InvalidEntry as error:
                notes.append(
                    f"{path}: the approved text cannot be read, so the rule is left out: "
                    f"{error.message}"
                )
            else:
                if entry.kind is Kind.RULE and entry.id == rule:
                    yield entry, blob
                else:
                    notes.append(f"{path}: the approved text is not rule {rule}, so it is left out")

    def _read(self, paths: Mapping[str, str]) -> dict[str, bytes]:
        """Contents of blobs (at these paths), as far as they are there and are what their names say."""
        from ai_lessons.git import commits as git_commits
        from ai_lessons.git.commits import read_blobs

        texts = read_blobs(self._worktree, paths)
        return git_commits.texts(
            self._worktree,
            paths,
            {blob: data for blob, data in texts.items() if blob_id(data) == blob},
        )

    def _alarms(self, view: BranchView | None) -> Iterator[str]:
        if view is None:
            return
        for alarm in view.alarms:
            yield f"{alarm.message} ({alarm.hint})" if alarm.hint else alarm.message
        yield from view.damaged
        if view.policy.require == "signed":
            from ai_lessons.approval.signatures import notes_on_signers

            yield from notes_on_signers(view, self.signers(view.ref))
        # a commit alone may not move what people follow
        blob, here = view.files.get(CONFIG_PATH, ""), git.approval_branch.short_name(view.ref)
        if blob:
            named = _named(self._read({blob: CONFIG_PATH}).get(blob, b""))
        else:
            named = ""
        if named and named != here:
            yield (
                f"the settings name {named} as the approval branch, and {here} is followed here; "
                f"if the change was meant: git config {git.approval_branch.SETTING} {named}"
            )


def _named(settings: bytes) -> str:
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


CATALOG_FILE = "catalog.sqlite"

_OTHER_FORMAT = expression(rb"^format:(?![ \t]*1[ \t]*(?:#|\r?$))", re.MULTILINE)


def _committer(store: Store) -> Committer:
    from ai_lessons.git.commit import Committer

    return Committer(store)


def _settings(data: bytes) -> RepositoryConfig:
    """The settings that a file states; those of an empty one are the defaults."""
    from ai_lessons.model.config import parse_config

    try:
        return parse_config(data.decode("utf-8", "replace"))
    except InvalidEntry as error:
        raise InvalidEntry(
            error.problems, hint="mend the file; nothing is written until it is valid"
        ) from error


class OpenRepository:
    """What the parts of a session take: each is opened when it is first asked for.

    For one thread at a time.
    """

    def __init__(self, root: Path, options: Options) -> None:
        """Raises as `Store`."""
        self.options = options
        self.store = git.store.Store(root, committing=_committer, spare=options.state_dir / "kept")
        self.store.dropped = self._forget
        self.rules = RulesInForce(self.store, options)
        self._config: tuple[bytes, RepositoryConfig] | None = None
        # why the defaults hold, where the settings cannot be used
        self._config_note = ""

    def _forget(self, ref: str, dropped: Sequence[str], tip: str) -> None:
        from ai_lessons.approval import state

        state.forget(self.store.state_dir, ref, dropped, tip)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalog as it was at the last refresh."""
        with git.worktree.shared_files(self.store.worktree):
            file, tier = self.store.state_dir / CATALOG_FILE, self.options.tier
            from ai_lessons.search.catalog import Catalog

            return Catalog(file, tier=tier, first=lambda paths: self.history.first(paths))  # noqa: PLW0108  # loads it

    @cached_property
    def history(self) -> History:
        """Git's history of the files."""
        from ai_lessons.git.history import History

        return History(self.store.worktree)

    @property
    def config(self) -> RepositoryConfig:
        """The settings as they are on disk now.

        Raises InvalidEntry, UnsupportedRepository (of a newer program).
        """
        data = b""
        with suppress(NotFound):
            data = self.store.read(CONFIG_PATH)
        if self._config is None or self._config[0] != data:
            self._config = data, _settings(data)
        return self._config[1]

    @property
    def reading_config(self) -> RepositoryConfig:
        """The settings for a job that only reads.

        The defaults where the file is broken, because it may be pulled.
        """
        try:
            config, self._config_note = self.config, ""
        except InvalidEntry:
            config = _settings(b"")
            self._config_note = f"{CONFIG_PATH} is invalid, so the defaults hold: `ai-lessons admin validate` says why"
        except AiLessonsError as error:
            # a link, unreadable, of a newer program
            config = _settings(b"")
            self._config_note = (
                f"{CONFIG_PATH} cannot be used, so the defaults hold: {error.message}"
            )
        return config

    def config_note(self) -> str:
        """Why the defaults hold, where the settings cannot be used.

        Loads YAML only if they look odd.
        """
        try:
            odd = bool(_OTHER_FORMAT.search(self.store.read(CONFIG_PATH)))
        except NotFound:
            odd = False
        except AiLessonsError:
            odd = True
        if odd:
            self.reading_config  # noqa: B018 - asked only for its note
        return self._config_note

    def resolve(self, ref: str) -> EntrySummary:
        """The entry that a handle, id, end of an id, or path (of repository or caller) names, by the last refresh.

        Raises NotFound, AmbiguousName. InvalidEntry: it is the path of a file that gives no entry; says why.
        """
        try:
            return self.catalog.resolve(ref)
        except AmbiguousName:
            raise
        except NotFound:
            inside = self.inside(ref)
            reasons = []
            for problem in self.catalog.unreadable():
                if problem.path in {ref, inside}:
                    reasons.append(problem)
            if reasons:
                raise InvalidEntry(reasons, hint="mend the file, then repeat the command") from None
            if inside is None or inside == ref:
                raise
            return self.catalog.resolve(inside)

    def inside(self, ref: str) -> str | None:
        """A path of the caller's file system as one relative to the repository.

        None if it lies elsewhere.
        """
        if "\0" in ref:
            return None
        typed = self.options.cwd / os.path.expanduser(ref)
        for path in (typed, typed.parent.resolve() / typed.name):
            if path != self.store.root and path.is_relative_to(self.store.root):
                return path.relative_to(self.store.root).as_posix()
        return None

    @staticmethod
    def parse(path: str, data: bytes, side: bytes | None = None) -> Entry:
        """What these bytes are, without what looks like a secret.

        See `read_entry`, which loads YAML.
        """
        from ai_lessons.model.frontmatter import read_entry

        entry = masked_entry(read_entry(path, data, side))
        file = entry.side_path or entry.path
        if not is_markdown(file) or entry.kind is Kind.RULE:
            return entry
        from ai_lessons.model.checks import doubts

        text = (data if side is None else side).decode("utf-8", "replace")
        return entry._replace(doubtful=len(doubts(entry, text)))

    def load(self, entry_id: str) -> tuple[Entry, str]:
        """The entry (a rule: of the approval branch) and the text with its frontmatter.

        "" for a script without.
        """
        place = self.catalog.locate(entry_id)
        data, side = self.files_of(place)
        entry = self.parse(place.path, data, side)
        if side is not None:
            text = side
        elif entry.code:
            text = b""
        else:
            text = data
        if place.hash is None:
            from ai_lessons.model.frontmatter import with_code

            entry = masked_entry(with_code(entry, data))
        return entry, text.decode("utf-8", "replace")

    def files_of(self, place: Location) -> tuple[bytes, bytes | None]:
        """What the file of an entry and the one beside it hold now; of a rule the text in force.

        Raises NotFound.

        Of a script that is kept elsewhere the code comes from there, as far as that file may be
        read.
        """
        if place.approved and place.hash:
            return self.rules.text(place.id, place.path, place.hash), None
        if place.hash is None:
            data = self._code_elsewhere(place)
        else:
            data = self.store.read(place.path)
        return data, self.store.read(place.side_path) if place.side_path else None

    def _code_elsewhere(self, place: Location) -> bytes:
        elsewhere = self.elsewhere()
        if elsewhere is None:
            return b""
        path = str(self.catalog.fields(place.id).get("path") or "")
        return elsewhere.code(place.id, path)

    def elsewhere(self) -> Elsewhere | None:
        """A look at texts that lie outside of the repository; None where no feature leads there."""
        for feature in extensions.rows():
            if feature.elsewhere:
                return LazyElsewhere(feature.place(feature.elsewhere), self.store.state_dir)
        return None

    def expect(self, ids: Iterable[str]) -> None:
        """Prefetch the texts of these entries."""
        self.rules.expect(
            {x.hash: x.path for x in self.catalog.locations(ids) if x.approved and x.hash}
        )

    def file_of(self, summary: EntrySummary) -> str:
        """The file whose history is that of the entry.

        Of a script kept elsewhere its description.
        """
        place = self.catalog.locate(summary.id)
        if place.hash is not None:
            return place.path
        return place.side_path or place.path

    def executable(self, path: str) -> bool:
        """Whether the file at `path` has its owner's execute bit."""
        return os.access(self.store.root / path, os.X_OK)

    def refuse_other_formats(self) -> None:
        """Called before anything is written.

        Raises UnsupportedRepository: it is of a newer or an older program.
        """
        from ai_lessons.model.config import refuse_older

        with suppress(InvalidEntry, Refused, StorageFailed):
            # a write that needs the settings meets this again
            refuse_older(self.config)

    def set_autocommit(self) -> None:
        """Let the store commit as the settings say. Raises as `refuse_other_formats`."""
        self.refuse_other_formats()
        self.store.autocommit = self.store.commits(self.config.autocommit)
