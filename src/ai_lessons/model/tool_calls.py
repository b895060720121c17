"""What a call of a tool runs and writes.

The one reading of calls, by the schemas of hosts and MCP servers. Pure.

`TOOLS` names the tools that are known. Of another one its name and its keys say whether it may
write a file: what it writes cannot be looked at then, which is no reason for silence.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.edits import (
    APPENDED,
    CELL,
    COPIED,
    EVERY,
    GONE,
    LINES,
    MOVED,
    PART,
    REGEX,
    UNSEEN,
    Edit,
)
from ai_lessons.model.patches import BLOCK, IS_PATCH, of_blocks, of_unified, patched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Json = Mapping[str, Any]
    Texts = Sequence[str]


class ToolCall(NamedTuple):
    """What a call runs, the files that it names, and how it changes files.

    See `command`, `paths` and `edits`.
    """

    command: str = ""
    paths: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()


class KnownTool(NamedTuple):
    """A tool that is known: whose it is, its names, its keys, and how it is read."""

    whose: str
    names: tuple[str, ...]
    keys: str
    reading: str


# --- the keys ---

_PATHS = (
    "file_path", "filePath", "filepath", "notebook_path", "target_notebook", "target_file", "TargetFile",
    "relative_path", "pathInProject", "absolute_path", "AbsolutePath", "absolute_file_path", "path", "filename",
    "file_name", "fileName", "file", "uri", "target_path", "targetFile",
)  # fmt: skip
_OLD = (
    "old_string", "oldString", "old_str", "oldStr", "old_text", "oldText", "TargetContent", "search", "find", "needle",
    "regex", "pattern", "old", "search_text", "text_to_replace", "oldContent", "old_content",
)  # fmt: skip
_NEW = (
    "new_string", "newString", "new_str", "newStr", "new_text", "newText", "ReplacementContent", "replace",
    "replacement", "repl", "new_source", "newCode", "cell_source", "insert_text", "new_content", "newContent", "new",
    "content", "contents", "file_text", "fileText", "CodeContent", "text_or_search_replace_blocks", "blockContent",
    "text", "code_edit", "code", "body", "CodeEdit",
)  # fmt: skip
_DIFFS = (
    "diff",
    "patch",
    "patchText",
    "patch_text",
    "input",
    "command",
    "cmd",
    "unified_diff",
    "changes",
)
_SEVERAL = (
    "edits",
    "replacements",
    "ReplacementChunks",
    "changes",
    "operations",
    "patches",
    "files",
    "chunks",
)
_FIRST = ("start_line", "startLine", "start", "line_start", "from_line")
_LAST = ("end_line", "endLine", "end", "line_end", "to_line")
_BEHIND = ("insert_line", "insertLine", "after", "after_line", "insert_after")
_BEFORE = ("line", "before", "line_number", "lineNumber", "at_line")
_FROM = (
    "source",
    "source_path",
    "sourcePath",
    "src",
    "from",
    "old_path",
    "oldPath",
    "from_path",
    "origin",
)
_TO = (
    "destination",
    "destination_path",
    "destinationPath",
    "dest",
    "dst",
    "to",
    "new_path",
    "newPath",
    "to_path",
)
_ALL = (
    "replace_all",
    "replaceAll",
    "all_occurrences",
    "allow_multiple",
    "allow_multiple_occurrences",
    "AllowMultiple",
)
_COMMANDS = ("command", "cmd", "CommandLine", "commandLine", "command_line")
_EDITOR_COMMANDS = frozenset({
    "view", "create", "str_replace", "strReplace", "insert", "append", "undo_edit", "delete", "rename",
})  # fmt: skip
_SHELL = expression(r"(?:/\S*/)?(?:ba|z|da|k)?sh")
# Lists of edits within each other
_DEEPEST = 4


def _text(stated: Json, keys: Texts) -> str:
    """The first of these keys that holds a text which is not empty."""
    for key in keys:
        value = stated.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _number(stated: Json, keys: Texts) -> int | None:
    for key in keys:
        value = stated.get(key)
        # JSON's `true` is an `int` of Python, and no number
        if type(value) is int:
            return value
    return None


def _has(stated: Json, keys: Texts) -> bool:
    return any(isinstance(stated.get(key), str) for key in keys)


def _path(stated: Json, above: str = "") -> str:
    return _text(stated, _PATHS).removeprefix("file://") or above


def _parts(stated: Json) -> list[Json]:
    """The edits that a list holds, if there is one."""
    for key in _SEVERAL:
        parts = stated.get(key)
        if isinstance(parts, list) and parts:
            return [part for part in parts if isinstance(part, dict)]
    return []


# --- how a call is read ---


def _written(stated: Json, above: str = "", deep: int = 0) -> Iterator[Edit]:
    """A whole file, or several."""
    path = _path(stated, above)
    parts = _parts(stated)
    if parts and deep < _DEEPEST:
        for part in parts:
            yield from _written(part, path, deep + 1)
    elif path and _has(stated, _NEW):
        how = ""
        if stated.get("mode") == "append" or stated.get("append") is True:
            how = APPENDED
        yield Edit(path, "", _text(stated, _NEW), how)


def _edited(stated: Json, above: str = "", deep: int = 0) -> Iterator[Edit]:
    """Parts of a file, by the text, the lines or the mark in whose place they come."""
    path = _path(stated, above)
    parts = _parts(stated)
    if parts and deep < _DEEPEST:
        for part in parts:
            yield from _edited(part, path, deep + 1)
        return
    new = _text(stated, _NEW)
    diff = _text(stated, _DIFFS)
    if path and BLOCK.search(new or diff):
        yield from of_blocks(path, new or diff)
    elif diff and not new:
        yield from of_unified(path, diff)
    elif path and (new or _has(stated, _NEW) or _has(stated, _OLD)):
        yield _one_edit(stated, path, new)


def _one_edit(stated: Json, path: str, new: str) -> Edit:
    old = _text(stated, _OLD)
    from_0 = _from_0(stated)
    first, last = _number(stated, _FIRST), _number(stated, _LAST)
    behind, before = _number(stated, _BEHIND), _number(stated, _BEFORE)
    if old:
        return Edit(path, old, new, _how_replaced(stated))
    if first is not None:
        if last is None:
            last = first
        return Edit(path, "", new, LINES, "", first + from_0, last + from_0)
    if behind is not None:
        return Edit(path, "", new, LINES, "", behind + 1, behind)
    if before is not None:
        return Edit(path, "", new, LINES, "", before + from_0, before + from_0 - 1)
    if _has(stated, _OLD):
        # Gemini CLI and Claude Code make a file by an edit of nothing
        return Edit(path, "", new)
    return Edit(path, "", new, PART)


def _how_replaced(stated: Json) -> str:
    is_regex = stated.get("mode") == "regex" or bool(_text(stated, ("regex",)))
    if is_regex or _is_true(stated, ("regex", "use_regex", "is_regex")):
        return REGEX
    expected = _number(stated, ("expected_replacements",)) or 1
    if _is_true(stated, _ALL) or expected > 1:
        return EVERY
    return ""


def _is_true(stated: Json, keys: Texts) -> bool:
    return any(stated.get(key) is True for key in keys)


def _from_0(stated: Json) -> int:
    """What to add to a number of a line: serena, alone with this key, counts lines from 0."""
    return int("relative_path" in stated)


def _appended(stated: Json) -> Iterator[Edit]:
    path = _path(stated)
    if path and _has(stated, _NEW):
        yield Edit(path, "", _text(stated, _NEW), APPENDED)


def _deleted_lines(stated: Json) -> Iterator[Edit]:
    path = _path(stated)
    ranges = stated.get("ranges")
    parts: Sequence[object] = [stated]
    if isinstance(ranges, list):
        parts = ranges
    from_0 = _from_0(stated)
    for part in parts:
        if not isinstance(part, dict):
            continue
        first, last = _number(part, _FIRST), _number(part, _LAST)
        if path and first is not None:
            if last is None:
                last = first
            yield Edit(path, "", "", LINES, "", first + from_0, last + from_0)


def _in_a_place(stated: Json) -> Iterator[Edit]:
    """A text in the place of a symbol, or a sketch of what comes among what stays.

    Wherever that is.
    """
    path = _path(stated)
    if path and _has(stated, _NEW):
        yield Edit(path, "", _text(stated, _NEW), PART)


def _beside(stated: Json) -> Iterator[Edit]:
    """A text that goes before or behind a symbol: all of it is new."""
    path = _path(stated)
    if path and _has(stated, _NEW):
        yield Edit(path, "", f"\n{_text(stated, _NEW)}", APPENDED)


def _in_a_cell(stated: Json) -> Iterator[Edit]:
    """A cell of a notebook: its id stands in the place of the old text, or its number from 1.

    Neither: a new one.
    """
    path = _path(stated)
    mode = _text(stated, ("edit_mode", "editType", "operation")).partition("_")[0]
    if not path or not (_has(stated, _NEW) or mode == "delete"):
        return
    number = _number(stated, ("cell_idx", "cell_number", "cell_index", "cellIndex", "index"))
    is_new = mode == "insert" or stated.get("is_new_cell") is True
    if is_new:
        # its id and number are those of the cell before it
        yield Edit(path, "", _text(stated, _NEW), CELL, "", 0)
        return
    place = 0
    if number is not None:
        place = number + 1
    yield Edit(path, _text(stated, ("cell_id", "cellId")), _text(stated, _NEW), CELL, "", place)


def _patched(stated: Json) -> Iterator[Edit]:
    for key in _DIFFS:
        text = stated.get(key)
        if isinstance(text, str) and IS_PATCH.search(text):
            yield from patched(text)
        elif isinstance(text, str) and text:
            yield from of_unified(_path(stated), text)


def _moved(stated: Json) -> Iterator[Edit]:
    old, new = _text(stated, _FROM) or _path(stated), _text(stated, _TO)
    if old and new:
        yield Edit(new, how=MOVED, was=old)


def _copied(stated: Json) -> Iterator[Edit]:
    old, new = _text(stated, _FROM) or _path(stated), _text(stated, _TO)
    if old and new:
        yield Edit(new, how=COPIED, was=old)


def _deleted(stated: Json) -> Iterator[Edit]:
    several = stated.get("paths")
    if isinstance(several, list):
        paths = [path for path in several if isinstance(path, str)]
    else:
        paths = [_path(stated)]
    for path in filter(None, paths):
        yield Edit(path, how=GONE)


def _by_command(stated: Json) -> Iterator[Edit]:
    """An editor with commands of its own, as Anthropic's API and Kiro have it."""
    match str(stated.get("command")):
        case "create":
            yield from _written(stated)
        case "append":
            yield from _appended(stated)
        case "str_replace" | "strReplace" | "insert":
            yield from _edited(stated)
        case "delete":
            yield from _deleted(stated)
        case "rename":
            yield from _moved(stated)


