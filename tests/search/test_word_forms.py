# ruff: noqa: RUF001 - texts in many scripts
"""Every form of a word finds the text that holds another one, in every script; English is as it was."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from ai_lessons.model.entries import Filter
from ai_lessons.model.languages import is_english, languages, stem
from ai_lessons.search.answer_chance import BAR, KIN, MEASURED, chance, shares
from ai_lessons.search.embedding import readable
from ai_lessons.search.rows import Candidates, Match
from ai_lessons.search.table import stored_words
from ai_lessons.search.tokens import with_parts
from search.index_world import World, entry

TEXTS = {
    "de": "Die Datenbanksicherung wird jede Nacht auf den Server kopiert, und die Häuser werden nicht geheizt.",
    "fr": "Les serveurs sont redémarrés dans la nuit, et la sauvegarde est copiée sur les disques.",
    "es": "La configuración de los servidores se copia por la noche en una de las máquinas.",
    "pt": "As opções do servidor são lidas quando ele é iniciado, e não por uma tarefa.",
    "ru": "Каждую ночь резервные копии серверов записываются на новые диски.",
    "ar": "تنسخ الخوادم والملفات كل ليلة إلى القرص الجديد",
    "el": "Οι διακομιστές αντιγράφονται κάθε νύχτα στους δίσκους",
    "pl": "Kopie zapasowe serwerów są zapisywane na dyskach, ale nie przez użytkowników.",
    "he": "השרתים מגובים בכל לילה",
    "zh": "部署之前必须先备份数据库，否则无法回滚。",
    "th": "ต้องสำรองฐานข้อมูลก่อนปรับใช้ระบบใหม่",
    "mixed": "The following pages are not yet translated, and this is the first of them.\n\n"
    "Der Prüfer signiert das Paket, und es wird nicht verändert.",
    "en": "The servers are copied to other disks at night, and a backup of the database is kept.",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    with ExitStack() as closing:
        made = closing.enter_context(World(Path(tmp_path_factory.mktemp("forms"))))
        made.put(*(entry(name, text, title=f"{name}1") for name, text in TEXTS.items()))
        made.refresh(seconds=0)
        return made


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Haus", "de"), ("Sicherungen", "de"), ("Datenbanken", "de"),
        ("Wie oft kopiere ich die Datenbank auf einen Rechner", "de"), ("signieren", "mixed"),
        ("redémarrer un serveur", "fr"), ("configuraciones", "es"), ("iniciar tarefas", "pt"),
        ("запись новой резервной копии", "ru"), ("الملف", "ar"), ("وملف", "ar"), ("سينسخها", "ar"),
        ("διακομιστής", "el"), ("użytkownik", "pl"), ("备份", "zh"), ("ฐานข้อมูล", "th"), ("copying a disk", "en"),
    ],
)  # fmt: skip
def test_another_form_of_a_word_finds_the_text(world: World, question: str, expected: str) -> None:
    assert world.found(question)[:1] == [expected]


def test_a_word_of_many_languages_finds_the_texts_of_all(world: World) -> None:
    assert set(world.found("Server")[:2]) == {"de", "en"}


def test_a_phrase_is_found_as_it_was_written(world: World) -> None:
    asked = Filter(phrases=("jede Nacht auf den Server",))
    assert world.found("jede Nacht auf den Server", asked) == ["de"]
    assert (
        world.found("jede Nächte auf dem Server", Filter(phrases=("jede Nächte auf dem Server",)))
        == []
    )


@pytest.mark.parametrize(
    "text", [TEXTS["en"], "git rebase --onto", "A café in the naïve style of an old house"]
)
def test_english_is_stored_as_it_was(text: str) -> None:
    assert stored_words(text, languages(text)) == with_parts(text)
    assert is_english(text)


def test_names_stay_whole_in_texts_of_other_languages() -> None:
    stored = stored_words(
        "Das ist utf8 und snake_case in der Datei config2 von log4j", ("german",)
    ).split()
    assert {"utf8", "snake_case", "config2", "log4j", "datei0f0"} <= set(stored)


@pytest.mark.parametrize("name", ["de", "fr", "es", "pt", "ru", "ar", "el", "pl", "he", "zh", "th"])
def test_another_language_is_noticed(name: str) -> None:
    assert not is_english(TEXTS[name])


def test_a_judge_compares_words_without_their_endings_and_by_stem_and_beginning() -> None:
    def stored(question: str, text: str) -> float:
        return shares(
            question, [Candidates(text=(Match("a", 0, 1.0, text=text),))], lambda hit: hit.text
        ).stored

    assert stored("rotated keys", "Rotate the key") == 1.0
    assert stem("authenticate") == stem("authentication")
    assert stored("how do I authenticate", "Authentication") == (1 + KIN) / 2
    assert stored("authenticate a teapot", "Authentication") == KIN / 2
    assert stored("wie sichere ich die Datenbanken", "Die Datenbank wird gesichert") >= 0.5
    assert stored("where is the config", "Configuration files") == KIN
    assert stored("the port", "A portable house") == KIN < stored("the port", "Ports") == 1.0
    assert stored("the author", "Authentication") == 0.0
    assert stored("الملف", "والملفات") == 1.0


@pytest.mark.parametrize("vectors", [True, False])
def test_one_word_in_another_form_is_near_in_a_small_repository(vectors: bool) -> None:
    hits = (Match("auth", 0, 0.7, text="Authentication"),)
    asked = Candidates(hits, hits if vectors else (), model=min(MEASURED))
    assert (
        chance("how do I authenticate", [asked], 20, lambda hit: hit.text, complete=True)[0].best
        >= BAR
    )


def test_each_entry_has_a_chance_of_its_own() -> None:
    hits = (
        Match("whole", 0, 0.72, text="Rotated signing keys of release servers"),
        Match("half", 0, 0.72, text="The release server"),
    )
    for asked in (Candidates(hits, hits, model=min(MEASURED)), Candidates(hits)):
        (near,) = chance(
            "rotate signing keys of a release server",
            [asked],
            20,
            lambda hit: hit.text,
            complete=True,
        )
        assert near.best == near.of["whole"] > near.of["half"] > 0


def test_a_model_of_english_reads_english() -> None:
    assert readable("how do I authenticate", ["how", "do", "i", "authenticate"]) == 1.0
    german = ["da", "##ten", "##ban", "##ks", "##iche", "##rung"]
    assert readable("Datenbanksicherung", german) < 1.0
    assert readable("und die Datenbanksicherung", ["und", "die", *german]) < readable(
        "Datenbanksicherung", german
    )
    assert readable("сервер", ["с", "##е", "##р", "##в"]) == readable("备份", ["[UNK]"]) == 0.0
    assert readable("404", ["404"]) == 1.0
