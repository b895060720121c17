"""Where a file defines a name or a key, and in what lines, by the kind of file. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.features.anchors import code_lines, settings_keys
from ai_lessons.model.code_comments import style

if TYPE_CHECKING:
    from ai_lessons.features.anchors.parts import Definition

# Characters of a file that is looked into
LARGEST = 1 << 20
_PYTHON = (".py", ".pyi")


def definition(path: str, text: str, name: str) -> Definition | None:
    """What a file has under a name or key (the end of a key's path will do, if it is one alone).

    None: nothing. `UNPARSED`, without lines: it cannot be known.
    """
    if len(text) > LARGEST:
        return None
    if path.endswith(_PYTHON):
        # `ast` loads for 4 ms, and a look that finds nothing changed needs none of it
        from ai_lessons.features.anchors import python_code

        return python_code.definition(text, name)
    if style(path) == "keys":
        return settings_keys.definition(path, text, name)
    return code_lines.definition(path, text, name)


def names(path: str, text: str) -> list[str]:
    """The names or keys that a file defines, as far as they can be listed."""
    if len(text) > LARGEST:
        return []
    if path.endswith(_PYTHON):
        from ai_lessons.features.anchors import python_code

        return python_code.names(text)
    if style(path) == "keys":
        return list(settings_keys.keys(path, text))
    return code_lines.names(path, text)
