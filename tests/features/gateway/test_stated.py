"""What a person may state of a gateway, and what stops the server from starting."""

from pathlib import Path

import pytest

from ai_lessons.errors import UsageError
from ai_lessons.features.gateway.stated import gateway_settings
from features.gateway.gateway_world import SETTINGS, config_file, new_repository, write_settings
from interfaces.world import Run
from real_world import put_file

SECRET_FILE = {"secret_file": "/etc/secret"}
EMAIL_TOO = {"name_header": "X-User", "email_header": "X-Email"}


def test_what_is_stated_is_read_and_the_rest_has_defaults() -> None:
    read = gateway_settings({**EMAIL_TOO, "secret_file": "~/secret"}, "f")
    assert read.headers == ("x-user", "x-email", "", "x-gateway-secret")
    assert (read.secret_file, read.people, read.log_days) == (Path.home() / "secret", None, 30)
    table = {"name_header": "Remote-User", "domain": "acme.example", "loopback": True}
    read = gateway_settings({**table, "people": "/srv/people", "log_days": 7}, "f")
    assert read.headers == ("remote-user", None, "acme.example", None)
    assert (read.secret_file, read.people, read.log_days) == (None, Path("/srv/people"), 7)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("yes", "gateway must be a table"),
        ([], "gateway must be a table"),
        ({}, "either a secret_file or loopback"),
        (EMAIL_TOO, "either a secret_file or loopback"),
        ({**EMAIL_TOO, **SECRET_FILE, "loopback": True}, "either a secret_file or loopback"),
        ({**EMAIL_TOO, "loopback": False}, "either a secret_file or loopback"),
        ({**EMAIL_TOO, "loopback": "yes"}, "gateway.loopback must be true or false"),
        ({**EMAIL_TOO, "secret_file": "secret"}, "gateway.secret_file must be a path"),
        ({**EMAIL_TOO, "secret_file": 1}, "gateway.secret_file must be a path"),
        ({**SECRET_FILE, "email_header": "X-Email"}, "gateway.name_header must be"),
        ({**SECRET_FILE, "name_header": "X-User"}, "either an email_header or a domain"),
        ({**SECRET_FILE, **EMAIL_TOO, "domain": "a.b"}, "either an email_header or a domain"),
        ({**SECRET_FILE, "name_header": "X", "domain": "a b"}, "gateway.domain must be"),
        ({**SECRET_FILE, "name_header": "X", "domain": "a@b"}, "gateway.domain must be"),
        ({**SECRET_FILE, "name_header": "X", "domain": "a/.."}, "gateway.domain must be"),
        ({**SECRET_FILE, "name_header": "X", "domain": True}, "gateway.domain must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "name_header": "X_User"}, "gateway.name_header must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "name_header": "X User"}, "gateway.name_header must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "name_header": ""}, "gateway.name_header must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "email_header": ["X"]}, "gateway.email_header must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "secret_header": "X-Email"}, "names a person, too"),
        ({**SECRET_FILE, **EMAIL_TOO, "people": "people"}, "gateway.people must be a path"),
        ({**SECRET_FILE, **EMAIL_TOO, "log_days": 0}, "gateway.log_days must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "log_days": True}, "gateway.log_days must be"),
        ({**SECRET_FILE, **EMAIL_TOO, "loopbak": True}, "a key that means nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(table: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        gateway_settings(table, "f")


def test_the_server_does_not_start_with_settings_that_would_open_it(
    knowledge: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = write_settings()
    serve = ("admin", "mcp", "--http", "127.0.0.1:0")

    def refused(*args: str | Path) -> tuple[int, str]:
        done = run(*(args or serve))
        return done.code, done.err

    state = put_file(Path.home() / ".local/state/ai-lessons/calls", "in the way")
    assert "it has to be kept who asks what" in refused()[1]
    state.unlink()
    assert "leave --token-file out" in refused(*serve, "--token-file", secret)[1]
    secret.chmod(0o644)
    assert refused()[0] == 8
    secret.chmod(0o600)
    secret.write_text("short\n")
    assert "a token is one word of at least 16" in refused()[1]
    inside = put_file(knowledge / "secret", "0123456789abcdef0123")
    inside.chmod(0o600)
    put_file(config_file(), f'[gateway]\n{SETTINGS}secret_file = "{inside}"\n')
    assert "which callers read" in refused()[1]
    put_file(config_file(), f"[gateway]\n{SETTINGS}loopback = true\n")
    code, err = refused("admin", "mcp", "--http", "0.0.0.0:0")
    assert (code, "listen on this machine only" in err) == (2, True)
    put_file(config_file(), "gateway = 1\n")
    assert "gateway must be a table" in refused()[1]
    # the account's own repository, by name, by path, by a link, and by what is nearest
    write_settings(above=f'repo = "{tmp_path / "own"}"\n')
    own = new_repository(run, tmp_path / "own")
    (tmp_path / "link").symlink_to(own)
    for named in (("--tier", "user"), ("--repo", str(own)), ("--repo", str(tmp_path / "link"))):
        code, err = refused(*serve, *named)
        assert (code, "everybody would read and change it" in err) == (2, True), named
    monkeypatch.delenv("AI_LESSONS_REPO")
    assert "nothing to serve but your own repository" in refused()[1]
    # a second repository `user`, whose name is that of a person's
    write_settings(f'people = "{tmp_path / "people"}"\n')
    assert "needs a name" in refused(*serve, "--repo", knowledge)[1]


def test_a_project_says_nothing_of_a_gateway(knowledge: Path, run: Run) -> None:
    put_file(knowledge.parent / ".ai-lessons.toml", "[gateway]\nloopback = true\n")
    assert "unknown key 'gateway'" in run("recall", "list").err


def test_other_commands_do_not_read_the_table(knowledge: Path, run: Run) -> None:
    put_file(config_file(), "[gateway]\nloopbak = 1\n")
    done = run("recall", "list")
    assert (done.code, done.err) == (0, "")
