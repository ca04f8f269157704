"""Who is asking: key recipes such as ``user+header:x-api-key`` as functions of a request.

An identity is always typed, ``ip:203.0.113.9``, so that a user named like an address is not that address.
"""

from ratewindow.identity.custom import paths_in, ratekey
from ratewindow.identity.named import named
from ratewindow.identity.privacy import forms, hashed, is_hashed, shown, stored
from ratewindow.identity.recipe import Recipe, canonical, recipe
from ratewindow.identity.scope import scope, scoped
from ratewindow.identity.simple import has_failed, ip, original
from ratewindow.identity.text import split
from ratewindow.limiter.keys import joined

__all__ = [
    "Recipe",
    "canonical",
    "forms",
    "has_failed",
    "hashed",
    "ip",
    "is_hashed",
    "joined",
    "named",
    "original",
    "paths_in",
    "ratekey",
    "recipe",
    "scope",
    "scoped",
    "shown",
    "split",
    "stored",
]
