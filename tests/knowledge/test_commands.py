from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ai_lessons.knowledge.failures import adds_a_lesson, attempts, programs


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("git push", ("git",)),
        ("/usr/bin/git -C repo log", ("git",)),
        ("cd app && GIT_PAGER=cat git log | head -3", ("cd", "git", "head")),
        ("sudo -u postgres psql -c 'drop table x; rm y'", ("psql",)),
        ("timeout 5 ./build.sh > out 2>&1 &", ("build.sh",)),
        ("for f in *; do grep x $f; done", ("grep",)),
        ("cat > a.py <<'EOF'\nimport os; rm(x)\nEOF\npython3 a.py", ("cat", "python3")),
        ('git commit -m "fix | this; and that"', ("git",)),
        ("echo $(terraform output -raw id)", ("echo", "terraform")),
        ("a \\\n  --long", ("a",)),
        ("((((", ()),
        ("", ()),
    ],
)
def test_the_programs_of_a_line(command: str, found: tuple[str, ...]) -> None:
    assert programs(command) == found


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("npm test -- --watch", ("npm test",)),
        ("make -j4 all > log", ("make all",)),
        ("python3 try_1.py", ("python3",)),
        ("grep -rn foo . | head", ()),
        ("ls missing; test -f x", ()),
        ("git status", ()),
        ("git push origin main", ("git push",)),
        ("cd app; pytest -q tests/a.py; pytest -q tests/a.py", ("pytest tests/a.py",)),
    ],
)
def test_what_may_fail_in_earnest(command: str, found: tuple[str, ...]) -> None:
    assert attempts(command) == found


@pytest.mark.parametrize(
    ("command", "adds"),
    [
        ('ai-lessons contribute add-lesson --title "x"', True),
        ("ai-lessons --repo k contribute add --file f", True),
        ('cd x && lesson add "WHEN a -> DO b -> BECAUSE c"', True),
        ("ai-lessons contribute add-resource --type script --path p", False),
        ("ai-lessons recall search lesson", False),
        ("git add lesson", False),
    ],
)
def test_writing_a_lesson_is_recognised(command: str, adds: bool) -> None:
    assert adds_a_lesson(command) is adds


@settings(deadline=None)
@given(st.text(alphabet="ab -;|&()<>'\"$\n\\`!EOF=.", max_size=60))
def test_no_line_is_too_strange(command: str) -> None:
    assert all(name and not set(name) & set(" ;|&()'\"\n") for name in programs(command))
    assert len(attempts(command)) <= len(command)
