"""Asks a forge for merged requests and their comments, through its own program: `gh` or `glab`.

They sign in, and know where the forge is. Nothing is asked unless a person or a job of CI says
`--from-reviews`.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from ai_lessons.app.quoting import cleaned
from ai_lessons.errors import NotFound, Unreachable, UsageError
from ai_lessons.git import external_files, objects, plumbing, processes
from ai_lessons.model import expression

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ai_lessons.app.options import Options

# Pages of a hundred comments or requests, and requests whose comments are asked for one by one
_MOST_PAGES, _MOST_REQUESTS = 30, 300
_PAGE = 100
_PULLS = 500
_SECONDS = 120.0
_ADDRESS: Final = expression(
    r"(?:https?://|ssh://)?(?:[^@/\s]+@)?(?:(?P<host>[\w-]+\.[\w.-]+|localhost)(?::\d+(?=/))?[:/])?"
    r"(?P<path>[\w.-]+(?:/[\w.-]+)+)/?"
)
_FILES = "or name files with their JSON"
_TEXTS = {
    "gh": (
        "install it (https://cli.github.com), " + _FILES,
        "gh auth login, or GH_TOKEN in CI",
    ),
    "glab": (
        "install it (https://gitlab.com/gitlab-org/cli), " + _FILES,
        "glab auth login, or GITLAB_TOKEN in CI",
    ),
}
_SIGN_IN: Final = expression(
    r"(?i)auth login|HTTP 401|401 Unauthorized|GH_TOKEN|bad credentials|invalid_token"
)
_LIMIT: Final = expression(r"(?i)rate limit|HTTP 429|429 Too Many|retry later")
_GONE: Final = expression(r"(?i)HTTP 404|404 (?:Project )?Not Found|could not resolve to a")
# exit code of `gh` where nobody is signed in
_NOBODY = 4


class Forge(NamedTuple):
    """The program to ask, where it runs, and which repository of which host it is asked about.

    Both are empty where the program finds them by the folder.
    """

    program: str
    folder: Path
    host: str = ""
    path: str = ""


def forge_of(options: Options, code: str) -> Forge:
    """The forge of the code in a folder, or at an address such as `you/shop`.

    Raises NotFound: no program. UsageError: it may be on one or the other.
    """
    folder = options.cwd
    host = path = ""
    place = external_files.expanded(code)
    if not code or (options.cwd / place).is_dir():
        folder = external_files.typed(place, options.cwd)
        host = _host_at(folder)
        return Forge(_program(host), folder)
    match = _ADDRESS.fullmatch(code)
    if match is None:
        raise NotFound(
            "folder or repository of a forge", code, hint="such as ~/code/shop, you/shop"
        )
    host, path = match["host"] or "", match["path"].removesuffix(".git")
    return Forge(_program(host), folder, host, path)


def _host_at(folder: Path) -> str:
    """The host of the remote `origin` of a folder; empty where there is none."""
    if external_files.top_of(folder) is None:
        return ""
    address = plumbing.setting(objects.repository(folder), "remote.origin.url") or ""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return ""
    return match["host"] or ""


def _program(host: str) -> str:
    """Which program knows a host. Raises NotFound, UsageError."""
    for program, name in (("gh", "github"), ("glab", "gitlab")):
        if name in host:
            return _installed(program)
    for program, variable in (("gh", "GITHUB_ACTIONS"), ("glab", "GITLAB_CI")):
        if os.environ.get(variable):
            return _installed(program)
    here = [program for program in _TEXTS if shutil.which(program)]
    if len(here) > 1:
        raise UsageError(
            f"nothing says whether {host or 'the code'} is on GitHub or GitLab, and gh and glab are here",
            hint=f"--from with its whole address, {_FILES}",
        )
    return _installed(here[0] if here else "gh")


def _installed(program: str) -> str:
    if shutil.which(program) is None:
        hint, _ = _TEXTS[program]
        raise NotFound("program", program, hint=hint)
    return program


def records(forge: Forge, options: Options, since: str) -> Iterator[tuple[Any, str]]:
    """What the forge answers, each with the address of the request that it is about, if that is known.

    `since`: only from this moment on; empty for any. The newest first, and not more than what one
    run can read. Raises Unreachable: no answer, not signed in, no such repository, too much asked.
    """
    if options.offline:
        raise Unreachable(
            "reviews are read over the network, and offline was asked for",
            hint=f"unset AI_LESSONS_OFFLINE, {_FILES}",
        )
    if forge.program == "gh":
        return _of_github(forge, options, since)
    return _of_gitlab(forge, options, since)


def _of_github(forge: Forge, options: Options, since: str) -> Iterator[tuple[Any, str]]:
    words = ["pr", "list", "--state", "merged", "--limit", str(_PULLS)]
    words += ["--json", "number,author,mergedAt,url,reviews"]
    if since:
        words += ["--search", f"merged:>={since[:10]}"]
    if forge.path:
        words += ["--repo", "/".join(filter(None, (forge.host, forge.path)))]
    options.progress("reading reviews", 0, 0)
    yield _asked(forge, words), ""
    where = forge.path or "{owner}/{repo}"
    query = "sort=created&direction=desc"
    if since:
        query += f"&since={since}Z"
    yield from _pages(forge, options, f"repos/{where}/pulls/comments?{query}")


def _of_gitlab(forge: Forge, options: Options, since: str) -> Iterator[tuple[Any, str]]:
    project = "projects/:id"
    if forge.path:
        project = f"projects/{quote(forge.path, safe='')}"
    query = "state=merged&order_by=updated_at&sort=desc"
    if since:
        query += f"&updated_after={since}Z"
    requests: list[dict[str, Any]] = []
    for page, _ in _pages(forge, options, f"{project}/merge_requests?{query}"):
        yield page, ""
        for request in page if isinstance(page, list) else ():
            # one without a comment need not be asked about
            if isinstance(request, dict) and request.get("user_notes_count", 1):
                requests.append(request)
        if len(requests) >= _MOST_REQUESTS:
            break
    for request in options.each("reading reviews", requests[:_MOST_REQUESTS]):
        number, link = request.get("iid"), request.get("web_url")
        if isinstance(number, int) and isinstance(link, str):
            path = f"{project}/merge_requests/{number}/discussions?per_page={_PAGE}"
            yield _asked(forge, _api(forge, path)), link


def _pages(forge: Forge, options: Options, path: str) -> Iterator[tuple[Any, str]]:
    for number in range(1, _MOST_PAGES + 1):
        options.progress("reading reviews", number, 0)
        page = _asked(forge, _api(forge, f"{path}&per_page={_PAGE}&page={number}"))
        yield page, ""
        if not isinstance(page, list) or len(page) < _PAGE:
            return


def _api(forge: Forge, path: str) -> list[str]:
    host = ["--hostname", forge.host] if forge.host else []
    return ["api", *host, path]


def _asked(forge: Forge, words: list[str]) -> Any:
    """What the program answers, as JSON. Raises Unreachable."""
    env = os.environ | {
        "GH_PROMPT_DISABLED": "1",
        "NO_PROMPT": "1",
        "NO_COLOR": "1",
        "PAGER": "cat",
    }
    env |= {"GH_PAGER": "cat", "GH_NO_UPDATE_NOTIFIER": "1", "GLAB_CHECK_UPDATE": "false"}
    for variable in ("GH_FORCE_TTY", "CLICOLOR_FORCE", "GH_DEBUG", "DEBUG"):
        # what would colour the answer, or mix it with other lines
        env.pop(variable, None)
    program = shutil.which(forge.program) or forge.program
    try:
        done = processes.run([program, *words], env=env, timeout=_SECONDS, cwd=forge.folder)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(
            f"{forge.program} gave no answer within {_SECONDS:.0f} seconds",
            hint=f"look at the network, {_FILES}",
        ) from error
    except OSError as error:
        raise NotFound("program that starts called", forge.program, hint=str(error)) from error
    if done.returncode:
        raise _unreachable(forge, words, done)
    try:
        return json.loads(done.stdout)
    except (ValueError, RecursionError) as error:
        raise Unreachable(
            f"{forge.program} answered no JSON", hint=_command(forge, words)
        ) from error


def _unreachable(
    forge: Forge, words: list[str], done: subprocess.CompletedProcess[bytes]
) -> Unreachable:
    """Why the program failed, and what helps."""
    errors, output = done.stderr[:2_000], done.stdout[:2_000]
    printed = b"\n".join((errors, output)).decode("utf-8", "replace")
    rows = [row.strip() for row in cleaned(printed).splitlines() if row.strip()]
    reason = rows[0][:300] if rows else "it gave no reason"
    _, sign_in = _TEXTS[forge.program]
    hint = f"see whether this works: {_command(forge, words)}"
    # GitHub says of a limit that signing in raises it
    if _LIMIT.search(printed):
        hint = "wait until the forge's limit is over, or ask for less: --since"
    elif done.returncode == _NOBODY or _SIGN_IN.search(printed):
        reason, hint = f"{forge.program} is not signed in", sign_in
    elif _GONE.search(printed):
        reason = "there is no such repository, or it is not yours to read"
    return Unreachable(f"reviews cannot be read: {reason}", hint=hint)


def _command(forge: Forge, words: list[str]) -> str:
    return shlex.join([forge.program, *words])
