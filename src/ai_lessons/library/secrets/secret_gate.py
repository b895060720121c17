"""The gate through which every change goes on its way to a commit: a secret that is news to git stops the whole job.

What `checked` refuses, it refuses file by file and early. Nothing passes by this: edits of the user's that we commit
along the way, files that are moved, get an id or come back from the past, settings, proposals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_lessons.errors import AiLessonsError, InvalidEntry, NotFound
from ai_lessons.knowledge import layout, markdown
from ai_lessons.knowledge.entries import Kind
from ai_lessons.library.secrets import secret_scan
from ai_lessons.repository.sharing import unshared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.errors import Problem
    from ai_lessons.library.parts import Parts


def refuse(parts: Parts, files: Mapping[str, bytes | None], known: str = "") -> None:
    """Called before anything is written. `files` are what shall be at their paths, None where nothing shall be.

    What HEAD holds at one of these paths, or `known`, is no news.

    Raises:
        InvalidEntry: with the line and the mark of every secret that no frontmatter allows.
    """
    problems = [
        found
        for path, data in files.items()
        if data is not None
        for found in _news(parts, path, data.decode("utf-8", "replace"), files, known)
    ]
    if problems:
        raise InvalidEntry(problems, hint="nothing was written")


def refuse_waiting(parts: Parts) -> None:
    """The same look at files that were written and wait for their commit: somebody may have edited them since.

    Raises:
        InvalidEntry: see `refuse`.
    """
    paths = {noted.path for intent in parts.store.journal.pending() for noted in intent.paths if not noted.gone}
    refuse(parts, {path: data for path in sorted(paths) if (data := on_disk(parts, path)) is not None})


def refuse_sharing(parts: Parts, remote: str) -> None:
    """Called before a push: what is shared once can only be revoked. Looks at commits that the remote has not seen.

    Raises:
        InvalidEntry: a version of a file of ours holds a secret that neither it nor the file as it is now allows.
    """
    problems: dict[str, Problem] = {}
    for path, data in unshared.files(parts.store.worktree, remote, _is_ours):
        text = data.decode("utf-8", "replace")
        for one in secret_scan.secrets_in(text):
            now = (on_disk(parts, path) or b"").decode("utf-8", "replace")
            said = (_frontmatter(parts, path, version, {}) for version in (text, now))
            if not any(one.fingerprint in secret_scan.allowed(fields) for fields in said):
                problems.setdefault(f"{path} {one.fingerprint}", secret_scan.problem(path, one))
    if problems:
        raise InvalidEntry(
            list(problems.values()),
            hint=f"nothing was shared; it is in commits that {remote} has not seen: change those, git rebase -i",
        )


def _is_ours(path: str) -> bool:
    return layout.place(path) is not None or path.startswith(f"{layout.CONFIG_PATH.partition('/')[0]}/")


def on_disk(parts: Parts, path: str) -> bytes | None:
    """What a file holds; None where there is none that we would read."""
    try:
        return parts.store.read(path)
    except AiLessonsError:
        return None


def _news(parts: Parts, path: str, text: str, files: Mapping[str, bytes | None], known: str) -> list[Problem]:
    secrets = secret_scan.secrets_in(text)
    if not secrets:
        return []
    may_stay = secret_scan.allowed(_frontmatter(parts, path, text, files))
    rest = [one for one in secrets if one.fingerprint not in may_stay and one.value not in known]
    before = "\n".join(_committed(parts, one) for one in (path, *_gone(files))) if rest else ""
    return [secret_scan.problem(path, one) for one in rest if one.value not in before]


def _frontmatter(parts: Parts, path: str, text: str, files: Mapping[str, bytes | None]) -> Mapping[str, Any]:
    """Of the file itself, or of the one beside it that speaks for a script."""
    place = layout.place(path)
    if place is None:
        return {}
    if place.kind is Kind.SCRIPT and not layout.is_markdown(path):
        side = layout.side_of(path)
        data = files[side] if side in files else on_disk(parts, side)
        text = (data or b"").decode("utf-8", "replace")
    try:
        return markdown.parse(text).fields
    except InvalidEntry:
        return {}


def _gone(files: Mapping[str, bytes | None]) -> list[str]:
    """From where a file may have been moved."""
    return [path for path, data in files.items() if data is None]


def _committed(parts: Parts, path: str) -> str:
    try:
        return parts.history.text_at("HEAD", path).decode("utf-8", "replace")
    except NotFound:
        return ""
