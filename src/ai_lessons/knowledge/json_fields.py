"""Which keys an answer has as JSON: the fields of its class, unless the class declares others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class JsonFields(NamedTuple):
    """Names of fields or properties that are keys; `optional` ones are left out while empty.

    `entry`: the keys of the light entry in the field `entry` stand in front, on the same level. A name such as `from_`
    is the key `from`.
    """

    names: tuple[str, ...]
    optional: tuple[str, ...] = ()
    entry: bool = False


_DECLARED = "__json_fields__"


def json_fields(
    *names: str, hidden: Sequence[str] = (), optional: tuple[str, ...] = (), entry: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declare the keys of a class, see `JsonFields`. Without `names` they are all fields but the `hidden` ones."""

    def declare(answer: type[T]) -> type[T]:
        left_out = {*hidden, *optional, *(["entry"] if entry else [])}
        keys = names or tuple(name for name in _field_names(answer) or () if name not in left_out)
        setattr(answer, _DECLARED, JsonFields(keys, optional, entry))
        return answer

    return declare


def _field_names(answer: type) -> tuple[str, ...] | None:
    names = getattr(answer, "_fields", None) or getattr(answer, "__dataclass_fields__", None)
    return None if names is None else tuple(names)


def fields_of(answer: type) -> JsonFields | None:
    """The keys of a class that declares them, of a NamedTuple or of a dataclass; None for other types."""
    declared: JsonFields | None = getattr(answer, _DECLARED, None)
    if declared is not None:
        return declared
    names = _field_names(answer)
    return None if names is None else JsonFields(names)


def record(value: Any) -> dict[str, Any]:
    """The keys of a value of such a class, with what they hold. Raises TypeError: its class has no fields."""
    fields = fields_of(type(value))
    if fields is None:
        raise TypeError(f"{type(value).__name__} has no fields")
    data: dict[str, Any] = value.entry.as_json() if fields.entry else {}
    data |= {name.rstrip("_"): getattr(value, name) for name in fields.names}
    return data | {name: held for name in fields.optional if (held := getattr(value, name))}
