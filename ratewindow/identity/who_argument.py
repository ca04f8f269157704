"""Identities that a caller names, ``user:42``, as requests have them."""

import difflib
from functools import lru_cache

from ratewindow.identity import custom_keys
from ratewindow.identity.address import masked_address
from ratewindow.identity.normalise import Normaliser, as_sent
from ratewindow.identity.typed_values import ALIASES, TEXTS, scope_first, typed
from ratewindow.limiter.keys import joined

_EXAMPLES = "user:42 or ip:203.0.113.9"
_EXACT = frozenset(("user", "session", "route", "path", "method", "scope"))  # kinds that are no text a client has typed


def parse_identity(who: str | tuple[str, ...], normaliser: Normaliser = as_sent) -> str:
    """An identity that a caller names, as requests have it: ``ip:2001:db8::1`` is its network there, too.

    `normaliser` is that of the rule it is named for. ValueError names what is no identity.
    """
    if not who or not isinstance(who, str | tuple | list):
        raise ValueError(f"{who!r} is no identity: write its kind and value, such as {_EXAMPLES}, or give the request")
    values = [_as_requests_have_it(value, normaliser) for value in ((who,) if isinstance(who, str) else scope_first(who))]
    return values[0] if len(values) == 1 else joined(values)


def _as_requests_have_it(value: str, normaliser: Normaliser) -> str:
    kind, colon, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if value == "global":
        return value
    if not (kind and colon and rest):
        raise ValueError(f"{value!r} is no identity: write its kind and value, such as {_EXAMPLES}")
    if kind == "ip":
        return f"ip:{masked_address(rest)}"
    kind = ALIASES.get(kind, kind)
    if kind not in TEXTS:
        if kind not in _EXACT and (meant := _meant(kind)):
            raise ValueError(f"{value!r} is of no kind that is known: did you mean {meant}:{rest}?")
        return value if kind in _EXACT or normaliser is as_sent else f"{kind}:{normaliser(rest)}"
    name, _, sent = rest.partition(":")
    part = typed(f"{kind}:{name.lower() if kind == 'header' else name}:", sent, normaliser)
    if part is None:
        raise ValueError(f"{value!r} is no identity: write kind, name and value, such as {kind}:{name or 'name'}:value")
    return part


@lru_cache(maxsize=1024)
def _meant(kind: str) -> str:
    """The kind that is one letter off; of words of the site's own there is none."""
    near = difflib.get_close_matches(kind, ("ip", *_EXACT, *TEXTS), n=1, cutoff=0.8)
    return near[0] if near and custom_keys.find(kind) is None else ""
