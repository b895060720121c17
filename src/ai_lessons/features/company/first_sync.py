"""The company's repository, cloned by the first sync in its code and shared by each one after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.app import scaffold, setup, sharing
from ai_lessons.app.workspace import Library
from ai_lessons.approval.inputs import plain_address
from ai_lessons.errors import Conflict, NotFound
from ai_lessons.git.approval_branch import remotes
from ai_lessons.git.worktree import GIT_FOLDER, locate
from ai_lessons.model import ENTERPRISE, USER

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.app.options import Options
    from ai_lessons.model import Places, TierPlace


def shared(
    root: Path, options: Options, *, ask: bool, only_missing: bool = False
) -> sharing.SharedBeside | None:
    """Clone the repository of the company whose code one stands in, or else sync it.

    None where code belongs to no company by its remotes. A person without a repository gets one:
    there goes what they learn. `ask`: as `sharing.sync`. `only_missing`: nothing is done where the
    clone is here. Raises as `sharing.sync`, and as `scaffold.clone`.
    """
    place = company_of(options.places)
    if place is None or (only_missing and place.root.exists()):
        return None
    notes: list[str] = []
    cloned = ""
    if not place.url and not place.root.exists():
        raise NotFound(
            "address of",
            place.name,
            hint=f"sync_url in {places_file(place)} says where it is cloned from",
        )
    if place.url and not is_cloned(place, place.url):
        again = f"see whether this works: git ls-remote {place.url}   then: ai-lessons admin sync"
        try:
            scaffold.clone(place.url, place.root, again=again)
        except Conflict as error:
            error.hint = elsewhere(place)
            raise
        cloned = str(place.url)
    made = setup.init_repository(place.root, options._replace(tier=place.name))
    if not root.exists() and options.tier == USER:
        personal = setup.init_repository(root, options)
        notes += [f"your own repository is new: {root}", *personal.notes]
    alone = options._replace(
        tier=place.name, places=options.places._replace(reads=(place,), named=True)
    )
    with Library(place.root, alone) as library:
        synced = sharing.sync(library, ask=ask)
    if cloned:
        cloned = f"cloned from {cloned}: {made.path}, entries: {made.entries:,}"
    return sharing.SharedBeside(place.name, synced, (*notes, *made.notes), cloned)


def company_of(places: Places) -> TierPlace | None:
    """The company to which the code belongs by its remotes; None for none, and where one was named."""
    if places.named:
        return None
    for place in places.reads:
        if place.owners and place.name == places.belongs_to:
            return place
    return None


def places_file(place: TierPlace) -> str:
    """The file that states the company."""
    if place.mandate:
        return place.mandate.file
    return "config.toml"


def is_cloned(place: TierPlace, url: str) -> bool:
    """Whether the company's repository is here, in whatever form its address is written.

    Raises Conflict: something else is. Refused: it is another user's.
    """
    if not (place.root / GIT_FOLDER).exists():
        return False
    worktree = locate(place.root)
    stated = plain_address(url, worktree.top)
    for address in remotes(worktree).values():
        if plain_address(address, worktree.top) == stated:
            return True
    raise Conflict(f"{place.root} is there and is not a clone of {url}", hint=elsewhere(place))


def elsewhere(place: TierPlace) -> str:
    """What to do where something else is in the place of the company's repository."""
    name = place.name.removeprefix(ENTERPRISE)
    stated = f'[enterprise.{name}] path = "…"'
    return f"move it away, or name another place in your config.toml: {stated}"
