"""What an interface knows that the repository does not: folders, who is calling, how to ask."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple, TypeVar

from ai_lessons.errors import Refused
from ai_lessons.model import USER, Places

# called as `progress(what, done, total)`, in the thread that does the work
Progress = Callable[[str, int, int], None]

T = TypeVar("T")


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Progress for callers that show none."""


class Limits(NamedTuple):
    """Files a caller may name.

    Below `root`, and none that is `secret_file` (device, inode) or holds the `secret`. `closed`:
    none at all.
    """

    root: Path | None = None
    secret: bytes = b""
    secret_file: tuple[int, int] | None = None
    closed: bool = False

    def refuse_place(self, path: Path) -> None:
        """Look at where a path leads, links followed; the file need not exist.

        Raises Refused: outside of `root`.
        """
        if self.closed:
            raise Refused(
                "this server reads no files of its machine for its callers",
                hint="who runs it may name a folder: --root",
            )
        if self.root is None:
            return
        # a link may lead out of the folder
        place = Path(os.path.realpath(path))
        if not place.is_relative_to(os.path.realpath(self.root)):
            raise Refused(
                f"{path} is not below {self.root}",
                hint="name a file that is: this server reads no other",
            )

    def refuse_content(self, path: Path, data: bytes) -> None:
        """Look at a file that was read.

        Raises Refused: it is the file with the secret, or holds it, too.
        """
        status = path.stat()
        # a second name of the file with the token, or a copy of what is in it
        is_the_file = (status.st_dev, status.st_ino) == self.secret_file
        holds_it = self.secret and self.secret in data
        if is_the_file or holds_it:
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
    None: none. `author`: the person for whom a server writes, `Name <address>`; None: the user whom
    git knows. `virtual_env`: the environment of Python that is active. `outcomes`: whether hooks
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
    author: str | None = None
    session: str | None = None
    tier: str = USER
    offline: bool = False
    virtual_env: Path | None = None
    ask_trust: Callable[[str, str], bool] | None = None
    ask_keys: Callable[[str, list[str]], bool] | None = None
    ask_source: Callable[[str, str, str], bool] | None = None
    progress: Progress = no_progress
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
        if not self.agent:
            return
        hint = f"ask the user: {command}"
        if self.agent_by.isupper():
            # a person who works in the terminal of an agent is taken for one
            hint += f", without {self.agent_by} in the environment"
        raise Refused(f"an agent cannot {what}: a person does", hint=hint)
