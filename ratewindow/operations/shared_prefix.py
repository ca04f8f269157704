"""Which sites use this key prefix: each announces itself, and cleaning checks that no other one does."""

import time
from typing import Any, NamedTuple, cast

from ratewindow import conf
from ratewindow.limiter.keys import digest
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import database, malformed, process_clients, state_keys
from ratewindow.store.repair import with_repair

ANNOUNCE_S = 60.0
REMEMBERED_S = 24 * 3600
OVERWRITTEN = "overwritten"  # the time at which another program's value was replaced, and announcements were lost


class SharedPrefix(Exception):
    """Another site counts under our prefix. Its rules are in another database, so its keys would look orphaned."""


class _Seen(NamedTuple):
    """When a site last announced itself, and the server with its database, if that can tell."""

    at_s: int
    server: str


def announce_site(now_s: float | None = None) -> None:
    """Announce this site. The key expires when no site has done so for two days."""
    if process_clients.in_memory():
        return
    seen_s = int(time.time() if now_s is None else now_s)
    client = process_clients.patient_client()
    fields: dict[Any, Any] = {state_keys.fingerprint(): f"{seen_s} {_server()}"}

    def ask() -> None:
        with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
            pipe.hset(state_keys.sites(), mapping=fields)
            pipe.expire(state_keys.sites(), 2 * REMEMBERED_S)
            pipe.execute()

    with_repair(client, {state_keys.sites(): "hash"}, ask, lambda: fields.update({OVERWRITTEN: seen_s}))


def _server() -> str:
    told = database.server()
    return digest(told, 12) if told else ""


def refuse_when_shared(now_s: float | None = None) -> None:
    """Raise SharedPrefix if another site has announced itself within the last day, or may have."""
    now_s = time.time() if now_s is None else now_s
    sites = _sites(now_s)
    if OVERWRITTEN in sites:
        _wait_for_others(now_s - sites[OVERWRITTEN].at_s)
    if problem := _other(sites, now_s):
        raise SharedPrefix(f"{problem}, and its counts would be deleted as orphans. {remedy()}")


def other_site(now_s: float | None = None) -> str:
    """A sentence, without a full stop, about another site of the last day; empty if there is none."""
    now_s = time.time() if now_s is None else now_s
    return _other(_sites(now_s), now_s)


def remedy() -> str:
    return (
        "Give each site its own RATEWINDOW['KEY_PREFIX']. If it is this site, whose processes name its database in two ways, give"
        " all of them the same HOST, PORT and NAME. If it was this site before its SECRET_KEY or database changed, this ends by"
        f" itself within a day, or now with: redis-cli DEL {state_keys.sites()}"
    )


def _other(sites: dict[str, _Seen], now_s: float) -> str:
    own = (OVERWRITTEN, state_keys.fingerprint())
    others = [seen for name, seen in sites.items() if name not in own and now_s - seen.at_s < REMEMBERED_S]
    if others and (server := _server()):  # one database may be reached by two addresses, as by that of a pool
        others = [seen for seen in others if seen.server != server]
    if not others:
        return ""
    minutes = max(0, int(now_s) - max(seen.at_s for seen in others)) // 60
    return f"Another site uses the key prefix {conf.current().key_prefix!r} on this Redis (seen {minutes} minutes ago)"


def _sites(now_s: float) -> dict[str, _Seen]:
    """When each site last announced itself."""
    found = {}
    for site, seen in _announced(now_s).items():
        name, (at, _, server) = site.decode(errors="replace"), seen.decode(errors="replace").partition(" ")
        if at.isdecimal() and len(at) <= 12:
            found[name] = _Seen(int(at), server)
        else:
            malformed.skip("site", name, seen.decode(errors="replace"))
    return found


def _announced(now_s: float) -> dict[bytes, bytes]:
    client, key = process_clients.patient_client(), state_keys.sites()
    found = with_repair(client, {key: "hash"}, lambda: client.hgetall(key), lambda: client.hset(key, OVERWRITTEN, int(now_s)))
    return cast("dict[bytes, bytes]", found)


def _wait_for_others(age_s: float) -> None:
    if age_s < 2 * ANNOUNCE_S:
        raise SharedPrefix(
            f"Another program wrote under {state_keys.sites()}, so it is not known which sites use the key prefix"
            f" {conf.current().key_prefix!r}. They announce themselves again within a minute: clean in two."
        )


def announce_unless_tested() -> None:
    """Announce this site, but not from its tests, which have other databases: cleaning would be refused for a day."""
    if not conf.tests_run():
        try:
            announce_site()
        finally:
            database.held().close()
