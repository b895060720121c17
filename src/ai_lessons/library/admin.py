"""Jobs of upkeep: checking a repository, its settings, its projections, the model, hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.porting.porting_jobs import PortingJobs
from ai_lessons.library.reports import ModelState, Stale
from ai_lessons.library.sharing.sharing_jobs import SharingJobs
from ai_lessons.repository.store import AUTOCOMMIT, Change, blob_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ai_lessons.index.model_files import ModelFolder
    from ai_lessons.library.governance.enforced import Enforcement
    from ai_lessons.library.index_reports import IndexState, Pulled, Pushed
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.reports import Check, Indexed, Outdated, Parameter, Report, Stats
    from ai_lessons.library.rules.rule_answers import (
        Approved,
        Audit,
        Pending,
        Rejected,
        Revoked,
        Suggested,
        TrustedKeys,
    )
    from ai_lessons.library.writes import Written


class Admin(SharingJobs, PortingJobs):
    """Nothing here is needed for daily use: what these jobs do by hand also happens by itself."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def validate(self, paths: Sequence[str] = (), *, fix: bool = False, content: bool = False) -> Report:
        """Every problem of every file, or of the files (and below the folders) named; `fix` mends what is safe to.

        `content`: what `review` finds is a problem, too.

        Raises:
            NotFound: a path that does not exist.
        """
        from ai_lessons.library.validating import validate

        return validate(self._parts, paths, fix=fix, content=content)

    def review(self, injections: int = 10) -> tuple[Outdated, ...]:
        """Active entries that may have gone stale, the oldest first, once for each reason.

        `review_by` is past, `applies_to` names no file of the code one stands in, a source changed or is gone, the last
        runs of a script failed, a lesson was shown `injections` times and never helped. See `Contribute.keep`.
        """
        from ai_lessons.library.reviewing import outdated

        return outdated(self._parts, injections)

    def doctor(self) -> tuple[Check, ...]:
        """The state of everything the tool stands on, worst problems included, each with what to do. Writes nothing."""
        from ai_lessons.library.health import doctor

        return doctor(self._parts)

    def stats(self) -> Stats:
        """Counts and sizes."""
        from ai_lessons.library.health import stats

        return stats(self._parts)

    def reindex(
        self,
        refs: Sequence[str] = (),
        *,
        full: bool = False,
        kinds: Collection[Kind] = (),
        seconds: float | None = None,
    ) -> Indexed:
        """Bring the index up to date now, until every vector is there (or for `seconds` of embedding).

        `refs` or `kinds`: write those entries anew; `full`: build everything anew (vectors come from the cache).
        """
        from ai_lessons.index.catalog_reading import Filter
        from ai_lessons.library.indexing import indexed

        catalog = self._parts.current()
        again = [self._parts.resolve(ref).id for ref in refs]
        if kinds:
            again += [light.id for light in catalog.select(Filter(kinds=frozenset(kinds), status=None))]
        return indexed(self._parts.indexing.refresh(seconds=seconds, full=full, again=again))

    def index_status(self, uri: str | None = None, *, recall: bool = False) -> IndexState:
        """The state of the index; with `uri`, that of a shared one. `recall` compares with exact search.

        Raises:
            Unreachable: the shared index does not answer.
        """
        from ai_lessons.library.sharing.shared_index import state

        return state(self._parts, uri, recall=recall)

    def index_push(self, uri: str) -> Pushed:
        """Complete the index and make the shared one at `uri` equal to it.

        Raises:
            Unreachable: it cannot be written. Conflict: somebody else is pushing.
        """
        from ai_lessons.library.sharing.shared_index import push

        return push(self._parts, uri)

    def index_pull(self, uri: str) -> Pulled:
        """Take the vectors of the shared index at `uri`; what it lacks is computed here.

        Raises:
            NotFound: nothing is there. UsageError: it is of another model. Unreachable: it does not answer.
        """
        from ai_lessons.library.sharing.shared_index import pull

        return pull(self._parts, uri)

    def stale(self) -> tuple[Stale, ...]:
        """Scripts kept outside the repository whose file changed since the side file was written, or is gone."""
        from ai_lessons.library.health import stale

        return stale(self._parts)

    def config_get(self, key: str | None = None) -> dict[str, object]:
        """The repository's settings in force, defaults included, by dotted key.

        Raises:
            NotFound: no such key.
        """
        from ai_lessons.knowledge.config import values_of

        values = values_of(self._parts.config)
        if key is None:
            return values
        if key not in values:
            raise NotFound("setting", key, suggestions=[k for k in values if key.rpartition(".")[2] in k][:3])
        return {key: values[key]}

    def config_set(self, key: str, value: str) -> str | None:
        """Change one setting in `.ai-lessons/config.yaml`, keeping its comments; the commit, or None if it waits.

        Raises:
            UsageError: no such key, or not a value for it. Refused: an agent would change a policy, or it
            would count for nothing here.
        """
        from ai_lessons.knowledge.config import set_value
        from ai_lessons.knowledge.layout import CONFIG_PATH
        from ai_lessons.knowledge.texts import decode
        from ai_lessons.library.governance.enforced import refuse_agents

        refuse_agents(self._parts.options, key)
        store = self._parts.store
        if key == "git.autocommit" and store.is_folder_of_bigger_repo:
            raise Refused(
                f"{key} counts for nothing in a folder of a bigger repository, because it comes with a pull",
                hint=f"git -C {store.root} config {AUTOCOMMIT} true",
            )
        data = store.read(CONFIG_PATH) if store.exists(CONFIG_PATH) else b""
        new = set_value(decode(data, CONFIG_PATH), key, value).encode()
        if key == "search.index" and value:
            from ai_lessons.library.indexing import agree

            agree(self._parts, value)
        if new == data:
            return None
        expect = blob_id(data) if store.exists(CONFIG_PATH) else None
        return self._parts.write(f"Set {key}", [Change(CONFIG_PATH, new, expect=expect)]).commit

    def hooks_install(self) -> tuple[str, ...]:
        """Put our part into the repository's client hooks; a line for each hook."""
        from ai_lessons.repository import git_hooks, scaffold

        return git_hooks.install_hooks(self._parts.store.root, scaffold.hooks_dir())

    def hooks_uninstall(self) -> tuple[str, ...]:
        """Take our part out again, byte for byte; a line for each hook."""
        from ai_lessons.repository import git_hooks, scaffold

        return git_hooks.uninstall_hooks(self._parts.store.root, scaffold.hooks_dir())

    def hooks_status(self) -> tuple[str, ...]:
        """Which hooks carry our part; a line for each."""
        from ai_lessons.repository import git_hooks, scaffold

        return git_hooks.hooks_status(self._parts.store.root, scaffold.hooks_dir())

    def adopt(self, paths: Sequence[str]) -> tuple[Written, ...]:
        """Write id, kind and title into plain files (or those below folders) that state none, in one commit.

        Raises:
            NotFound: nothing there to adopt.
        """
        from ai_lessons.library.validating import adopt

        return adopt(self._parts, paths)

    def model_status(self) -> ModelState:
        """Whether the embedding model is on this machine, and from where. Asks no network."""
        from ai_lessons.index import model_files
        from ai_lessons.knowledge.config import DEFAULT_MODEL

        name = self._parts.reading_config.model
        options = self._parts.options
        if name != DEFAULT_MODEL:
            return ModelState(name, present=True, path=None, source="fastembed, by name")
        return _state(name, model_files.find(options.cache_dir, options.model_dir))

    def model_pull(self) -> ModelState:
        """Get the embedding model now, whatever failed before.

        Raises:
            Unreachable: no source has it; says what was tried.
        """
        from ai_lessons.index import model_files

        options = self._parts.options
        status = self.model_status()
        if status.present:
            return status
        found = model_files.pull(
            options.cache_dir, options.model_dir, offline=options.offline, again=True, progress=options.progress
        )
        return _state(status.name, found)

    def pending_rules(self) -> tuple[Pending, ...]:
        """Every proposal that waits for a person, of branches here and on remotes, oldest first."""
        from ai_lessons.library.rules.rule_review import pending

        return pending(self._parts)

    def pending_count(self) -> int:
        """How many wait; with nothing new since the last question it reads a few small files."""
        from ai_lessons.library.rules.rule_count import pending_count

        return pending_count(self._parts)

    def approve_rule(self, ref: str, *, sign: bool = False, expect: str | None = None) -> Approved:
        """Merge a proposal (named by branch, handle, id or path) into the approval branch: its rule is in force.

        Where that branch is checked out, files and git's index come along; nobody's own edits are touched. `sign` adds
        a record signed with the user's SSH key; where approvals have to be signed, a rule that is on the branch and
        lacks signatures can be named, too. `expect` is the `Pending.commit` that a person was shown.

        Raises:
            NotFound, AmbiguousName: not one proposal of that name. Refused: an agent is calling, the proposal changes
            other files, the policy asks for somebody else, or git or the key have no name for the user. Conflict: the
            rule or the proposal was changed meanwhile, or somebody is in the middle of git. InvalidEntry: the text
            breaks the format.
        """
        from ai_lessons.library.rules.rule_review import approve

        return approve(self._parts, ref, sign=sign, expect=expect)

    def reject_rule(self, ref: str, *, reason: str = "", expect: str | None = None) -> Rejected:
        """Turn a proposal down: a record with reason and text on the approval branch, and its branch is deleted.

        `expect` is the `Pending.commit` that a person was shown.

        Raises:
            NotFound, AmbiguousName: not one proposal of that name. Refused: an agent is calling. Conflict: the
            proposal was changed meanwhile, or somebody is in the middle of git.
        """
        from ai_lessons.library.rules.rule_review import reject

        return reject(self._parts, ref, reason=reason, expect=expect)

    def edit_proposal(self, ref: str, editor: Callable[[str, str], str | None]) -> Suggested | None:
        """Let `editor(text, suffix)` change a proposal: a second commit on its branch. None if nothing was changed.

        Raises:
            InvalidEntry: what came back breaks the format.
        """
        from ai_lessons.library.rules.rule_review import edit_proposal

        return edit_proposal(self._parts, ref, editor)

    def unsigned_rules(self) -> tuple[Pending, ...]:
        """What is on the approval branch already and lacks signatures; nothing where none are asked for."""
        from ai_lessons.library.rules.rule_signing import unsigned

        return unsigned(self._parts)

    def revoke_rule(self, ref: str) -> Revoked:
        """Take a rule out of force by a signed record, where approvals are signed; its file stays where it is.

        Raises:
            NotFound, AmbiguousName: not one rule of that name. Refused: an agent is calling, nothing is signed here,
            or there is no key. Conflict: somebody decided meanwhile, or is in the middle of git.
        """
        from ai_lessons.library.rules.rule_signing import revoke

        return revoke(self._parts, ref)

    def trust_keys(self, ask: Callable[[str, list[str]], bool] | None) -> TrustedKeys:
        """Trust exactly the keys that the list of signers on the approval branch names, once `ask` has shown them.

        Raises:
            NotFound: there is no list, or no key in it. Refused: an agent is calling, or the answer is no.
            StorageFailed: the user's folder cannot be written.
        """
        from ai_lessons.library.rules.rule_trust import trust_keys

        return trust_keys(self._parts, ask)

    def acknowledge(self, ask: Callable[[str], bool] | None) -> Audit:
        """Take the approval branch as it is now for what was seen last, once `ask` has shown the alarms about it.

        Raises:
            Refused: an agent is calling, or the answer is no. StorageFailed: the memory cannot be written.
        """
        from ai_lessons.library.rules.rule_trust import acknowledge

        return acknowledge(self._parts, ask)

    def audit(self) -> Audit:
        """Who approved which rule, when, by which commit and evidence; and all that violates the policy."""
        from ai_lessons.library.rules.rule_audit import audit

        return audit(self._parts)

    def enforcement(self, since: str | None = None) -> Enforcement:
        """What policies of enterprises allowed and refused on this machine, newest first; of one, if its tier is open.

        Raises:
            UsageError: `since` is no date.
        """
        from ai_lessons.library.governance.enforced import enforced

        return enforced(self._parts.options, since)

    def params(self, name: str | None = None) -> tuple[Parameter, ...]:
        """The parameters that learn, or one of them.

        Raises:
            NotFound: no such parameter.
        """
        from ai_lessons.library.params import params

        return params(self._parts, name)

    def params_set(self, name: str, value: float) -> tuple[Parameter, ...]:
        """Put a parameter at a value; it learns on from there.

        Raises:
            NotFound: no such parameter. UsageError: outside of its bounds. Refused: events are not recorded here.
        """
        from ai_lessons.library.params import set_value

        return set_value(self._parts, name, value)

    def params_bounds(self, name: str, low: float | None, high: float | None) -> tuple[Parameter, ...]:
        """Keep a parameter between two values; None leaves one as it is.

        Raises:
            NotFound: no such parameter. UsageError: outside of its range. Refused: events are not recorded here.
        """
        from ai_lessons.library.params import set_bounds

        return set_bounds(self._parts, name, low, high)

    def params_reset(self, name: str | None = None) -> tuple[Parameter, ...]:
        """Forget what one parameter, or all, learned, and their bounds.

        Raises:
            NotFound: no such parameter. Refused: events are not recorded here.
        """
        from ai_lessons.library.params import reset

        return reset(self._parts, name)

    def trust_script(self, ref: str) -> tuple[str, ...]:
        """Allow this machine to run the script and what it names beside it, as they are now; their paths, its first.

        Raises:
            UsageError: not a script. Refused: an agent is calling.
        """
        from ai_lessons.library.running import trust

        self._parts.options.refuse_agents("trust a script", f"ai-lessons admin trust-script {ref}")

        self._parts.current()
        light = self._parts.resolve(ref)
        if light.kind is not Kind.SCRIPT:
            raise UsageError(f"{light.handle} is a {light.kind}, not a script")
        return trust(self._parts, light)


def _state(name: str, found: ModelFolder | None) -> ModelState:
    return ModelState(name, found is not None, str(found.path) if found else None, found.source if found else None)
