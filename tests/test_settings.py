import sys
from pathlib import Path

import pytest

from ai_lessons import settings
from ai_lessons.errors import NotFound, StorageFailed, UsageError
from ai_lessons.settings import load

pytestmark = pytest.mark.skipif(
    sys.platform in {"darwin", "win32"}, reason="the platform's own folders are elsewhere"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/.config/ai-lessons").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work/deep").mkdir(parents=True)
    return tmp_path / "work"


def configure(home: Path, text: str) -> Path:
    file = home / ".config/ai-lessons/config.toml"
    file.write_text(text)
    return file


def test_without_any_choice_the_defaults_hold(home: Path, work: Path) -> None:
    found = load({"HOME": str(home)}, work)
    assert (found.repo, found.tier) == (home / ".ai/reference", "user")
    assert found.folders == settings.Folders(
        home / ".config/ai-lessons", home / ".local/state/ai-lessons", home / ".cache/ai-lessons"
    )
    assert (found.offline, found.agent, found.index_dir, found.model_dir) == (
        False,
        None,
        None,
        None,
    )


def test_base_folders_come_from_the_environment_unless_relative(home: Path, work: Path) -> None:
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": "/etc/xdg", "XDG_CACHE_HOME": "relative"}
    found = load(environ, work).folders
    assert str(found.config) == "/etc/xdg/ai-lessons"
    assert found.cache == home / ".cache/ai-lessons"


def test_the_configuration_file_sets_everything(home: Path, work: Path) -> None:
    text = 'repo = "~/knowledge"\nindex_dir = "s3://bucket/index"\nmodel_dir = "models"\nagent = "claude"\n'
    configure(home, text + 'offline = true\n[enterprise]\nacme = "/srv/acme"\n')
    found = load({"HOME": str(home)}, work)
    assert found.repo == home / "knowledge"
    assert found.index_dir == "s3://bucket/index"
    assert found.model_dir == home / ".config/ai-lessons/models"
    assert (found.agent, found.offline) == ("claude", True)
    assert [(one.name, str(one.root)) for one in found.places.known[2:]] == [
        ("enterprise:acme", "/srv/acme")
    ]


@pytest.mark.parametrize("variable", ["AI_AGENT", "AGENT", *settings.AGENT_HOSTS])
def test_what_a_host_sets_by_itself_names_the_agent_and_says_so(
    home: Path, work: Path, variable: str
) -> None:
    found = load({"HOME": str(home), variable: "some-agent@2.1"}, work)
    assert (found.agent, found.agent_by) == (
        settings.AGENT_HOSTS.get(variable, "some-agent@2.1"),
        variable,
    )


@pytest.mark.parametrize("said", ["", "0", "false"])
def test_a_host_that_says_no_and_an_integrated_terminal_are_no_agents(
    home: Path, work: Path, said: str
) -> None:
    found = load(
        {"HOME": str(home), "TERM_PROGRAM": "vscode", "CLAUDECODE": said, "AI_AGENT": said}, work
    )
    assert (found.agent, found.agent_by) == (None, "")


def test_a_name_that_was_given_to_the_agent_comes_before_that_of_its_host(
    home: Path, work: Path
) -> None:
    assert (
        load({"HOME": str(home), "CLAUDECODE": "1", "AI_LESSONS_AGENT": "bot"}, work).agent == "bot"
    )
    configure(home, 'agent = "mine"\n')
    assert load({"HOME": str(home), "CLAUDECODE": "1"}, work).agent == "mine"


def test_the_command_line_beats_the_environment_beats_the_file(home: Path, work: Path) -> None:
    configure(home, 'repo = "/from/file"\nagent = "file"\noffline = true\n')
    environ = {"HOME": str(home)}
    assert str(load(environ, work).repo) == "/from/file"
    environ |= {
        "AI_LESSONS_REPO": "env/../repo",
        "AI_LESSONS_AGENT": "env",
        "AI_LESSONS_OFFLINE": "0",
    }
    found = load(environ, work)
    assert found.repo == work / "repo"
    assert (found.agent, found.offline) == ("env", False)
    assert load(environ, work, repo="~/mine").repo == home / "mine"


