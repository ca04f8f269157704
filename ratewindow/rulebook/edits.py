"""How this process learns of edits of the rules, and announces its own to the others.

An edit changes a token in Redis, which a thread of each process compares twice within `REFRESH`. If it has changed,
another thread reads the rows, so that neither requests nor work on Redis wait for the database. That thread also reads them
every half minute, for edits without a signal (``QuerySet.update()``, raw SQL), and more often while Redis is down.
"""

import logging
import os
import secrets
from contextlib import closing
from typing import Any, cast

from django.apps import apps
from django.db import connections, transaction
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save
from redis.exceptions import RedisError

from ratewindow import background, conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.overrides import users
from ratewindow.rulebook import current, kill_switch, reading
from ratewindow.store import process_clients, state_keys

logger = logging.getLogger("ratewindow")

AT_ONCE_S = 0.1  # a longer reading is not waited for by the request that edits
CHECK_S = 1.5  # how soon the kill switch acts at most, however long REFRESH is

_EDITED = frozenset({"ratewindow.raterule", "ratewindow.rulewindow", "ratewindow.limitswitch", "ratewindow.override"})


class _State:
    """What this process knows of edits elsewhere, and what it has not announced yet."""

    token: bytes | str | None = None
    edited = False  # the token has changed since the last reading began
    is_alone = False  # Redis does not answer or is not used
    unannounced = False  # an edit of this process, which others do not know of


_state = _State()


def announce() -> None:
    """Announce an edit to all processes; this one reads the rows now, or, where that takes long, its thread does."""
    if reading.took_s() > AT_ONCE_S and background.running_in == os.getpid():
        _state.edited = True
        background.hurry(reread)
    else:
        reading.reload()
    _state.unannounced = not process_clients.in_memory()
    try:
        _change_token()
    except (RedisError, OSError) as error:
        logger.warning(
            "ratewindow: other processes learn of the edit within %.0f s, of the kill switch within %.0f s: %s",
            reading.REREAD_S,
            reading.REREAD_ALONE_S,
            error,
        )


def _change_token() -> None:
    if not _state.unannounced:
        return
    _state.unannounced = False  # before it is sent, since another edit may follow meanwhile
    try:
        # Random, since a counter would repeat numbers after Redis lost its data.
        with limited(conf.current().timeout_s):
            process_clients.patient_client().set(state_keys.token(), secrets.token_hex(8))
    except BaseException:
        _state.unannounced = True
        raise


def check_redis() -> None:
    """Learn from Redis whether the rules were edited or the kill switch was turned."""
    kill_switch.learn()  # its time may be over
    if process_clients.in_memory():
        _state.is_alone = True
        return
    try:
        _change_token()
        with limited(conf.current().timeout_s):  # an answer that drips in must not delay the kill switch
            answer = process_clients.patient_client().mget(state_keys.token(), state_keys.switch())
    except (RedisError, OSError):
        _state.is_alone = True
        return
    _state.is_alone = False
    token, turned = cast("list[bytes | None]", answer)
    kill_switch.learn(kill_switch.from_redis(turned))
    if token != _state.token:
        _state.token, _state.edited = token, True
        background.hurry(reread)


def is_stale() -> bool:
    """Whether the rows were edited, or the last reading is old."""
    return _state.edited or reading.is_old(_state.is_alone)


def reread() -> None:
    """Read the rows, which are stale."""
    _state.edited = False  # before the rows are read, so that no edit is missed
    database = connections[reading.database()]
    if _is_in_memory(database):
        current.stop_waiting()
        return
    with closing(database):
        reading.reload(listeners_wait=True)


def is_alone() -> bool:
    """Whether edits elsewhere are found in the database alone, since Redis does not answer or is not used."""
    return _state.is_alone


def reread_switch() -> None:
    """Read the kill switch's row while Redis does not answer: all rows are read less often when there are many."""
    database = connections[reading.database()]
    if not _is_in_memory(database):
        with closing(database):
            kill_switch.learn(reading.read_switch())


def _is_in_memory(database: Any) -> bool:
    """Such a database belongs to the thread of a test, which another thread would lock out."""
    return database.vendor == "sqlite" and bool(database.is_in_memory_db())


def _on_edit(using: str, **_: Any) -> None:
    """Announce it, unless this transaction will do so anyway: saving a thousand rules is one edit, not a thousand."""
    if not any(entry[1] is announce for entry in connections[using].run_on_commit):
        transaction.on_commit(announce, using=using)


def _on_group_change(action: str, using: str, **_: Any) -> None:
    """Announce that the members of a group have changed, which a block or an exemption may name."""
    overrides = current.of_site().overrides
    if overrides is not None and overrides.groups and action.startswith("post_"):
        _on_edit(using)


def _on_migrate(**_: Any) -> None:
    """Read the table that ``migrate`` has made, or that ``flush``, and so many a test, has emptied."""
    reading.reload()


def connect() -> None:
    """Connect the signals of this process's own edits."""
    for signal in (post_save, post_delete):
        for label in _EDITED:
            signal.connect(_on_edit, sender=apps.get_model(label), dispatch_uid="ratewindow.rulebook.edits")
    if (groups := users.groups_of_users()) is not None:
        m2m_changed.connect(_on_group_change, sender=groups.through, dispatch_uid="ratewindow.rulebook.edits")
    post_migrate.connect(_on_migrate, sender=apps.get_app_config("ratewindow"), dispatch_uid="ratewindow.rulebook.edits")


def interval_s() -> float:
    """How often `check_redis` and `reread` are called."""
    return min(conf.current().refresh_s / 2, CHECK_S)
