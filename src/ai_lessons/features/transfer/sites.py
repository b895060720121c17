"""A folder of files from all that stands: a site that a feature draws, or a bundle of the Open Knowledge Format."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ai_lessons.app.entries import show
from ai_lessons.app.link_effects import superseded
from ai_lessons.app.write_checks import noting
from ai_lessons.app.written import Skipped
from ai_lessons.errors import NotFound, Refused
from ai_lessons.features.transfer.chosen import is_personal
from ai_lessons.features.transfer.exports import REPLACE, Exported, ExportedFile
from ai_lessons.git import external_files
from ai_lessons.git.files import Staging, read_file, remove_file, status_of, translated
from ai_lessons.git.identity import address_of
from ai_lessons.model import expression, markdown
from ai_lessons.model.entries import GLOBAL_PROJECT, Filter, Kind
from ai_lessons.model.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ai_lessons.app.answers import Shown
    from ai_lessons.app.workspace import Library

# names the files of the last time
SITE_FILES = ".ai-lessons-site"
_ENTRY_PAGE = expression(
    r"(?:entry/[0-9A-Z]{26}\.html|(?:rules|lessons|docs|scripts)/[0-9A-Z]{26}\.md)"
)


def export_site(
    library: Library,
    folder: Path,
    draw: Callable[[Sequence[Shown]], Iterable[tuple[str, bytes]]],
    project: str | None,
    *,
    form: str,
    replace: bool = False,
) -> Exported:
    """Write what stands as files that `draw` makes (names and contents).

    Those of the last time that are left over go.

    Lessons of one person are left out. Raises Refused: the folder has files, and none of ours, or
    other files are in the place of ours (unless `replace`); a link is in the way. StorageFailed.
    """
    folder = external_files.typed(folder, library.options.cwd)
    before = _names_of_last_time(folder, replace=replace)
    with library.alone() as lone:
        shown, skipped = _pages(lone, project)
        notes = tuple(lone.primary.notes())
    done: list[str] = []
    with Staging(folder, durable=False) as staging:
        for name, data in draw(shown):
            is_in_the_way = name not in before and status_of(folder, name)
            if is_in_the_way and not replace:
                hint = f"name another folder, or {REPLACE}"
                raise Refused(f"{folder / name} is not ours", hint=hint)
            staging.add(name, data)
            done.append(name)
        staging.add(SITE_FILES, "\n".join(done).encode())
        staging.publish()
    # the list may have been pulled, and name any file: only pages of entries are removed
    for name in filter(_ENTRY_PAGE.fullmatch, before.difference(done)):
        remove_file(folder, name)
    counts = Counter(page.entry.kind for page in shown)
    files = (ExportedFile(str(folder), f"{len(done)} files"),)
    return Exported(form, files, counts, skipped=tuple(skipped), notes=notes)


def _pages(library: Library, project: str | None) -> tuple[list[Shown], list[Skipped]]:
    """What stands and is no one person's, and what cannot be read, with the reason."""
    repo = library.primary
    summaries = []
    for summary in repo.current().select(Filter(project=project, without=superseded(repo))):
        if not is_personal(summary):
            summaries.append(summary)
    shown: list[Shown] = []
    damaged: list[tuple[str, str]] = []
    for summary in repo.options.each("reading", summaries):
        with noting(summary.path, damaged):
            shown.append(show(library, summary.id))
    return shown, [Skipped(path, reason) for path, reason in damaged]


def _names_of_last_time(folder: Path, *, replace: bool) -> set[str]:
    """The files that the last export wrote into a folder, which is made.

    Raises Refused: others are there.
    """
    with translated(str(folder), writing=True):
        folder.mkdir(parents=True, exist_ok=True)
        names: set[str] = set()
        with suppress(NotFound):
            data, _ = read_file(folder, SITE_FILES)
            names.update(data.decode("utf-8", "replace").splitlines())
        if any(folder.iterdir()) and not names and not replace:
            raise Refused(
                f"{folder} has files that are not ours",
                hint=f"name a new or an empty folder, or {REPLACE}",
            )
    return names


# --- the Open Knowledge Format ---


def bundle(pages: Sequence[Shown]) -> Iterator[tuple[str, bytes]]:
    """The files of a bundle of the Open Knowledge Format 0.2.

    A concept for each entry, and an index of them.

    An entry keeps its own keys; who approved a rule, and when, is who verified it.
    """
    listed: dict[Kind, list[str]] = {kind: [] for kind in Kind}
    for page in pages:
        keys = _keys(page)
        name = f"{page.entry.kind.folder}/{page.entry.id}.md"
        listed[page.entry.kind].append(_row(page, name, keys.get("description", "")))
        yield name, _concept(page, keys).encode()
    parts = ['---\nokf_version: "0.2"\n---']
    for kind, rows in listed.items():
        if rows:
            parts.append(f"# {kind.folder.capitalize()}\n\n" + "\n".join(rows))
    yield "index.md", "\n\n".join([*parts, ""]).encode()


def _keys(page: Shown) -> dict[str, Any]:
    """What the format states of a concept."""
    entry = page.entry
    keys: dict[str, Any] = {"type": entry.kind.value.capitalize(), "title": entry.title}
    if entry.project != GLOBAL_PROJECT:
        keys["project"] = entry.project
    stated = str(page.frontmatter.get("description") or "")
    description = one_line(stated or entry.rationale or entry.stated.pattern)
    if description:
        keys["description"] = description
    if "status" in page.frontmatter:
        keys["status"] = "stable"
    if entry.stated.review_by:
        keys["stale_after"] = f"{entry.stated.review_by}T00:00:00Z"
    if page.approval:
        address = address_of(page.approval.approved_by)
        keys["verified"] = [{"by": f"human:{address}", "at": page.approval.approved_at}]
    return keys


def _concept(page: Shown, keys: dict[str, Any]) -> str:
    """The text of an entry as a concept."""
    if page.entry.kind is not Kind.SCRIPT:
        return markdown.edit(page.raw, keys)
    computed = f"{page.body}\n\n# Computation\n\n~~~~\n{page.code}\n~~~~\n"
    # elsewhere it is a doc: nothing that is imported is run
    stated = {}
    for key, value in page.frontmatter.items():
        if key not in {"id", "kind", "path"}:
            stated[key] = value
    return markdown.edit(computed, stated | keys)


def _row(page: Shown, name: str, description: str) -> str:
    """The row of a concept in the index."""
    title = re.sub(r"([\[\]\\])", r"\\\1", one_line(page.entry.title))
    row = f"* [{title}]({name})"
    if description:
        row += f" - {description}"
    return row
