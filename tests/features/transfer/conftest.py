"""The worlds of other tests, for what imports and exports add to what they promise."""

from companies_world import made
from companies_world import world as companies
from git.test_filters import crypt, plain
from interfaces.test_broken_repository import shop, shop_made
from interfaces.three_repositories import three

__all__ = ["companies", "crypt", "made", "plain", "shop", "shop_made", "three"]
