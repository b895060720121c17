"""The generated parts of docs/reference, from the program itself: `make reference` writes them again.

`commands.md`, `mcp.md` and the JSON Schemas below `schemas/` are made whole; `settings.md` only between its two
markers. A test compares.
"""

from __future__ import annotations

import json
import re
import sys
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import manifests

from ai_lessons import extensions
from ai_lessons.app import (
    answers,
    daemon_client,
    health,
    index_upkeep,
    kept_files,
    link_effects,
    migration,
    outdated,
    pinned_signers,
    program_hooks,
    review,
    rule_audit,
    search_index,
    setup,
    sharing,
    validation,
    written,
)
from ai_lessons.app.agent_sessions import SessionTold
from ai_lessons.errors import Problem
from ai_lessons.git.history import FileRevision
from ai_lessons.git.sync import EntryConflict
from ai_lessons.interfaces.agent_text import LONGEST, NOTICE
from ai_lessons.interfaces.cli import root
from ai_lessons.interfaces.cli.command import programs, walk
from ai_lessons.interfaces.mcp import over_http
from ai_lessons.interfaces.mcp.sessions import SessionPool
from ai_lessons.interfaces.mcp.tools import DEFAULT, tools
from ai_lessons.model.config import FORMAT, RepositoryConfig, keys, values_of
from ai_lessons.model.entries import KINDS, Kind, Relation, fields_of
from ai_lessons.model.outcomes import ShownEntry
from ai_lessons.model.texts import TITLE_LENGTH
from ai_lessons.model.tool_calls import TOOLS
from ai_lessons.search.rows import IndexRefresh, IndexStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.mcpserver.tools import Tool

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
BEGIN, END = "<!-- generated: make reference -->\n", "<!-- end of what is generated -->\n"
NO_TEXT_FOR = {"--help", "--json"}
"""Options that every command has; they stand once at the top."""

INTRODUCTION = f"""# Commands

{BEGIN.strip()}

`ID` is a handle (`L-8F3K2A`), a full id, any unique end of one, or a path. A list takes commas (`--tags git,merge`). A
section is a group: `ai-lessons contribute add-lesson`. `--help` says more. See also [JSON](json.md).

## For every command

Before the group or after the command; `--tier` and `--version` only before.

"""


def options(command: click.Command, leave_out: set[str]) -> list[str]:
    """The options of a command, a list item each; hidden ones are left out."""
    context = click.Context(command, **command.context_settings)
    found = [
        param
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden
    ]
    records = [param.get_help_record(context) for param in found if not leave_out & set(param.opts)]
    return [
        f"- `{option.strip()}`: {' '.join(text.split())}\n"
        for option, text in filter(None, records)
    ]


def name_of(option: str) -> str:
    """Its long names, else the short one."""
    names = option.partition("`")[2].partition("`")[0].replace(",", "").split()
    return " ".join([one for one in names if one.startswith("--")] or names[:1])


def section(path: tuple[str, ...], command: click.Command) -> str:
    """One command with what it takes, and its first sentence."""
    arguments = (
        " ".join(command.collect_usage_pieces(click.Context(command)))
        .removeprefix("[OPTIONS]")
        .strip()
    )
    usage = " ".join(
        filter(None, (*(path[1:] or path), arguments, *map(name_of, options(command, NO_TEXT_FOR))))
    )
    about = re.split(r"[.;] ", " ".join(cleandoc(command.help or "").partition("\n\n")[0].split()))[
        0
    ].removesuffix(".")
    return f"- `{usage}`: {about}\n"


def commands() -> str:
    """The whole text of commands.md."""
    text = INTRODUCTION + "".join(options(root, set()))
    context = click.Context(root)
    for name in root.list_commands(context):
        group = root.get_command(context, name)
        assert group
        if not isinstance(group, click.Group):
            text += f"\n## {name}\n\n" + section((name,), group)
            continue
        text += f"\n## {name}\n\n{cleandoc(group.help or '')}\n"
        listed = list(walk(group))
        older = [
            f"`{path[-1]}` ({of})"
            for path, command in listed
            if (of := getattr(command, "alias_of", None))
        ]
        text += "\n" + "".join(
            section((name, *path), command)
            for path, command in listed
            if not getattr(command, "alias_of", None)
        )
        text += f"\nOlder names: {', '.join(older)}.\n"
    for name, program in programs().items():
        text += f"\n## {name}\n\nA program of its own. {cleandoc(program.help or '')}\n\n"
        text += "".join(section((name, *path), command) for path, command in walk(program))
    return text


