"""Making a repository ready (template or address, settings, hooks of git, newer format), and hosts of agents."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from ai_lessons.errors import AiLessonsError, NotFound, Refused, StorageFailed, UnsavedEdits, UsageError
from ai_lessons.knowledge import config, layout
from ai_lessons.knowledge.governance import GROUP
from ai_lessons.knowledge.layout import CONFIG_PATH
from ai_lessons.knowledge.texts import decode
from ai_lessons.library import gate
from ai_lessons.library.reports import Initialised
from ai_lessons.library.session import RepositorySession
from ai_lessons.repository import agent_files, agent_hosts, git, git_hooks, host_settings, outside, scaffold
from ai_lessons.repository.agent_hosts import Host, Target, Where
from ai_lessons.repository.approval.rule_files import is_rule
from ai_lessons.repository.host_settings import HostChange
from ai_lessons.repository.store import AUTOCOMMIT, Change, Job, blob_id
from ai_lessons.repository.worktree import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ai_lessons.knowledge.config import Migration
    from ai_lessons.library.opened import Library
    from ai_lessons.library.options import Options


def init_repository(
    path: Path,
    options: Options,
    *,
    from_url: str | None = None,
    hooks: bool = True,
    team: bool = False,
    starters: bool = False,
) -> Initialised:
    """Make a repository at `path` from the template, or clone `from_url` there. Doing it twice changes nothing.

    `starters` brings the starter set, of which the rules wait as proposals.
    Raises UsageError: starters for a clone. Refused: starters for a folder of a bigger repository. StorageFailed: the
    place cannot be written; Unreachable: the URL does not answer.
    """
    if from_url and starters:
        raise UsageError("a clone brings its own entries, and no starter set", hint="leave --from or --starters out")
    if from_url:
        made = scaffold.clone(from_url, path)
    else:
        made = scaffold.init(path, team=team, with_starters=starters, unwanted=gate.why_not)
    with closing(RepositorySession(made.root, options)) as repo:
        bigger = repo.store.is_folder_of_bigger_repo
        lines = git_hooks.carry_out(made.root, scaffold.hooks_dir(), "install") if hooks and not bigger else ()
        repo.current()
        notes = (*made.notes, *repo.notes())
    return Initialised(str(made.root), made.created, made.adopted, lines, made.commit, notes)


def config_get(library: Library, key: str | None = None) -> dict[str, object]:
    """The repository's settings in force, defaults included, by dotted key. Raises NotFound: no such key."""
    values = config.values_of(library.primary.config)
    if key is None:
        return values
    if key not in values:
        raise NotFound("setting", key, suggestions=[k for k in values if key.rpartition(".")[2] in k][:3])
    return {key: values[key]}


def config_set(library: Library, key: str, value: str) -> str | None:
    """Change one setting in `.ai-lessons/config.yaml`, keeping its comments; the commit, or None if it waits.

    Raises UsageError: no such key, or not a value for it. NotFound: no such embedding model. Refused: an agent would
    change a policy, or it would count for nothing here.
    """
    repo = library.primary
    if key.partition(".")[0] in _POLICIES:
        repo.options.refuse_agents(f"change {key}", f"ai-lessons admin config set {key} …")
    store = repo.store
    if key == "git.autocommit" and store.is_folder_of_bigger_repo:
        raise Refused(
            f"{key} counts for nothing in a folder of a bigger repository, because it comes with a pull",
            hint=f"git -C {store.root} config {AUTOCOMMIT} true",
        )
    data = store.read(CONFIG_PATH) if store.exists(CONFIG_PATH) else b""
    new = config.set_value(decode(data, CONFIG_PATH), key, value).encode()
    if key == "search.model" and value != config.DEFAULT_MODEL:
        from ai_lessons.index.embedding import dimensions_of

        dimensions_of(value)
    if key == "search.index" and value:
        from ai_lessons.library.search_index import agree

        agree(repo, value)
    if new == data:
        return None
    expect = blob_id(data) if store.exists(CONFIG_PATH) else None
    return repo.write(f"Set {key}", [Change(CONFIG_PATH, new, expect=expect)]).commit


