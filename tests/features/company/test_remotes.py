from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_lessons.features.company.remotes import Owner, owner_of, owner_stated

ACME = Owner("forge.example", "", ("acme",))


def owns(stated: str, address: str) -> bool:
    """Whether an owner as settings state it owns the repository at an address."""
    owner, found = owner_stated(stated), owner_of(address)
    return owner is not None and found is not None and owner.owns(found)


@pytest.mark.parametrize("address", [
    "git@forge.example:acme/shop",
    "git@forge.example:acme/shop.git",
    "forge.example:acme/shop.git",
    "git@forge.example:/acme/shop.git",
    "git@FORGE.Example:acme/shop",
    "ssh://git@forge.example/acme/shop.git",
    "ssh://git@forge.example:22/acme/shop.git",
    "ssh://git@forge.example:2222/acme/shop.git",
    "git+ssh://git@forge.example/acme/shop",
    "https://forge.example/acme/shop",
    "https://forge.example/acme/shop.git/",
    "https://ann@forge.example/acme/shop.git",
    "https://ann:token@forge.example/acme/shop.git",
    "https://forge.example:443/acme/shop",
    "http://forge.example/acme/shop",
    "git@forge.example:acme/team/deeper/shop.git",
    "git@forge.example:acme/.github",
])  # fmt: skip
def test_an_address_of_the_owner_is_known_in_each_of_its_forms(address: str) -> None:
    assert owns("forge.example/acme", address)


@pytest.mark.parametrize("address", [
    "git@forge.example.evil:acme/shop",
    "git@forge.evil:acme/shop",
    "git@evilforge.example:acme/shop",
    "git@forge-example:acme/shop",
    "git@forge.example:acme-evil/shop",
    "git@forge.example:evil-acme/shop",
    "git@forge.example:evil/acme",
    "git@forge.example:evil/acme/shop",
    "git@forge.example:ACME/shop",
    "git@forge.example:acme",
    "git@forge.example:acme/",
    "git@forge.example:acme//shop",
    "git@forge.example:acme/../evil/shop",
    "git@forge.example:evil/../acme/shop",
    "git@forge.example:acme/./shop",
    "git@forge.example:acme/..",
    "git@forge.example:~acme/shop",
    "https://forge.example/acme%2fshop/x",
    "https://forge.example/%61cme/shop",
    "https://forge.example@evil.example/acme/shop",
    "https://forge.example:443@evil.example/acme/shop",
    "https://evil.example/forge.example/acme/shop",
    "https://evil.example\\@forge.example/acme/shop",
    "https://evil.example#@forge.example/acme/shop",
    "https://evil.example?@forge.example/acme/shop",
    "https://forge.example/acme/shop?x=1",
    "https://forge.example./acme/shop",
    "ssh://-oProxyCommand=x@forge.example:22:22/acme/shop",
    "ssh://-forge.example/acme/shop",
    "ext::sh -c true forge.example/acme/shop",
    "helper::https://forge.example/acme/shop",
    "file:///forge.example/acme/shop",
    "ftp://forge.example/acme/shop",
    "/srv/forge.example/acme/shop",
    "./forge.example:acme/shop",
    "../forge.example/acme/shop",
    "forge.example/acme/shop",
    "forge.example\n:acme/shop",
    "git@forge.example:acme/shop\nx",
    "acme:shop",
    "",
])  # fmt: skip
def test_an_address_that_only_looks_like_it_is_not_the_owners(address: str) -> None:
    assert not owns("forge.example/acme", address)


def test_a_nested_group_is_an_owner_of_its_own() -> None:
    assert owns("gitlab.example/acme/team", "git@gitlab.example:acme/team/shop.git")
    assert owns("gitlab.example/acme/team", "git@gitlab.example:acme/team/deep/shop.git")
    assert not owns("gitlab.example/acme/team", "git@gitlab.example:acme/shop.git")
    assert not owns("gitlab.example/acme/team", "git@gitlab.example:acme/team-2/shop.git")
    assert not owns("gitlab.example/acme/team", "git@gitlab.example:acme/team.git")


def test_a_port_that_is_stated_is_the_only_one() -> None:
    assert owns("forge.example:2222/acme", "ssh://git@forge.example:2222/acme/shop")
    assert not owns("forge.example:2222/acme", "ssh://git@forge.example:2223/acme/shop")
    assert not owns("forge.example:2222/acme", "git@forge.example:acme/shop")


@pytest.mark.parametrize(
    "text", ["forge.example", "forge.example/", "acme", "", "/acme", "git@forge.example/acme",
             "forge.example/acme/", "forge.example/../acme", "https://forge.example/acme", "*/acme"]
)  # fmt: skip
def test_what_is_no_host_with_an_owner_is_none(text: str) -> None:
    assert owner_stated(text) is None


ODD = st.text(alphabet="acme/.:@-%\\ forgexpl~?#\n", max_size=40)


@given(ODD)
def test_no_address_that_is_made_up_is_the_owners_but_by_the_owners_own_form(text: str) -> None:
    owner = owner_of(text)
    if owner is None or not ACME.owns(owner):
        return
    # then its host and its owner stand in it, with nothing before, between or behind that misleads
    assert "forge.example" in text
    assert "acme/" in text
    assert ".." not in text


@given(st.sampled_from(["git@{}:{}/x", "ssh://git@{}/{}/x.git", "https://{}/{}/x"]), ODD, ODD)
def test_the_owner_of_an_address_is_what_stands_in_it(form: str, host: str, path: str) -> None:
    owner = owner_of(form.format(host, path))
    if owner is not None:
        assert "/".join(owner.path) == path.strip("/")
        assert host.lower().partition(":")[0].rpartition("@")[2] == owner.host