def _nothing(_given: Json) -> Iterator[Edit]:
    return iter(())


WRITES, EDITS, APPENDS, CUTS, PLACES = (
    "writes a file",
    "edits a file",
    "appends",
    "takes lines away",
    "fills a place",
)
CELLS, PATCHES, MOVES, COPIES, DELETES = (
    "edits a cell",
    "patches files",
    "moves a file",
    "copies a file",
    "deletes",
)
ADDS, BY_COMMAND, WRITES_NO_TEXT = "adds a text", "by its command", "writes no text of files"
HIDES, HIDES_ANYWHERE = "cannot be looked at", "cannot be looked at, in whatever file"

_READERS: Mapping[str, Callable[[Json], Iterator[Edit]]] = {
    WRITES: _written, EDITS: _edited, APPENDS: _appended, CUTS: _deleted_lines, PLACES: _in_a_place,
    CELLS: _in_a_cell, PATCHES: _patched, MOVES: _moved, COPIES: _copied, DELETES: _deleted, BY_COMMAND: _by_command,
    ADDS: _beside, WRITES_NO_TEXT: _nothing, HIDES: _nothing, HIDES_ANYWHERE: _nothing,
}  # fmt: skip

# The tools that write files, by the schemas that their hosts and servers publish.
TOOLS = (
    KnownTool("Claude Code, CodeBuddy, Cursor, opencode", ("Write",), "file_path or filePath, content", WRITES),
    KnownTool("Claude Code, CodeBuddy, Cursor, Qwen Code, opencode, Copilot CLI", ("Edit", "MultiEdit"),
              ("file_path, filePath or path; old_string, oldString or old_str; new_…; replace_all; edits"), EDITS),
    KnownTool("Claude Code, CodeBuddy", ("NotebookEdit",), "notebook_path, cell_id, new_source, edit_mode", CELLS),
    KnownTool("Codex, opencode, Copilot, VS Code, Cursor", ("apply_patch", "patch"),
              "command, input, patch, patchText: `*** Begin Patch`, or a unified diff", PATCHES),
    KnownTool("Gemini CLI", ("replace",), "file_path, old_string, new_string, allow_multiple", EDITS),
    KnownTool("Gemini CLI, Qwen Code, filesystem, desktop-commander, Cline",
              ("write_file", "write_to_file", "write_files", "write_multiple_files"),
              "file_path or path, content, mode", WRITES),
    KnownTool("Copilot CLI", ("create",), "path, file_text", WRITES),
    KnownTool("Cursor", ("StrReplace", "search_replace"), "path or file_path, old_string, new_string", EDITS),
    KnownTool("Cursor, morph, filesystem, language-server", ("edit_file",),
              ("target_file or path, code_edit; edits[oldText, newText]; edits[startLine, endLine, newText]"), EDITS),
    KnownTool("Cursor", ("EditNotebook",), "target_notebook, cell_idx, old_string, new_string", CELLS),
    KnownTool("Cursor, VS Code, editors", ("Delete", "delete_file", "remove_file"), "path", DELETES),
    KnownTool("VS Code", ("replace_string_in_file", "multi_replace_string_in_file"),
              "filePath, oldString, newString; replacements", EDITS),
    KnownTool("VS Code", ("create_file",), "filePath, content", WRITES),
    KnownTool("VS Code", ("insert_edit_into_file",), "filePath, code", PLACES),
    KnownTool("VS Code", ("edit_notebook_file",), "filePath, cellId, newCode", CELLS),
    KnownTool("Windsurf", ("replace_file_content",), "TargetFile, ReplacementChunks", EDITS),
    KnownTool("Cline, Roo Code", ("replace_in_file", "apply_diff"), "path, diff: SEARCH and REPLACE", EDITS),
    KnownTool("Roo Code", ("insert_content", "search_and_replace"), "path, line, content; search, replace", EDITS),
    KnownTool("text editor of the Anthropic API, Kiro",
              ("str_replace_editor", "str_replace_based_edit_tool", "text_editor", "fs_write"),
              "command, path, file_text, old_str, new_str, insert_line, insert_text", BY_COMMAND),
    KnownTool("filesystem, desktop-commander", ("move_file", "rename_file"), "source, destination", MOVES),
    KnownTool("filesystem servers", ("copy_file",), "source, destination", COPIES),
    KnownTool("filesystem servers", ("create_directory", "make_directory"), "path", WRITES_NO_TEXT),
    KnownTool("filesystem servers", ("modify_file",), "path, find, replace, all_occurrences, regex", EDITS),
    KnownTool("filesystem servers", ("append_file", "append_to_file"), "path, content", APPENDS),
    KnownTool("desktop-commander", ("edit_block",), "file_path, old_string, new_string, expected_replacements", EDITS),
    KnownTool("serena, text-editor", ("create_text_file",), "relative_path or file_path, content or contents", WRITES),
    KnownTool("serena", ("replace_regex",), "relative_path, regex, repl", EDITS),
    KnownTool("serena", ("replace_content",), "relative_path, needle, repl, mode", EDITS),
    KnownTool("serena", ("replace_lines", "insert_at_line"), "relative_path, start_line, end_line, content", EDITS),
    KnownTool("serena", ("delete_lines",), "relative_path, start_line, end_line", CUTS),
    KnownTool("serena", ("replace_symbol_body",), "relative_path, name_path, body", PLACES),
    KnownTool("serena", ("insert_after_symbol", "insert_before_symbol"), "relative_path, name_path, body", ADDS),
    KnownTool("serena, language-server", ("rename_symbol",), "relative_path, name_path, new_name", HIDES_ANYWHERE),
    KnownTool("serena", ("safe_delete_symbol",), "relative_path, name_path", HIDES),
    KnownTool("serena", ("write_memory", "edit_memory", "delete_memory", "rename_memory"), "", WRITES_NO_TEXT),
    KnownTool("text-editor", ("edit_text_file_contents", "patch_text_file_contents"),
              "files[path, patches[start, end, contents]]", EDITS),
    KnownTool("text-editor", ("append_text_file_contents",), "file_path, contents", APPENDS),
    KnownTool("text-editor", ("insert_text_file_contents",), "file_path, after or before, contents", EDITS),
    KnownTool("text-editor", ("delete_text_file_contents",), "file_path, ranges", CUTS),
    KnownTool("JetBrains", ("create_new_file", "create_new_file_with_text", "replace_file_text_by_path"),
              "pathInProject, text", WRITES),
    KnownTool("JetBrains", ("replace_text_in_file", "replace_specific_text"), "pathInProject, oldText, newText", EDITS),
    KnownTool("JetBrains", ("rename_refactoring", "replace_selected_text", "replace_current_file_text"),
              "symbolName, newName; text", HIDES_ANYWHERE),
    KnownTool("JetBrains", ("reformat_file",), "path", HIDES),
    KnownTool("Xcode", ("XcodeWrite",), "filePath, content", WRITES),
    KnownTool("Xcode", ("XcodeUpdate",), "filePath, oldString, newString, replaceAll", EDITS),
    KnownTool("wcgw", ("FileWriteOrEdit",), "file_path, text_or_search_replace_blocks", EDITS),
    KnownTool("GitHub", ("create_or_update_file", "push_files"), "path, content; files[path, content]", WRITES),
)  # fmt: skip


