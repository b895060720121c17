"""What a person runs where a text is not ours to remove: exact commands, a step each."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from ai_lessons.features.forget.target import FORGOTTEN
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ai_lessons.features.forget.history import History
    from ai_lessons.features.forget.target import Target
    from ai_lessons.features.forget.vectors import Packs

# Which forge answers at the address of a remote, by a part of its host
_GITHUB, _GITLAB = "github", "gitlab"
_SSH = expression(r"(?:ssh://)?(?:[^@/:]+@)?(?P<host>[^/:]+)(?::\d+)?[/:](?P<path>.+)")
# Branches that `sync --take theirs` leaves, see `git.sync`
_KEPT: Final = "refs/heads/kept/"
# Lets go of what git keeps only for a while
LET_GO: Final = ("git reflog expire --expire=now --all", "git gc --quiet --prune=now")


class Step(NamedTuple):
    """What a person does, and the commands of it, to be run one after the other in one shell."""

    title: str
    commands: tuple[str, ...] = ()


class Rewrite(NamedTuple):
    """A repository whose history holds it.

    `paths`: of the entry, from the top; none of a text. `remotes`: with their addresses, all that
    there are; `holding` those of which a branch holds it. `unsaved`: edited files, and `stashed`:
    whether there are stashes; both get lost.
    """

    root: Path
    top: Path
    history: History
    paths: Sequence[str]
    remotes: Mapping[str, str]
    holding: Sequence[str]
    unsaved: int = 0
    stashed: bool = False

    @property
    def tags(self) -> list[str]:
        """The tags that lead to it."""
        return [ref for ref in self.history.refs if ref.startswith("refs/tags/")]


def steps(repo: Rewrite, target: Target) -> Iterator[Step]:
    """What to do about one repository, in this order."""
    top, refs = repo.top, repo.history.refs
    if refs and all(ref.startswith(_KEPT) for ref in refs):
        names = " ".join(shlex.quote(ref.removeprefix("refs/heads/")) for ref in refs)
        commands = (_into(top), f"git branch -D {names}", *LET_GO)
        yield Step(f"delete what a sync kept of the old history of {top}", commands)
    elif repo.history.versions:
        title = f"rewrite the history of {top}; tell others to push nothing meanwhile"
        if repo.unsaved:
            title += f"; edited files that would be lost: {repo.unsaved}, commit them first"
        if repo.stashed:
            title += "; stashes get lost, apply them first"
        yield Step(title, tuple(_rewrite(repo, target)))
        if repo.holding:
            words = "send it; protected branches have to allow force pushes until then"
            yield Step(words, tuple(_push(repo)))
        yield Step(
            "accept the new history here; signed approvals are lost, so these rules wait again",
            (
                _into(top),
                f"ai-lessons --repo {shlex.quote(str(repo.root))} admin audit --acknowledge",
            ),
        )
    for name in repo.holding:
        yield forge(repo.remotes[name], name, top)
    if repo.history.versions and repo.holding:
        yield Step("in every other clone, which holds the old history", _elsewhere(target))
    if repo.history.loose and not repo.history.versions:
        yield Step(
            f"let git in {top} drop what no branch leads to; this drops older stashes, too",
            (_into(top), *LET_GO),
        )


def other_names(top: Path, names: Sequence[str]) -> Step:
    """What removes branches and tags that are named after it; files get another name in a rewrite."""
    commands = [_into(top)]
    files = []
    for name in names:
        short = name.removeprefix("refs/").partition("/")[2]
        if name == f"refs/heads/{short}":
            commands.append(f"git branch -D {shlex.quote(short)}")
        elif name == f"refs/tags/{short}":
            commands.append(f"git tag -d {shlex.quote(short)}")
        elif name == f"refs/remotes/{short}":
            remote, _, branch = short.partition("/")
            commands.append(f"git push {shlex.quote(remote)} --delete {shlex.quote(branch)}")
        else:
            files.append(name)
    title = f"delete the branches and tags of {top} that are named after it"
    if files:
        title += f"; rename {len(files)} files: git filter-repo --path-rename OLD:NEW"
    return Step(title, tuple(commands))


def without_packs(top: Path, packs: Sequence[Packs]) -> Step | None:
    """What removes packs of vectors from the remotes they came from; None where there are none."""
    if not packs:
        return None
    commands = [_into(top)]
    for part in packs:
        commands.append(f"git push {shlex.quote(part.remote)} --delete {part.remote_ref}")
    title = "remove vectors from the remote; a sync sends those of what is left"
    return Step(title, tuple(commands))


def without_object_versions(uri: str) -> Step | None:
    """What removes the versions of objects that a bucket keeps; None for an index in a folder."""
    scheme, separator, address = uri.partition("://")
    if not separator or scheme == "memory":
        return None
    title = (
        f"if the bucket of {uri} keeps versions of objects, delete those that are not the latest"
    )
    if scheme != "s3":
        return Step(title)
    bucket, _, prefix = address.partition("/")
    place = f"--bucket {shlex.quote(bucket)} --prefix {shlex.quote(prefix + '/')}"
    old = "{Objects: Versions[?IsLatest==`false`].{Key: Key, VersionId: VersionId}}"
    return Step(
        title,
        (
            f"aws s3api list-object-versions {place} --query '{old}' > old.json",
            f"aws s3api delete-objects --bucket {shlex.quote(bucket)} --delete file://old.json",
        ),
    )


def _into(folder: Path) -> str:
    return f"cd {shlex.quote(str(folder))}"


def _rewrite(repo: Rewrite, target: Target) -> Iterator[str]:
    yield _into(repo.top)
    for name in repo.holding:
        yield f"git fetch --prune {shlex.quote(name)}"
    if target.entry:
        yield f"TEXT={shlex.quote(target.title)}"
    else:
        # typed or pasted, so that it stands in no history of the shell
        yield "read -rs TEXT"
    yield "EXPRESSIONS=$(mktemp)"
    yield f'printf \'literal:%s==>{FORGOTTEN}\\n\' "$TEXT" > "$EXPRESSIONS"'
    # `--partial` leaves remotes and their branches where they are, rewritten like all others
    words = ["git filter-repo --force --partial"]
    if target.entry:
        words += ["--invert-paths", *(f"--path {shlex.quote(path)}" for path in repo.paths)]
    else:
        words.append('--replace-text "$EXPRESSIONS"')
    words.append('--replace-message "$EXPRESSIONS"')
    yield " ".join(words)
    yield 'rm -f "$EXPRESSIONS"; unset TEXT'
    yield from LET_GO


def _push(repo: Rewrite) -> Iterator[str]:
    """All branches of a remote, as they were rewritten here: none of this clone's own goes along."""
    yield _into(repo.top)
    for name in repo.holding:
        remote = shlex.quote(name)
        # `HEAD` is no branch there
        yield f"git remote set-head {remote} --delete"
        yield f"git push --force {remote} {shlex.quote(f'refs/remotes/{name}/*:refs/heads/*')}"
        for tag in repo.tags:
            yield f"git push --force {remote} {shlex.quote(tag)}"


