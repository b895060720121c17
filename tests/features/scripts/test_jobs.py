import os
import shutil
import sys
from pathlib import Path

import pytest

from ai_lessons.app import entries, history_of_entries
from ai_lessons.errors import NotFound, Refused, UsageError
from ai_lessons.features.learning import jobs as learning_jobs
from ai_lessons.features.scripts import jobs
from ai_lessons.model.entries import Kind
from app.world import SCRIPT, World
from features.intake.intake_world import bring

CODE = '#!/bin/sh\n# Writes what it was told.\nprintf "%s|" "$PWD" "$@" > "$OUT"\nexit 7\n'


@pytest.fixture
def script(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A script of this user's own: it was added on this machine."""
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    (tmp_path / "go.sh").write_text(CODE)
    return bring(world, tmp_path / "go.sh", kind=Kind.SCRIPT, project="p").written[0].handle


def test_arguments_exit_code_and_folder_go_through(
    world: World, script: str, tmp_path: Path
) -> None:
    assert jobs.run(world.library, script, ["a b", "*", "--flag"]) == 7
    assert (tmp_path / "out").read_text() == f"{tmp_path}|a b|*|--flag|"
    (tmp_path / "else").mkdir()
    assert jobs.run(world.library, script, [], cwd=tmp_path / "else") == 7
    assert (tmp_path / "out").read_text() == f"{tmp_path}/else|"
    with pytest.raises(NotFound, match="nowhere"):
        jobs.run(world.library, script, [], cwd=tmp_path / "nowhere")


def test_asking_decides_and_is_remembered_until_the_content_changes(world: World) -> None:
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 3\n")
    asked: list[tuple[str, str]] = []

    def ask(path: str, text: str) -> bool:
        asked.append((path, text))
        return len(asked) != 1

    library = world.fresh(ask_trust=ask)
    with pytest.raises(Refused):
        jobs.run(library, "p/scripts/v1/go.sh", [])
    assert jobs.run(library, "p/scripts/v1/go.sh", []) == 3
    assert jobs.run(library, "p/scripts/v1/go.sh", []) == 3
    assert asked == [(str(world.root / "p/scripts/v1/go.sh"), "#!/bin/sh\nexit 3\n")] * 2
    world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 4\n")
    assert jobs.run(library, "p/scripts/v1/go.sh", []) == 4
    assert len(asked) == 3
    assert jobs.run(world.fresh(), "p/scripts/v1/go.sh", []) == 4


def test_trust_by_hand_is_for_the_content_and_survives_a_move(world: World) -> None:
    file = world.write("p/scripts/v1/go.sh", "#!/bin/sh\nexit 5\n")
    assert jobs.trust_script(world.library, "p/scripts/v1/go.sh") == (str(file),)
    file.rename(world.root / "p/scripts/v1/went.sh")
    assert jobs.run(world.library, "p/scripts/v1/went.sh", []) == 5
    assert not list(world.root.rglob("*trust*"))


def test_another_interpreter_is_another_thing_to_trust(world: World, script: str) -> None:
    entry = entries.show(world.library, script).entry
    side = f"{entry.path}.md"
    world.write(
        side,
        world.read(side).replace("created:", f"interpreter: {sys.executable} -c exit(9)\ncreated:"),
    )
    with pytest.raises(Refused):
        jobs.run(world.library, script, [])


def test_a_named_interpreter_is_used_and_trusted_with_the_import(world: World) -> None:
    world.write("p/scripts/v1/go.txt", "import sys; sys.exit(6)\n")
    head = f"kind: script\ntitle: go\nversions:\n  - v1\ninterpreter: {sys.executable}\n"
    world.write("p/scripts/v1/go.txt.md", f"---\n{head}---\n")
    made = bring(world, world.root / "p/scripts/v1/go.txt", kind=Kind.SCRIPT).written[0]
    assert jobs.run(world.library, made.id, []) == 6


def test_only_scripts_that_are_there_run(world: World, tmp_path: Path) -> None:
    made = world.add("a lesson")
    with pytest.raises(UsageError, match="lesson"):
        jobs.run(world.library, made.handle, [])
    with pytest.raises(UsageError, match="lesson"):
        jobs.trust_script(world.library, made.handle)
    (tmp_path / "gone.sh").write_text("#!/bin/sh\n")
    kept = bring(world, tmp_path / "gone.sh", kind=Kind.SCRIPT, in_place=True).written[0]
    (tmp_path / "gone.sh").unlink()
    with pytest.raises(NotFound, match=r"gone\.sh"):
        jobs.run(world.library, kept.id, [])
    world.write("p/scripts/v1/x.sh", "#!/no/such/interpreter\n")
    jobs.trust_script(world.library, "p/scripts/v1/x.sh")
    with pytest.raises(NotFound, match="interpreter"):
        jobs.run(world.library, "p/scripts/v1/x.sh", [])


def test_a_link_to_a_script_outside_is_not_followed(world: World, tmp_path: Path) -> None:
    (tmp_path / "real.sh").write_text("#!/bin/sh\n")
    world.write("p/scripts/v1/other.sh", "#!/bin/sh\n")
    (world.root / "p/scripts/v1/link.sh").symlink_to(tmp_path / "real.sh")
    assert world.titles() == ["other.sh"]
    with pytest.raises(NotFound):
        jobs.run(world.library, "p/scripts/v1/link.sh", [])


def test_a_side_file_alone_says_where_its_script_lies(world: World, tmp_path: Path) -> None:
    (tmp_path / "far.sh").write_text("#!/bin/sh\nexit 2\n")
    head = f"---\nid: {SCRIPT}\nkind: script\ntitle: far\npath: {tmp_path}/far.sh\n---\n"
    world.write("p/scripts/v1/far.sh.md", head)
    with pytest.raises(Refused):
        jobs.run(world.library, SCRIPT, [])
    assert jobs.trust_script(world.library, SCRIPT) == (str(tmp_path / "far.sh"),)
    assert jobs.run(world.library, SCRIPT, []) == 2


PULLED = {
    ".py": "print('PULLED')\n",
    ".sh": "echo PULLED\n",
    ".js": "console.log('PULLED')\n",
    ".pm": "print 'PULLED'; 1;\n",
    ".rb": "puts 'PULLED'\n",
}

LOADERS = [
    ("python3", "a.py", "import json\nprint('ours', json.dumps(1))\n", "json.py"),
    ("python3", "a.py", "import json\nprint('ours', json.dumps(1))\n", "re.py"),
    ("python3", "a.py", "import os\nprint('ours')\n", "sitecustomize.py"),
    (
        "python3",
        "a.py",
        "try:\n    import helper\nexcept ImportError:\n    pass\nprint('ours')\n",
        "helper.py",
    ),
    (
        "sh",
        "a.sh",
        'f="$(dirname "$0")/helper.sh"; [ -f "$f" ] && . "$f"; echo ours\n',
        "helper.sh",
    ),
    ("sh", "a.sh", "[ -f ./helper.sh ] && . ./helper.sh; echo ours\n", "helper.sh"),
    (
        "bash",
        "a.bash",
        'for f in "$(dirname "$0")"/*.sh; do [ -f "$f" ] && . "$f"; done; echo ours\n',
        "b.sh",
    ),
    ("bash", "a.bash", "for f in ./*.sh; do [ -f $f ] && . $f; done; echo ours\n", "b.sh"),
    (
        "node",
        "a.js",
        "try { require('helper') } catch (e) {}\nconsole.log('ours')\n",
        "node_modules/helper/index.js",
    ),
    (
        "node",
        "a.js",
        "try { require('./helper') } catch (e) {}\nconsole.log('ours')\n",
        "helper.js",
    ),
    (
        "perl",
        "a.pl",
        "use FindBin; use lib $FindBin::Bin; eval { require Helper }; print 'ours';\n",
        "Helper.pm",
    ),
    ("perl", "a.pl", "use lib '.'; require Carp; print 'ours';\n", "Carp.pm"),
    ("perl", "a.pl", "use lib '.'; use POSIX; print 'ours';\n", "Fcntl.pm"),
    (
        "ruby",
        "a.rb",
        "begin; require_relative 'helper'; rescue LoadError; end; puts 'ours'\n",
        "helper.rb",
    ),
]


@pytest.mark.parametrize("here", [True, False], ids=["run in its folder", "run elsewhere"])
@pytest.mark.parametrize(("program", "name", "text", "beside"), LOADERS)
def test_what_a_pull_brings_beside_a_trusted_script_does_not_run(
    world: World, program: str, name: str, text: str, beside: str, here: bool
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    path = f"p/scripts/v1/{name}"
    world.write(path, text)
    jobs.trust_script(world.library, path)
    assert jobs.run_captured(world.library, path, [], timeout=60).exit_code == 0
    world.write(f"p/scripts/v1/{beside}", PULLED[Path(beside).suffix])  # as a pull brings it
    cwd = world.root / "p/scripts/v1" if here else world.root
    try:
        told = jobs.run_captured(world.library, path, [], cwd=cwd, timeout=60).stdout
    except Refused as error:
        told = error.message
    assert "ours" in told or Path(beside).name in told
    assert "PULLED" not in told


def test_a_script_uses_the_files_beside_it_that_were_trusted_with_it(world: World) -> None:
    world.write(
        "p/scripts/v1/a.py",
        "import lib.helper, pathlib\nprint(lib.helper.X, pathlib.Path(__file__).parent)\n",
    )
    world.write("p/scripts/v1/lib/__init__.py", "")
    helper = "import pathlib\nX = pathlib.Path(__file__).with_name('d.csv').read_text()\n"
    world.write("p/scripts/v1/lib/helper.py", helper)
    world.write("p/scripts/v1/lib/d.csv", "one,two")
    trusted = jobs.trust_script(world.library, "p/scripts/v1/a.py")
    assert [path.rpartition("/v1/")[2] for path in trusted] == [
        "a.py",
        "lib/__init__.py",
        "lib/d.csv",
        "lib/helper.py",
    ]
    ran = jobs.run_captured(world.library, "p/scripts/v1/a.py", [])
    words, place = ran.stdout.split()
    assert words == "one,two"
    assert not Path(place).exists()
    world.write("p/scripts/v1/lib/helper.py", "X = 1\n")
    with pytest.raises(Refused, match=r"lib/helper\.py"):
        jobs.run(world.library, "p/scripts/v1/a.py", [])


@pytest.mark.parametrize("beside", ["helper.py", "json.py"])
def test_a_script_that_stays_where_it_is_asks_about_code_beside_it(
    world: World, tmp_path: Path, beside: str
) -> None:
    (tmp_path / "far.py").write_text(
        "import json\ntry:\n    import helper\nexcept ImportError:\n    pass\n"
    )
    made = bring(world, tmp_path / "far.py", kind=Kind.SCRIPT, in_place=True).written[0]
    assert jobs.run(world.library, made.id, []) == 0
    (tmp_path / beside).write_text("raise SystemExit(9)\n")
    with pytest.raises(Refused, match=beside):
        jobs.run(world.library, made.id, [])
    jobs.trust_script(world.library, made.id)
    assert jobs.run(world.library, made.id, []) == 9


def test_whoever_is_asked_sees_what_is_beside_the_script(world: World) -> None:
    world.write("p/scripts/v1/a.sh", '. "$(dirname "$0")/b.sh"\n')
    world.write("p/scripts/v1/b.sh", "exit 3\n")
    asked: list[tuple[str, str]] = []

    def ask(path: str, text: str) -> bool:
        asked.append((path, text))
        return True

    library = world.fresh(ask_trust=ask)
    for _ in range(2):
        assert jobs.run(library, "p/scripts/v1/a.sh", []) == 3
    both = '--- a.sh\n. "$(dirname "$0")/b.sh"\n\n--- b.sh\nexit 3\n'
    assert asked == [(f"{world.root}/p/scripts/v1/a.sh, with b.sh beside it,", both)]


def test_a_script_reads_data_of_the_folder_in_which_it_is_run(world: World) -> None:
    world.write("p/scripts/v1/a.sh", "cat data.txt\n")
    jobs.trust_script(world.library, "p/scripts/v1/a.sh")
    (world.root / "p/in").mkdir()
    world.write("p/in/data.txt", "ours")
    assert (
        jobs.run_captured(world.library, "p/scripts/v1/a.sh", [], cwd=world.root / "p/in").stdout
        == "ours"
    )


def test_an_interpreter_is_no_file_that_a_pull_brings(world: World) -> None:
    world.write("p/scripts/v1/a.txt", "x\n")
    for interpreter in (
        "./go",
        "p/scripts/v1/go",
        "sh p/scripts/v1/go",
        "env -S ./go",
        f"{world.root}/go",
    ):
        world.write(
            "p/scripts/v1/a.txt.md",
            f"---\nkind: script\ntitle: a\ninterpreter: {interpreter}\n---\n",
        )
        jobs.trust_script(world.library, "p/scripts/v1/a.txt")
        with pytest.raises(Refused, match="interpreter that a pull can bring"):
            jobs.run(world.library, "p/scripts/v1/a.txt", [], cwd=world.root)


@pytest.mark.parametrize(
    ("variable", "value", "text", "beside"),
    [
        ("PATH", "{root}/p/bin:p/bin:", "ls >/dev/null; echo ours\n", "ls"),
        (
            "PYTHONPATH",
            "p/bin:{root}/p/bin",
            "python3 -c 'import json; print(\"ours\")'\n",
            "json.py",
        ),
        ("PERL5LIB", "{root}/p/bin", "perl -e 'require Carp; print \"ours\"'\n", "Carp.pm"),
        ("PERL5OPT", "-I./p/bin -MHelper", "perl -e 'print \"ours\"'\n", "Helper.pm"),
        (
            "NODE_PATH",
            "{root}/p/bin",
            'node -e \'try{require("h")}catch{};console.log("ours")\'\n',
            "h.js",
        ),
        ("BASH_ENV", "{root}/p/bin/b.sh", "bash -c 'echo ours'\n", "b.sh"),
    ],
)
def test_no_search_path_of_a_script_leads_into_the_repository(
    world: World, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, text: str, beside: str
) -> None:
    (world.root / "p/bin").mkdir(parents=True)
    file = world.write(f"p/bin/{beside}", PULLED[Path(beside).suffix or ".sh"])
    file.chmod(0o755)
    world.write("p/scripts/v1/a.sh", text)
    jobs.trust_script(world.library, "p/scripts/v1/a.sh")
    kept = f":{os.environ['PATH']}" if variable == "PATH" else ""
    monkeypatch.setenv(variable, value.format(root=world.root) + kept)
    ran = jobs.run_captured(world.library, "p/scripts/v1/a.sh", [], cwd=world.root, timeout=60)
    assert ran.stdout.strip() == "ours", ran.stderr


@pytest.mark.parametrize(("code", "expected"), [(0, (1, 0)), (3, (0, 1))])
def test_runs_of_a_script_are_written_down(
    world: World, code: int, expected: tuple[int, int]
) -> None:
    world.write("global/scripts/unversioned/a.sh", f"#!/bin/sh\nexit {code}\n").chmod(0o755)
    world.committed(
        "global/scripts/unversioned/a.sh.md",
        f"---\nid: {SCRIPT}\nkind: script\ntitle: a.sh\n---\nRuns.\n",
    )
    jobs.trust_script(world.library, SCRIPT)
    assert jobs.run(world.library, SCRIPT, []) == code
    told = learning_jobs.feedback(world.library, SCRIPT, "helpful").usage
    assert (told.tallies.script_ok, told.tallies.script_failed) == expected
    assert history_of_entries.why(world.library, SCRIPT).usage == told
