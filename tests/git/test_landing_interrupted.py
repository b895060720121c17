"""A process is ended while it takes a proposal: the next job leaves nothing of it about, and it can be taken anew."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from ai_lessons.git import commit, files, plumbing
from approval.approval_world import PATH, text
from approval.proposal_world import Desk
from git.conftest import Opened
from git.steps import add, clean


def approve_and_die(desk: Desk, place: object, step: str, argument: str = "", after: bool = False) -> None:
    """Approve in a process that ends at (or right `after`) this step, called with this argument."""
    pid = os.fork()
    if pid == 0:
        try:
            real = getattr(place, step)

            def die(*given: Any, **named: Any) -> Any:
                if argument and argument not in given:
                    return real(*given, **named)
                if after:
                    real(*given, **named)
                os._exit(9)

            setattr(place, step, die)
            desk.approve()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize(
    ("place", "step"),
    [(files, "write_file"), (commit, "install"), (commit, "_put")],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_death_while_a_proposal_is_taken_leaves_nothing_half(
    desk: Desk, opened: Opened, place: object, step: str
) -> None:
    desk.propose({PATH: text("Use X")})
    approve_and_die(desk, place, step)
    assert opened(desk.root).apply(add("p/lessons/next.md")).commit
    clean(desk.git, desk.root)
    assert desk.status() == ""
    assert not (desk.root / PATH).exists()
    assert desk.approve().commit
    assert (desk.root / PATH).exists()
    clean(desk.git, desk.root)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "step", [(files, "remove_file", PATH), (plumbing, "run", "checkout-index")], ids=["removal", "checkout"]
)
def test_a_death_after_the_branch_has_moved_is_finished_by_the_next_job(
    desk: Desk, opened: Opened, step: tuple[object, str, str], when: str
) -> None:
    desk.approved()
    desk.propose({PATH: text("Use Y")})
    approve_and_die(desk, *step, after=when == "after")
    assert desk.served() == "Use Y"
    assert opened(desk.root).apply(add("p/lessons/next.md")).commit
    assert (desk.root / PATH).read_text() == text("Use Y")
    assert desk.status() == ""
    clean(desk.git, desk.root)


def test_a_file_that_cannot_follow_the_branch_is_named_and_what_is_in_its_way_stays(desk: Desk) -> None:
    desk.propose({PATH: text("Use X")})
    in_the_way = (desk.root / PATH).parent
    in_the_way.parent.mkdir()
    in_the_way.write_text("Mine.\n")
    (note,) = desk.approve().notes
    assert PATH.rpartition("/")[0] in note
    assert note.endswith("mend that, then: git checkout FILE")
    assert in_the_way.read_text() == "Mine.\n"
    assert desk.served() == "Use X"
    in_the_way.unlink()
    desk.run("checkout", PATH)
    assert desk.status() == ""
    clean(desk.git, desk.root)


@pytest.mark.parametrize(
    ("place", "step"),
    [
        (commit, "_link"),
        (commit, "_put"),
        (commit, "_note_move"),
        (files, "remove_file"),
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
