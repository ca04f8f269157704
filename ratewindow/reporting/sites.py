"""Which sites use this key prefix: each says so, and whoever deletes looks first."""

import time

from ratewindow import conf, connection, housekeeping, statekeys

ANNOUNCE_S = 60.0
REMEMBERED_S = 24 * 3600


class SharedPrefix(Exception):
    """Another site counts under our prefix. Its rules are in another database: its keys would look abandoned."""


_database = statekeys.database()


def announce_site(now_s: float | None = None) -> None:
    """Say that this site is here; the key goes when nobody has said so for two days."""
    if connection.in_memory():
        return
    seen_s = int(time.time() if now_s is None else now_s)
    with connection.patient_client().pipeline(transaction=True) as pipe:
        pipe.hset(statekeys.sites(), statekeys.fingerprint(), seen_s)
        pipe.expire(statekeys.sites(), 2 * REMEMBERED_S)
        pipe.execute()


def refuse_when_shared(now_s: float | None = None) -> None:
    """Raise SharedPrefix when another site was here within the last day."""
    now_s = time.time() if now_s is None else now_s
    ours, prefix = statekeys.fingerprint().encode(), conf.current().key_prefix
    for site, seen in connection.patient_client().hgetall(statekeys.sites()).items():
        age_s = now_s - (int(seen) if seen.isdigit() else 0)
        if site != ours and age_s < REMEMBERED_S:
            minutes = max(0, int(age_s)) // 60
            raise SharedPrefix(
                f"Another site uses the key prefix {prefix!r} on this Redis (seen {minutes} minutes ago), and its counts would be"
                " deleted as nobody's. Give each site its own RATEWINDOW['KEY_PREFIX']. If it was this one, before its SECRET_KEY"
                f" or database changed, this ends by itself within a day, or now with: redis-cli DEL {statekeys.sites()}"
            )


def _announce_unless_tested() -> None:
    """A site's tests may use the Redis it is developed with. They are no other site, though their database is: if they
    said so, nobody could clean there for a day."""
    if statekeys.database() == _database:
        announce_site()


housekeeping.every(lambda: ANNOUNCE_S, _announce_unless_tested)
