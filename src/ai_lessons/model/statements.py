"""What a person says to an agent that may hold beyond the session: how much speaks for it, by its words. Pure."""

from __future__ import annotations

import re
from functools import cache

from ai_lessons.model import expression

BAR = 1.2  # From which on what was said is quoted: of 877 labelled prompts it quotes 167, 35 % rightly
SURE_BAR = 2.2  # From which on the agent is asked for an entry
LONGEST = 400  # Characters of a quote

_CUES = (
    (1.2, "remember|keep in mind|from now on|going forward|in (?:the )?future|next time",
     ("merk(?:e)? dir|ab jetzt|künftig|in zukunft|désormais|à l['\u2019]avenir|retiens"
     "|recuerda|a partir de ahora|en adelante"),
     "记住|以后|今后|从现在起"),
    (0.6, "\\A(?:no(?=[,.!: ])|nope|don['\u2019]?t|do not|wrong|that['\u2019]?s (?:not|wrong)|actually|never|stop)",
     "\\A(?:nein|nicht|falsch|non|faux|ne|no|nunca)", "\\A(?:不|别|错)"),
    (0.7, "instead|rather|prefer\\w*|better|simply|in place of",
     "stattdessen|lieber|besser|statt|plutôt|à la place|mieux|en lugar de|en vez de|mejor|prefiero",
     "而不是|改成|改用|换成|最好|应该用"),
    (0.6, "we|our|us|ours", "wir|uns|unser\\w*|nous|notre|nos|nosotros|nuestr\\w+|\\w+(?:amos|emos)", "我们|咱们"),
    (0.6, "i (?:think|would|want|mean|like|doubt|prefer)|i['\u2019]d",
     "ich (?:denke|möchte|will|finde|hätte)|je (?:pense|veux|préfère|voudrais)|creo|quiero|pienso",
     "我觉得|我想|我认为|我希望|我要"),
    (0.5, "because|since|so that|otherwise|that['\u2019]s why|the idea|in case|due to|risk\\w*",
     "weil|denn|damit|sonst|deshalb|parce que|car|sinon|afin|pour que|porque|ya que|si no|para que",
     "因为|否则|不然|所以|以免"),
    (0.4, "remove|rename|keep|move|use|revert|drop|include|add",
     ("entfern\\w*|behalt\\w*|benutz\\w*|verwend\\w*|nimm|füg\\w*|supprim\\w*|gard\\w+|utilis\\w+|ajout\\w+|quita\\w*"
     "|elimin\\w+|usa\\w*|utili\\w+|añad\\w+|manten\\w*"),
     "使用|用|删除|保留|改名|加上|去掉"),
    (0.4, "should|must|have to|needs? to|supposed|make sure|ensure|expect(?:ed)?",
     "soll\\w*|muss|müssen|doit|doivent|devrai\\w+|il faut|deb\\w+|tiene que|hay que|asegúrate",
     "应该|必须|需要|要|务必|一定"),
    (0.4, "let['\u2019]?s|let (?:it|us)", "lass(?:t)? uns|vamos a", "让我们|咱们"),
    (0.3, ("don['\u2019]?t|do not|doesn['\u2019]?t|shouldn['\u2019]?t|can['\u2019]?t|cannot|won['\u2019]?t|never"
     "|no need|no longer|without"),
     "nicht|nie|niemals|kein\\w*|ohne|ne|pas|jamais|sans|nunca|jamás|sin|no",
     "不要|不能|别|从不|不用|禁止|不应"),
    (0.3, "always|every|any|all|everywhere|each|only|both|same|in general",
     ("immer|jede\\w*|alle\\w*|überall|nur|toujours|chaque|tou(?:s|tes)|partout|seulement"
     "|siempre|cada|tod[oa]s|sólo|solo"),
     "总是|每|所有|都|只"),
    (0.3, "but|hmm|actually", "aber|eigentlich|mais|pero", "但|其实"),
    (0.2, "why", "warum|wieso|pourquoi|por qué", "为什么"),
)  # fmt: skip
"""What each adds, once; by its words in English, in German, French or Spanish, and in Chinese, without blanks."""

_FEW, _SHORT, _LONG, _LINES, _TYPED = 6, 12, 80, 15, 150
_PASTED = expression(
    r"(?im)^\s*>|\b(?:feedback|review(?:er)?|comments?|copilot|coderabbit|bugbot) (?:said|says|wrote|from|on|in|for)\b"
    r"|\b(?:got|have|received) (?:this|the following|some) (?:feedback|review|comment)\b"
    r"|https?://\S+/(?:pull|merge_req\w*)/"
)
_QUOTES = expression(r"[\"“„«](?P<inner>[^\"”»]{80,})[\"”»]")
_FENCE = expression(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)")


@cache
def _patterns() -> tuple[tuple[float, re.Pattern[str]], ...]:
    return tuple(
        (adds, re.compile(rf"(?i)\b(?:{english}|{further})\b|{signs}")) for adds, english, further, signs in _CUES
    )


def weight(text: str, edits: int = 0) -> float:
    """How much speaks for it that a person states here what holds longer; `edits` were made before the next prompt.

    >>> weight("commit this") < BAR < weight("let's use `uv add` instead, because pip ignores the lock file", 1)
    True
    """
    words_only = _FENCE.sub(" ", text)
    words = len(words_only.split()) + len(re.findall("[\u3400-\u9fff]", words_only)) // 2
    total = 1.0 * (edits > 0) + 0.5 * (edits > 3)
    total += sum(adds for adds, pattern in _patterns() if pattern.search(words_only[:2000]))
    return (
        total
        - 0.8 * (words < _FEW)
        - 0.5 * (words < _SHORT)
        - 0.7 * (words > _LONG)
        - 0.6 * (text.count("\n") > _LINES)
    )


def stated(text: str) -> bool:
    """Whether a person seems to state something, whatever is edited after."""
    return weight(text) >= BAR - 1.0


_PRESCRIBES = expression(
    r"(?im)\b(?:must|should|shall|never|always|avoid|prefer|don['\u2019]?t|do not|only|instead of|rather than|required?"
    r"|forbidden|not allowed|nie(?:mals)?|immer|muss|müssen|soll(?:en|te)?|kein\w*|jamais|toujours|doit|il faut|nunca"
    r"|siempre|hay que|deb\w+)\b|必须|不要|禁止|应该|务必|总是"
    # a sentence or an item that begins with what to do
    r"|(?:^[\s>*+\d.-]*(?:\*\*)?|[.!?;:]\s+)(?:add|ask|assert|call|check|choose|commit|cover|create|declare|delete|document"
    r"|ensure|fix|follow|format|give|handle|import|include|install|keep|leave|limit|log|look|make|mark|mind|move|name|open|pass"
    r"|pin|push|put|raise|read|rebase|remove|rename|return|review|run|say|send|set|sort|split|squash|start|store|take|test"
    r"|treat|try|type|update|use|validate|verify|wait|wrap|write|nimm|nutze|schreib\w*|verwende|utilise[zr]?|usa|usar)\b"
)


def prescribes(text: str) -> bool:
    """Whether some sentence says what to do or to leave, and not only how things are.

    >>> prescribes("- Money is whole cents, never floats"), prescribes("The web layer talks to services.")
    (True, False)
    """
    return bool(_PRESCRIBES.search(text))


def is_pasted(text: str) -> bool:
    """Whether a person hands on what another wrote, such as a comment of a review or a page: nobody types so much."""
    return bool(_PASTED.search(text) or _QUOTES.search(text)) or len(text.split()) > _TYPED
