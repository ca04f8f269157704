"""Which sites use this key prefix: each announces itself, and cleaning checks that no other one does.

A site is known by its secret key and its database: one of the same name on another server belongs to another site.
"""

import os
import time
from contextlib import closing
from typing import Any, cast

from django.apps import apps
from django.conf import settings as django_settings
from django.db import Error as DatabaseError, connections, router

from ratewindow import conf
from ratewindow.limiter.keys import digest
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import process_clients, state_keys

ANNOUNCE_S = 60.0
REMEMBERED_S = 24 * 3600

# What a running server says of itself, the same by whatever way it is reached, and not what a copy of its data would say.
_SERVERS = {
    "postgresql": "SELECT extract(epoch FROM pg_postmaster_start_time())::text, current_database(), current_schema()",
    "mysql": "SELECT @@hostname, @@port, @@datadir, database()",
}


class SharedPrefix(Exception):
    """Another site counts under our prefix. Its rules are in another database, so its keys would look orphaned."""


def announce_site(now_s: float | None = None) -> None:
    """Announce this site. The key expires when no site has done so for two days."""
    if process_clients.in_memory():
        return
    client, key = process_clients.patient_client(), state_keys.sites()
    seen = f"{int(time.time() if now_s is None else now_s)} {_server()}"
    with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
        pipe.hset(key, fingerprint(), seen)
        pipe.expire(key, 2 * REMEMBERED_S)
        pipe.execute()


def announce_unless_tested() -> None:
    """Announce this site, but not from its tests, which have other databases: cleaning would be refused for a day."""
    if not conf.tests_run():
        with closing(database()):
            announce_site()


def refuse_when_shared(now_s: float | None = None) -> None:
    """Raise SharedPrefix if another site has announced itself within the last day."""
    if other := other_site(now_s):
        raise SharedPrefix(f"{other}, and its counts would be deleted as orphans. {remedy()}")


def other_site(now_s: float | None = None) -> str:
    """A sentence, without a full stop, about another site of the last day; empty if there is none."""
    now_s = time.time() if now_s is None else now_s
    others = [(at_s, server) for at_s, server in _others() if now_s - at_s < REMEMBERED_S]
    if others and (server := _server()):  # one database may be reached by two addresses, as by that of a pool
        others = [each for each in others if each[1] != server]
    if not others:
        return ""
    minutes = max(0, int(now_s) - max(others)[0]) // 60
    return f"Another site uses the key prefix {conf.current().key_prefix!r} on this Redis (seen {minutes} minutes ago)"


def remedy() -> str:
    return (
        "Give each site its own RATEWINDOW['KEY_PREFIX']. If it is this site, whose processes name its database in two ways, give"
        " all of them the same HOST, PORT and NAME. If it was this site before its SECRET_KEY or database changed, this ends by"
        f" itself within a day, or now with: redis-cli DEL {state_keys.sites()}"
    )


def _others() -> list[tuple[int, str]]:
    """When each other site last announced itself, and the server with its database, if that can tell."""
    sites = cast("dict[bytes, bytes]", process_clients.patient_client().hgetall(state_keys.sites()))
    sites.pop(fingerprint().encode(), None)
    seen = (each.decode(errors="replace").partition(" ") for each in sites.values())
    return [(int(at), server) for at, _, server in seen if at.isdecimal() and len(at) <= 12]  # not what other programs write


def fingerprint() -> str:
    """Tells two sites apart that use one prefix. Of the database by its settings, since a process may start while it is down."""
    held = database()
    given, name = held.settings_dict, str(held.settings_dict["NAME"] or "")
    place = f"{held.vendor} {given['HOST']} {given['PORT']} {os.path.realpath(name) if held.vendor == 'sqlite' else name}"
    return digest(f"{django_settings.SECRET_KEY} {place}", 12)


def database() -> Any:
    """The connection to the rules, which need not be open. By the router for writing: for reading it may choose any replica."""
    return connections[router.db_for_write(apps.get_model("ratewindow", "RateRule"))]


def _server() -> str:
    """Tells apart the servers that answer there, and the databases on them; empty if none answers, or it cannot tell."""
    held = database()
    if held.vendor not in _SERVERS:
        return ""
    try:
        with held.cursor() as cursor:
            cursor.execute(_SERVERS[held.vendor])
            return digest(" ".join(map(str, cursor.fetchone())), 12)
    except DatabaseError:
        return ""
