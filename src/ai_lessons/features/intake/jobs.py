"""Adds resources: documents, examples and scripts, from files, folders and pages of the web.

`plan` decides what is written, `incoming` reads what comes in, and `refreshing` looks again at where a
resource came from.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ai_lessons import extensions
from ai_lessons.app import vector_progress
from ai_lessons.app.written import Imported
from ai_lessons.errors import UsageError
from ai_lessons.features.intake.incoming import as_doc, web
from ai_lessons.features.intake.plan import Planner, ResourceDraft
from ai_lessons.git import external_files
from ai_lessons.git.external_files import Outside, expanded
from ai_lessons.model import layout
from ai_lessons.model.chunks import estimate_tokens, split
from ai_lessons.model.entries import GLOBAL_PROJECT, Kind
from ai_lessons.model.frontmatter import read_entry
from ai_lessons.model.layout import project_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ai_lessons.app.workspace import Library, RepositorySession
    from ai_lessons.features.intake.web import Web


class PassagePreview(NamedTuple):
    """How one passage of a file would be cut.

    Its heading path, size in estimated tokens and first words.
    """

    path: str
    heading: str
    tokens: int
    text: str


def kind_of(cwd: Path, paths: Sequence[str]) -> Kind:
    """What files are added as where no kind is stated.

    Scripts if each begins with `#!`, else docs.
    """
    named = []
    for path in paths:
        named.append(external_files.typed(expanded(path), cwd))
    scripts = bool(named) and all(
        path.is_file() and external_files.read(path)[0].startswith(b"#!") for path in named
    )
    if scripts and Kind.SCRIPT in extensions.named("planners"):
        return Kind.SCRIPT
    return Kind.DOC


def planner_of(kind: Kind) -> type[Planner]:
    """What decides what files become as entries of a kind. Raises UsageError: none is here."""
    if kind is Kind.DOC:
        return Planner
    place = extensions.named("planners").get(kind)
    if place is None:
        raise UsageError(f"a {kind} cannot be added here", hint="--type doc")
    planner: type[Planner] = extensions.load(place)
    return planner


def add_resources(library: Library, draft: ResourceDraft) -> Imported:
    """Snapshots of docs, or scripts, in one commit.

    Files inside the repository are described where they are.

    A doc from the same place as one before brings that up to date. What cannot become an entry is
    skipped with the reason; of one file alone it is raised.
    """
    repo = library.primary
    if draft.urls:
        return vector_progress.after_import(repo, _add_pages(repo, draft))
    files, planner = _files(repo, draft), planner_of(draft.kind)(repo, draft)
    plans = []
    for file in files:
        plans.append((str(file.path), partial(planner.plan, file)))
    each = repo.options.each("reading", plans)
    return vector_progress.after_import(repo, planner.bring(each, alone=len(files) == 1))


def _add_pages(repo: RepositorySession, draft: ResourceDraft) -> Imported:
    """Pages of the web, some in each commit.

    What is there stays there if the next does not come, and is asked no more.

    A page that is named itself is asked again, unless it is as it was. Raises as `Web.page` where
    it is one alone.
    """
    if draft.paths or draft.kind is not Kind.DOC:
        raise UsageError("a page is a doc, and is added without files", hint="--type doc --url U")
    asked, public = web(repo.options, allow_private=draft.allow_private), web(repo.options)
    named, urls = _addresses(asked, draft)
    if draft.title and len(urls) > 1:
        raise UsageError(
            f"one title for {len(urls)} pages", hint="leave --title out: each page has its own"
        )
    # only what was asked for itself may be private
    typed = [_server(url) for url in draft.urls]
    done, planner = Imported((), 0, (), None), Planner(repo, draft)
    waiting = iter(repo.options.each("reading", urls))
    # a commit for some pages at a time: what was read is kept if the next page fails, and history
    # stays short
    while batch := list(islice(waiting, 25)):
        plans = []
        for url in batch:
            client = public
            if _server(url) in typed:
                client = asked
            plans.append((url, partial(planner.page, url, client, named)))
        part = planner.bring(plans, alone=len(urls) == 1)
        done = Imported(
            done.written + part.written,
            done.unchanged + part.unchanged,
            done.skipped + part.skipped,
            part.commit or done.commit,
            (*done.notes, *part.notes),
        )
    return done


def _addresses(asked: Web, draft: ResourceDraft) -> tuple[list[str], list[str]]:
    """The pages that are named themselves, and all pages: those, and what sitemaps list.

    Raises UsageError: a sitemap, and not `recursive`.
    """
    named: list[str] = []
    maps: list[str] = []
    for url in draft.urls:
        if asked.is_sitemap(url):
            maps.append(url)
        else:
            named.append(url.partition("#")[0])
    if maps and not draft.recursive:
        raise UsageError(f"{maps[0]} is a sitemap", hint="add --recursive to take every page in it")
    urls = dict.fromkeys(named)
    for sitemap in maps:
        urls |= dict.fromkeys(asked.sitemap(sitemap))
    return named, list(urls)


def _server(url: str) -> list[str]:
    """Scheme, host and port of an address."""
    return url.split("/")[:3]


def _files(repo: RepositorySession, draft: ResourceDraft) -> list[Outside]:
    if draft.in_place and draft.kind is not Kind.SCRIPT:
        raise UsageError(
            "only a script can stay where it is: a doc is a snapshot", hint="leave --in-place out"
        )
    if draft.project:
        project_name(draft.project)
    for pattern in draft.paths:
        # before any look: even whether a file is there must not be told of a forbidden place
        repo.options.limits.refuse_place(
            repo.options.cwd / external_files.expanded(re.split(r"[*?\[]", pattern)[0])
        )
    files = external_files.expand(draft.paths, repo.options.cwd, recursive=draft.recursive)
    if draft.exclude and not (
        files := [file for file in files if not _is_excluded(file, draft, repo.options.cwd)]
    ):
        raise UsageError("--exclude leaves nothing")
    if not files:
        raise UsageError(
            f"no files in {', '.join(draft.paths)}", hint="hidden files and links are not taken"
        )
    if draft.title and len(files) > 1:
        raise UsageError(
            f"one title for {len(files)} files", hint="leave --title out: each file has its own"
        )
    return files


def _is_excluded(file: Outside, draft: ResourceDraft, cwd: Path) -> bool:
    """Whether a glob leaves the file out.

    By its name below the folder that was named, or by its path from here.
    """
    names = [
        file.name,
        *([file.path.relative_to(cwd).as_posix()] if file.path.is_relative_to(cwd) else []),
    ]
    globs = []
    for glob in draft.exclude:
        if "/" not in glob.rstrip("/"):
            globs.append(f"**/{glob}")
        else:
            globs.append(glob)
    return layout.any_match(globs, names)


def preview(library: Library, draft: ResourceDraft) -> tuple[PassagePreview, ...]:
    """How `add_resources` would cut the files into passages. Writes nothing."""
    repo = library.primary
    previews = []
    for file in _files(repo, draft):
        data, _ = external_files.read(file.path)
        if draft.kind is Kind.SCRIPT:
            entry = read_entry(
                layout.resource_path(Kind.SCRIPT, GLOBAL_PROJECT, (), file.path.name), data
            )
        else:
            entry = as_doc(file.path, data)
        previews += [
            PassagePreview(file.name, passage.heading, estimate_tokens(passage.text), passage.text)
            for passage in split(entry, repo.reading_config.chunking)
        ]
    return tuple(previews)
