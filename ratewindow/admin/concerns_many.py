"""Whether a block or an exemption may concern nearly all visitors: saving it takes the permission to switch all limits off."""

import re
from collections.abc import Collection

from ratewindow.identity import canonical, is_hashed, split
from ratewindow.identity.typed_values import TEXTS, kind_and_name
from ratewindow.models import Mode, RateRule
from ratewindow.overrides.subjects import parse_subject
from ratewindow.rules import code_rates

_OF_CLIENTS = frozenset(("ip", "user", "user_or_ip", "session"))
_OF_REQUESTS = frozenset(("method", "path", "route"))
_KEY_LIKE = re.compile(
    r"(^|-)(api|access|auth|client|csrf|id|refresh|session|xsrf)?(key|token|secret|signature)\Z|authorization\Z|(^|-)session-?id\Z"
)
_LEAST_OF_KEY = 12  # characters; "none", "undefined" and versions are shorter


def concerns_many(identity: str, counted: Collection[frozenset[str]]) -> bool:
    """Whether no part of it identifies a client, neither by itself nor because a rule counts by it: `counted` is `counted_by()`.

    The values that all visitors send cannot be listed, since sites and browsers invent new ones. So what identifies is listed.
    """
    try:
        subject = parse_subject(identity)
    except ValueError:  # an invalid identity, which applies to nobody
        return False
    if subject.meets_everybody or not subject.key:
        return subject.meets_everybody
    parts = frozenset(subject.key.split("+"))
    return not (any(map(_identifies, split(subject.text))) or any(each <= parts for each in counted))


def _identifies(part: str) -> bool:
    """Whether a typed value identifies a client by itself: of what is sent `user-agent` does, which tells robots apart, and a key
    or token."""
    kind, name, value = kind_and_name(part)
    if kind not in TEXTS:
        return kind in _OF_CLIENTS
    name = name.lower().replace("_", "-")
    if name == "user-agent":
        return kind == "header"
    is_long = "." in value if is_hashed(part) else len(value.rpartition(" ")[2]) >= _LEAST_OF_KEY  # without Bearer
    return is_long and not name.startswith("sec-") and _KEY_LIKE.search(name) is not None


def counted_by() -> set[frozenset[str]]:
    """The parts of a key by which each rule that is enforced or in code tells clients apart. A rule by two fields needs both."""
    keys = {use.key for uses in code_rates.uses().values() for use in uses if use.rate is not None}
    keys.update(RateRule.objects.filter(mode=Mode.ENFORCE, windows__isnull=False).values_list("key", flat=True))
    return {_telling(frozenset(canonical(key).split("+"))) for key in keys} - {frozenset()}


def _telling(parts: frozenset[str]) -> frozenset[str]:
    """The parts of a key that tell clients apart: beside an address, a user or a session only fields that are sent, such as a
    login name, since a tenant or country is many of these."""
    if parts & _OF_CLIENTS:
        return frozenset(part for part in parts if part.partition(":")[0] in TEXTS)
    return parts - _OF_REQUESTS
