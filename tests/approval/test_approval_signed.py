"""The policy `signed` on real histories: a line approves if a pinned signer signed the merge that it stands in."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.approval import signatures
from ai_lessons.approval.inputs import plain_address
from ai_lessons.approval.signatures import SignerList, parse_signers
from ai_lessons.approval.state import derive
from ai_lessons.errors import Refused
from ai_lessons.git import plumbing
from ai_lessons.git.worktree import Worktree, locate
from ai_lessons.model.approval import APPROVES, ApprovalLine, Verdict
from approval.approval_world import (
    AGENT,
    BRANCH,
    HUMAN,
    MAIN,
    PATH,
    RULE,
    SECOND,
    Clone,
    Who,
    text,
    world,
)
from real_world import instead, put_program

CONFIG = ".ai-lessons/config.yaml"


@pytest.fixture
def mine(tmp_path: Path) -> Clone:
    """A clone whose rules need signatures; Human has a key, and it is pinned."""
    _, made = world(tmp_path)
    made.commit("settings", {CONFIG: "format: 1\napproval:\n  require: signed\n"})
    made.pinned(made.has_key())
    return made


def verdict(clone: Clone) -> Verdict:
    return derive(locate(clone.root), MAIN, clone.pinned()).verdicts[RULE]


def served(clone: Clone) -> str | None:
    blob = verdict(clone).blob
    return clone.run("cat-file", "blob", blob).splitlines()[-1] if blob else None


def line(clone: Clone, blob: str) -> str:
    """What a person signs who approves this blob of the rule."""
    return f"\n\n{APPROVES}: {ApprovalLine(clone.pinned().line_name(), RULE, PATH, None if blob == '-' else blob)}"


def take(clone: Clone, branch: str, by: Who = HUMAN, words: str = "Approve rule: Use X") -> None:
    """Merge a proposal as `approve-rule` does."""
    clone.run("merge", "-q", "--no-ff", "--no-commit", branch)
    blob = clone.run("rev-parse", "-q", "--verify", f":{PATH}", ok=False) or "-"
    clone.run("commit", "-q", "-m", words + line(clone, blob), by=by)


def approve(clone: Clone, words: str = "Use X", by: Who = HUMAN) -> None:
    """Another text of the rule, proposed by the agent and merged by a person."""
    branch = f"{BRANCH}-{clone.clock[0]}"
    clone.propose({PATH: text(words)}, branch=branch, base="main")
    take(clone, branch, by)


def test_a_merge_that_is_not_signed_puts_nothing_in_force_and_says_why(mine: Clone) -> None:
    mine.keys.clear()
    approve(mine)
    found = verdict(mine)
    assert (found.in_force, [one.path for one in found.unapproved]) == (False, [PATH])
    assert "not signed by a signer who is pinned here" in found.unapproved[0].evidence.reason


def test_a_signed_line_does_and_says_who_and_when(mine: Clone) -> None:
    approve(mine)
    found = verdict(mine)
    evidence = found.evidence
    assert (found.in_force, found.unapproved) == (True, ())
    assert (evidence.level, evidence.how, evidence.by and evidence.by.email) == (
        3,
        "signed",
        HUMAN[1],
    )
    assert (evidence.commit, evidence.suggested_by[0].email) == (mine.head(), AGENT[1])


def test_lines_that_are_signed_by_others_do_not_hide_a_good_one(
    mine: Clone, closing: ExitStack
) -> None:
    approve(mine)
    mine.has_key(SECOND)
    blob = mine.run("rev-parse", f"HEAD:{PATH}")
    tree = mine.run("rev-parse", "HEAD^{tree}")
    for _ in range(40):
        empty = mine.run("commit-tree", tree, "-p", "HEAD", "-m", "x", by=SECOND)
        words = f"Approve rule: Use X{line(mine, blob)}"
        mine.run(
            "reset",
            "-q",
            "--hard",
            mine.run("commit-tree", tree, "-p", "HEAD", "-p", empty, "-m", words, by=SECOND),
        )
    asked = programs_of(closing)
    assert (served(mine), len(asked) <= 6) == ("Use X", True)


def test_a_fork_and_a_copy_are_told_from_the_repository_itself(mine: Clone) -> None:
    approve(mine)
    name = mine.pinned().line_name()
    mine.run("remote", "set-url", "origin", "git@forge.example:fork/kb.git")
    assert (mine.pinned().name, served(mine)) == (name, "Use X"), "its first commit finds the list"
    with pytest.raises(Refused, match="does not name the address"):
        mine.pinned().refuse_copy()
    mine.pinned().pin((mine.pinned().matching()[0] or SignerList("")).data, copy=True)
    mine.pinned().refuse_copy()
    assert (mine.pinned().name, served(mine)) == (name, "Use X")
    mine.run("remote", "set-url", "origin", "https://forge.example/other/kb")
    own = mine.pinned()
    own.pin((own.matching()[0] or SignerList("")).data)
    assert (mine.pinned().line_name(), served(mine)) == ("forge.example/other/kb/main", None)


@pytest.mark.parametrize(
    "url",
    [
        "git@forge.example:acme/kb.git", "https://forge.example/acme/kb", "https://me@FORGE.example/acme/kb.git/",
        "ssh://git@forge.example:22/acme/kb.git", "git://forge.example/acme/kb",
    ],
)  # fmt: skip
def test_the_ways_to_one_repository_are_one_address(url: str, tmp_path: Path) -> None:
    assert plain_address(url, tmp_path) == "forge.example/acme/kb"


def test_who_has_to_be_another_person_cannot_sign_his_own_proposal_under_another_name(
    mine: Clone,
) -> None:
    mine.commit("settings", {CONFIG: "format: 1\napproval:\n  require: signed\n  distinct: true\n"})
    mine.propose(base="main", by=HUMAN)
    mine.keys[SECOND[1]] = mine.keys[HUMAN[1]]
    take(mine, BRANCH, SECOND)
    assert not verdict(mine).in_force


LIAR = """#!/bin/sh
case "$*" in *verify*|*find-principals*) ;; *) cat > /dev/null
    echo "[GNUPG:] SIG_CREATED x" >&2
    printf -- "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n"; exit 0;;