_POLICIES = frozenset(("approval", "git", "events", "format", GROUP))
"""Groups of settings that an agent does not change; the others say how a search works."""


def hooks(library: Library, job: HookJob) -> tuple[str, ...]:
    """Put our part into the client hooks, take it out byte for byte, or say which carry it; a line for each.

    The last line is about the merge driver, which comes and goes with them.
    """
    return git_hooks.carry_out(library.primary.store.root, scaffold.hooks_dir(), job)


def check_push(hub: Path, lines: Iterable[str]) -> tuple[str, ...]:
    """Why the push inside the `pre-receive` hook of `hub` is refused, for those who pushed; nothing: it is taken.

    `lines` is what git gives that hook to read. Raises Refused: not such lines. NoRepository, NotFound,
    UnsupportedRepository: it cannot be decided, so refuse it.
    """
    from ai_lessons.repository import push_check

    return push_check.check(hub, push_check.parse_updates(lines))


def server_hook(job: HookJob, hub: Path) -> tuple[str, ...]:
    """Put our part into the hub's `pre-receive` hook, take it out again, byte for byte, or say whether it is there.

    Raises NoRepository: no hub there. StorageFailed: it cannot be written.
    """
    from ai_lessons.repository import push_check

    return git_hooks.carry_out_on_server(push_check.git_dir_of(hub), scaffold.hooks_dir(), job)


__all__ = ["Host", "HostChange", "Target", "connect", "hosts", "instruct"]

HookJob = Literal["install", "uninstall", "status"]

PLUGIN = "claude-code"
HOST_PATH = "/usr/bin:/bin"  # what a program has that no shell started
NO_HOST = "a host is found by its program on the path or its folder: start it once"
TEXT = "agents.md"


def where(environment: Mapping[str, str], cwd: Path) -> Where:
    """Where the agent hosts of this user and of the project around `cwd` are, as the environment says."""
    folders = {kind.variable: environment.get(kind.variable, "") for kind in agent_hosts.KINDS}
    home, environ = Path(os.path.expanduser("~")), {**environment, "PATH": HOST_PATH}
    return Where(home, environment.get("PATH", ""), folders, outside.top_of(cwd) or cwd, environ)


def hosts(at: Where, event: bytes = b"") -> tuple[Host, ...]:
    """The agent hosts of this machine as they are now; with an `event` what our programs there answer to it."""
    found = agent_hosts.find_hosts(at)
    return host_settings.tried(found, at, event) if event else found


def connect(
    at: Where, names: Sequence[str], job: HookJob, agreed: Callable[[Sequence[HostChange]], bool]
) -> tuple[HostChange, ...]:
    """Put our hooks and our server into the user's settings of the hosts found here, or take them out (`uninstall`).

    `agreed` is asked once, with all that changes; a no raises Refused, and nothing is written. NotFound: such a host is
    not found here. Conflict: a file changed meanwhile. StorageFailed.
    """
    host_ids = [host.id for host in hosts(at)]
    for name in names or ("",):
        if name not in host_ids and (name or not host_ids):
            raise NotFound("agent host", name or "here", suggestions=host_ids, hint="" if host_ids else NO_HOST)
    changes = host_settings.for_user(at, scaffold.hooks_dir() / PLUGIN, names, job)
    if any(change.before != change.after for change in changes) and not agreed(changes):
        raise Refused("nothing was changed")
    host_settings.carry_out(changes)
    return changes


