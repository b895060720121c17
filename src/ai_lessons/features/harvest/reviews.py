"""What reviewers said in merged pull requests, out of the JSON that `gh` and `glab` print. Pure.

Their words are words of others: quoted, in short, without secrets and people, and they approve
nothing. Left out is what no reviewer said: bots, authors in their own requests, strangers.

Begin with `ReviewRecords`. The forms are those of GitHub's REST API (review comments, pulls), of
`gh pr list --json`, and of GitLab's API (merge requests, discussions, notes).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.app.quoting import cleaned, quoted
from ai_lessons.errors import UsageError
from ai_lessons.features.harvest import statements
from ai_lessons.features.harvest.statements import BAR, Statement
from ai_lessons.model import expression, lessons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Characters of a comment that are read, and comments and requests of all that are kept
_LONGEST, _MOST = 8_000, 5_000
# Lists in lists, as `gh api --slurp` makes them
_DEEPEST = 4

# An account that is no person's, where the forge does not say so. GitHub's GraphQL names bots
# without `[bot]`; GitLab names those of access tokens by their project.
_BOT = expression(
    r"(?i)\[bot\]\Z|\Aapp/|\A(?:project|group)_\d+_bot|(?:\A|[-_.])(?:bot|ci|robot)\Z|\Abot[-_.]"
    r"|\A(?:copilot|dependabot|renovate|mergify|github-actions|coderabbit|codecov|sonar(?:qube)?cloud|sourcery-ai"
    r"|gemini-code-assist|chatgpt-codex|cursor|claude|greptile|graphite-app|gitlabduo|duo-|cla-assistant|semgrep)"
)
# who has not contributed yet: anybody may comment on a public repository
_STRANGERS = frozenset(("NONE", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN"))
_LINK = expression(r"https?://[\w.-]+(?::\d+)?/[\w./~%+@-]{1,300}(?:#[\w-]{1,60})?", re.ASCII)
_REQUEST = expression(
    r"https?://[^/]+/(?P<path>.+?)(?:/-/merge_requests|/pull|/pulls)/(?P<number>\d+)", re.ASCII
)
_AT = expression(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
# what nobody reads as the reviewer's words: comments of HTML, code, what they answer to, pictures
_NOT_SAID = expression(
    r"(?ms)<!--.*?(?:-->|\Z)|^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)|^[ \t]*>[^\n]*$|!\[[^\]\n]{0,300}\]\([^)\n]{0,500}\)"
    r"|</?[a-zA-Z][^<>\n]{0,200}>"
)
# said of a change as a whole, in a short comment
_THANKS = expression(
    r"(?i)\b(?:lgtm|looks? (?:good|great|fine)|nice|thanks?|thank you|great|awesome|approved?|ship it|done|fixed"
    r"|resolved|good (?:catch|point|job|work)|rebase|ditto|same here|danke|merci|gracias)\b|\+1|谢谢|好的"
)
# Words from which a comment says more than that
_SHORT = 12
_MARKED_LINK = expression(r"\[([^\]\n]{1,200})\]\([^)\n]{0,500}\)")
_BLANKS = expression(r"\s*")


class Left(NamedTuple):
    """How many comments are no words of a reviewer, by why."""

    bots: int = 0
    own: int = 0
    strangers: int = 0
    unmerged: int = 0


class Reviews(NamedTuple):
    """What reviewers said in merged requests, and how much was read.

    `comments` of reviewers were read in `requests`; `unread` records have another form.
    """

    stated: tuple[Statement, ...]
    requests: int
    comments: int
    left: Left
    unread: int


class _Request(NamedTuple):
    """A pull or merge request by its address."""

    link: str
    author: str
    merged: bool


class _Comment(NamedTuple):
    """A comment in the request at an address, or with a number of a project of GitLab."""

    request: str | tuple[str, str]
    link: str
    author: str
    body: str
    at: str
    file: str
    stranger: bool
    bot: bool


class ReviewRecords:
    """Records on their way into statements; each counts once, however often it was read."""

    def __init__(self) -> None:
        self._requests: dict[str, _Request] = {}
        # by number, of GitLab, whose notes name no address
        self._addresses: dict[tuple[str, str], str] = {}
        self._comments: dict[object, _Comment] = {}
        self._bots: set[str] = set()
        self._names: set[str] = set()
        self.unread = 0

    # --- records ---

    def take_text(self, data: bytes) -> None:
        """Take what a program printed: one JSON value or several, one behind the other.

        Raises UsageError: it is no JSON.
        """
        try:
            for value in _values(data.decode("utf-8-sig")):
                self.take(value)
        except (ValueError, RecursionError) as error:
            raise UsageError(
                "it is no JSON of gh or glab", hint="ai-lessons contribute harvest --help"
            ) from error

    def take(self, value: Any, request: str = "", depth: int = 0) -> None:
        """Take a record or a list of them; `request`: the address of the one that they are about."""
        if isinstance(value, list) and depth < _DEEPEST:
            for part in value:
                self.take(part, request, depth + 1)
        elif not isinstance(value, dict) or not self._take(value, request):
            self.unread += 1

    def _take(self, record: dict[str, Any], request: str) -> bool:
        """Whether a record has a form that is known."""
        if isinstance(record.get("notes"), list):
            # a discussion of GitLab
            for note in record["notes"]:
                self.take(note, request, _DEEPEST)
            return True
        if "pull_request_url" in record:
            return self._take_comment_of_github(record)
        if "noteable_type" in record:
            return self._take_note(record, request)
        if "merged_at" in record or "mergedAt" in record:
            return self._take_request(record)
        return False

    def _take_request(self, record: dict[str, Any]) -> bool:
        """A request as `gh pr list`, the API of GitHub or that of GitLab has it."""
        author = "author"
        if "mergedAt" in record:
            link = _text(record, "url")
            self._take_reviews(record.get("reviews"), link)
        elif "web_url" in record:
            link = _text(record, "web_url")
            self._addresses[_text(record, "project_id"), _text(record, "iid")] = link
        else:
            link, author = _text(record, "html_url"), "user"
        if not _LINK.fullmatch(link) or not _REQUEST.match(link):
            return False
        merged = bool(_text(record, "merged_at") or _text(record, "mergedAt"))
        name = _text(record, author, "username") or _text(record, author, "login")
        self._names.add(_text(record, author, "name"))
        self._requests[link] = _Request(link, name.casefold(), merged)
        return True

    def _take_reviews(self, reviews: Any, link: str) -> None:
        """What reviews say beside their comments, in a row of `gh pr list`."""
        for review in reviews if isinstance(reviews, list) else ():
            # an approval has mostly no words
            if _text(review, "body"):
                author = _text(review, "author", "login")
                stranger = _text(review, "authorAssociation") in _STRANGERS
                at = _text(review, "submittedAt")
                self._add(link, link, author, _text(review, "body"), at, stranger=stranger)

    def _take_comment_of_github(self, record: dict[str, Any]) -> bool:
        author, link = _text(record, "user", "login"), _text(record, "html_url")
        if _text(record, "user", "type") == "Bot":
            self._bots.add(author.removesuffix("[bot]").casefold())
        stranger = _text(record, "author_association") in _STRANGERS
        return self._add(
            link.partition("#")[0],
            link,
            author,
            _text(record, "body"),
            _text(record, "created_at"),
            file=_text(record, "path"),
            stranger=stranger,
        )

    def _take_note(self, record: dict[str, Any], request: str) -> bool:
        if record.get("system") is True or _text(record, "noteable_type") != "MergeRequest":
            # "changed the milestone", and comments on other things
            return True
        self._names.add(_text(record, "author", "name"))
        place: str | tuple[str, str] = request
        if not request:
            place = _text(record, "project_id"), _text(record, "noteable_iid")
        return self._add(
            place,
            f"#note_{_text(record, 'id')}",
            _text(record, "author", "username"),
            _text(record, "body"),
            _text(record, "created_at"),
            file=_text(record, "position", "new_path"),
        )

    def _add(
        self,
        request: str | tuple[str, str],
        link: str,
        author: str,
        body: str,
        at: str,
        *,
        file: str = "",
        stranger: bool = False,
    ) -> bool:
        is_known = link.startswith("#") or _LINK.fullmatch(link)
        if not is_known or not body or not _AT.match(at):
            return False
        if len(self._comments) < _MOST:
            # a deleted account has no name, so that nobody knows whose request it was
            stranger = stranger or not author
            comment = _Comment(
                request,
                link,
                author.casefold(),
                body,
                at,
                file,
                stranger,
                bool(_BOT.search(author)),
            )
            self._comments[request, link, comment.author, body[:100]] = comment
        return True

    # --- what was said ---

    def reviews(self) -> Reviews:
        """What reviewers said, the newest first; what `holds` may do so longer, if said once more."""
        people = statements.people_of(self._names)
        left = Counter[str]()
        stated = []
        read = 0
        requests = set()
        for comment in sorted(self._comments.values(), key=lambda row: row.at, reverse=True):
            request = self._request_of(comment)
            why = self._left_out(comment, request)
            if request is None or why:
                left[why or "unmerged"] += 1
                continue
            read += 1
            requests.add(request.link)
            statement = _statement(comment, request, people)
            if statement:
                stated.append(statement)
        return Reviews(tuple(stated), len(requests), read, Left(**left), self.unread)

    def _request_of(self, comment: _Comment) -> _Request | None:
        place = comment.request
        if isinstance(place, tuple):
            place = self._addresses.get(place) or self._address_by_number(place)
        return self._requests.get(place)

    def _address_by_number(self, place: tuple[str, str]) -> str:
        """Where an older GitLab names no project: the only request of this number."""
        project, number = place
        if project:
            return ""
        links = [link for (_, other), link in self._addresses.items() if other == number]
        if len(links) == 1:
            return links[0]
        return ""

    def _left_out(self, comment: _Comment, request: _Request | None) -> str:
        """Why a comment is no word of a reviewer; empty if it is."""
        if comment.bot or comment.author in self._bots:
            return "bots"
        if request is None or not request.merged:
            return "unmerged"
        if comment.author == request.author:
            return "own"
        if comment.stranger:
            return "strangers"
        return ""


def _statement(
    comment: _Comment, request: _Request, people: re.Pattern[str] | None
) -> Statement | None:
    """What a comment states; None: nothing, however often it is said."""
    text = words_of(comment.body)
    # a reviewer corrects what was done, as who speaks to an agent does before it edits again
    much = lessons.weight(text, edits=1)
    is_short = len(text.split()) < _SHORT
    if much < 0 or (is_short and _THANKS.search(text)):
        return None
    files: tuple[str, ...] = ()
    if comment.file:
        files = (" ".join(cleaned(comment.file[:_LONGEST]).split()),)
    link = comment.link
    if link.startswith("#"):
        link = f"{request.link}{link}"
    host = "github"
    if "/-/merge_requests/" in request.link:
        host = "gitlab"
    return Statement(
        text=quoted(text, people),
        much=much,
        pasted=False,
        files=files,
        session=request.link,
        project=_project_of(request.link),
        place=link,
        at=comment.at,
        host=host,
        # what is short counts only where it is said again and again
        holds=much >= BAR,
    )


def words_of(body: str) -> str:
    r"""What a reader sees of a comment, without code, pictures and what it answers to.

    >>> words_of("> old\nUse [tox](https://tox.wiki), please <!-- obey me -->\n```\nx = 1\n```")
    'Use tox, please'
    """
    words = _NOT_SAID.sub(" ", body[:_LONGEST].replace("\r\n", "\n"))
    return " ".join(_MARKED_LINK.sub(r"\1", words).split())


def _project_of(link: str) -> str:
    """The name of the repository of a request."""
    match = _REQUEST.match(link)
    if match is None:
        return ""
    return lessons.project_of(match["path"])


# --- JSON of others ---


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a text; `gh` and `glab` print a page behind the other."""
    decoder = json.JSONDecoder()
    place = 0
    while True:
        blanks = _BLANKS.match(text, place)
        if blanks:
            place = blanks.end()
        if place == len(text):
            return
        value, place = decoder.raw_decode(text, place)
        yield value


def _text(record: Any, *path: str) -> str:
    """A text or number at a path of keys; empty where there is none."""
    value: Mapping[str, Any] | Any = record
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, str):
        # half a pair of UTF-16, which JSON can write, cannot be stored
        return value.encode("utf-8", "replace").decode()
    if type(value) is int and abs(value) < 10**18:
        return str(value)
    return ""
