"""A lock between processes: for how long it is tried for, and for how long something else is waited for."""

import errno
import fcntl
import os
import signal
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.errors import StorageFailed
from ai_lessons.git import store
from ai_lessons.git.store import held
from real_world import failing


class Other:
    """Holds the lock until a moment of a clock that only sleeping moves on."""

    def __init__(self, path: Path, until: float) -> None:
        self.now, self._until = 100.0, 100.0 + until
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self._until:
            fcntl.flock(self.fd, fcntl.LOCK_UN)

    @property
    def waited(self) -> float:
        return self.now - 100.0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "state" / "a.lock"


def busy(monkeypatch: pytest.MonkeyPatch, lock: Path, until: float) -> Other:
    lock.parent.mkdir()
    other = Other(lock, until)
    monkeypatch.setattr(store, "time", other)
    return other


@pytest.mark.parametrize(("until", "mine"), [(0.9, True), (1.2, False)])
def test_it_is_tried_for_as_long_as_the_patience_lasts(
    monkeypatch: pytest.MonkeyPatch, lock: Path, until: float, mine: bool
) -> None:
    other = busy(monkeypatch, lock, until)
    with held(lock, patience=1.0, give_up=lambda: False) as got:
        assert got is mine
    assert min(until, 1.0) <= other.waited < 1.02


def test_it_is_queued_for_until_it_is_free(lock: Path) -> None:
    with ExitStack() as other:
        other.enter_context(held(lock, patience=0.0))
        timer = threading.Timer(0.2, other.close)
        timer.start()
        with held(lock, patience=60.0) as mine:
            assert mine
            with held(lock, patience=0.0) as again:
                assert not again
        timer.join()


def test_ctrl_c_ends_the_wait(lock: Path) -> None:
    with held(lock, patience=0.0):
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt), held(lock, patience=60.0):
            pytest.fail("somebody else has it")
    with held(lock, patience=60.0) as mine:
        assert mine


def test_a_file_system_without_locks_is_told(lock: Path) -> None:
    unable = failing("fcntl.flock", OSError(errno.ENOLCK, "No locks available"))
    refused = pytest.raises(StorageFailed, match="no locks available")
    with held(lock, patience=0.0), unable, refused, held(lock, patience=60.0):
        pytest.fail("nobody has it")


def test_whoever_waits_for_a_job_to_be_done_goes_when_it_is(monkeypatch: pytest.MonkeyPatch, lock: Path) -> None:
    other = busy(monkeypatch, lock, 9.0)
    with held(lock, patience=1.0, give_up=lambda: other.waited > 0.2) as mine:
        assert not mine
    assert 0.2 < other.waited < 0.22