def test_a_tier_on_the_command_line_beats_the_repository_of_the_environment(
    home: Path, work: Path
) -> None:
    environ = {"HOME": str(home), "AI_LESSONS_REPO": "/elsewhere"}
    found = load(environ, work, tier="user")
    assert (found.repo, found.tier) == (home / ".ai/reference", "user")


def test_another_configuration_file_may_be_named(home: Path, work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('repo = "here"\n')
    assert (
        load({"HOME": str(home), "AI_LESSONS_CONFIG": str(other)}, work).repo == tmp_path / "here"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("offline = 1\n", "offline must be true or false, not 1"),
        ("repo = 5\n", "repo must be a text in quotes, not 5"),
        ('repo = ""\n', "repo must be a text in quotes, not ''"), ("enterprise = 1\n", "enterprise must be a table"),
        ("[enterprise]\nacme = 1\n", "acme must be a text in quotes, not 1"),
        ("[enterprise.acme]\nsync_url = 'x'", "enterprise.acme has no path"),
        ("[enterprise.acme]\npath = 3", "enterprise.acme.path must be a text"), ("repo = \n", "not valid TOML"),
    ],
)  # fmt: skip
def test_a_wrong_value_names_the_file_and_the_key(
    home: Path, work: Path, text: str, complaint: str
) -> None:
    file = configure(home, text)
    with pytest.raises(UsageError) as caught:
        load({"HOME": str(home)}, work)
    assert caught.value.message.startswith(f"{file}: ")
    assert complaint in caught.value.message


def test_an_unknown_key_is_a_note_that_names_the_near_one(home: Path, work: Path) -> None:
    text = 'modeldir = "x"\noffline = true\n[enterprise.acme]\npath = "x"\nurl = "y"\n[agents]\nmax_char = 1\n'
    file = configure(home, text)
    settings = load({"HOME": str(home)}, work)
    assert settings.offline is True
    assert settings.places.note == (
        f"{file}: unknown key 'modeldir' is passed over (did you mean model_dir?); "
        f"{file}: unknown key 'enterprise.acme.url' is passed over (known keys: path, sync_url, owners); "
        f"{file}: unknown key 'agents.max_char' is passed over (did you mean max_chars?)"
    )


def test_a_configuration_that_cannot_be_read_is_an_error(home: Path, work: Path) -> None:
    (home / ".config/ai-lessons/config.toml").mkdir()
    with pytest.raises(StorageFailed, match="Is a directory"):
        load({"HOME": str(home)}, work)


def test_a_flag_in_the_environment_is_one_or_zero(home: Path, work: Path) -> None:
    with pytest.raises(UsageError, match="AI_LESSONS_OFFLINE must be 1 or 0, not 'maybe'"):
        load({"HOME": str(home), "AI_LESSONS_OFFLINE": "maybe"}, work)


@pytest.mark.parametrize(
    ("there", "at", "tier", "repo", "reads"),
    [
        # the project tier that is not there yet belongs to the top of the code, and is never that of the user
        ("work/.git", "work/deep", "project", "work/.ai/reference", ["project"]),
        ("home/.ai/reference", "home/code", "project", "home/code/.ai/reference", ["project"]),
        ("work/.ai/reference", "work/deep", None, "work/.ai/reference", ["project", "user"]),
        # in the home folder the user's own repository is no project
        ("home/.ai/reference", "home", None, "home/.ai/reference", ["user"]),
        ("work/deep", "work", None, "home/.ai/reference", ["user"]),
    ],
)
def test_where_one_stands_says_what_is_written_to_and_what_is_read(
    tmp_path: Path, home: Path, there: str, at: str, tier: str | None, repo: str, reads: list[str]
) -> None:
    for folder in (there, at):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    found = load({"HOME": str(home)}, tmp_path / at, tier=tier)
    assert (found.repo, found.tier, [one.name for one in found.places.reads]) == (
        tmp_path / repo,
        reads[0],
        reads,
    )
    assert [one.name for one in found.places.known] == ["project", "user"] or at == "home"


