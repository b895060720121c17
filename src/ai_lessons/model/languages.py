"""The language that a text seems to be in, and the stems of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, NamedTuple

_FREQUENT = {
    "english": (
        "the of and to in is it that for on with as are be by from this or an at not can how "
        "do what you if"
    ),
    "german": "der die das und ist nicht ein eine einen einem einer dem den des mit von zu zum zur auf für im in an am "
    "sich auch wird werden oder wenn wie als aus bei nach sind kann man ich es vor nur durch über was warum so",
    "french": "le la les des un une et est dans pour que qui sur pas avec par du au ce il ne se plus sont être aux "
    "cette vous de en ou je nous",
    "spanish": (
        "el la los las de del en que un una por con para es se no al lo como más su está son "
        "esta pero cómo"
    ),
    "italian": (
        "il lo la gli le di del della delle che un una per con non in si da al nel sono come "
        "più dei alla come"
    ),
    "portuguese": "as de da dos das em que um uma para não por se no na mais ou como ao são é como",
    "dutch": (
        "de het een en van in is dat op te zijn met voor niet aan er om ook als bij of kan "
        "worden naar uit die"
    ),
    "swedish": (
        "och att det på är som för av med den till inte om ett har kan eller du från de vid när hur"
    ),
    "norwegian": (
        "og at det på er som for af av med den til ikke om et har kan eller du fra de ved når "
        "skal hvordan"
    ),
    "finnish": "ja ei se että tai kun ovat joka sekä voi mutta kuin jos niin myös sen ole tämä",
    "hungarian": "és hogy nem is egy van meg ha vagy de mint csak ez azt ki már",
    "romanian": "și de la în cu pe un nu este se din care pentru sau mai ce sunt fi să",
    "turkish": "ve bir bu için ile da de olarak daha çok gibi olan ya veya değil her kadar",
    "polish": "na do nie się jest to że jak od za po dla przez lub są tego oraz może jako",
    "czech": "na se je že do to od za po pro jako jsou nebo pokud při která který ve není",
}


LANGUAGES = (*list(_FREQUENT)[1:], "other")
# Languages that write words together in which others leave a blank.
JOINING = frozenset({"german", "dutch", "swedish", "norwegian"})


# First and last letter of the scripts that Snowball knows, besides the Latin one.
_SCRIPTS = {
    "russian": ("\u0400", "\u052f"), "arabic": ("\u0600", "\u077f"), "greek": ("\u0370", "\u03ff"),
    "tamil": ("\u0b80", "\u0bff"),
}  # fmt: skip


class LanguageLimits(NamedTuple):
    """Characters of a text and of its words by which a language is told."""

    # Characters that tell the language of a text
    sample: int = 2000
    # Letters that stand for all forms of a word, in languages of which no endings are known
    prefix: int = 5
    # Signs of a word that has forms; no language writes longer ones
    longest_word: int = 100


SAMPLES = LanguageLimits()

# The stem of light10 (Larkey and others, 2002).
# Snowball leaves `and the` before a word and the plural after it.
_ARABIC = (
    "(?:(?:\u0648?(?:[\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)|\u0648)(?=\\w{3}))?(\\w{2,}?)"
    "(?:\u0647\u0627|\u0627[\u0646\u062a]|[\u0648\u064a]\u0646|\u064a[\u0647\u0629]|[\u0647\u0629\u064a])*"
)


# The root of an Arabic word.
# What stands between the letters that may be added before and behind it.
_ROOT = (
    "[\u0623\u0627\u0628\u062a\u0633\u0641\u0643\u0644\u0645\u0646\u0648\u064a]*(?=\\w{3})"
    "(\\w{3,}?)[\u0627\u0629\u062a\u0643\u0645\u0646\u0647\u0648\u064a]*"
)


@cache
def _languages_of() -> Mapping[str, frozenset[str]]:
    """The languages in which a word is frequent."""
    words: dict[str, set[str]] = {}
    for language, frequent in _FREQUENT.items():
        for word in frequent.split():
            words.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in words.items()}


def languages(text: str) -> tuple[str, ...]:
    """The languages but English in which a text in Latin letters seems to be.

    By two of its frequent words or more.
    """
    languages_of = _languages_of()
    words = set(re.findall(r"[^\W\d_]{2,}", text[: SAMPLES.sample].lower()))
    counts = Counter(language for word in words for language in languages_of.get(word, ()))
    english, most = counts.pop("english", 0), max(counts.values(), default=0)
    if most > max(english, 1):
        languages = []
        for name in LANGUAGES:
            if counts[name] == most:
                languages.append(name)
        return tuple(languages)
    if english or not re.search("[\u00c0-\u024f\u1e00-\u1eff]", text[: SAMPLES.sample]):
        return ()
    return ("other",)


def language_of(question: str) -> str:
    """The language of a question, English where nothing tells it."""
    return next(iter(languages(question)), "english")


def is_english(text: str) -> bool:
    """Whether a text seems to be English.

    Most letters are Latin, and no other language's words are frequent.
    """
    letters = []
    for letter in text[: SAMPLES.sample]:
        if letter.isalpha():
            letters.append(letter)
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters) and not languages(text)


def is_frequent(word: str, language: str) -> bool:
    """Whether a word is so frequent in a language that it tells nothing."""
    return language in _languages_of().get(word, ())


def is_frequent_anywhere(word: str) -> bool:
    """Whether a word is so frequent in any language that it tells nothing."""
    return word in _languages_of()


def script_language(word: str) -> str:
    """The language that stands for the script of a word.

    Empty for Latin letters, which many share.
    """
    letter = word[0]
    if letter < "\u0250" or "\u1e00" <= letter < "\u1f00":
        return ""
    return next(
        (name for name, (first, last) in _SCRIPTS.items() if first <= letter <= last), "other"
    )


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str = "english") -> str:
    """The part that the forms of a word in lower case have in common.

    By Snowball, else its first letters.

    `language` is that of words in Latin letters; the script tells that of others.
    """
    if len(word) > SAMPLES.longest_word:
        return word[: SAMPLES.longest_word]
    language = script_language(word) or language
    if language == "arabic" and (summary := re.fullmatch(_ARABIC, word)):
        return summary[1]
    stemmer = _stemmer(language)
    if stemmer:
        return str(stemmer.stem_word(word))
    return word[: SAMPLES.prefix]


def kernel(word: str, language: str) -> str:
    """What is left of the forms that a stem keeps apart: its first letters.

    In Arabic, the letters of the root.
    """
    base = stem(word, language)
    root = None
    if script_language(word) == "arabic":
        root = re.fullmatch(_ROOT, base[: SAMPLES.longest_word])
    if root:
        return root[1]
    return base[: SAMPLES.prefix]


@cache
def _stemmer(language: str) -> Any:
    from py_rust_stemmers import SnowballStemmer  # type: ignore[import-untyped]  # noqa: PLC0415  # a list needs none

    try:
        return SnowballStemmer(language)
    except ValueError:
        # not a language of Snowball
        return None
