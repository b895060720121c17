"""A process is ended while it takes a proposal: the next job leaves nothing of it about, and it can be taken anew."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from ai_lessons.repository import branch_update, files
from repository.approval_world import PATH, text
from repository.steps import add, clean

if TYPE_CHECKING:
    from repository.conftest import Opened
    from repository.proposal_world import Desk


@pytest.mark.parametrize(
    ("place", "step"),
    [(branch_update, "_note"), (files.Staging, "add"), (branch_update, "install"), (branch_update, "_put")],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_death_while_a_proposal_is_taken_leaves_nothing_half(
    desk: Desk, opened: Opened, place: object, step: str
) -> None:
    desk.propose({PATH: text("Use X")})
    pid = os.fork()
    if pid == 0:
        try:
            real, root = getattr(place, step), str(desk.root)

            def die(*given: Any, **named: Any) -> Any:
                # notes of our own are files, too: they lie in git's folder
                where = str(given[0]._root) if isinstance(given[0], files.Staging) else root
                return real(*given, **named) if where != root else os._exit(9)

            setattr(place, step, die)
            desk.approve()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert opened(desk.root).apply(add("p/lessons/next.md")).commit
    clean(desk.git, desk.root)
    assert desk.status() == ""
    assert not (desk.root / PATH).exists()
    assert desk.approve().commit
    assert (desk.root / PATH).exists()
    clean(desk.git, desk.root)


@pytest.mark.parametrize(
    ("place", "step"),
    [
        (branch_update, "_link"),
        (branch_update, "_put"),
        (branch_update, "_note_move"),
        (files.Staging, "publish"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_ctrl_c_while_the_branch_moves_leaves_git_as_it_was_or_as_it_shall_be(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, place: object, step: str
) -> None:
    desk.propose({PATH: text("Use X")})
    real = getattr(place, step)

    def interrupt(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return real(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr(place, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            desk.approve()
    assert desk.status() == ""
    clean(desk.git, desk.root)
