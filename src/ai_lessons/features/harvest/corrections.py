"""Which of what people said to agents is sure to hold longer.

Corrections, and what is no text of a program. Pure.

Sure is a correction of what the agent had just done, and what was said in two sessions in other
words. A task, a comment that is handed on, and a prompt that a program repeats with other names are
neither. `lessons.weight` says how much speaks for a prompt; this module looks at what the words
answer, and at who can have typed them.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from ai_lessons.model import expression, lessons

# Words of what is typed as a correction; a task is longer
_LONGEST = 80

_LEAD = r"(?:(?:hmm+|ok(?:ay)?|but|yeah|yes|well|sorry|wait|ah|oh|so|and)\b[\s,.!:-]*)*"
# A prompt that begins so answers what was there before: no task does.
_ANSWERS = expression(
    rf"(?i)\A{_LEAD}(?:no(?=[,.!:; ]|$)(?! (?:problem|worries))|nope\b|wrong\b|stop\b|don['\u2019]?t\b|do not\b"
    r"|never\b(?! ?mind)|from now on\b|(?:that|this|it)(?:['\u2019]s| is) (?:not|wrong)"
    r"|nein\b|nicht so\b|falsch\b|ab jetzt\b|non\b(?=[, ])|désormais\b|de ahora en adelante\b|no,|不要|不对|不是|别|错)"
)

# Said of the future, whatever was done before.
_FROM_NOW_ON = expression(
    rf"(?i)\A{_LEAD}(?:from now on|in (?:the )?future|going forward|ab jetzt|künftig|in zukunft|désormais|dorénavant"
    r"|de ahora en adelante|en adelante|以后|今后|从现在起)(?!\w)"
)

# Words that turn down what was done, or say what is done in its place.
_CORRECTS = expression(
    r"(?i)\b(?:instead|rather than|in place of|no longer|no need|on purpose|obsolete|revert|undo)\b"
    r"|\b(?:should|must|may)(?: not|n['\u2019]?t)\b|\bnot (?:correct|right|what|how|supposed|expected|needed)\b"
    r"|(?<!reason )(?<!if )\b(?:we|you) (?:only |just |really |also )?"
    r"(?:don['\u2019]?t|do not|never|can['\u2019]?t|cannot|won['\u2019]?t|aren['\u2019]?t|are not)\b"
    r"|(?:^|[.;!]\s+)(?:please )?(?:don['\u2019]?t|do not|never(?! ?mind))\b"
    # how it is done here; `do we want to` asks
    r"|(?<!do )(?<!can )(?<!if )(?<!think )\bwe (?:also |just |really |still )?"
    r"(?:should|must|always|prefer|want|need to (?:make sure|ensure))\b"
    r"|\b(?:as (?:an? )?(?:learning|rule|convention)|(?:claude|agents|gemini)[. ]md)\b"
    r"|\b(?:statt(?:dessen)?|anstatt|lieber|wir \w+(?: \w+)? nicht|niemals|nie|sondern|nicht mehr|rückgängig)\b"
    r"|\b(?:plutôt|au lieu d|à la place|ne \w+ (?:pas|plus|jamais)|n['\u2019]\w+ (?:pas|plus|jamais)|annule\w*)\b"
    r"|\b(?:en (?:lugar|vez) de|nunca|no (?:debemos|debes|usamos|uses|hay que)|ya no|deshaz\w*)\b"
    r"|而不是|不要|不用|不应|不能|别再|改成|改用|换成|撤销"
)

# Words of what holds for all, and of reasons.
_HOLDS = expression(
    r"(?i)\b(?:we|our|us|should|must|always|never|every\w*|any|all|only|both|each|because|since|so that|otherwise"
    r"|that['\u2019]s why|due to|the idea|in (?:the )?future|from now on|going forward|remember|next time|prefer\w*"
    r"|claude\.md|agents\.md|gemini\.md)\b"
    r"|\b(?:wir|uns|unser\w*|soll\w*|muss|müssen|immer|nie|niemals|jede\w*|alle\w*|nur|weil|denn|damit|sonst|künftig"
    r"|ab jetzt|merk\w*)\b"
    r"|\b(?:nous|notre|nos|doit|doivent|devons|il faut|toujours|jamais|chaque|tou(?:s|tes)|parce que|sinon|afin"
    r"|désormais)\b"
    r"|\b(?:nosotros|nuestr\w+|deb\w+|hay que|siempre|nunca|cada|tod[oa]s|sólo|porque|si no|para que|en adelante)\b"
    r"|我们|应该|必须|总是|每|所有|都|只|因为|否则|不然|以免|以后|今后|从现在起|记住"
)

_SPEAKS = expression(
    r"(?i)\b(?:i|i['\u2019](?:d|m|ll|ve)|me|my|we|we['\u2019]\w+|our|us|you|your|let['\u2019]?s|please"
    r"|ich|mir|mich|mein\w*|wir|uns|du|dein\w*|bitte|je|j['\u2019]\w+|mon|ma|mes|nous|notre|tu|ton|vous|yo|mi|nos|tú|usted"
    r"|\w+amos|\w+emos)\b|我|你|您|咱|请"
)
_OF_A_REVIEW = expression(
    r"(?i)\b(?:low|medium|high|critical) severity\b|\bconsider \w+ing\b|\bfeedback:"
)
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")


def corrects(text: str, edits: int, *, acted: bool) -> bool:
    """Whether it surely corrects what the agent had just done, for longer.

    `edits` were made before the next prompt. `acted`: since the prompt before it the agent edited a
    file, ran a command, or was stopped by the person. Words that begin with the future, as `from
    now on` does, need nothing to answer.

    >>> no = "No, we never edit a merged migration, because it ran in production: add one"
    >>> corrects(no, 1, acted=True), corrects(no, 1, acted=False)
    (True, False)
    >>> corrects("From now on we always use tabs here, never spaces", 0, acted=False)
    True
    """
    is_stated = _FROM_NOW_ON.search(_typed(text)) is not None
    # Weight from which a correction is sure.  Of 794 labelled prompts of one person 17 pass, 10 of
    # them rightly. At 2.0 the share is the same on other people's prompts, which are fewer then.
    if not (acted or is_stated) or lessons.weight(text, edits) < 1.6:
        return False
    return may_hold(text)


def may_hold(text: str) -> bool:
    """Whether a person typed it, it turns something down or says how it is done here, for longer."""
    words = _typed(text)
    turns_down = _ANSWERS.search(words) or _CORRECTS.search(words)
    if not turns_down or not _HOLDS.search(words):
        return False
    return not is_handed_on(text)


def is_handed_on(text: str) -> bool:
    """Whether another wrote it: a comment of a review, a page, a task.

    Or a person typed more than a correction.
    """
    if lessons.is_pasted(text) or _OF_A_REVIEW.search(_typed(text)):
        return True
    return is_task(text)


def is_task(text: str) -> bool:
    """Whether it is longer than a remark, or names neither its writer nor its reader."""
    words = _typed(text)
    number = len(words.split())
    if number > _LONGEST:
        return True
    # Words from which a text that names neither its writer nor its reader was written for others
    return number >= 25 and not _SPEAKS.search(words)


def is_repeated(text: str, other: str) -> bool:
    """Whether a program may have written both.

    They are one text with other names, and no answer to an agent.

    >>> fix = "Fix tests/a.py, and never change other tests"
    >>> is_repeated(fix, fix.replace("a.py", "b.py"))
    True
    >>> is_repeated("No, never commit to main", "No, never commit to main!")
    False
    """
    if _ANSWERS.search(text) and _ANSWERS.search(other):
        return False
    matcher = SequenceMatcher(None, _words(text), _words(other), autojunk=False)
    # Share of common words, in their order, from which two prompts are one text with other names
    return matcher.ratio() >= 0.8


def _words(text: str) -> list[str]:
    """The first words of a text."""
    return re.findall(r"\w+", text.lower())[: 2 * _LONGEST]


def _typed(text: str) -> str:
    """What a person may have typed: the beginning, without blocks of code."""
    return _FENCE.sub(" ", text)[:2000]