# --- which tool it is ---

_PARTS_OF_NAME = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_READS = frozenset({
    "read", "get", "list", "search", "find", "grep", "glob", "view", "show", "open", "fetch", "query", "describe",
    "status", "diff", "check", "validate", "lint", "count", "tree", "stat", "info", "ask", "think", "look", "explain",
    "git", "browser", "screenshot", "navigate", "click", "wait", "preview", "analyze", "inspect", "compare", "outline",
})  # fmt: skip
_WRITES = frozenset({
    "write", "edit", "create", "replace", "insert", "update", "patch", "apply", "modify", "append", "prepend", "delete",
    "remove", "move", "rename", "save", "put", "set", "add", "change", "overwrite", "substitute", "refactor", "format",
    "reformat", "fix", "generate", "scaffold", "copy", "export", "convert", "transform", "rewrite", "extract", "inline",
    "organize", "revert", "restore", "undo", "touch", "sed", "upsert", "merge", "store", "codemod", "refactoring",
})  # fmt: skip
_OF_FILES = frozenset(
    [
        "file",
        "files",
        "symbol",
        "cell",
        "cells",
        "notebook",
        "selection",
        "selected",
        "code",
        "buffer",
        "editor",
        "imports",
        "snippet",
        "refactor",
        "refactoring",
        "codemod",
    ]
)
_TEXTS = frozenset({*_NEW, "data", "value", "lines", "template", "source", "payload"})


