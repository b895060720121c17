"""A release: its version comes from the tag, the changelog tells of it, and what is built twice has the same bytes."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from real_world import Git
from test_manifests import faults

TOP = Path(__file__).parents[1]
PLUGIN = "hooks/claude-code/.claude-plugin/plugin.json"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, without any history."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True
    )
    place = tmp_path_factory.mktemp("sources") / "ai-lessons"
    for name in filter(None, done.stdout.split("\0")):
        if (TOP / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, place / name)
    return place


def release(place: Path, tag: str, into: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(place / ".ci/release"), tag, str(into)]
    return subprocess.run(command, cwd=into.parent, capture_output=True, text=True, check=False)


def test_a_release_is_built_twice_to_the_same_bytes_and_is_called_as_its_tag(
    sources: Path, git: Git, tmp_path: Path
) -> None:
    git(sources, "init", "-q")
    git(sources, "add", "--all")
    git(sources, "commit", "-qm", "All of it")
    assert "no part '## 9.8.7 (YYYY-MM-DD)'" in release(sources, "v9.8.7", tmp_path / "none").stderr

    log, plugin = sources / "CHANGELOG.md", sources / PLUGIN
    log.write_text(
        re.sub(
            r"## Unreleased\n.*?(?=^## |\Z)",
            "## Unreleased\n\n",
            log.read_text(),
            flags=re.M | re.S,
        )
    )
    for file in (sources / "changelog.d").iterdir():
        if file.name != "README.md":
            file.unlink()
    (sources / "changelog.d/first.md").write_text("- Now.\n  On two lines.\n")
    (sources / "changelog.d/second.md").write_text("### Security\n\n- Safe.\n")
    subprocess.run([sys.executable, sources / ".ci/changelog", "9.8.7", "2026-11-24"], check=True)
    section = "## Unreleased\n\n## 9.8.7 (2026-11-24)\n\n- Now.\n  On two lines.\n\n### Security\n\n- Safe.\n"
    assert section in log.read_text()
    assert os.listdir(sources / "changelog.d") == ["README.md"]
    assert (
        "states another version than 9.8.7" in release(sources, "v9.8.7", tmp_path / "none").stderr
    )

    plugin.write_text(json.dumps(json.loads(plugin.read_text()) | {"version": "9.8.7"}))
    git(sources, "commit", "-qam", "Release 9.8.7")
    git(sources, "tag", "-am", "9.8.7", "v9.8.7")
    done = release(sources, "v9.8.7", tmp_path / "dist")
    assert (done.returncode, done.stdout.startswith("- Now.")) == (0, True), done.stderr
    assert sorted(os.listdir(tmp_path / "dist")) == [
        "ai_lessons-9.8.7-py3-none-any.whl",
        "ai_lessons-9.8.7.tar.gz",
    ]

    server = json.loads((tmp_path / "dist-listed/server.json").read_bytes())
    assert faults(server, "mcp-server") == []
    wheel = tmp_path / "dist/ai_lessons-9.8.7-py3-none-any.whl"
    (package,) = server["packages"]
    assert (package["version"], package["fileSha256"]) == (
        "9.8.7",
        hashlib.sha256(wheel.read_bytes()).hexdigest(),
    )
    with zipfile.ZipFile(tmp_path / "dist-listed/ai-lessons-9.8.7.mcpb") as bundle:
        packed = {name: bundle.read(name) for name in bundle.namelist()}
    assert sorted(packed) == [wheel.name, "manifest.json", "pyproject.toml", "server.py"]
    assert packed[wheel.name] == wheel.read_bytes()
    manifest, project = (
        json.loads(packed["manifest.json"]),
        tomllib.loads(packed["pyproject.toml"].decode()),
    )
    assert faults(manifest, "mcpb") == []
    assert (manifest["version"], project["tool"]["uv"]["sources"]["ai-lessons"]) == (
        "9.8.7",
        {"path": wheel.name},
    )

    git(sources, "commit", "-q", "--allow-empty", "-m", "One more")
    assert (
        "the tag v9.8.7 is not on this commit"
        in release(sources, "v9.8.7", tmp_path / "late").stderr
    )


def test_without_git_there_is_a_version_and_the_source_archive_keeps_the_one_it_was_made_with(
    sources: Path, tmp_path: Path
) -> None:
    plain = shutil.copytree(sources, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    for version in ("0.0", "4.5.6"):
        command = [sys.executable, "-m", "hatchling", "metadata", "version"]
        assert subprocess.check_output(command, cwd=plain, text=True) == f"{version}\n"
        (plain / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: ai-lessons\nVersion: 4.5.6\n")


def test_the_workflow_publishes_what_was_built_and_tested_without_a_password() -> None:
    text = (TOP / ".github/workflows/release.yml").read_text()
    workflow = yaml.load(text, yaml.BaseLoader)  # noqa: S506  # all values as text: `on` is no truth value
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert (workflow["permissions"], build["permissions"]) == ({}, {"contents": "read"})
    assert build["steps"][0]["with"]["fetch-depth"] == "0"
    runs = [step["run"] for step in build["steps"] if "run" in step]
    assert [one for one in runs if ".ci/" in one] == runs[:2]  # tests first
    assert all((TOP / name).exists() for name in re.findall(r"\.ci/\w+", " ".join(runs)))
    assert publish["needs"] == "build"
    assert publish["permissions"] == {
        "contents": "write",
        "id-token": "write",
        "attestations": "write",
    }
    uses = [step.get("uses", "").partition("@")[0] for step in publish["steps"]]
    assert uses.index("actions/attest-build-provenance") < uses.index("pypa/gh-action-pypi-publish")
    assert "secrets." not in text
