"""What a tool takes and answers, as JSON Schema, made from a command and from the class of its answer."""

from __future__ import annotations

import json
from contextlib import suppress
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ai_lessons.app.answers import Answer, Shown
from ai_lessons.interfaces.cli.command import Argument
from ai_lessons.interfaces.cli.options import FileName, context_tags, words
from ai_lessons.model.entries import Kind, fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.interfaces.cli.command import Command, Tool

    Data = dict[str, Any]

TEXT: Data = {"type": "string"}
ARRAY: Data = {"type": "array"}
JSON_TYPES = {
    "str": "string", "bool": "boolean", "int": "integer", "float": "number", "tuple": "array", "dict": "object",
}  # fmt: skip


class ToolParameter(NamedTuple):
    """One parameter of a tool.

    Its name, the click parameter that it is, its schema, whether it is required.
    """

    name: str
    param: click.Parameter
    schema: Data
    required: bool
    default: object

    def typed(self, value: object) -> object:
        """A value from JSON, or as text, as click takes it.

        Raises BadParameter: it is several where one is needed.
        """
        several = self.schema["type"] in {"array", "object"}
        if isinstance(value, str) and several:
            with suppress(ValueError, RecursionError):
                read = json.loads(value)
                if isinstance(read, list | dict):
                    value = read
        if isinstance(value, dict):
            value = _weighted(value)
        if isinstance(value, list) and not several:
            raise click.BadParameter(f"not of the type {self.schema['type']}", param=self.param)
        many = getattr(self.param, "multiple", False) or self.param.nargs == -1
        if not isinstance(value, list):
            if not many:
                return value
            if not several or self._is_whole:
                return [value]
            return words(str(value))
        if not all(isinstance(text, str) for text in value):
            raise click.BadParameter("not a list of strings", param=self.param)
        if many:
            return value
        return ",".join(value)

    @property
    def _is_whole(self) -> bool:
        """Whether a comma in a text belongs to it, as in the name of a file."""
        return isinstance(self.param.type, FileName) or self.param.type is click.UNPROCESSED


def _weighted(weights: Mapping[str, Any]) -> list[str]:
    """Tags with their weights as a person types them: `tag`, `tag=1.5`."""
    texts: list[str] = []
    for tag, weight in weights.items():
        if weight is None:
            texts.append(tag)
        else:
            texts.append(f"{tag}={weight!r}")
    return texts


def parameters_of(command: Command, tool: Tool) -> list[ToolParameter]:
    """The parameters of a tool, as `Tool.takes` names them."""
    params = {param.name: param for param in command.params}
    parameters: list[ToolParameter] = []
    for argument in tool.takes:
        if isinstance(argument, str):
            # most say no more than the name
            argument = Argument(argument)  # noqa: PLW2901
        parameters.append(_parameter(argument, params[argument.parameter or argument.name]))
    return parameters


def _parameter(argument: Argument, param: click.Parameter) -> ToolParameter:
    schema = schema_of(param, single=argument.single)
    default: object = argument.default
    if default is None:
        if schema["type"] == "boolean":
            default = False
        else:
            default = param.default
    if argument.note:
        schema |= {"description": argument.note}
    if isinstance(default, str | int | float) and default not in {"", False}:
        schema |= {"default": default}
    required = argument.required or (param.required and argument.default is None)
    return ToolParameter(argument.name, param, schema, required, argument.default)


def schema_of(param: click.Parameter, *, single: bool) -> Data:
    """What a parameter takes, as short as it can be said to an agent.

    A range is named by the error alone.
    """
    kind = param.type
    # the function by which one text with commas is more
    split = getattr(kind, "func", None)
    if split is context_tags:
        return {"type": "object"}
    many = param.nargs == -1 or getattr(param, "multiple", False) or split is not None
    if many and not single:
        return {"type": "array", "items": {"type": "string"}}
    if isinstance(kind, click.Choice):
        return {"enum": list(kind.choices), "type": "string"}
    if getattr(param, "is_flag", False):
        return {"type": "boolean"}
    if isinstance(kind, click.types.FloatParamType):
        return {"type": "number"}
    if isinstance(kind, click.types.IntParamType):
        return {"type": "integer"}
    return {"type": "string"}


def output_schema(tool: Tool) -> Data:
    """The JSON Schema of what a tool answers, made of the fields of the answer's class, but for words on it."""
    properties: Data = {}
    if isinstance(tool.answer, str):
        properties[tool.answer] = ARRAY
        return {"type": "object", "properties": properties}
    answer = tool.answer()
    if answer is Shown:
        properties |= {"handle": TEXT, "title": TEXT, "text": TEXT}
    elif answer is Answer:
        for kind in tool.kinds or Kind:
            properties[kind.folder] = ARRAY
    elif fields := fields_of(answer):
        if fields.entry:
            properties["handle"] = TEXT
        for name in fields.names:
            # words on an answer are in its text
            if name not in {"notes", "warnings"}:
                properties[name.rstrip("_")] = type_schema(annotation_of(answer, name))
    return {"type": "object", "properties": properties}


def annotation_of(answer: type, name: str) -> str:
    """The type of a field or property, as the source states it."""
    for base in answer.__mro__:
        annotation = get_annotations(base).get(name)
        if annotation is not None:
            return str(getattr(annotation, "__forward_arg__", annotation))
    return str(getattr(answer, name).fget.__annotations__["return"])


def type_schema(annotation: str) -> Data:
    """The JSON Schema of a type as the source states it.

    Any, where JSON has no such type (an enum, a union).
    """
    # not by pydantic: most types are imported for the type checker alone, so it cannot resolve
    # their names
    json_type = None
    if " | " not in annotation:
        json_type = JSON_TYPES.get(annotation.partition("[")[0])
    if json_type:
        return {"type": json_type}
    return {}
