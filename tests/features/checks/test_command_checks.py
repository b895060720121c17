"""What a line of a shell runs: seen through quotes, substitutions and programs that run others; never what it names."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.checks.command_checks import CommandCheck, calls, form_of
from ai_lessons.model.shell import LONGEST, commands_in

RUNS = (
    "go test ./...", "cd src && go test -run Total ./...", 'bash -lc "go test ./..."', "sh -c 'cd a; go test'",
    "env CGO_ENABLED=0 go test ./... | tail -3", "A=1 B=2 go test", "sudo -u ann go test", "timeout -k 5 60s go test",
    "ls | xargs -n 1 go test", "/usr/local/go/bin/go test", '"go" \'test\'', "echo $(go test)", 'echo "`go test`"',
    "if ! go test; then exit 1; fi", "(go test) && echo", "for f in a b; do go test $f; done", "go \\\n test",
    "find . -name '*.go' -exec go test {} ';'", "nohup nice -n 5 go test &", "eval 'go test'", "go test >out.txt 2>&1",
    "diff <(go test) b", "bash <<'X'\ngo test\nX", "go -C src test", "x && { go test; }", "env -S 'go test'",
    "time -p go test", "bash -c -- 'go test'", "bash -c $'go test'", "bash --login -c 'go test'", "bash <<< 'go test'",
    "echo go test | bash", "printf 'go test' | sh -s", "flock /tmp/l go test", "strace -f -o x go test",
    "watch 'go test'",
    "uv run --with x go test", "poetry run go test", "npx -p a go test", "npm exec -- go test", "mise exec -- go test",
    "direnv exec . go test", "pwsh -Command 'go test'", "busybox sh -c 'go test'", "trap 'go test' EXIT",
    "tmux new -d 'go test'", "sudo -- go test", "chroot / go test", "nix-shell --run 'go test'",
)  # fmt: skip
NAMES_ONLY = (
    "grep -rn 'go test' src", "git log --grep='go test'", "echo go test", "cat <<'X'\ngo test ./...\nX",
    "git commit -m 'run go test'", "command -v go test", "# go test", "go build ./... # go test", "go vet test",
    "go test --help", 'python3 -c "print(\'go test\')"', "cat <<X >a.sh\ngo test\nX", "cd test", "gotest", "",
    "echo go test | cat", "cat <<< 'go test'", "npm run go test", "uv add go test", "bash a.sh <<< 'go test'",
)  # fmt: skip


@pytest.mark.parametrize("line", RUNS)
def test_a_command_is_seen_however_it_is_called(line: str) -> None:
    assert calls(["go test"], line), commands_in(line)


@pytest.mark.parametrize("line", NAMES_ONLY)
def test_a_line_that_only_names_a_command_does_not_call_it(line: str) -> None:
    assert not calls(["go test"], line), commands_in(line)


@pytest.mark.parametrize(
    ("named", "line", "fits"),
    [
        ("pip install", "python3.12 -m pip install x", True), ("python -m pip install", "pip3 install x", True),
        ("pip", "uv pip install x", False), ("git push --force", "git push origin main --force", True),
        ("git push --force", "git push --force-with-lease", False), ("git commit", "git -C a -c b=c commit -m x", True),
        ("git push --force", "git push --force=now", True), ("rm -rf", "rm -fr a", True),
        ("rm -rf", "rm -r -f a", True),
        ("rm -rf", "rm -r a", False), ("make lint", "make -C a fmt lint", True), ("npm run …", "npm run build", True),
        ("npm run …", "npm test", False), ("cargo test", "cargo +nightly test", True), ("sudo", "sudo ls", True),
        ("python", "python3 a.py", True), ("pytest", "python -m pytest", True),
        ("go test -run", "go test -r -u", False),
        ("./gradlew test", "../gradlew clean test", True), ("mise run lint", "mise run lint:ci", False),
    ],
)  # fmt: skip
def test_a_call_is_told_by_program_subcommands_and_options(
    named: str, line: str, fits: bool
) -> None:
    assert bool(calls([named], line)) is fits


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("ls -la docs/plans/", True),
        ("ls ./docs/plans", True),
        ("ls /home/ann/shop/docs/plans/", True),
        ("ls ../shop/docs/plans", True),
        ("ls /home/ann/shop/old-docs/plans", False),
        ("ls vendor/docs/plans", False),
        ("ls docs/plans/2026", False),
        ("ls plans", False),
    ],
)
def test_a_path_in_a_call_is_the_same_from_wherever_it_is_written(line: str, fits: bool) -> None:
    assert bool(calls(["ls docs/plans"], line)) is fits


def test_a_word_without_a_folder_is_no_end_of_a_path() -> None:
    assert not calls(["cat plans"], "cat /home/ann/plans")
    assert not calls(["go test ./..."], "go test /home/ann/...")


def test_how_a_line_ended_tells_of_the_commands_that_nothing_hides() -> None:
    def deciding(line: str) -> list[str]:
        return [command.words[0] for command in commands_in(line) if command.decides]

    assert deciding("fmt && lint") == ["fmt", "lint"]
    assert deciding("lint | tail") == ["tail"]
    assert deciding("lint || true") == ["true"]
    assert deciding("lint; echo && date\n") == ["echo", "date"]
    assert deciding("bash -c 'lint; echo'") == ["bash", "echo"]
    assert deciding("echo $(lint)") == ["echo"]


def test_a_command_of_a_check_is_one_call() -> None:
    assert form_of("go test && ls") is None
    assert form_of("  ") is None
    assert (
        str(CommandCheck(("go test",), instead="make test"))
        == "command `go test` instead `make test`"
    )


@given(st.text(alphabet="ab \n\"'`$(){}<>|&;#\\=-", max_size=80))
def test_any_line_can_be_read(line: str) -> None:
    for command in commands_in(line):
        assert command.words
        assert command.words[0]


@pytest.mark.parametrize(
    "part",
    [
        "$(",
        "a;",
        "`",
        '"$(',
        "<<a\n",
        "sudo ",
        "(((",
        'bash -c "',
        "find -exec ",
        "sh -c ",
        "eval ",
        "`a`",
    ],
)
def test_the_work_grows_with_the_length_of_a_line_alone(part: str) -> None:
    def steps(times: int) -> int:
        count = 0

        def trace(*_: object) -> object:
            nonlocal count
            count += 1
            return trace

        sys.settrace(trace)  # type: ignore[arg-type]
        try:
            commands_in(part * times)
        finally:
            sys.settrace(None)
        return count

    assert len(part) * 1600 <= LONGEST
    assert steps(1600) <= 6 * steps(400) + 1_000
