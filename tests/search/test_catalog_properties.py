"""Whatever is done to the files, a refreshed catalog says what one made from nothing says."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from search.catalog_world import A, B, C, World, everything, lesson

PATHS = st.sampled_from(
    [
        "p/lessons/a.md", "p/lessons/2026-11/b.md", "p/rules/r.md", "p/docs/1.0/d.md", "p/docs/d.txt",
        "p/scripts/run.sh", "p/scripts/run.sh.md", "p/scripts/run.sh.md.md", "q/lessons/a.md", "notes/plain.md",
        "root.md", "notes/image.png",
    ]
)  # fmt: skip
ALIKE = "01JD3Z8QK5W7M2X9V4XX8F3K2A"
"""Ends like A, so that both need longer handles."""
TEXTS = st.sampled_from(
    [
        lesson(A, "One"),
        lesson(A, "Two"),  # of the same size
        lesson(A, "Tagged", extra=f"tags:\n  - x\n  - y\nversions:\n  - '1.0'\nlinks:\n  - related_to: {B}\n"),
        lesson(ALIKE, "Alike"),
        lesson(B, "A rule", kind="rule", extra="rationale: because\n"),
        lesson(B, "A doc", kind="doc"),
        lesson(C, "A script", kind="script", extra="path: /opt/run.sh\n"),
        lesson(C, "Wrong", extra="status: wrong\n"),
        "# Plain\n\nText.\n",
        "---\ntitle: [\n---\n",
        "\x00",
        "",
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.sampled_from(["delete", "touch", "chmod", "set back", "link"]), PATHS),
    st.tuples(st.sampled_from(["refresh", "refresh later", "reopen"])),
)


def _file(step: Callable[[Path], object]) -> Callable[[World, str], None]:
    def act(world: World, path: str) -> None:
        file = world.root / path
        if file.is_file():
            step(file)

    return act


def _rename(world: World, old: str, new: str) -> None:
    target = world.root / new
    target.parent.mkdir(parents=True, exist_ok=True)
    if (world.root / old).is_file():
        (world.root / old).rename(target)


def _link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/etc/hostname")


def _later(world: World) -> None:
    time.sleep(0.01)  # what was written so far is really older than what comes: a tick of the file system's clock
    world.ahead += 10_000_000_000
    world.refresh()


ACTIONS: dict[str, Callable[..., object]] = {
    "write": lambda world, path, text: (
        [world.root.joinpath(path).unlink(missing_ok=True), world.write(path, text)]
        if world.root.joinpath(path).is_symlink()
        else world.write(path, text)
    ),
    "rename": _rename,
    "delete": _file(lambda file: file.unlink()),
    "touch": _file(os.utime),
    "chmod": _file(lambda file: file.chmod(file.stat().st_mode ^ 0o100)),
    "set back": _file(lambda file: os.utime(file, ns=(1_000_000_000, 1_000_000_000))),
    "link": _file(_link),
    "refresh": lambda world: world.refresh(),
    "refresh later": _later,
    "reopen": lambda world: world.reopen(),
}


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=25))
def test_a_refreshed_catalog_equals_one_made_from_nothing(steps: list[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        for action, *arguments in steps:
            ACTIONS[action](world, *arguments)
        world.refresh()
        with World(Path(folder), catalog=Path(folder) / "fresh.sqlite") as fresh:
            fresh.refresh()
            assert everything(world.catalog) == everything(fresh.catalog)