def _elsewhere(target: Target) -> tuple[str, ...]:
    # `--take theirs` keeps the old branch below `kept/`
    kept = "git branch --list --format='%(refname:short)' 'kept/*' | xargs -r git branch -D"
    name = target.name if target.entry else "-"
    # as long as git knows the texts, vectors of them are known
    forget = f"ai-lessons admin forget {name}"
    accept = "ai-lessons admin audit --acknowledge"
    return ("ai-lessons admin sync --take theirs", forget, kept, *LET_GO, accept)


def forge(address: str, name: str, top: Path) -> Step:
    """What makes the server of a remote drop what no branch leads to any more."""
    if "://" not in address and address.startswith(("/", ".", "~")):
        return Step(
            f"let the repository behind {name} drop it",
            (f"git -C {shlex.quote(address)} gc --quiet --prune=now",),
        )
    match = _SSH.fullmatch(re.sub(r"^(?:https?|git)://(?:[^@/]+@)?", "", address))
    host, path = "", ""
    if match:
        host, path = match["host"], match["path"].removesuffix(".git")
    if _GITHUB in host:
        return Step(
            f"{name} is on GitHub, which keeps old commits and pull requests: ask its support to "
            f"remove what is left in {path} (https://support.github.com)"
        )
    if _GITLAB in host:
        project = path.replace("/", "%2F")
        prune = f"'projects/{project}/housekeeping?task=prune'"
        return Step(
            f"{name} is on GitLab: as its owner give {top}/.git/filter-repo/commit-map to Settings, Repository, "
            "Repository maintenance; then",
            (f"glab api --hostname {host} --method POST {prune}",),
        )
    return Step(
        f"on the server of {name} ({host or address}), in the folder of the repository",
        ("git gc --quiet --prune=now",),
    )
