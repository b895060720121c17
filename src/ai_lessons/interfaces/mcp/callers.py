"""Who calls over HTTP, where a feature knows it: the caller of the request that is being answered.

Begin with `Door`, which a feature makes, and `Callers`.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ai_lessons import extensions
from ai_lessons.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ai_lessons.settings import Settings


class Caller(NamedTuple):
    """A person. `name` tells them apart, `author` is `Name <address>` as git has it."""

    name: str
    author: str


class NotAdmitted(Exception):
    """A request is not answered. `status` is of HTTP; the sentence repeats nothing of the request."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Door(Protocol):
    """Who may call over HTTP, as whom, and what for."""

    secret_file: Path | None
    """The file with a secret that callers do not know; None: there is none."""

    def admit(
        self, headers: Iterable[tuple[bytes, bytes]], peer: str, secret: str | None
    ) -> Caller:
        """The caller, by the headers (names in small letters) and the address of a request.

        Raises NotAdmitted.
        """

    def settings_of(self, caller: Caller, stated: Settings) -> Settings:
        """The settings with what this caller may read and write. Raises Refused: that is nothing."""

    def note(self, caller: Caller, what: str, code: int) -> None:
        """Write down that a caller asked for something, and how it ended: 0, or an exit code."""


def door_of(stated: Settings, *, here_only: bool) -> Door | None:
    """The door that `config.toml` asks for; None: whoever calls is answered.

    `here_only`: only programs of this machine can call. Raises UsageError: what it says makes no
    sense.
    """
    for feature in extensions.rows():
        table = stated.tables_of_features.get(feature.name)
        if feature.door and table is not None:
            door: Door = extensions.load(feature.place(feature.door))(
                table, stated, here_only=here_only
            )
            return door
    return None


# set while a message of MCP is handled, for the threads in which that is done, too
CALLER: ContextVar[Caller] = ContextVar("caller")


class Callers:
    """What the server does for whom: the settings of the caller, and the notes about calls."""

    def __init__(self, door: Door, load: Callable[[], Settings]) -> None:
        self._door, self._load = door, load

    def settings(self) -> Settings:
        """The settings of the caller, with their name. Raises Refused: it is not known who calls."""
        caller = CALLER.get(None)
        if caller is None:
            raise Refused("it is not known who asks")
        stated = self._door.settings_of(caller, self._load())
        return stated._replace(author=caller.author)

    def note(self, what: str, code: int) -> None:
        """Write down what the caller asked for."""
        caller = CALLER.get(None)
        if caller is not None:
            self._door.note(caller, what, code)
