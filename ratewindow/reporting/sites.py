"""Which sites use this key prefix: each says so, and whoever deletes looks first."""

import time
from typing import Any, cast

from ratewindow import conf, connection, housekeeping, oddities, statekeys
from ratewindow.connection.mending import mended

ANNOUNCE_S = 60.0
REMEMBERED_S = 24 * 3600
OVERWRITTEN = "overwritten"  # beside the sites: when who had said so was forgotten, since another program wrote there


class SharedPrefix(Exception):
    """Another site counts under our prefix. Its rules are in another database: its keys would look abandoned."""


_database = statekeys.database()


def announce_site(now_s: float | None = None) -> None:
    """Say that this site is here; the key goes when nobody has said so for two days."""
    if connection.in_memory():
        return
    seen_s = int(time.time() if now_s is None else now_s)
    client = connection.patient_client()
    fields: dict[Any, Any] = {statekeys.fingerprint(): seen_s}

    def ask() -> None:
        with client.pipeline(transaction=True) as pipe:
            pipe.hset(statekeys.sites(), mapping=fields)
            pipe.expire(statekeys.sites(), 2 * REMEMBERED_S)
            pipe.execute()

    mended(client, {statekeys.sites(): "hash"}, ask, lambda: fields.update({OVERWRITTEN: seen_s}))


def refuse_when_shared(now_s: float | None = None) -> None:
    """Raise SharedPrefix when another site was here within the last day, or may have been."""
    now_s = time.time() if now_s is None else now_s
    for site, seen in _said(now_s).items():
        if not (seen.isdigit() and len(seen) <= 12):
            oddities.skip("site", site.decode(errors="replace"), seen.decode(errors="replace"))
            continue
        age_s = now_s - int(seen)
        if site == OVERWRITTEN.encode():
            _wait_for_others(age_s)
        elif site != statekeys.fingerprint().encode() and age_s < REMEMBERED_S:
            minutes = max(0, int(age_s)) // 60
            raise SharedPrefix(
                f"Another site uses the key prefix {conf.current().key_prefix!r} on this Redis (seen {minutes} minutes ago), and"
                " its counts would be deleted as nobody's. Give each site its own RATEWINDOW['KEY_PREFIX']. If it was this one,"
                " before its SECRET_KEY or database changed, this ends by itself within a day, or now with: redis-cli DEL"
                f" {statekeys.sites()}"
            )


def _said(now_s: float) -> dict[bytes, bytes]:
    client, key = connection.patient_client(), statekeys.sites()
    found = mended(client, {key: "hash"}, lambda: client.hgetall(key), lambda: client.hset(key, OVERWRITTEN, int(now_s)))
    return cast("dict[bytes, bytes]", found)


def _wait_for_others(age_s: float) -> None:
    if age_s < 2 * ANNOUNCE_S:
        raise SharedPrefix(
            f"Another program wrote under {statekeys.sites()}, so it is not known which sites use the key prefix"
            f" {conf.current().key_prefix!r}. They say so again within a minute: clean in two."
        )


def _announce_unless_tested() -> None:
    """A site's tests may use the Redis it is developed with. They are no other site, though their database is: if they
    said so, nobody could clean there for a day."""
    if statekeys.database() == _database:
        announce_site()


housekeeping.every(lambda: ANNOUNCE_S, _announce_unless_tested)
