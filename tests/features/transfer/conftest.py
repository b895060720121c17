"""The worlds of other tests, for what imports and exports add to what they promise."""

from features.tiers.test_commands import three
from features.tiers.test_five_repositories import made
from features.tiers.test_five_repositories import world as companies
from git.test_filters import crypt, plain
from interfaces.test_broken_repository import shop, shop_made

__all__ = ["companies", "crypt", "made", "plain", "shop", "shop_made", "three"]
