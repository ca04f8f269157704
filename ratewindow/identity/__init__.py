"""What identifies a client: keys such as ``user+header:x-api-key`` as functions of a request.

An identity is always typed, ``ip:203.0.113.9``: a user whose name is ``203.0.113.9`` is another client.
"""

from ratewindow.identity.address import ip
from ratewindow.identity.custom_keys import paths_in, ratekey, scope, scoped
from ratewindow.identity.privacy import Kept, forms, hashed, is_hashed, kept, shown, stored
from ratewindow.identity.recipe import Recipe, canonical, parse_identity, recipe, recipe_of
from ratewindow.identity.request_attributes import had_failure, original
from ratewindow.identity.typed_values import split
from ratewindow.limiter.keys import joined

__all__ = [
    "Kept",
    "Recipe",
    "canonical",
    "forms",
    "had_failure",
    "hashed",
    "ip",
    "is_hashed",
    "joined",
    "kept",
    "original",
    "parse_identity",
    "paths_in",
    "ratekey",
    "recipe",
    "recipe_of",
    "scope",
    "scoped",
    "shown",
    "split",
    "stored",
]
