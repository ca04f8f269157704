"""The ``who`` argument of `hit`, `peek` and `reset`: an identity as a caller writes it, ``user:42``."""

import difflib
from functools import lru_cache

from ratewindow.identity import custom_keys
from ratewindow.identity.address import masked_address
from ratewindow.identity.normalise import Normaliser, as_sent
from ratewindow.identity.typed_values import ALIASES, MOST_WITH_SCOPE, TEXTS, check_number, scope_first, typed
from ratewindow.limiter.keys import joined
from ratewindow.limiter.problem import Problem, translatable

_EXAMPLES = translatable("user:42 or ip:203.0.113.9")
EXACT = frozenset(("user", "session", "route", "path", "method", "scope"))  # kinds that are never normalised


def parse_identity(who: str | tuple[str, ...], normaliser: Normaliser = as_sent) -> str:
    """The identity that requests of this client have: ``ip:2001:db8::1`` becomes its network.

    `normaliser` is that of the rule's recipe. Raises ValueError.
    """
    if not who or not isinstance(who, str | tuple | list):
        raise Problem(
            "{who!r} is not an identity: write its kind and value, such as {examples}, or give the request",
            who=who,
            examples=_EXAMPLES,
        )
    if isinstance(who, str):
        return _parse_value(who, normaliser)
    check_number(len(who), MOST_WITH_SCOPE)
    values = [_parse_value(value, normaliser) for value in scope_first(who)]
    return values[0] if len(values) == 1 else joined(values)


def _parse_value(value: str, normaliser: Normaliser) -> str:
    kind, colon, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if value == "global":
        return value
    if not (kind and colon and rest):
        raise Problem("{who!r} is not an identity: write its kind and value, such as {examples}", who=value, examples=_EXAMPLES)
    if kind == "ip":
        return f"ip:{masked_address(rest)}"
    kind = ALIASES.get(kind, kind)
    if kind not in TEXTS:
        if kind not in EXACT and (near := _nearest_kind(kind)):
            raise Problem("{who!r} is of an unknown kind: did you mean {near}:{rest}?", who=value, near=near, rest=rest)
        return value if kind in EXACT or normaliser is as_sent else f"{kind}:{normaliser(rest)}"
    name, _, sent = rest.partition(":")
    part = typed(f"{kind}:{name.lower() if kind == 'header' else name}:", sent, normaliser)
    if part is None:
        raise Problem(
            "{who!r} is not an identity: write kind, name and value, such as {kind}:{name}:value",
            who=value,
            kind=kind,
            name=name or "name",
        )
    return part


@lru_cache(maxsize=1024)
def _nearest_kind(kind: str) -> str:
    """The built-in kind that is one letter off; empty if there is none, or if the kind is a key of the site."""
    near = difflib.get_close_matches(kind, ("ip", *EXACT, *TEXTS), n=1, cutoff=0.8)
    return near[0] if near and custom_keys.find(kind) is None else ""
