"""The worlds of other tests, for what imports and exports add to what they promise."""

from git.test_filters import crypt, plain
from interfaces.test_broken_repository import shop, shop_made
from interfaces.test_promoting import three
from test_five_repositories import made
from test_five_repositories import world as companies

__all__ = ["companies", "crypt", "made", "plain", "shop", "shop_made", "three"]
