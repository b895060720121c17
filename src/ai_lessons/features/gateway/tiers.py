"""What each caller reads and writes: what all share, and their own repository where there is one.

The tier `user` of the account that runs the server is for no caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_lessons.errors import UsageError
from ai_lessons.model import USER, TierPlace

if TYPE_CHECKING:
    from pathlib import Path

    from ai_lessons.settings import Settings


def shared_tiers(stated: Settings, people: Path | None) -> tuple[TierPlace, ...]:
    """The tiers that all callers read.

    Raises UsageError: the account's own would be one of them, or it has the name of a person's.
    """
    places = stated.places
    of_the_account = None
    for tier in places.known:
        if tier.name == USER:
            of_the_account = tier.root.resolve()
    shared = []
    for tier in places.reads:
        if tier.root.resolve() != of_the_account:
            shared.append(tier)
        elif places.named:
            raise UsageError(
                f"{tier.root} is your own repository, and everybody would read and change it",
                hint="serve another one: --repo PATH, or --tier enterprise:NAME",
            )
    if people is not None:
        for tier in shared:
            if tier.name == USER:
                raise UsageError(
                    f"beside repositories of people {tier.root} needs a name",
                    hint="name it in config.toml below [enterprise], then --tier enterprise:NAME",
                )
    return tuple(shared)


def settings_of_caller(
    stated: Settings, shared: tuple[TierPlace, ...], people: Path | None, address: str
) -> Settings:
    """The settings with the tiers of the person who has this address.

    `people`: the folder in which each may have a repository, called as the address. Raises
    UsageError: there is nothing for this person.
    """
    reads = shared
    if people is not None and (people / address).is_dir():
        its_own = TierPlace(USER, people / address, "the repository of who asks")
        reads = (its_own, *shared)
    if not reads:
        raise UsageError(
            "there is no repository for you here",
            hint="who runs this server makes one",
        )
    index_dir = stated.index_dir
    if people is not None:
        # one place for the index of the tier `user` would be that of all people
        index_dir = None
    places = stated.places._replace(reads=reads, known=reads, named=len(reads) == 1)
    return stated._replace(
        repo=reads[0].root, tier=reads[0].name, places=places, index_dir=index_dir
    )