def _words(name: str) -> list[str]:
    """The words of a tool's name in small letters: `StrReplace` and `str_replace` are one."""
    words: list[str] = []
    for word in _PARTS_OF_NAME.findall(name):
        words.append(word.lower())
    return words


_BY_NAME = {"".join(_words(name)): tool for tool in TOOLS for name in tool.names}


def known_tool(tool: str) -> KnownTool | None:
    """The row of a tool by the name that a host gives it, with that of its server or without."""
    words = _words(tool.rpartition("__")[2].rpartition(":")[2])
    # Hosts put the name of the server before that of the tool in ways of their own
    for at in range(len(words)):
        name = "".join(words[at:])
        if name in _BY_NAME:
            return _BY_NAME[name]
    return None


def call_of(tool: str, stated: Json) -> ToolCall:
    """What a call of a tool with this input runs and writes."""
    paths = _named(stated)
    row = known_tool(tool)
    if row is None and _text(stated, ("command",)) in _EDITOR_COMMANDS and _path(stated):
        row = known_tool("text_editor")
    line = _command(stated)
    if line and IS_PATCH.search(line):
        edits = tuple(patched(line))
        is_patch = row is not None or line.lstrip().startswith(("***", "apply_patch"))
        return ToolCall("" if is_patch else line, _touched(edits), edits)
    if line and row is None:
        return ToolCall(line, paths)
    if _is_ours(tool) or stated.get("dryRun") is True or stated.get("dry_run") is True:
        return ToolCall("", paths)
    if row:
        edits = tuple(_READERS[row.reading](stated))
    else:
        edits = ()
    if not edits:
        edits = tuple(Edit(path, how=UNSEEN) for path in _hidden(tool, row, stated, paths))
    return ToolCall("", tuple(dict.fromkeys((*paths, *_touched(edits)))), edits)


