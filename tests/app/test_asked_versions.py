"""Versions as people ask for them, and a page that is stored in several of them."""

import pytest

from ai_lessons.app import entries
from ai_lessons.errors import NotFound
from ai_lessons.model.entries import Kind
from app.world import World


@pytest.fixture
def shop(world: World) -> World:
    """Two pages of nodejs in three versions, one of another project, one without any."""
    for version in ("22.14.0", "22.9.0", "20.1.0"):
        for page in ("streams", "buffers"):
            text = (
                f"---\nkind: doc\ntitle: {page}\nversions: [{version}]\n---\nHow winemaking uses {page} of {version}.\n"
            )
            world.write(f"nodejs/docs/{version}/api/{page}.md", text)
    world.write(
        "etcd/docs/3.5/leases.md", "---\nkind: doc\ntitle: Leases\nversions: ['3.5']\n---\nWinemaking leases.\n"
    )
    world.write("notes/docs/unversioned/any.md", "---\nkind: doc\ntitle: Any\n---\nAbout winemaking.\n")
    return world


def of_nodejs(world: World, text: str = "winemaking", **more: object) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (hit.entry.title, hit.entry.versions)
        for hit in world.search(text, **more).docs
        if hit.entry.project == "nodejs"
    ]


def test_of_versions_that_say_the_same_the_newest_is_shown(world: World) -> None:
    for version in ("2.9", "2.16", "2.14"):
        head = f"---\nkind: doc\ntitle: Leases\nversions: ['{version}']\n---\n"
        world.write(f"etcd/docs/{version}/leases.md", f"{head}How leases of winemaking end.\n")
    (hit,) = world.search("leases of winemaking").docs
    assert (hit.entry.versions, hit.also_in) == (("2.16",), ("2.14", "2.9"))


def test_the_versions_of_a_page_are_one_result(shop: World) -> None:
    hits = [hit for hit in shop.search("winemaking streams").docs if hit.entry.project == "nodejs"]
    assert sorted(hit.entry.title for hit in hits) == ["buffers", "streams"]
    for hit in hits:
        assert sorted((*hit.also_in, *hit.entry.versions)) == ["20.1.0", "22.14.0", "22.9.0"]
        assert list(hit.also_in) == sorted(hit.also_in, key=lambda name: -float(name.rpartition(".")[0]))


@pytest.mark.parametrize(
    ("asked", "taken"),
    [("22.14.3", "22.14.0"), ("22.10", "22.9.0"), ("v22", "22.14.0"), ("20", "20.1.0"), ("latest", "22.14.0")],
)
def test_the_nearest_stored_version_stands_in_and_a_note_says_so(shop: World, asked: str, taken: str) -> None:
    answer = shop.search("winemaking streams", versions=[asked], project="nodejs")
    assert {hit.entry.versions for hit in answer.docs} == {(taken,)}
    assert [note for note in answer.notes if f"the nearest is taken, {taken} for {asked}" in note]


def test_ranges_are_sets_and_need_nothing_nearest(shop: World) -> None:
    answer = shop.search("winemaking streams", versions=["^22"], project="nodejs")
    assert {hit.entry.versions for hit in answer.docs} <= {("22.14.0",), ("22.9.0",)}
    assert not [note for note in answer.notes if "nearest" in note]


def test_where_no_version_fits_the_answer_names_those_that_there_are(shop: World) -> None:
    notes = " ".join(shop.search("winemaking", versions=["19"], project="nodejs").notes)
    assert "nothing is stored at version 19; nodejs has 22.14.0, 22.9.0, 20.1.0" in notes
    notes = " ".join(shop.search("winemaking", project="nodjs").notes)
    assert "no project 'nodjs'; did you mean project nodejs (versions 22.14.0, 22.9.0, 20.1.0)" in notes
    notes = " ".join(shop.search("winemaking", versions=["2"], project="notes").notes)
    assert "nothing is stored at version 2" not in notes  # what states no version fits every one


def test_a_version_in_the_question_counts_like_the_option(shop: World) -> None:
    assert {versions for _, versions in of_nodejs(shop, "winemaking in nodejs 20.1.0")} == {("20.1.0",)}
    assert {versions for _, versions in of_nodejs(shop, "winemaking in nodejs@22.9")} == {("22.9.0",)}
    assert {versions for _, versions in of_nodejs(shop, "winemaking in 20.1.0", project="nodejs")} == {("20.1.0",)}
    assert "Leases" in shop.found("winemaking leases in nodejs 20.1.0")


@pytest.mark.parametrize("words", ["in 20.1.0", "with v20.1", "of version 20.x", "v20.1.0 and streams", "from v20.0"])
def test_so_it_does_where_one_project_has_it_and_none_is_named(shop: World, words: str) -> None:
    assert {versions for _, versions in of_nodejs(shop, f"winemaking {words}")} == {("20.1.0",)}
    assert "Leases" in shop.found(f"winemaking leases {words}")


@pytest.mark.parametrize("words", ["for 20.5 hours", "TLS 20.1.0", "20 streams", "in 20 streams", "nodejs-like 20.1.0"])
def test_a_number_that_no_version_is_asks_for_none(shop: World, words: str) -> None:
    found = [hit for hit in shop.search(f"winemaking {words}").docs if hit.entry.project == "nodejs"]
    assert [len(hit.also_in) for hit in found] == [2, 2]


def test_the_version_that_the_code_around_pins_is_taken_by_default(shop: World) -> None:
    code = shop.options.cwd
    code.mkdir(parents=True, exist_ok=True)
    (code / "requirements.txt").write_text("etcd==9.0\nnodejs==20.1.0\n")
    shop.fresh()
    assert {versions for _, versions in of_nodejs(shop)} == {("20.1.0",)}
    assert "Leases" in shop.found("winemaking leases")  # nothing is stored of what is pinned: that hides nothing


def test_versions_are_listed_newest_first_and_by_project(shop: World) -> None:
    assert [one.name for one in entries.versions(shop.library)] == ["22.14.0", "22.9.0", "20.1.0", "3.5", "unversioned"]
    assert [one.name for one in entries.versions(shop.library, "etcd")] == ["3.5"]
    with pytest.raises(NotFound, match="nowhere"):
        entries.versions(shop.library, "nowhere")


def test_groups_stand_in_the_order_of_their_best_match(world: World) -> None:
    world.add("Grafting", "How to graft apple trees onto old roots.", project="p")
    world.write("p/docs/unversioned/wine.md", "# Winemaking\n\nAbout winemaking, casks and corks.\n")
    assert next(iter(world.search("winemaking casks corks").groups)) is Kind.DOC
    assert next(iter(world.search("graft apple trees").groups)) is Kind.LESSON


def test_a_long_traceback_is_asked_by_its_error(world: World) -> None:
    world.add("Pool exhausted", "PoolTimeoutError means that connections leak.", project="p")
    world.add("Frames", "Frames in a file of a module in a line of site packages.", project="p")
    frames = "\n".join(f'  File "/usr/lib/module{n}.py", line {n}, in frame' for n in range(40))
    text = f"Traceback (most recent call last):\n{frames}\nPoolTimeoutError: no connection within 30 s"
    assert world.found(text, plain=True)[0] == "Pool exhausted"
