"""The `allowed_signers` format, line by line, and next to what ssh-keygen makes of the same line."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.repository.approval.signers import matches, parse_signers, principal
from ai_lessons.repository.approval.ssh_signatures import sign, verify

NAMESPACE = "ai-lessons-approval@v1"
NOW = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
AT = "20261121000000Z"

LINES = [
    # line (KEY stands for the public key), who it is in our namespace now
    ("alice@x KEY", "alice@x"),
    ("alice@x KEY a comment with words", "alice@x"),
    ("  alice@x\t KEY", "alice@x"),
    ("alice@x,bob@x KEY", "alice@x"),
    ("*@x KEY", "*@x"),
    ("*@x,alice@x KEY", "alice@x"),
    ('"alice@x" KEY', "alice@x"),
    (f'alice@x namespaces="{NAMESPACE}" KEY', "alice@x"),
    ('alice@x namespaces="git,ai-lessons-*" KEY', "alice@x"),
    ('alice@x NameSpaces="ai-lessons-*" KEY', "alice@x"),
    ('alice@x namespaces="git" KEY', None),
    ('alice@x namespaces="!ai-lessons-*,*" KEY', None),
    ('alice@x valid-after="20260101" KEY', "alice@x"),
    ('alice@x valid-after="20270101" KEY', None),
    ('alice@x valid-before="20270101Z" KEY', "alice@x"),
    ('alice@x valid-before="202601011200" KEY', None),
    ('alice@x valid-after="20260101",valid-before="20270101120000Z",namespaces="ai-*" KEY', "alice@x"),
    ('alice@x valid-after="20270101",valid-before="20260101" KEY', None),
    ('alice@x valid-before="soon" KEY', None),
    ("alice@x cert-authority KEY", None),
    ("alice@x no-such-option KEY", None),
    ('alice@x namespaces="a",namespaces="b" KEY', None),
    ("# alice@x KEY", None),
    ("", None),
    ("alice@x", None),
    ("alice@x ssh-ed25519", None),
    ("alice@x ssh-ed25519 %%%%", None),
    ("alice@x ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIBEN", None),
]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return path


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_means_what_it_means_to_ssh_keygen(key: Path, tmp_path: Path, line: str, expected: str | None) -> None:
    text = line.replace("KEY", key.with_suffix(".pub").read_text().strip()) + "\n"
    armoured = sign(b"message", str(key), NAMESPACE)
    signers = parse_signers(text)
    assert principal(signers, verify(b"message", armoured, NAMESPACE), NAMESPACE, NOW) == expected

    (tmp_path / "signers").write_text(text)
    (tmp_path / "signature").write_text(armoured)
    asked = "alice@x"
    check = ["-Y", "verify", "-f", str(tmp_path / "signers"), "-I", asked, "-n", NAMESPACE, f"-Overify-time={AT}"]
    theirs = subprocess.run(
        ["ssh-keygen", *check, "-s", str(tmp_path / "signature")], input=b"message", capture_output=True, check=False
    )
    assert (theirs.returncode == 0) == (expected is not None)


def test_a_bad_line_is_passed_over_and_the_others_still_count(key: Path) -> None:
    public = key.with_suffix(".pub").read_text().strip()
    signers = parse_signers(f"# people\nnonsense\nalice@x {public}\nbob@x cert-authority {public}\n")
    assert [signer.name() for signer in signers] == ["alice@x"]


@pytest.mark.parametrize(
    ("name", "patterns", "expected"),
    [
        ("git", "git", True),
        ("git", "g?t", True),
        ("git", "*", True),
        ("git", "GIT", False),
        ("git", "!git,*", False),
        ("git", "*,!git", False),
        ("git", "!file", False),
        ("g.t", "g.t", True),
        ("gxt", "g.t", False),
        ("a" * 60, "*" * 60 + "b", False),
    ],
)
def test_pattern_lists(name: str, patterns: str, expected: bool) -> None:
    assert matches(name, patterns) is expected


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_no_text_crashes_the_reader(text: str) -> None:
    parse_signers(text)
    parse_signers(f"alice@x {text}")