def instruct(job: HookJob, cwd: Path, files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Our paragraph in the instruction files of the code repository around `cwd`, or in `files`; a line for each.

    Raises UsageError: no code repository there, and no file named. StorageFailed: a file cannot be written.
    """
    text = (scaffold.hooks_dir() / TEXT).read_text(encoding="utf-8")
    if files:
        named = [outside.typed(file, cwd) for file in files]
        return tuple(f"{file}: {agent_files.carry_out(file, job, text)}" for file in named)
    top = outside.top_of(cwd)
    if top is None:
        raise UsageError(f"{cwd} lies in no code repository", hint="--file FILE names one elsewhere")
    chosen = agent_files.files_in(top, every=job != "install")
    return tuple(f"{file.name}: {agent_files.carry_out(file, job, text)}" for file in chosen)


def complete(file: Path, script: str) -> str:
    """A script in the start file of a shell, in place of an older one; what was done. Raises StorageFailed."""
    file = outside.kept(file)
    return (
        f"{file}: {agent_files.carry_out(file, 'install', script, agent_files.marks('ai-lessons completion', '# {}'))}"
    )


class Migrated(NamedTuple):
    """From which version of the format to which, by which steps; nothing was done where they are the same.

    `snapshot` is the tag of what was before, `changed` are files.
    """

    old: int
    new: int
    steps: tuple[str, ...] = ()
    snapshot: str | None = None
    changed: tuple[str, ...] = ()
    commit: str | None = None
    notes: tuple[str, ...] = ()


def migrate(library: Library, *, steps: Mapping[int, Migration] = config.STEPS) -> Migrated:
    """Bring the repository's files, but for approved rules, to the format of this program in one commit.

    Raises UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
    Refused: an earlier write waits for its commit. StorageFailed: git makes no tag.
    """
    repo = library.primary
    old, new = repo.config.format, config.FORMAT
    if old == new:
        return Migrated(old, new)
    repo.save_first()
    now = _files(repo)
    changes = [
        Change(path, data, expect=blob_id(now[path]) if path in now else None)
        for path, data in sorted(config.migrated_files(now, old, new, steps).items())
    ]
    paths = (*(change.path for change in changes), CONFIG_PATH)
    edited = [path for path in paths if repo.store.exists(path) and repo.history.dirty(path)]
    if edited:
        raise UnsavedEdits(
            f"{', '.join(edited[:3])} has edits that are in no commit", hint="commit them first: git commit"
        )
    tag = f"before-format-{new}-{repo.options.now().astimezone():%Y-%m-%dT%H%M%S}"
    head, message = repo.store.head().commit or "", f"Before format {new}"
    # a signature would ask for a passphrase, and the tag proves nothing
    made = git.run(repo.store.worktree, "tag", "--annotate", "--no-sign", "--message", message, "--", tag, head)
    if made.code:
        raise StorageFailed(f"git made no tag: {made.err}")
    changes.append(_with_format(repo, new))
    repo.refuse_secrets(changes)
    repo.store.autocommit = repo.store.commits(repo.config.autocommit)
    job = Job(f"Migrate from format {old} to {new}", changes, [("Snapshot", tag)], gate.actor(repo))
    applied = repo.store.apply(job)
    repo.current()
    says = tuple(steps[version].says for version in range(old, new))
    return Migrated(old, new, says, tag, paths, applied.commit, applied.messages)


def _files(repo: RepositorySession) -> dict[str, bytes]:
    """The files of entries but for rules."""
    contents: dict[str, bytes] = {}
    for folder, rows in walk(repo.store.root):
        for row in rows:
            path = f"{folder}/{row[0]}" if folder else row[0]
            if layout.place(path) is not None and not is_rule(path):
                with suppress(AiLessonsError):  # `validate` names it; what cannot be read cannot be changed
                    contents[path] = repo.store.read(path)
    return contents


def _with_format(repo: RepositorySession, version: int) -> Change:
    """The settings with the new version in them, everything else as it was."""
    exists = repo.store.exists(CONFIG_PATH)
    data = repo.store.read(CONFIG_PATH) if exists else b""
    text = config.set_value(decode(data, CONFIG_PATH), "format", version)
    return Change(CONFIG_PATH, text.encode(), expect=blob_id(data) if exists else None)
