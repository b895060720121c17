"""Which package and version a doc is of, by its `source_ref`: `pkg:pypi/click@8.2.1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ai_lessons.model import expression
from ai_lessons.model.entries import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_lessons.model.entries import Entry
    from ai_lessons.search.catalog_reader import CatalogReader

_REF = expression(r"pkg:(\w+)/(.+)@(.+)")


class DocOfPackage(NamedTuple):
    """What the catalog keeps of a doc.

    Its package, of which language that is (`pypi`, `npm`), and the version.
    """

    language: str
    name: str
    version: str
    ref: str


def of_entry(entry: Entry) -> Mapping[str, Any]:
    """The facts of a doc of a package; none of anything else."""
    ref = entry.fields["source_ref"]
    match = None
    if isinstance(ref, str):
        match = _REF.fullmatch(ref)
    if entry.kind is not Kind.DOC or match is None:
        return {}
    return DocOfPackage(match[1], match[2], match[3], match[0])._asdict()


def docs_of_packages(catalog: CatalogReader) -> dict[str, DocOfPackage]:
    """The docs of packages by their ids, of the last refresh."""
    facts = catalog.facts("packages")
    packages: dict[str, DocOfPackage] = {}
    for entry_id, kept in facts.items():
        packages[entry_id] = DocOfPackage(**kept)
    return packages
