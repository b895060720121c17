from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from ai_lessons.repository.agent_hosts import FILES, HOOKS, MARK, added, carry_out, parsed, taken_out

PLUGIN = Path(__file__).parents[2] / "hooks" / "claude-code"
SETTINGS, SERVERS = FILES
OURS = {key: json.loads((PLUGIN / source).read_bytes())[key] for source, key in FILES.values()}
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "check"}]}

SETTINGS_FILES = [
    b"{}",
    b"",
    b'{"model": "opus"}',
    b'{\n    "model": "opus",\n    "z": {}\n}\n',
    b'{\n\t"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},\n\t"z": "\xc3\xa9"\n}',
    b'{"permissions": {"allow": ["Bash(ls)"]}}\r\n',
]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


def do(top: Path, job: str) -> tuple[str, ...]:
    return tuple(line.partition(": ")[2] for line in carry_out(top, PLUGIN, job))


@pytest.mark.parametrize("there", SETTINGS_FILES)
def test_taking_them_out_leaves_what_was_there(top: Path, there: bytes) -> None:
    for name in (SETTINGS, SERVERS):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_bytes(there)
    assert do(top, "status") == ("not there", "not there")
    assert do(top, "install") == ("added", "added")
    assert do(top, "status") == ("there", "there")
    once = (top / SETTINGS).read_bytes()
    assert do(top, "install") == ("already there", "already there")
    assert (top / SETTINGS).read_bytes() == once
    before = parsed(there)
    assert do(top, "uninstall") == (("taken out", "taken out") if before else ("removed", "removed"))
    assert [parsed((top / name).read_bytes()) if (top / name).exists() else {} for name in FILES] == [before, before]
    assert do(top, "uninstall") == ("not there", "not there")


def test_files_that_we_made_are_removed_again(top: Path) -> None:
    assert do(top, "install") == ("written", "written")
    assert json.loads((top / SETTINGS).read_bytes())["hooks"].keys() == OURS[HOOKS].keys()
    assert do(top, "uninstall") == ("removed", "removed")
    assert list(top.iterdir()) == []


def test_what_others_changed_meanwhile_stays(top: Path) -> None:
    do(top, "install")
    settings = json.loads((top / SETTINGS).read_bytes())
    settings["hooks"]["PreToolUse"].append(THEIRS)
    settings["model"] = "opus"
    (top / SETTINGS).write_text(json.dumps(settings, indent=4))
    assert do(top, "status")[0] == "there"
    assert do(top, "install")[0] == "already there"
    assert do(top, "uninstall")[0] == "taken out"
    assert (top / SETTINGS).read_text() == json.dumps(
        {"hooks": {"PreToolUse": [THEIRS]}, "model": "opus"}, indent=4
    ) + "\n"


def test_an_older_version_is_brought_up_to_date_and_can_still_be_undone(top: Path) -> None:
    file = top / SETTINGS
    file.parent.mkdir()
    file.write_bytes(SETTINGS_FILES[4])
    old = {"Stop": [{"hooks": [{"type": "command", "command": MARK + " --old"}]}]}
    older = added(json.loads(file.read_bytes()), HOOKS, old)
    assert taken_out(older, HOOKS) == json.loads(file.read_bytes())
    file.write_text(json.dumps(older))
    assert do(top, "status")[0] == "there, of another version"
    assert do(top, "install")[0] == "brought up to date"
    assert do(top, "status")[0] == "there"
    assert do(top, "uninstall")[0] == "taken out"
    assert json.loads(file.read_bytes()) == json.loads(SETTINGS_FILES[4])


@pytest.mark.parametrize("there", [b"{// mine\n}", b"[]", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_object_is_left_alone(top: Path, there: bytes) -> None:
    (top / SERVERS).write_bytes(there)
    for job in ("install", "uninstall", "status"):
        assert do(top, job)[1] == "left alone, it is no JSON object: mend it first"
        assert (top / SERVERS).read_bytes() == there


def test_a_link_is_left_alone(top: Path) -> None:
    (top.parent / "elsewhere.json").write_text("{}")
    (top / SERVERS).symlink_to(top.parent / "elsewhere.json")
    assert do(top, "install")[1] == "left alone, it is a link"
    assert (top.parent / "elsewhere.json").read_text() == "{}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["hooks", "Stop", "a"]), inner, max_size=3)
    ),
    max_leaves=12,
)
GROUPS = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "Else"]), st.lists(st.just(THEIRS), min_size=1, max_size=2)
)


@with_settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b"]), JSON, max_size=2), GROUPS)
def test_in_and_out_is_nothing(settings: dict[str, Any], groups: dict[str, Any]) -> None:
    there = settings | ({"hooks": groups} if groups else {})
    for key, ours in OURS.items():
        inside = added(there, key, ours)
        assert inside[key].items() >= ours.items() or key == HOOKS
        assert added(inside, key, ours) == inside != there
        assert taken_out(inside, key) == there


@with_settings(deadline=None)
@given(JSON)
def test_no_settings_are_too_strange(settings: Any) -> None:
    known = parsed(json.dumps({"hooks": settings, "mcpServers": settings}).encode())
    assert known is not None
    for key, ours in OURS.items():
        inside = added(known, key, ours)
        assert added(inside, key, ours) == inside
        assert taken_out(known, key) == known
