import stat
import subprocess
import sys
from pathlib import Path

from ai_lessons.app.open_repository import Trust, fingerprint

FILE = "trusted-scripts.jsonl"


def test_the_list_is_for_its_owner_only_and_names_no_text_twice(tmp_path: Path) -> None:
    for _ in range(2):
        Trust(tmp_path / "deep" / "state").add("a", b"x")
    file = tmp_path / "deep" / "state" / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().splitlines()) == 1


def test_a_damaged_line_trusts_nothing_and_swallows_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[]\n{"script": 7}\nnot json\n{"script": "' + fingerprint(b"cut")[:30])
    Trust(tmp_path).add("a", b"new")
    assert Trust(tmp_path).knows(b"new")
    assert not Trust(tmp_path).knows(b"cut")


def test_two_processes_add_at_the_same_time_and_none_is_lost(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from pathlib import Path; from ai_lessons.app.open_repository import Trust\n"
        "for n in range(100): Trust(Path(sys.argv[1])).add(f'{sys.argv[2]}{n}', f'{sys.argv[2]}{n}'.encode())"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")]
    assert [process.wait() for process in running] == [0, 0]
    assert all(Trust(tmp_path).knows(f"{name}{n}".encode()) for name in "ab" for n in range(100))
