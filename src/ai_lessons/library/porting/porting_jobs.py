"""The jobs of `Admin` about moving in, out and back: what they promise. What they do loads more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.library.migrating import Migrated
    from ai_lessons.library.parts import Parts
    from ai_lessons.library.porting.import_bundle import Ported
    from ai_lessons.library.porting.porting_export import Exported
    from ai_lessons.library.restoring import Restored, Snapshot, Taken


class PortingJobs:
    """Export, import, migrate, snapshot, restore. None of them puts a rule in force."""

    _parts: Parts

    def export_file(self, file: Path | None, form: str = "groove", *, project: str | None = None) -> Exported:
        """Write `groove`: one JSON document with every entry (None: hand it back), all or of one project.

        `agents-md`: the rules in force into a part of a file of instructions. `claude-rules`: one file for each below a
        folder. What stands around our part stays as it is, byte for byte; doing it again changes nothing.

        Raises:
            UsageError: no such form. StorageFailed: the place cannot be written, or is no plain file or folder.
        """
        from ai_lessons.library.porting.porting_export import export_file

        return export_file(self._parts, file, form, project=project)

    def import_file(self, file: Path, form: str, *, project: str | None = None, dry_run: bool = False) -> Ported:
        """Take over what a file or folder of another tool holds: entries in one commit, rules as proposals.

        `groove`, `ai-lessons-sqlite`, `markdown` or `agents-md`. Twice adds nothing; what is here already stays as it
        is; damaged parts are left out and named. `dry_run` only says what would be done.

        Raises:
            NotFound: nothing there. InvalidEntry: not of that form, or nothing of it can be read. UsageError: no such
            form, or a project for one that says it itself. UnsupportedRepository: of a newer version.
        """
        from ai_lessons.library.porting.import_bundle import import_file

        return import_file(self._parts, file, form, project=project, dry_run=dry_run)

    def migrate(self, *, dry_run: bool = False) -> Migrated:
        """Bring the repository's files to the format of this program, in one commit, after a snapshot.

        Raises:
            UnsupportedRepository: it is of a newer program. UnsavedEdits: a file that changes has edits in no commit.
            Refused: an earlier write waits for its commit.
        """
        from ai_lessons.library.migrating import migrate

        return migrate(self._parts, dry_run=dry_run)

    def snapshot(self, name: str | None = None) -> Taken:
        """Tag what is committed, with writes that waited; without a name by the time.

        Raises:
            UsageError: no name for a tag. Conflict: it is taken. NotFound: nothing committed yet.
            Refused: git has no name for the user.
        """
        from ai_lessons.library.restoring import snapshot

        return snapshot(self._parts, name)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """Every snapshot (annotated tag), newest first."""
        from ai_lessons.library.restoring import snapshots_of

        return snapshots_of(self._parts)

    def restore(self, ref: str | None, to: str, *, every: bool = False, dry_run: bool = False) -> Restored:
        """Bring one entry, or all of them, back to what they were at `to`: a date, a tag or any revision.

        One new commit; edits that are in no commit yet get one first. A rule comes back as a proposal. Settings and
        what decides about rules stay. `dry_run` only says what would be done.

        Raises:
            NotFound: no such commit, or no such entry in it. AmbiguousName: several. UsageError: neither one entry nor
            all. UnsavedEdits: edits are in the way where commits are the user's to make. Refused: a write waits.
        """
        from ai_lessons.library.restoring import restore

        return restore(self._parts, ref, to, every=every, dry_run=dry_run)
