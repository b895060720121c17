"""Checks before every write.

The bytes are an entry that the format allows, bring no new secret, and link what fits.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app import secrets as app_secrets
from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound, Problem, Refused, UsageError
from ai_lessons.git.files import read_file
from ai_lessons.git.identity import NO_IDENTITY
from ai_lessons.git.plumbing import identity
from ai_lessons.git.store import Actor, Change
from ai_lessons.model import layout, markdown
from ai_lessons.model.checks import check_entry
from ai_lessons.model.entries import Entry, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import side_of
from ai_lessons.model.links import wrong_kinds
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from ai_lessons.app.open_repository import OpenRepository
    from ai_lessons.app.secrets import Secret
    from ai_lessons.search.catalog_reader import CatalogReader

    Read = Callable[[str], bytes | None]


def checked(
    path: str, data: bytes, side: bytes | None = None, *, was: Entry | None = None
) -> Entry:
    """The entry that these bytes would be at `path`.

    `side`: the Markdown of a script; `was`: what it is now.

    Raises InvalidEntry with every problem that `validate --fix` does not mend, Refused for another
    entry than it was.
    """
    entry = read_entry(path, data, side)
    # no other kind has one, whatever lies beside it
    if not entry.side_path:
        side = None
    if was is not None:
        _same_entry(was, entry)
    text = decode(data if side is None else side, path)
    faults = []
    for problem in check_entry(entry, text):
        if not problem.fixable:
            faults.append(problem)
    if was:
        before = was.path + was.body + was.code + was.hidden
    else:
        before = ""
    faults += app_secrets.problems(entry.fields, texts_of(path, data, side), before)
    if faults:
        raise InvalidEntry(faults)
    return entry


class Planned(NamedTuple):
    """An entry on its way in, and the changes that put it in place (none: it is there already)."""

    entry: Entry
    changes: tuple[Change, ...]


def new_files(
    path: str, data: bytes, side: bytes | None = None, *, runs: bool | None = None
) -> tuple[Change, ...]:
    """The changes that make the files of an entry, where nothing is yet."""
    file = Change(path, data, executable=runs, expect=None)
    if side is None:
        return (file,)
    return (file, Change(side_of(path), side, expect=None))


def texts_of(path: str, data: bytes, side: bytes | None) -> list[tuple[str, str]]:
    """The files of an entry as (path, text)."""
    files = [(path, data)] + ([] if side is None else [(side_of(path), side)])
    results: list[tuple[str, str]] = []
    for name, content in files:
        results.append((name, content.decode("utf-8", "replace")))
    return results


def _same_entry(old: Entry, new: Entry) -> None:
    """An edit leaves id and kind alone.

    A plain file may say what it is, but not that it is a rule.
    """
    if new.kind is Kind.RULE and old.kind is not Kind.RULE:
        raise Refused(
            (
                f"{old.path} cannot become a rule by an edit: rules are proposed, and a "
                "person approves them"
            ),
            hint="ai-lessons contribute suggest-rule",
        )
    if new.kind is not old.kind and not old.derived:
        raise Refused(
            f"{old.path} is a {old.kind} and stays one",
            hint=f"add a {new.kind}, and delete this {old.kind}",
        )
    if new.id != old.id and not old.derived:
        hint = "leave the line `id:` as it is"
        raise Refused(f"{old.path} keeps its id {old.id}: links and history name it", hint=hint)


# The trailer that tells who allowed a secret to stay, by its mark
ALLOWED = "Allowed-secret"


def refuse(
    repo: OpenRepository, files: Mapping[str, bytes | None], old_text: str = ""
) -> list[tuple[str, str]]:
    """Called before anything is written.

    `files` are what shall be at their paths, None where nothing shall be.

    A secret that HEAD holds at one of these paths, or that `old_text` holds, is not new. The answer
    are trailers that say who allowed the new ones. Raises InvalidEntry: with the line and the mark
    of every new secret that nothing allows. Refused: an agent allows one.
    """
    texts = {}
    for path, data in files.items():
        if data is not None:
            texts[path] = data.decode("utf-8", "replace")
    problems = [
        problem
        for path, text in texts.items()
        for problem in _news(repo, path, text, files, old_text)
    ]
    if problems:
        raise InvalidEntry(problems, hint="nothing was written")
    new = _allowed(texts)
    if new:
        old = _allowed({path: _committed(repo, path) for path in files})
    else:
        old = new
    marks = sorted(mark for mark in new - old if mark not in old_text)
    if marks:
        repo.options.refuse_agents(
            f"allow what looks like a secret ({', '.join(marks)})",
            "the same command with --allow-secret",
        )
    by = None
    if marks:
        by = identity(repo.store.worktree, "AUTHOR")
    results: list[tuple[str, str]] = []
    for mark in marks:
        results.append((ALLOWED, f"{mark} by {by or 'a person whom git does not know'}"))
    return results


def _allowed(texts: Mapping[str, str]) -> set[str]:
    """Marks of secrets that the frontmatter of these files allows."""
    fields = (
        _fields(text)
        for path, text in texts.items()
        if app_secrets.KEY in text and layout.is_markdown(path)
    )
    return {mark for fields in fields for mark in app_secrets.allowed(fields)}


def actor(repo: OpenRepository) -> Actor:
    """Who is working here, for the trailers, and for whom.

    Raises Refused: for another person, and git does not know who we are.
    """
    agent, session = (
        name and app_secrets.masked(name) for name in (repo.options.agent, repo.options.session)
    )
    author = repo.options.author
    if author and not identity(repo.store.worktree):
        # without a committer of our own the author would become it
        message, _, hint = NO_IDENTITY.partition("; ")
        raise Refused(message, hint=hint)
    return Actor(agent=agent, session=session, author=author)


def refuse_waiting(repo: OpenRepository) -> None:
    """The same look at files that were written and wait for their commit.

    The user may have edited them since.

    Raises InvalidEntry: see `refuse`.
    """
    paths = set()
    for intent in repo.store.journal.pending():
        for noted in intent.paths:
            if not noted.gone:
                paths.add(noted.path)
    files = {}
    for path in sorted(paths):
        data = on_disk(repo.store.root, path)
        if data is not None:
            files[path] = data
    refuse(repo, files)


def refuse_sharing(repo: OpenRepository, remote: str) -> None:
    """Called before a push: what is shared once can only be revoked.

    Looks at commits that the remote has not seen.

    Raises InvalidEntry: a version of a file of ours holds a secret that neither it nor the file as
    it is now allows.
    """
    read = partial(on_disk, repo.store.root)
    problems: dict[str, Problem] = {}
    for path, data in repo.history.unshared(remote, _is_ours):
        for secret in unallowed(path, data.decode("utf-8", "replace"), read):
            now = (read(path) or b"").decode("utf-8", "replace")
            if secret.fingerprint not in app_secrets.allowed(_frontmatter(path, now, read)):
                problems.setdefault(
                    f"{path} {secret.fingerprint}", app_secrets.problem(path, secret)
                )
    if problems:
        hint = f"nothing was shared; it is in commits that {remote} has not seen: change those, git rebase -i"
        raise InvalidEntry(list(problems.values()), hint=hint)


def _is_ours(path: str) -> bool:
    return layout.place(path) is not None or path.startswith(
        f"{layout.CONFIG_PATH.partition('/')[0]}/"
    )


def on_disk(root: Path, path: str) -> bytes | None:
    """What a file holds; None where there is none that we would read."""
    try:
        return read_file(root, path)[0]
    except AiLessonsError:
        return None


def why_not(root: Path, path: str, data: bytes) -> str:
    """Why a file of a folder that is no repository yet must not come into git; empty if it may."""
    secrets = unallowed(path, data.decode("utf-8", "replace"), partial(on_disk, root))
    if secrets:
        return str(app_secrets.problem(path, secrets[0]))
    return ""


def unallowed(path: str, text: str, read: Read) -> list[Secret]:
    """The secrets in a file that no frontmatter allows.

    `read` gives what else is there, None where nothing is.
    """
    secrets = app_secrets.secrets_of(path, text)
    if secrets:
        may_stay = app_secrets.allowed(_frontmatter(path, text, read))
    else:
        may_stay = frozenset()
    results: list[Secret] = []
    for secret in secrets:
        if secret.fingerprint not in may_stay:
            results.append(secret)
    return results


def _news(
    repo: OpenRepository, path: str, text: str, files: Mapping[str, bytes | None], old_text: str
) -> list[Problem]:
    """The secrets in a text that git does not have yet and no frontmatter allows."""

    def read(beside: str) -> bytes | None:
        if beside in files:
            return files[beside]
        return on_disk(repo.store.root, beside)

    new = []
    for secret in unallowed(path, text, read):
        if secret.value not in old_text:
            new.append(secret)
    if not new:
        return []
    # from where it may have been moved
    gone = [gone_path for gone_path, data in files.items() if data is None]
    before = ""
    for old_path in (path, *gone):
        committed = _committed(repo, old_path)
        if committed:
            before += f"{old_path}\n{committed}\n"
    return [app_secrets.problem(path, secret) for secret in new if secret.value not in before]


def _frontmatter(path: str, text: str, read: Read) -> Mapping[str, Any]:
    """Of the file itself, or of the one beside it that speaks for a script."""
    place = layout.place(path)
    if place is None:
        return {}
    if place.kind is Kind.SCRIPT and not layout.is_markdown(path):
        text = (read(layout.side_of(path)) or b"").decode("utf-8", "replace")
    return _fields(text)


def _fields(text: str) -> Mapping[str, Any]:
    try:
        return markdown.parse(text).fields
    except InvalidEntry:
        return {}


def _committed(repo: OpenRepository, path: str) -> str:
    try:
        return repo.history.text_at("HEAD", path).decode("utf-8", "replace")
    except NotFound:
        return ""


def refuse_wrong_kinds(
    catalog: CatalogReader, source: Kind, links: Iterable[tuple[str, str]]
) -> None:
    """Look at links (relation, id) to what is in the catalog.

    Raises UsageError: a relation does not join the kinds.
    """
    pairs = list(links)
    if pairs:
        summaries = catalog.many({target for _, target in pairs})
    else:
        summaries = {}
    for relation, target in pairs:
        end = summaries.get(target)
        if end and (wrong := wrong_kinds(relation, source, end.kind)):
            message, _, fitting = wrong.partition("; ")
            raise UsageError(f"{message} ({end.handle})", hint=fitting)


@contextmanager
def noting(where: str, damaged: list[tuple[str, str]], *, alone: bool = False) -> Iterator[None]:
    """Add an AiLessonsError to `damaged`, as (where, reason), and go on; with `alone` raise it."""
    try:
        yield
    except AiLessonsError as error:
        if alone:
            raise
        damaged.append((where, error.message))
