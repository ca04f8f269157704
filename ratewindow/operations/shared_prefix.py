"""Which sites use this key prefix: each announces itself, and cleaning checks that no other one does."""

import time
from typing import Any, cast

from ratewindow import conf
from ratewindow.store import malformed, process_clients, state_keys
from ratewindow.store.repair import with_repair

ANNOUNCE_S = 60.0
REMEMBERED_S = 24 * 3600
OVERWRITTEN = "overwritten"  # the time at which another program's value was replaced, and announcements were lost


class SharedPrefix(Exception):
    """Another site counts under our prefix. Its rules are in another database, so its keys would look orphaned."""


_database = state_keys.database()


def announce_site(now_s: float | None = None) -> None:
    """Announce this site. The key expires when no site has done so for two days."""
    if process_clients.in_memory():
        return
    seen_s = int(time.time() if now_s is None else now_s)
    client = process_clients.patient_client()
    fields: dict[Any, Any] = {state_keys.fingerprint(): seen_s}

    def ask() -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.hset(state_keys.sites(), mapping=fields)
            pipe.expire(state_keys.sites(), 2 * REMEMBERED_S)
            pipe.execute()

    with_repair(client, {state_keys.sites(): "hash"}, ask, lambda: fields.update({OVERWRITTEN: seen_s}))


def refuse_when_shared(now_s: float | None = None) -> None:
    """Raise SharedPrefix if another site has announced itself within the last day, or may have."""
    now_s = time.time() if now_s is None else now_s
    seen_s = _seen_s(now_s)
    if OVERWRITTEN in seen_s:
        _wait_for_others(now_s - seen_s.pop(OVERWRITTEN))
    if problem := _other(seen_s, now_s):
        raise SharedPrefix(f"{problem}, and its counts would be deleted as orphans. {remedy()}")


def other_site(now_s: float | None = None) -> str:
    """A sentence, without a full stop, about another site of the last day; empty if there is none."""
    now_s = time.time() if now_s is None else now_s
    return _other(_seen_s(now_s), now_s)


def remedy() -> str:
    return (
        "Give each site its own RATEWINDOW['KEY_PREFIX']. If it was this site before its SECRET_KEY or database changed, this"
        f" ends by itself within a day, or now with: redis-cli DEL {state_keys.sites()}"
    )


def _other(seen_s: dict[str, int], now_s: float) -> str:
    others = [now_s - at_s for site, at_s in seen_s.items() if site not in (OVERWRITTEN, state_keys.fingerprint())]
    ages = [age_s for age_s in others if age_s < REMEMBERED_S]
    if not ages:
        return ""
    minutes = max(0, int(min(ages))) // 60
    return f"Another site uses the key prefix {conf.current().key_prefix!r} on this Redis (seen {minutes} minutes ago)"


def _seen_s(now_s: float) -> dict[str, int]:
    """When each site last announced itself."""
    found = {}
    for site, seen in _announced(now_s).items():
        if seen.isdigit() and len(seen) <= 12:
            found[site.decode(errors="replace")] = int(seen)
        else:
            malformed.skip("site", site.decode(errors="replace"), seen.decode(errors="replace"))
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
    """Announce this site, but not from its tests, which have another database: cleaning would be refused for a day."""
    if state_keys.database() == _database:
        announce_site()