def _touched(edits: Sequence[Edit]) -> tuple[str, ...]:
    """The files that edits are about, by each of their paths."""
    return tuple(dict.fromkeys(path for edit in edits for path in (edit.was, edit.path) if path))


def _named(stated: Json) -> tuple[str, ...]:
    """The files that the input of a call names."""
    named = [_path(stated)]
    for key in ("paths", "files"):
        paths = stated.get(key)
        if isinstance(paths, list):
            named += [path for path in paths if isinstance(path, str)]
    for part in _parts(stated):
        named.append(_path(part))
    for key, value in stated.items():
        if isinstance(value, str) and _names_a_file(key):
            named.append(value)
    if _text(stated, _FROM) and _text(stated, _TO):
        # `to` names a file only where there is something that goes there
        named.append(_text(stated, _TO))
    return tuple(dict.fromkeys(filter(None, named)))


def _names_a_file(key: str) -> bool:
    """Whether a key names a file, and not the project around it or a symbol in it."""
    name = key.lower().replace("_", "")
    around = ("project", "repo", "root", "workspace", "base", "name", "symbol", "json")
    return name.endswith(("path", "file", "filepattern")) and not name.startswith(around)


def _command(stated: Json) -> str:
    """The command line of a call; a list of words is one, too."""
    for key in _COMMANDS:
        value = stated.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            if len(value) > 2 and _SHELL.fullmatch(value[0]):
                return str(value[2])
            return shlex.join(value)
        if isinstance(value, str) and value:
            words = stated.get("args")
            if isinstance(words, list):
                arguments = [word for word in words if isinstance(word, str)]
            else:
                arguments = []
            if arguments:
                return f"{value} {shlex.join(arguments)}"
            return value
    return ""