SETTINGS = {
    "format": "version of the file format; not for changing by hand",
    "git.autocommit": "commit every job at once: auto, true or false",
    "git.events": "share recorded events with other clones: auto, local or shared",
    "approval.branch": "a rule is in force as it stands on this branch",
    "approval.require": "how a rule must have come there: merge, forge or signed",
    "approval.distinct": "ask for an approver who made no commit of the proposal",
    "approval.forges": "addresses of more forges, as committers of squashed pull requests",
    "events": "record which entries were used and whether they helped",
    "search.model": "embedding model",
    "search.chunking.target": "tokens that a passage aims at",
    "search.chunking.limit": "tokens that no passage is over",
    "search.chunking.minimum": "passages of fewer tokens join a neighbour",
    "search.index": "where the index lives, see [below](#an-index-elsewhere); empty: in the git directory",
    "tag_aliases": "words that mean the same tag, `alias: tag`",
}
"""What each setting of a repository is for."""


def repository_settings() -> str:
    """The settings of a repository with their defaults, a list item each."""
    values = values_of(RepositoryConfig()).items()
    texts = {
        name: "empty" if value in (None, "", {}) else str(value).lower() for name, value in values
    }
    about = about_settings()
    return "".join(f"- `{name}` ({text}): {about[name]}\n" for name, text in texts.items())


def about_settings() -> dict[str, str]:
    """What each setting is for, those of features too."""
    return SETTINGS | {name: key.about for name, key in keys().items() if key.about}


FLAG = {"type": "boolean"}
AUTO = {"enum": ["auto", True, False]}
TOKENS = {"type": "integer", "minimum": 1, "maximum": 100_000}
TEXT = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 0}
TEXTS = {"type": "array", "items": TEXT}
SETTING_SCHEMAS: Mapping[str, dict[str, Any]] = {
    "format": {"type": "integer", "minimum": 1, "maximum": FORMAT},
    "git.autocommit": AUTO,
    "git.events": {"enum": ["auto", "local", "shared"]},
    "approval.branch": TEXT,
    "approval.require": {"enum": ["merge", "forge", "signed"]},
    "approval.distinct": FLAG,
    "approval.forges": {"anyOf": [TEXTS, TEXT]},
    **{name: {"enum": list(key.choices)} for name, key in keys().items() if key.choices},
    "events": FLAG,
    "search.model": TEXT,
    **{f"search.chunking.{size}": TOKENS for size in ("target", "limit", "minimum")},
    "search.index": {"type": "string", "pattern": "^$|^(s3|gs|az|abfss?|db)://"},
    "tag_aliases": {"type": "object", "additionalProperties": TEXT},
}
"""The JSON Schema of each setting of a repository; a test compares it with what the program accepts."""

