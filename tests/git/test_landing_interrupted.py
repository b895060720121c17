"""A process is ended while it takes a proposal: the next job leaves nothing of it about, and it can be taken anew."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ai_lessons.errors import UnsavedEdits
from ai_lessons.git import branch_move, plumbing
from approval.approval_world import PATH, text
from approval.proposal_world import Desk
from git.conftest import Opened
from git.steps import add, clean
from real_world import instead


@pytest.mark.parametrize("after", [False, True])
def test_a_death_while_a_proposal_is_taken_leaves_nothing_half(
    desk: Desk, opened: Opened, after: bool
) -> None:
    desk.propose({PATH: text("Use X")})
    pid = os.fork()
    if pid == 0:
        real = branch_move.check_out

        def die(*given: Any, **named: Any) -> None:
            if after:
                real(*given, **named)
            os._exit(9)

        branch_move.check_out = die
        desk.approve()
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    assert opened(desk.root).apply(add("p/lessons/next.md")).commit
    assert (desk.root / PATH).exists() is after
    assert (desk.status(), desk.served()) == ("", "Use X" if after else None)
    clean(desk.git, desk.root)
    if not after:
        assert desk.approve().commit
        assert (desk.status(), desk.served()) == ("", "Use X")
        clean(desk.git, desk.root)


def test_ctrl_c_while_the_branch_moves_waits_for_git(desk: Desk) -> None:
    desk.propose({PATH: text("Use X")})
    real = plumbing.run

    def interrupt(*given: Any, **named: Any) -> plumbing.Done:
        if "merge" in given:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*given, **named)

    with instead("ai_lessons.git.plumbing.run", interrupt), pytest.raises(KeyboardInterrupt):
        desk.approve()
    assert (desk.status(), desk.served()) == ("", "Use X")
    clean(desk.git, desk.root)


def test_where_a_file_is_in_the_place_of_a_folder_nothing_is_approved(desk: Desk) -> None:
    desk.propose({PATH: text("Use X")})
    in_the_way: Path = (desk.root / PATH).parent
    in_the_way.parent.mkdir()
    in_the_way.write_text("Mine.\n")
    with pytest.raises(UnsavedEdits):
        desk.approve()
    assert (in_the_way.read_text(), desk.served()) == ("Mine.\n", None)
    clean(desk.git, desk.root)