esac
case "$*" in *-Y*) echo 'Good "git" signature for {who} with ED25519 key {key}'; exit 0;; esac
printf '\\n[GNUPG:] GOODSIG {gpg} {who}\\n[GNUPG:] TRUST_ULTIMATE 0 pgp\\n'
printf '[GNUPG:] VALIDSIG {gpg} 2026-01-01 1 0 4 0 22 10 00 {gpg}\\n'
"""
"""A program for signing and verifying that calls everything a good signature of who is pinned."""
SETTINGS = ("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.allowedSignersFile")


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_program_and_no_list_that_the_repository_names_is_asked(
    mine: Clone, setting: str
) -> None:
    (pinned,), gpg = mine.pinned().read() or (), "0123456789ABCDEF" * 2 + "01234567"
    mine.pinned(pinned.line + "\n", f"{HUMAN[1]} openpgp {gpg}\n")
    liar = put_program(
        mine.root.with_name("liar"), LIAR.format(who=HUMAN[1], key=pinned.key, gpg=gpg)
    )
    strangers = mine.root.with_name("strangers")
    strangers.write_text(mine.has_key(SECOND))
    if setting in SETTINGS[:2]:
        mine.keys.clear()
        mine.run("config", "commit.gpgsign", "true")
        mine.run("config", setting, str(liar))
    mine.propose(base="main")
    take(mine, BRANCH, SECOND)
    mine.run("config", SETTINGS[3], str(strangers))
    if setting == SETTINGS[2]:
        mine.run("config", setting, str(liar))
    assert mine.run("log", "-1", "--format=%G?").endswith("G"), "git itself would take it here"
    assert served(mine) is None


@pytest.mark.parametrize(
    "setting",
    [
        "gpg.format=openpgp",
        "gpg.minTrustLevel=ultimate",
        "log.showSignature=true",
        "i18n.logOutputEncoding=UTF-16",
    ],
)
def test_no_setting_of_the_repository_hides_a_good_signature(mine: Clone, setting: str) -> None:
    approve(mine)
    mine.run("config", *setting.split("="))
    assert served(mine) == "Use X"


def test_an_openpgp_signature_counts_by_the_fingerprint_on_the_list(
    mine: Clone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    try:
        make = [
            "gpg",
            "--batch",
            "-q",
            "--passphrase",
            "",
            "--quick-gen-key",
            "Human <human@x>",
            "ed25519",
            "sign",
        ]
        subprocess.run(make, check=True, capture_output=True)
        listed = subprocess.run(
            ["gpg", "--list-keys", "--with-colons"], check=True, capture_output=True, text=True
        )
        key = next(
            row.split(":")[9] for row in listed.stdout.splitlines() if row.startswith("fpr:")
        )
        mine.keys.clear()
        mine.propose(base="main")
        signing = ("-c", "commit.gpgsign=true", "-c", f"user.signingkey={key}")
        mine.run("merge", "-q", "--no-ff", "--no-commit", BRANCH)
        blob = mine.run("rev-parse", f":{PATH}")
        mine.run(*signing, "commit", "-q", "-m", f"Approve rule: Use X{line(mine, blob)}")
        assert served(mine) is None
        offered = signatures.signers_of(locate(mine.root), [mine.head()])
        assert offered.decode() == f"human@x openpgp {key}\n"
        mine.pinned(offered.decode())
        assert served(mine) == "Use X"
        assert str(verdict(mine).evidence.by) == "human@x"
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False, env=os.environ)


def programs_of(closing: ExitStack) -> list[str]:
    """What git is asked for about signatures, from now on."""
    asked: list[str] = []
    real = plumbing.run

    def run(worktree: Worktree, *arguments: str, **more: Any) -> plumbing.Done:
        asked.extend(one for one in arguments if "%G?" in one)
        return real(worktree, *arguments, **more)

    closing.enter_context(instead("ai_lessons.git.plumbing.run", run))
    return asked


def test_verified_once_is_not_verified_again(mine: Clone, closing: ExitStack) -> None:
    approve(mine)
    asked = programs_of(closing)
    assert served(mine) == "Use X"
    mine.commit("work", {"jira/lessons/x.md": "x\n"}, SECOND)
    assert (served(mine), len(asked)) == ("Use X", 1)
    approve(mine, "Use Y")
    assert (served(mine), len(asked)) == ("Use Y", 2)
    mine.run("commit", "-q", "--allow-empty", "-m", "more", by=SECOND)
    assert (served(mine), len(asked)) == ("Use Y", 2)


LINES = [
    # line (KEY stands for the public key), who signed
    ("human@x KEY", "human@x"), ("human@x KEY a comment with words", "human@x"), ("  human@x\t KEY", "human@x"),
    ("human@x,bob@x KEY", "human@x"), ("*@x,human@x KEY", "human@x"), ('"human@x" KEY', "human@x"),
    ('human@x namespaces="git" KEY', "human@x"), ('human@x namespaces="file,g*" KEY', "human@x"),
    ('human@x namespaces="ai-lessons-approval@v1" KEY', None), ('human@x namespaces="!git,*" KEY', None),
    ('human@x valid-after="20200101" KEY', "human@x"), ('human@x valid-after="20300101" KEY', None),
    ('human@x valid-before="20300101Z" KEY', "human@x"), ('human@x valid-before="202001011200" KEY', None),
    ('human@x valid-after="20200101",valid-before="20300101120000Z",namespaces="g*" KEY', "human@x"),
    ('human@x valid-before="soon" KEY', None), ("human@x cert-authority KEY", None),
    ("human@x no-such-option KEY", None), ("# human@x KEY", None), ("human@x", None),
    ("human@x ssh-ed25519 %%%%", None), ("human@x ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIBEN", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_of_the_list_counts_as_it_does_for_git(
    mine: Clone, line: str, expected: str | None
) -> None:
    public = mine.keys[HUMAN[1]].with_suffix(".pub").read_text().strip()
    made = mine.commit("something", {"a.md": "a\n"})
    signers = mine.pinned("nonsense\n", line.replace("KEY", public) + "\n")
    found = signers.verified([made]).get(made)
    assert (found and found.who) == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_no_text_crashes_the_reader_of_the_list(text: str) -> None:
    parse_signers(text.encode())
    parse_signers(f"alice@x {text}".encode())