DATE = {"type": "string", "format": "date"}
ID = {"type": "string", "pattern": "^[0-9A-Za-z]{26}$"}
PATTERN = {
    "type": "object",
    "properties": dict.fromkeys(("when", "do", "dont", "because"), TEXT),
    "required": ["when", "because"],
    "oneOf": [{"required": ["do"]}, {"required": ["dont"]}],
}
CHECK: dict[str, dict[str, Any]] = dict.fromkeys(("pattern", "regex", "unless"), TEXT)
CHECK["enforce"] = {"enum": ["ask", "deny"]}
CHECK |= {key: {"anyOf": [TEXT, TEXTS]} for key in ("files", "bad", "good")}
COMMON_FIELDS: dict[str, dict[str, Any]] = {
    "id": ID,
    "kind": TEXT,
    "title": {"type": "string", "minLength": 1, "maxLength": TITLE_LENGTH},
    "created": {"type": "string", "format": "date-time"},
    "tags": TEXTS,
    "links": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": dict.fromkeys(Relation, ID)
            | {"weight": {"type": "number", "minimum": 0, "maximum": 1}},
        },
    },
    "review_by": DATE,
    "reviewed": DATE,
    "release_to": {"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
    "allow_secrets": {"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
}
COMMON_FIELDS |= {key: extensions.load(place) for key, place in extensions.named("schemas").items()}
OTHER_FIELDS: Mapping[str, dict[str, Any]] = {
    "applies_to": TEXTS,
    "contexts": TEXTS,
    "versions": TEXTS,
    "check": {
        "type": "object",
        "properties": CHECK,
        "additionalProperties": False,
        "required": ["bad", "good"],
    },
    "pattern": PATTERN,
    "seen": {
        "type": "object",
        "properties": dict.fromkeys(("calls", "failures", "sessions"), NUMBER),
    },
    "source": {"type": ["string", "object"]},
}
"""The JSON Schema of fields that are more than a text, by their key."""


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of `.ai-lessons/config.yaml`; unknown keys are allowed, as the program ignores them."""
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    about = about_settings()
    for name, value in values_of(RepositoryConfig()).items():
        *groups, key = name.split(".")
        properties = schema["properties"]
        for group in groups:
            properties = properties.setdefault(group, {"type": "object", "properties": {}})[
                "properties"
            ]
        properties[key] = SETTING_SCHEMAS[name] | {"description": about[name]}
        if value not in (None, "", {}):
            properties[key]["default"] = value
    return schema


def frontmatter_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of the frontmatter of one kind; unknown keys are allowed, as the program keeps them."""
    facts = KINDS[kind]
    fields = [*facts.fields, *(["versions"] if facts.versioned else [])]
    properties = {key: dict(COMMON_FIELDS[key]) for key in COMMON_FIELDS}
    properties |= {key: dict(OTHER_FIELDS.get(key, TEXT)) for key in fields}
    properties["kind"] = {"const": kind.value}
    for key, words in facts.choices.items():
        properties[key] = {"enum": list(words)}
    if "source" in facts.choices:
        properties["source"] = {
            "anyOf": [properties["source"], {"type": "object", "required": ["type"]}]
        }
    for key, value in facts.fields.items():
        if value is not None:
            properties[key]["default"] = value
    return {"type": "object", "required": ["title", *facts.required], "properties": properties}


def schemas() -> dict[str, str]:
    """The text of each JSON Schema below docs/reference/schemas, by its file name."""
    made = {
        "config.json": ("The settings of a repository, .ai-lessons/config.yaml", settings_schema()),
        "answers.json": ("What --json prints for a command, each below $defs", answers_schema()),
    }
    for kind in Kind:
        made[f"{kind.value}.json"] = (
            f"The frontmatter of a {kind.value}",
            frontmatter_schema(kind),
        )
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {
        name: json.dumps({"$schema": draft, "title": title, **schema}, indent=2) + "\n"
        for name, (title, schema) in made.items()
    }


ANSWERS: Mapping[str, Any] = {
    "`contribute add-lesson`, `update`, `edit`, `link`, `unlink`": written.Written,
    "each of `skipped`": written.Skipped,
    "`contribute suggest-rule`; of `propose` an array": written.Suggested,
    "`recall context`": answers.Context,
    "`recall graph`": link_effects.Graph,
    "`recall log`": (FileRevision,),
    "`recall sessions`": (SessionTold,),
    "`recall why-told`": (ShownEntry,),
    "`admin review-rules --list`": (written.Pending,),
    "`admin approve-rule`; of `reject-rule` one": (review.Decided,),
    "`admin audit`": rule_audit.Audit,
    "each of `rows`": rule_audit.AuditRow,
    "`approval` of a rule": answers.Approval,
    "`admin signers`": pinned_signers.PinnedList,
    "`admin sync`": sharing.Synced,
    "`admin conflicts`": (EntryConflict,),
    "`admin conflicts ID --take …`": sharing.Resolved,
    "`admin recover`": sharing.Recovered,
    "each of `kept` and `brought`": kept_files.KeptFile,
    "`admin undo`": (sharing.Undone,),
    "`admin migrate`": migration.Migrated,
    "`admin init`": setup.Initialised,
    "`admin validate`": validation.Report,
    "each of `problems`": Problem,
    "`admin doctor`": (health.Check,),
    "`admin stats`": health.Stats,
    "`admin reindex`": IndexRefresh,
    "`admin index status`": IndexStatus,
    "`admin index push`": index_upkeep.Pushed,
    "`admin index pull`": index_upkeep.Pulled,
    "`admin review`": (outdated.Outdated,),
    "`admin review --stale`": (written.Stale,),
    "`admin model status`, `pull`": search_index.ModelState,
    "`admin hosts`": (program_hooks.Host,),
    "each of `targets`": program_hooks.Target,
    "`admin warm status`, `stop`": (daemon_client.HelperState,),
}
"""What `--json` gives for a command: the type of its answer, in a tuple where it is an array of such."""


def answers_of_features() -> dict[str, Any]:
    """The same for commands of features, as their rows say."""
    stated: dict[str, Any] = {}
    for words, place in extensions.named("answers").items():
        answer = extensions.load(place.removesuffix("[]"))
        stated[words] = (answer,) if place.endswith("[]") else answer
    return stated


def answer_schema(answer: Any) -> dict[str, Any]:
    """The JSON Schema of an answer: its keys, of which those are required that are never left out."""
    if isinstance(answer, tuple):
        return {"type": "array", "items": answer_schema(answer[0])}
    fields = fields_of(answer)
    assert fields is not None
    names = [name.rstrip("_") for name in fields.names]
    keys = {"properties": {name: {} for name in (*names, *fields.optional)}, "required": names}
    return {"type": "object"} | ({"$ref": "#/$defs/entry"} if fields.entry else {}) | keys


def answers_schema() -> dict[str, Any]:
    """The JSON Schema of all answers, each by the command that gives it."""
    summary = [
        "id",
        "handle",
        "kind",
        "title",
        "project",
        "tier",
        "tags",
        "versions",
        "path",
        "snippet",
    ]
    by_command = {
        what.replace("`", ""): answer_schema(answer)
        for what, answer in {**ANSWERS, **answers_of_features()}.items()
    }
    return {"$defs": {"entry": {"type": "object", "required": summary}, **by_command}}


def settings(old: str) -> str:
    """The text of settings.md with the part between its markers made anew."""
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit("settings.md has lost its markers")
    return f"{before}{BEGIN}\n{repository_settings()}\n{END}{after}"


MCP_INTRODUCTION = f"""# MCP

<!-- generated: make reference -->

What `ai-lessons-mcp` offers to agents; [how to set it up](../how-to/use-with-agent-hosts.md#any-host-the-mcp-server).

Every tool answers with text and with structured content that say the same: in the shapes of [json.md](json.md), a list
inside an object, the text of an entry as `text`. With texts of entries comes (as `notice`)

> {NOTICE}

Bodies stand between two marks with a hash that no body can contain. A text of more than {LONGEST:,} characters is cut,
and says so. [Errors](errors.md) are tool errors. A `search` for the output of a failed command answers as `context`
does for `error`.

An id is a handle (`L-8F3K2A`), a full id, any unique end of one, or a path; `id` and `resource_id` mean the same. A
list may be a text with commas. Types, values and defaults are in `tools/list`. A tool only reads unless stated.
"""

RESOURCES = """## Resources

- `lessons://entry/{id}`: one entry in full, as `get_resource` gives it
- `lessons://context/{project}`: rules and lessons of one project, as `context` gives them

## Prompts

- `before_task` (`task`; optional: `project`): what to ask for before a task
- `after_task` (`task`; optional: `outcome`): what is owed after it: a lesson, a script, perhaps a rule
"""


def tool_row(tool: Tool) -> str:
    """One tool with its arguments, what it does, and what it may change."""
    hints = tool.annotations
    assert hints is not None
    reads = "" if hints.read_only_hint else "Writes."
    if hints.destructive_hint:
        reads = "Destructive: a host should ask its user."
    again = " Idempotent." if hints.idempotent_hint else ""
    required = tool.parameters.get("required", [])
    takes = (name if name in required else f"[{name}]" for name in tool.parameters["properties"])
    return f"- `{' '.join((tool.name, *takes))}`: {tool.description} {reads}{again}".strip() + "\n"


def tools_page() -> str:
    """The whole page."""

    def nothing() -> NoReturn:
        raise AssertionError("a library was asked for")

    served = tools(SessionPool(nothing), Path("mcp.log"), "all")
    first = "".join(tool_row(tool) for tool in served if tool.name in DEFAULT)
    more = "".join(tool_row(tool) for tool in served if tool.name not in DEFAULT)
    transport = (
        "## Over HTTP\n\n"
        f"Streamable HTTP at `{over_http.PATH}`, requests of at most {over_http.HTTP.body_bytes:,} bytes, "
        f"{over_http.HTTP.sessions} "
        "clients. A wrong token\nis answered with 401, a foreign `Origin` with 403, a foreign `Host` with 421.\n"
    )
    return "\n".join(
        [
            MCP_INTRODUCTION,
            "## Tools in every session\n",
            first,
            "## Tools with `--tools all`\n",
            more,
            RESOURCES,
            transport,
        ]
    )


EDITING = """# Tools that write files

<!-- generated: make reference -->

A hook judges what a call writes by the [checks of rules](../how-to/check-rules.md), whatever tool of a host or an MCP
server makes it: the file as it will be, at the path that it will have. It is asked about what cannot be looked at, and
about a tool that is not in this table and may write, where a rule that asks or denies looks at the files that the call
names (at any file, where it names none). Names count with and without that of the server, whatever that is called.

| host or server | tool | keys | how a call is judged |
| --- | --- | --- | --- |
"""


def editing_tools() -> str:
    """The whole page."""
    rows = []
    for tool in TOOLS:
        names = ", ".join(f"`{name}`" for name in tool.names)
        rows.append(f"| {tool.whose} | {names} | {tool.keys} | {tool.reading} |\n")
    return EDITING + "".join(rows)


def main() -> None:
    """Write what is generated."""
    (REFERENCE / "editing-tools.md").write_text(editing_tools(), encoding="utf-8")
    (REFERENCE / "commands.md").write_text(commands(), encoding="utf-8")
    (REFERENCE / "mcp.md").write_text(tools_page(), encoding="utf-8")
    place = REFERENCE / "settings.md"
    place.write_text(settings(place.read_text(encoding="utf-8")), encoding="utf-8")
    (REFERENCE / "schemas").mkdir(exist_ok=True)
    for name, text in schemas().items():
        (REFERENCE / "schemas" / name).write_text(text, encoding="utf-8")
    manifests.write()
    print("written:", REFERENCE, file=sys.stderr)


if __name__ == "__main__":
    main()
