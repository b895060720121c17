"""Reads and changes the settings of a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import NotFound, Refused
from ai_lessons.git.store import AUTOCOMMIT, Change
from ai_lessons.model import config
from ai_lessons.model.layout import CONFIG_PATH, blob_id
from ai_lessons.model.texts import decode

if TYPE_CHECKING:
    from ai_lessons.app.workspace import Library, RepositorySession


def config_get(library: Library, key: str | None = None) -> dict[str, object]:
    """The repository's settings in force, defaults included, by dotted key.

    Raises NotFound: no such key.
    """
    values = config.values_of(library.primary.config)
    if key is None:
        return values
    if key not in values:
        last = key.rpartition(".")[2]
        suggestions = [name for name in values if last in name]
        raise NotFound("setting", key, suggestions=suggestions[:3])
    return {key: values[key]}


def config_set(library: Library, key: str, value: str) -> str | None:
    """Change one setting in `.ai-lessons/config.yaml`, keeping its comments.

    The commit, or None if it waits.

    Raises UsageError: no such key, or not a value for it. NotFound: no such embedding model.
    Refused: an agent would change a policy, or it would count for nothing here.
    """
    repo = library.primary
    setting = config.keys().get(key)
    of_people = setting is not None and setting.people
    if of_people or key.partition(".")[0] in _POLICIES:
        repo.options.refuse_agents(f"change {key}", f"ai-lessons admin config set {key} …")
    store = repo.store
    if key == "git.autocommit" and store.is_folder_of_bigger_repo:
        reason = "because it comes with a pull"
        raise Refused(
            f"{key} counts for nothing in a folder of a bigger repository, {reason}",
            hint=f"git -C {store.root} config {AUTOCOMMIT} true",
        )
    change = setting_change(repo, key, value)
    if key == "search.model" and value != config.DEFAULT_MODEL:
        from ai_lessons.search.embedding import dimensions_of

        dimensions_of(value)
    if key == "search.index" and value:
        from ai_lessons.app.search_index import agree

        agree(repo, value)
    if change:
        return repo.write(f"Set {key}", [change]).commit
    return None


def setting_change(repo: RepositorySession, key: str, value: str | int) -> Change | None:
    """What sets one setting in the file, everything else as it was; None where it says so.

    Raises UsageError.
    """
    data, expect = b"", None
    if repo.store.exists(CONFIG_PATH):
        data = repo.store.read(CONFIG_PATH)
        expect = blob_id(data)
    new = config.set_value(decode(data, CONFIG_PATH), key, value).encode()
    if new == data:
        return None
    return Change(CONFIG_PATH, new, expect=expect)


# Groups of settings that an agent does not change; the others say how a search works.
_POLICIES = frozenset(("approval", "git", "events", "format"))
