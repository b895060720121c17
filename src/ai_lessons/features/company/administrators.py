"""The file of the administrators of this machine: who may have written it, and its companies."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_lessons import settings
from ai_lessons.errors import Refused, UsageError
from ai_lessons.features.company.remotes import owner_stated
from ai_lessons.git.files import translated
from ai_lessons.model import ENTERPRISE, Mandate, TierPlace, expression

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final

# the users who may place the file, by number: root
PLACERS = frozenset({0})
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
# of `[enterprise.NAME]`; a user's own file has the first three
KEYS: Final = ("path", "sync_url", "owners", "require", "distinct", "signers")
_REQUIRE: Final = ("merge", "forge", "signed")
# it becomes the name of a folder
_NAME: Final = expression(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


def refuse_unless_roots(file: Path) -> None:
    """Raises Refused: another user than root could have written the file, or put one in its place.

    So sshd looks at a user's keys. StorageFailed: it cannot be looked at.
    """
    with translated(str(file)):
        real = Path(os.path.realpath(file))
        for place in dict.fromkeys((file, real)):
            _refuse_unless(place, place.lstat())
            for folder in place.parents:
                _refuse_unless(folder, folder.stat())


def _others_may_write(mode: int) -> bool:
    # the mode of a link says nothing, and in a sticky folder everybody keeps their own
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return False
    return bool(mode & _OTHERS_WRITE)


def _refuse_unless(place: Path, status: os.stat_result) -> None:
    why = ""
    if status.st_uid not in PLACERS:
        why = "belongs to another user than root"
    elif _others_may_write(status.st_mode):
        why = "can be written by others than root"
    if why:
        raise Refused(f"{place} {why}", hint=f"chown root {place} && chmod go-w {place}")


class Administrators(settings.AdministratorsFile):
    """What the file states, once nobody but root can have written it."""

    def __init__(self, file: Path) -> None:
        """Raises Refused, StorageFailed, UsageError: it does not count, and why."""
        refuse_unless_roots(file)
        self.file, self.table = file, settings.read_table(file, hint="")
        stated = self.table.get("enterprise", {})
        if not isinstance(stated, dict):
            raise UsageError(f"{file}: enterprise must be a table")
        self._companies: Mapping[str, Any] = stated
        for name in stated:
            # what is wrong in it is known before anything of it counts
            self._tier(name, {}, {"HOME": "/"})

    def tiers(
        self, of_user: Mapping[str, Any], environ: Mapping[str, str], user_file: Path
    ) -> Iterator[TierPlace]:
        """The companies, each where the user's file or this one has its clone.

        Of a company that stands in both files the user's names the place alone.
        """
        for name in self._companies:
            stated = of_user.get(name)
            if isinstance(stated, str):
                stated = {"path": stated}
            if not isinstance(stated, dict):
                stated = {}
            yield self._tier(name, stated, environ, user_file)

    def _tier(
        self,
        name: str,
        of_user: Mapping[str, Any],
        environ: Mapping[str, str],
        user_file: Path | None = None,
    ) -> TierPlace:
        value, file, key = self._companies[name], self.file, f"enterprise.{name}"
        if not _NAME.fullmatch(name):
            raise UsageError(f"{file}: [{key}] has letters, digits and . _ - in its name")
        if isinstance(value, str):
            value = {"path": value}
        if not isinstance(value, dict):
            raise UsageError(f"{file}: {key} must be a table")
        address = settings.text_at(value, "sync_url", file) or ""
        path = settings.absolute(settings.text_at(value, "path", file), file.parent, environ)
        path = path or settings.absolute(f"~/.ai/enterprise/{name}", file.parent, environ)
        if user_file is not None:
            moved = settings.text_at(of_user, "path", user_file)
            path = settings.absolute(moved, user_file.parent, environ) or path
        if path is None:
            raise UsageError(f"{file}: {key} has no path")
        return TierPlace(
            f"{ENTERPRISE}{name}",
            path,
            f"{file} names it",
            address or None,
            owners=settings.owners_at(value, key, file),
            mandate=self._mandate(value, key, address),
        )

    def _mandate(self, value: Mapping[str, Any], key: str, address: str) -> Mandate:
        file = self.file
        for owner in settings.owners_at(value, key, file):
            if owner_stated(owner) is None:
                raise UsageError(f"{file}: {key}.owners has HOST/OWNER, not {owner!r}")
        require, distinct = value.get("require"), value.get("distinct", False)
        if require not in (None, *_REQUIRE):
            raise UsageError(f"{file}: {key}.require must be one of: {', '.join(_REQUIRE)}")
        if not isinstance(distinct, bool):
            raise UsageError(f"{file}: {key}.distinct must be true or false")
        if distinct and not require:
            raise UsageError(f"{file}: {key}.distinct needs {key}.require beside it")
        signers = settings.text_at(value, "signers", file)
        place = None
        if signers:
            place = file.parent / signers
            if os.path.lexists(place):
                refuse_unless_roots(place)
        return Mandate(str(file), address, require or "", distinct, place)
