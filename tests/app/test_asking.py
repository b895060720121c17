"""What a line of search may say: phrases, filters, versions, what is in use; and that a score can be explained."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_lessons.app import entries
from ai_lessons.app.answers import ContextQuery
from ai_lessons.errors import NotFound, UsageError
from ai_lessons.model.entries import Kind
from ai_lessons.telling import context
from app.world import OTHER, SCRIPT, CountingEmbedder, World, lesson

TEXT = "About winemaking.\n"


def doc(title: str, *versions: str, text: str = TEXT, tags: str = "[]") -> str:
    listed = "".join(f'\n  - "{version}"' for version in versions)
    return f"---\nkind: doc\ntitle: {title}\nversions:{listed or ' []'}\ntags: {tags}\n---\n{text}"


@pytest.fixture
def cellar(world: World) -> World:
    """Entries of three projects that differ in everything but their text."""
    world.write("a/lessons/l.md", lesson(title="Lesson", body=TEXT, tags="[red, dry]"))
    world.write("b/lessons/l.md", lesson(OTHER, "Other lesson", TEXT, tags="[red]"))
    world.write("a/docs/v1/one.md", doc("One", "v1"))
    world.write("a/docs/shared/both.md", doc("Both", "v1", "v2.0"))
    world.write("a/docs/unversioned/any.md", doc("Any"))
    world.write("b/docs/1.4.2/exact.md", doc("Exact", "1.4.2"))
    world.write("b/docs/range/range.md", doc("Range", ">=1.4 <2"))
    world.write("c/scripts/v2/go.sh", "#!/bin/sh\n# About winemaking.\n")
    world.write(
        "c/scripts/v2/go.sh.md",
        f"---\nid: {SCRIPT}\nkind: script\ntitle: Script\nversions: [v2]\n---\n{TEXT}",
    )
    return world


FILTERS: list[tuple[str, set[str] | None]] = [
    ("winemaking kind:lesson", {"Lesson", "Other lesson"}), ("winemaking type:docs project:b", {"Exact", "Range"}),
    ("winemaking tag:red", {"Lesson", "Other lesson"}), ("winemaking tag:red,dry", {"Lesson"}),
    ("winemaking kind:doc,script version:v2", {"Any", "Both", "Script"}),
    ("winemaking kind:doc version:1", {"One", "Both", "Any"}),
    ("winemaking kind:doc version:1.4.2", {"Exact", "Range", "Any"}),
    ("winemaking kind:doc version:1.x", {"One", "Both", "Exact", "Range", "Any"}),
    ("winemaking kind:doc version:>=1.5 <1.9", {"Range", "Any"}),
    ("winemaking kind:doc version:unversioned", {"Any"}), ('winemaking kind:doc version:"^3"', {"Any"}),
    ("tag:red", {"Lesson", "Other lesson"}), ("kind:doc project:a version:v1", {"One", "Both", "Any"}),
    ("project:a version:v2", {"Both", "Any"}), ("tag:nowhere", set()),
    ('"about winemaking" kind:lesson', {"Lesson", "Other lesson"}), ('"winemaking about"', set()),
    ('"winemaking about" kind:lesson', set()),
    ('"winemaking about" kind:lesson anything', {"Lesson", "Other lesson"}), ("nothing:of the:sort winemaking", None),
]  # fmt: skip


def test_filters_and_phrases_in_the_query(cellar: World) -> None:
    for query, titles in FILTERS:
        found = cellar.found(query, limit=20)
        assert set(found) == titles if titles is not None else len(found) == 8, query
        assert cellar.search(query).query == query


def test_filters_of_the_query_and_of_the_call_hold_both(cellar: World) -> None:
    assert set(cellar.found("winemaking tag:dry", tags=["red"])) == {"Lesson"}
    docs = frozenset({Kind.DOC})
    assert set(cellar.found("winemaking version:v2", versions=["v1"], kinds=docs)) == {
        "One",
        "Both",
        "Any",
    }
    assert set(cellar.found("winemaking kind:doc,lesson", kinds=docs, project="b")) == {
        "Exact",
        "Range",
    }
    with pytest.raises(
        UsageError, match="lesson is asked for, and this search is for doc or script"
    ):
        cellar.found("winemaking kind:lesson", kinds=frozenset({Kind.DOC, Kind.SCRIPT}))
    with pytest.raises(UsageError, match="an entry lies in one project"):
        cellar.found("winemaking project:a", project="b")


def test_filters_alone_show_the_newest_first(cellar: World) -> None:
    cellar.add("Newest", "Words.", tags=["red"])
    answer = cellar.search("tag:red", limit=2, explain=True)
    assert [hit.entry.title for hit in answer.lessons] == ["Newest", "Other lesson"]
    assert [hit.factors["match"] for hit in answer.lessons] == [1.0, 1.0]


def test_scores_of_versions_as_the_design_has_them(cellar: World) -> None:
    hits = cellar.search("winemaking kind:doc", versions=["v1", "v2"], explain=True).docs
    assert {hit.entry.title: hit.factors["version"] for hit in hits} == {
        "Both": 1.0,
        "One": 0.85,
        "Any": 0.7,
    }
    hits = cellar.search("winemaking kind:doc version:1.4.2", explain=True).docs
    assert {hit.entry.title: hit.factors["version"] for hit in hits} == {
        "Exact": 1.0,
        "Range": 0.95,
        "Any": 0.7,
    }


def test_a_phrase_that_nothing_holds_does_not_empty_the_answer_to_a_sentence(cellar: World) -> None:
    answer = cellar.search('name "vin de pays" winemaking', every=True)
    assert len(answer.docs) == 5
    assert "nothing holds 'vin de pays' word by word: the words are looked for" in answer.notes
    assert not [
        note for note in cellar.search('name "about winemaking" it').notes if "word by word" in note
    ]


def test_the_snippet_of_a_phrase_stands_around_it(world: World) -> None:
    filler = "The workflow of statuses is long. " * 20
    world.write(
        "a/docs/one.md",
        doc("One", text=f"{filler}Then the *status* of\na workflow falls. {filler}"),
    )
    (hit,) = world.search('"status* of a workflow"').docs
    assert "Then the status of a workflow falls." in hit.entry.snippet
    assert len(hit.entry.snippet) <= 152


def test_text_of_somebody_is_no_syntax_when_context_is_asked_for(cellar: World) -> None:
    found = context.context(
        cellar.library,
        ContextQuery(query='winemaking lesson kind:doc "unheard of" project:a project:b'),
    )
    assert {summary.title for summary in found.lessons} == {"Lesson", "Other lesson"}


class TestInUse:
    def ask(
        self, cellar: World, query: str = "winemaking kind:doc version:auto", **more: object
    ) -> set[str]:
        answer = cellar.search(query, **more)
        self.notes = [note for note in answer.notes if "in use" in note]
        return {hit.entry.title for hit in answer.docs}

    def test_what_a_lock_file_says_is_asked_for(self, cellar: World) -> None:
        (cellar.options.cwd / "requirements.txt").write_text("b==1.4.2\nnot-here==9\n")
        assert self.ask(cellar, project="b") == {"Exact", "Range"}
        assert self.notes == ["versions in use: b 1.4.2 (requirements.txt)"]
        (cellar.options.cwd / "requirements.txt").write_text("b==1.5\n")
        assert self.ask(cellar, project="b") == {"Range"}
        assert self.ask(cellar, versions=["v1"]) == {"Range", "One", "Both", "Any"}, (
            "one that is named counts as well"
        )

    def test_every_project_has_its_own_and_others_have_all(self, cellar: World) -> None:
        (cellar.options.cwd / "requirements.txt").write_text("b==1.5\nA==2.0.7\n")
        assert self.ask(cellar) == {"Range", "Both", "Any"}
        assert self.notes == [
            "versions in use: A 2.0.7 (requirements.txt), b 1.5 (requirements.txt)"
        ]
        (hit,) = cellar.search("winemaking kind:script", versions=["auto"], explain=True).scripts
        assert hit.factors["version"] == 1.0

    def test_where_nothing_is_known_every_version_is_found_and_a_note_says_so(
        self, cellar: World
    ) -> None:
        assert self.ask(cellar, project="b") == {"Exact", "Range"}
        assert self.notes == [
            "versions in use: no lock or manifest file of the code you are in names one of 'b'"
        ]
        assert len(self.ask(cellar)) == 5
        assert self.notes[0].endswith("names one of any project here")

    def test_what_was_left_out_is_named_and_a_long_note_is_cut(self, cellar: World) -> None:
        for n in range(9):
            cellar.write(f"p{n}/docs/one.md", doc("P"))
        (cellar.options.cwd / "requirements.txt").write_text(
            "".join(f"p{n}==1.{n}\n" for n in range(9))
        )
        (cellar.options.cwd / "Cargo.lock").write_bytes(b" " * 8_400_000)
        self.ask(cellar)
        assert self.notes[0].endswith("p5 1.5 (requirements.txt) and 3 more")
        assert self.notes[1].startswith("left out for the versions in use: Cargo.lock")


tags = st.dictionaries(
    st.sampled_from(["red", "dry", "sec", "oak"]), st.none() | st.floats(0.5, 9), max_size=3
)
versions = st.lists(
    st.sampled_from(["v1", "v2", "1.x", ">=1.4 <2", "auto", "unversioned", "9"]), max_size=2
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=10
)
@given(
    context=tags,
    asked=versions,
    query=st.sampled_from(["winemaking", "tag:red", "about", '"about winemaking"', "One"]),
)
def test_the_product_of_the_factors_is_the_score(
    cellar: World,
    embedder: CountingEmbedder,
    context: dict[str, float | None],
    asked: list[str],
    query: str,
) -> None:
    cellar.write(".ai-lessons/config.yaml", "format: 1\ntag_aliases:\n  sec: dry\n")
    answer = cellar.search(query, context_tags=context, versions=asked, explain=True)
    hits = (*answer.rules, *answer.scripts, *answer.lessons, *answer.docs)
    for hit in hits:
        assert set(hit.factors) == {"match", "version", "context", "standing"}
        assert hit.entry.score == pytest.approx(min(math.prod(hit.factors.values()), 1))
        named = {"dry" if tag == "sec" else tag for tag in context}
        assert (hit.factors["context"] > 1) is not named.isdisjoint(hit.entry.tags)
    plain = cellar.search(query, context_tags=context, versions=asked)
    # the first search may have asked the table and this one compares in memory: the seventh digit may differ
    assert [hit.entry.id for hit in plain.docs] == [hit.entry.id for hit in answer.docs]
    assert [hit.entry.score for hit in plain.docs] == pytest.approx(
        [hit.entry.score for hit in answer.docs], rel=1e-5
    )
    assert all(hit.factors == {} for hit in plain.docs)


def test_context_tags_mean_the_same_under_all_their_names(cellar: World) -> None:
    cellar.write(".ai-lessons/config.yaml", "format: 1\ntag_aliases:\n  sec: dry\n")
    for name in ("dry", "sec"):
        hits = cellar.search(
            "winemaking kind:lesson", context_tags={name: 2.0}, explain=True
        ).lessons
        assert [hit.entry.title for hit in hits] == ["Lesson", "Other lesson"]
        assert hits[0].factors["context"] > hits[1].factors["context"] == 1.0
    (first, second) = cellar.search("winemaking kind:lesson", context_tags={"dry": 30.0}).lessons
    assert (first.entry.title, first.entry.score, second.entry.title) == (
        "Lesson",
        1.0,
        "Other lesson",
    )


# --- versions as people ask for them, and a page that is stored in several of them ---


@pytest.fixture
def shop(world: World) -> World:
    """Two pages of nodejs in three versions, one of another project, one without any."""
    for version in ("22.14.0", "22.9.0", "20.1.0"):
        for page in ("streams", "buffers"):
            text = f"How winemaking uses {page} of {version}.\n"
            world.write(f"nodejs/docs/{version}/api/{page}.md", doc(page, version, text=text))
    world.write("etcd/docs/3.5/leases.md", doc("Leases", "3.5", text="Winemaking leases.\n"))
    world.write("notes/docs/unversioned/any.md", doc("Any"))
    return world


def of_nodejs(world: World, text: str = "winemaking", **more: object) -> set[tuple[str, ...]]:
    """The versions of the pages of nodejs that are found."""
    return {
        hit.entry.versions
        for hit in world.search(text, **more).docs
        if hit.entry.project == "nodejs"
    }


def test_of_versions_that_say_the_same_the_newest_is_shown(world: World) -> None:
    for version in ("2.9", "2.16", "2.14"):
        world.write(
            f"etcd/docs/{version}/leases.md",
            doc("Leases", version, text="How leases of winemaking end.\n"),
        )
    (hit,) = world.search("leases of winemaking").docs
    assert (hit.entry.versions, hit.also_in) == (("2.16",), ("2.14", "2.9"))


def test_the_versions_of_a_page_are_one_result(shop: World) -> None:
    hits = [hit for hit in shop.search("winemaking uses").docs if hit.entry.project == "nodejs"]
    assert sorted(hit.entry.title for hit in hits) == ["buffers", "streams"]
    for hit in hits:
        assert sorted((*hit.also_in, *hit.entry.versions)) == ["20.1.0", "22.14.0", "22.9.0"]
        assert list(hit.also_in) == sorted(
            hit.also_in, key=lambda name: -float(name.rpartition(".")[0])
        )


NEAREST = {
    "22.14.3": "22.14.0",
    "22.10": "22.9.0",
    "v22": "22.14.0",
    "20": "20.1.0",
    "latest": "22.14.0",
}


def test_the_nearest_stored_version_stands_in_and_a_note_says_so_but_a_range_is_a_set(
    shop: World,
) -> None:
    for asked, taken in NEAREST.items():
        answer = shop.search("winemaking streams", versions=[asked], project="nodejs")
        assert {hit.entry.versions for hit in answer.docs} == {(taken,)}
        assert [
            note for note in answer.notes if f"the nearest is taken, {taken} for {asked}" in note
        ]
    answer = shop.search("winemaking streams", versions=["^22"], project="nodejs")
    assert {hit.entry.versions for hit in answer.docs} <= {("22.14.0",), ("22.9.0",)}
    assert not [note for note in answer.notes if "the nearest is" in note]


def test_where_no_version_fits_the_answer_names_those_that_there_are(shop: World) -> None:
    notes = " ".join(shop.search("winemaking", versions=["19"], project="nodejs").notes)
    assert "nothing is stored at version 19; nodejs has 22.14.0, 22.9.0, 20.1.0" in notes
    notes = " ".join(shop.search("winemaking", project="nodjs").notes)
    assert (
        "no project 'nodjs'; did you mean project nodejs (versions 22.14.0, 22.9.0, 20.1.0)"
        in notes
    )
    notes = " ".join(shop.search("winemaking", versions=["2"], project="notes").notes)
    assert "nothing is stored at version 2" not in notes  # what states no version fits every one


def test_a_version_in_the_question_counts_like_the_option(shop: World) -> None:
    assert of_nodejs(shop, "winemaking in nodejs 20.1.0") == {("20.1.0",)}
    assert of_nodejs(shop, "winemaking in nodejs@22.9") == {("22.9.0",)}
    assert of_nodejs(shop, "winemaking in 20.1.0", project="nodejs") == {("20.1.0",)}
    assert "Leases" in shop.found("winemaking leases in nodejs 20.1.0")
    for words in (
        "in 20.1.0",
        "with v20.1",
        "of version 20.x",
        "v20.1.0 and streams",
        "from v20.0",
    ):
        assert of_nodejs(shop, f"winemaking {words}") == {("20.1.0",)}, (
            "one project has it, and none is named"
        )
        assert "Leases" in shop.found(f"winemaking leases {words}")


def test_a_number_that_no_version_is_asks_for_none(shop: World) -> None:
    for words in ("for 20.5 hours", "TLS 20.1.0", "20 casks", "in 20 casks", "nodejs-like 20.1.0"):
        found = [
            hit for hit in shop.search(f"winemaking {words}").docs if hit.entry.project == "nodejs"
        ]
        assert [len(hit.also_in) for hit in found] == [2, 2], words


def test_the_version_that_the_code_around_pins_is_taken_by_default(shop: World) -> None:
    code = shop.options.cwd
    code.mkdir(parents=True, exist_ok=True)
    (code / "requirements.txt").write_text("etcd==9.0\nnodejs==20.1.0\n")
    shop.fresh()
    assert of_nodejs(shop) == {("20.1.0",)}
    assert "Leases" in shop.found(
        "winemaking leases"
    )  # nothing is stored of what is pinned: that hides nothing


def test_versions_are_listed_newest_first_and_by_project(shop: World) -> None:
    assert [one.name for one in entries.versions(shop.library)] == [
        "22.14.0",
        "22.9.0",
        "20.1.0",
        "3.5",
        "unversioned",
    ]
    assert [one.name for one in entries.versions(shop.library, "etcd")] == ["3.5"]
    with pytest.raises(NotFound, match="nowhere"):
        entries.versions(shop.library, "nowhere")


def test_groups_stand_in_the_order_of_their_best_match(world: World) -> None:
    world.add("Grafting", "How to graft apple trees onto old roots.", project="p")
    world.write(
        "p/docs/unversioned/wine.md", "# Winemaking\n\nAbout winemaking, casks and corks.\n"
    )
    assert next(iter(world.search("winemaking casks corks").groups)) is Kind.DOC
    assert next(iter(world.search("graft apple trees").groups)) is Kind.LESSON


def test_a_long_traceback_is_asked_by_its_error(world: World) -> None:
    world.add("Pool exhausted", "PoolTimeoutError means that connections leak.", project="p")
    world.add("Frames", "Frames in a file of a module in a line of site packages.", project="p")
    frames = "\n".join(f'  File "/usr/lib/module{n}.py", line {n}, in frame' for n in range(40))
    text = (
        f"Traceback (most recent call last):\n{frames}\nPoolTimeoutError: no connection within 30 s"
    )
    assert world.found(text, plain=True)[0] == "Pool exhausted"