def test_an_enterprise_tier_is_named_in_the_configuration(home: Path, work: Path) -> None:
    configure(home, '[enterprise]\nacme = "acme"\n')
    found = load({"HOME": str(home)}, work, tier="enterprise:acme")
    assert (found.repo, found.tier) == (home / ".config/ai-lessons/acme", "enterprise:acme")
    with pytest.raises(NotFound, match="no enterprise tier 'acm'") as caught:
        load({"HOME": str(home)}, work, tier="enterprise:acm")
    assert caught.value.hint == "did you mean acme?"


@pytest.mark.parametrize("tier", ["global", "enterprise", "enterprise:", ""])
def test_an_unknown_tier_is_refused(home: Path, work: Path, tier: str) -> None:
    if not tier:
        assert load({"HOME": str(home)}, work, tier=tier).tier == "user"
        return
    with pytest.raises(UsageError, match="is not a tier"):
        load({"HOME": str(home)}, work, tier=tier)


@pytest.mark.parametrize("stands_in", ["", "deep"])
def test_a_project_says_which_enterprise_it_belongs_to(
    home: Path, work: Path, stands_in: str
) -> None:
    acme = '[enterprise.acme]\npath = "~/acme"\nsync_url = "https://git.example/acme.git"\n'
    configure(home, acme + '[enterprise.b]\npath="b"')
    (work / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    found = load({"HOME": str(home)}, work / stands_in)
    assert [one.name for one in found.places.reads] == ["user", "enterprise:acme"]
    assert (found.places.belongs_to, found.tier) == ("enterprise:acme", "user")
    assert (found.places.reads[1].root, found.places.reads[1].url) == (
        home / "acme",
        "https://git.example/acme.git",
    )


def test_the_enterprise_of_a_project_above_the_top_of_the_code_is_not_ours(
    home: Path, work: Path
) -> None:
    (work / "deep/.git").mkdir()
    (work / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    assert load({"HOME": str(home)}, work / "deep").places.belongs_to == ""


def test_a_tier_or_a_repository_that_is_named_is_the_only_one(home: Path, work: Path) -> None:
    configure(home, f'[enterprise]\nacme = "{home}/acme"\n')
    (work / ".ai/reference").mkdir(parents=True)
    (work / ".ai-lessons.toml").write_text('enterprise = "acme"\n')
    for given in ({"tier": "user"}, {"tier": "enterprise:acme"}, {"repo": str(work)}):
        assert len(load({"HOME": str(home)}, work, **given).places.reads) == 1
    assert load({"HOME": str(home)}, work, repo=str(home / "acme")).tier == "enterprise:acme"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("enterprise = 3", "enterprise must be a text in quotes"),
        ("enterprize = 'acme'", "unknown key 'enterprize'"),
        ("enterprise = [", "not valid TOML"),
        ("#" * 70_000, "more than 64 KiB"),
        ("a = " + "[" * 60_000, "not valid TOML"),
        ("a = " + "9" * 60_000, "not valid TOML"),
    ],
)
def test_an_error_in_the_file_of_a_project_names_it_and_stops_nothing(
    home: Path, work: Path, text: str, what: str
) -> None:
    (work / ".ai-lessons.toml").write_text(text)
    places = load({"HOME": str(home)}, work).places
    assert (places.belongs_to, [one.name for one in places.reads]) == ("", ["user"])
    assert what in places.note
    assert str(work / ".ai-lessons.toml") in places.note


@pytest.mark.parametrize("target", ["secret.toml", "/dev/zero", "gone"])
def test_a_project_file_that_is_a_link_is_not_followed(home: Path, work: Path, target: str) -> None:
    (home / "secret.toml").write_text('password = "x"\n')
    (work / ".ai-lessons.toml").symlink_to(home / target)
    assert load({"HOME": str(home)}, work).places.belongs_to == ""


def test_a_folder_that_was_deleted_under_our_feet_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="the current folder does not exist any more"):
        load({"HOME": str(home)})
