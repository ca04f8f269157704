"""The code of a 429, looked up: what was refused then, or why the code is not found."""

import time
from dataclasses import replace

from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.identity import split
from ratewindow.identity.address import parse_address
from ratewindow.identity.privacy import is_hashed
from ratewindow.identity.typed_values import kind_and_name
from ratewindow.limiter.problem import Problem
from ratewindow.operations import client_rules
from ratewindow.operations.explain.asked import Asked
from ratewindow.reporting import codes, counters
from ratewindow.reporting.codes import Refusal
from ratewindow.rulebook import current
from ratewindow.store import process_clients


def find(text: str, with_blocks: bool = True) -> Refusal | None:
    """The refusal of a code within the last hour; without blocks, only what the limits of rules have refused.

    Raises ValueError for what is no code, RedisError or OSError while Redis is away.
    """
    code = codes.as_typed(text)
    if not code:
        raise Problem("{text!r} is not a code: it has five letters and digits, and never 0, 1, i, l or o", text=text[:40])
    known = counters.held_code(code)
    if known is None and not process_clients.in_memory():
        known = codes.read(code, time.time())
    return known if known is None or with_blocks else _by_rules(known)


def _by_rules(refusal: Refusal) -> Refusal | None:
    """Without blocks, and without the limits of other rates that hold for the client."""
    book = current.rulebook()
    by = []
    for each in refusal.by:
        windows = {window.text for rule in client_rules.named(book, each.rule) for window in rule.windows}
        if each.reason != "block":
            by.append(each if each.window in windows else each._replace(window=""))
    return replace(refusal, by=tuple(by)) if by else None


def why_unknown() -> str:
    """Why a code may not be found, in sentences."""
    if not conf.current().stats:
        return gettext("No codes are kept, since the setting STATS is off.")
    if process_clients.in_memory():
        return gettext("It may be mistyped, older than an hour, or of another process: with memory:// each knows its own alone.")
    return gettext(
        "It may be mistyped, older than an hour, or of the last second; each process keeps the 5 newest codes of a client in a "
        "minute, of at most 100 clients."
    )


def asked_of(refusal: Refusal) -> Asked | None:
    """The request of a refusal, as far as it is known: to ask what would be answered now. None without a path of its own."""
    method, _, path = refusal.route.partition(" ")
    if not path.startswith("/") or set(path) & set("<>()[]{}^$*+?|\\"):
        return None
    parts = [kind_and_name(part) for by in refusal.by for part in split(by.identity) if not is_hashed(part)]
    known = {kind: value for kind, _, value in reversed(parts)}
    address = known.get("ip", "").partition("/")[0]
    return Asked(
        method,
        path,
        address if parse_address(address) is not None else "",
        f"user:{known['user']}" if "user" in known else "",
        headers={name: value for kind, name, value in parts if kind == "header"},
        fields={name: value for kind, name, value in parts if kind in ("post", "body")},
    )
