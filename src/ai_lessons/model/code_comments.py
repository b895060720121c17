"""Comments and texts in files of code, by the style of their languages: what is no code."""

from __future__ import annotations

import re
from functools import cache, lru_cache

# a quote behind a backslash begins no string, so that an unclosed one is looked at once
_STRINGS = (
    r"(?<!\\)\"(?:\\.|[^\"\\\n]){0,1000}\"|(?<!\\)'(?:\\.|[^'\\\n]){0,1000}'"
    r"|(?<!\\)`(?:(?s:\\.)|[^`\\])*(?:`|\Z)"
)


_SLASHES = r"(//[^\n]*|/\*(?:(?s:.*?)\*/|(?s:.*)))"
_LONG = r"(?s:\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z))"
# What is no code, by the sign of comments: group 1 are comments, else texts.
_NO_CODE = {
    "/": rf"{_SLASHES}|{_STRINGS}",
    "rs": rf"{_SLASHES}|(?<!\\)\"(?:\\.|[^\"\\]){{0,5000}}\"|'(?:\\[^'\n]{{1,10}}|[^'\\\n])'",
    "#": rf"(#[^\n]*)|{_LONG}|{_STRINGS}",
    " #": rf"(?m)((?:^|(?<=[\s;]))#[^\n]*)|{_LONG}|{_STRINGS}",
    "-": rf"(--[^\n]*)|{_STRINGS}",
    "keys": rf"(?m)((?:^|(?<=\s))#[^\n]*)|{_STRINGS}",
    "*": rf"(/\*(?s:.*?)(?:\*/|\Z))|{_STRINGS}",
    "<": r"(<!--(?s:.*?)(?:-->|\Z))",
    "": r"(?!)()",
}


_STYLES = {
    "#": ("py pyi rb sh bash zsh pl pm r ex exs jl nix tf cmake mk cfg ini conf env ps1 dockerfile makefile gemfile"),
    "-": "sql lua hs elm adb ads vhd",
    "keys": "toml json yaml yml lock", "rs": "rs",
}  # fmt: skip


_STYLE_OF = {suffix: style for style, suffixes in _STYLES.items() for suffix in suffixes.split()}
_SIGNS = {"/": ("//", "/*"), "rs": ("//", "/*"), "-": ("--",), "*": ("/*",), "<": ("<!",), "": ()}
_OF_COMMENTS = {
    "css": "*",
    "csv": "",
    "tsv": "",
    "tex": "",
    "txt": "",
    "rst": "",
    "adoc": "",
    "json": "",
}


_OF_COMMENTS |= dict.fromkeys(("html", "htm", "xml", "svg", "md", "markdown"), "<")


def style(path: str) -> str:
    """The sign of comments in such a file: `/` where its name says nothing."""
    return _STYLE_OF.get(_suffix(path), "/")


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].lower().rpartition(".")[2]


@cache
def scanner(style: str) -> re.Pattern[str]:
    """What is no code in files of a style: group 1 are comments."""
    # when it is first needed: every command imports this module
    return re.compile(_NO_CODE[style])


def skeleton(path: str, text: str) -> str:
    """The text with comments and strings blanked out, sign for sign."""
    return _blanked(style(path), text, comments=False)


def without_comments(path: str, text: str) -> str:
    """The text with comments blanked out, sign for sign."""
    suffix = _suffix(path)
    sign = _OF_COMMENTS.get(suffix, style(path))
    # elsewhere than in Python, `#` is in many words: `${x#y}`, `a#b`
    return _blanked(
        " #" if sign == "#" and suffix not in {"py", "pyi"} else sign, text, comments=True
    )


def names_comments(path: str, regex: str) -> bool:
    """Whether a regex names the sign of a comment in such a file, and so looks for one."""
    plain = regex.replace("\\", "")
    return any(
        sign in plain for sign in _SIGNS.get(_OF_COMMENTS.get(_suffix(path), style(path)), ("#",))
    )


_COMMENT = {"/": "// {}", "rs": "// {}", "-": "-- {}", "*": "/* {} */", "<": "<!-- {} -->", "": ""}


def comment(path: str, text: str) -> str:
    """A line that is a comment in such a file; empty where there are none."""
    return _COMMENT.get(_OF_COMMENTS.get(_suffix(path), style(path)), "# {}").format(text)


@lru_cache(maxsize=16)  # several rules look at the same text
def _blanked(sign: str, text: str, *, comments: bool) -> str:
    def blank(part: re.Match[str]) -> str:
        if comments and part[1] is None:
            return part[0]
        return re.sub(r"[^\n]", " ", part[0])

    return scanner(sign).sub(blank, text)