def _is_ours(tool: str) -> bool:
    return "ai-lessons" in tool or "ai_lessons" in tool


_LOOKS = frozenset({"view", "read", "list"})


def _hidden(tool: str, row: KnownTool | None, stated: Json, paths: Texts) -> Texts:
    """Where a call may write what it does not show: in these files or folders, "" for anywhere.

    Nothing: nowhere.
    """
    if row is not None:
        if row.reading == HIDES_ANYWHERE or (row.reading == PATCHES and _text(stated, _DIFFS)):
            if row.reading == PATCHES:
                return paths or ("",)
            return ("",)
        looks = row.reading == WRITES_NO_TEXT or (
            row.reading == BY_COMMAND and _text(stated, ("command",)) in _LOOKS
        )
        if looks:
            return ()
        return paths
    words = _words(tool.rpartition("__")[2].rpartition(":")[2])
    # `find_and_replace`
    does_both = not {"and", "or"}.isdisjoint(words)
    if not words or (words[0] in _READS and not does_both):
        return ()
    if not _WRITES.isdisjoint(words):
        if paths or _OF_FILES.isdisjoint(words):
            return paths
        return ("",)
    writes = any(isinstance(stated.get(key), str) for key in _TEXTS)
    if writes and _READS.isdisjoint(words):
        return paths
    return ()


# --- patches ---
