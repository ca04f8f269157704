"""How this process learns of edits of the rules, and announces its own to the others.

An edit changes a token in Redis, which a thread of each process compares twice within `REFRESH`. If it has changed,
another thread reads the rows, so that neither requests nor work on Redis wait for the database. That thread also reads them
every half minute, for edits without a signal (``QuerySet.update()``, raw SQL), and more often while Redis is down.
"""

import contextlib
import logging
import secrets
from typing import Any, cast

from django.apps import apps
from django.db import Error as DatabaseError  # InterfaceError, a lost connection, is no django.db.DatabaseError
from django.db import connections, router, transaction
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save
from redis.exceptions import RedisError

from ratewindow import background, conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.models import LimitSwitch, RateRule, row_signals
from ratewindow.overrides import users
from ratewindow.rulebook import current, kill_switch, reading, redis_copy
from ratewindow.rulebook.rule_rows import read_switch
from ratewindow.store import process_clients, state_keys

logger = logging.getLogger("ratewindow")

REREAD_S = 30.0  # how soon an edit without a signal acts
REREAD_ALONE_S = 2.0  # the same while Redis is down or the last reading failed
REREAD_SPARING = 20  # a reading is repeated after so many times the time that it took, or later

CHECK_S = 1.5  # how soon the kill switch acts at most, however long REFRESH is

_SWITCH = "ratewindow.limitswitch"
_EDITED = frozenset({"ratewindow.raterule", "ratewindow.rulewindow", _SWITCH, "ratewindow.override", "ratewindow.recording"})


class _State:
    """What this process knows of edits elsewhere, and what it has not announced yet."""

    def __init__(self) -> None:
        self.token: bytes | str | None = None
        self.edited = False  # the token has changed since the last reading began
        self.is_alone = False  # Redis does not answer or is not used
        self.unannounced = False  # an edit of this process, which others do not know of


_state = _State()


def announce() -> None:
    """Announce an edit of the rules to all processes; this one reads them now."""
    error = _announce()
    if error is not None:
        logger.warning("ratewindow: other processes learn of the edited rules within %.0f s: %s", REREAD_S, error)


def announce_switch() -> None:
    """Announce an edit of the kill switch's row, without a warning: while Redis is down processes read it every few seconds."""
    _announce()


def _announce() -> Exception | None:
    reading.reload(after_edit=True)
    _state.unannounced = not process_clients.in_memory()
    try:
        _change_token()
    except (RedisError, OSError) as error:
        return error
    return None


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
    kill_switch.learn()
    if process_clients.in_memory():
        _state.is_alone = True
        return
    try:
        _change_token()
        with limited(conf.current().timeout_s):  # an answer that drips in must not delay the kill switch
            found = process_clients.patient_client().mget(state_keys.token(), state_keys.switch())
        token, turned = cast("list[bytes | None]", found)
        if turned is None and kill_switch.off:  # Redis has lost its data, which new processes need
            held = kill_switch.turned
            with limited(conf.current().timeout_s):
                text = kill_switch.to_redis(held)
                process_clients.patient_client().set(state_keys.switch(), text, nx=True, pxat=held.kept_until_ms)
    except (RedisError, OSError):
        _state.is_alone = True
        return
    _state.is_alone = False
    if turned is not None:
        kill_switch.learn(kill_switch.from_redis(turned))
    if token != _state.token:
        _state.token, _state.edited = token, True
        background.hurry(reread)


def is_stale() -> bool:
    """Whether the rows were edited, or the last reading is old."""
    return _state.edited or reading.last().finds_more or _is_old()


def _is_old() -> bool:
    last = reading.last()
    return last.age_s >= _rest_s(last)


def reread() -> None:
    """Read the rows if they are stale."""
    if not is_stale():
        return
    is_old = _is_old()
    _state.edited = False  # before the rows are read, so that no edit is missed
    database = connections[router.db_for_read(RateRule)]
    if _is_in_memory(database):
        current.stop_waiting()
        return
    if current.is_empty():
        current.offer(redis_copy.load())  # before the database, which may hang
    try:
        reading.reload(after_edit=not is_old, listeners_wait=True)
    finally:
        database.close()
    _save_copy()


def _save_copy() -> None:
    """Save the rules for processes that start while the database is down."""
    if not reading.last().failed:
        with contextlib.suppress(RedisError, OSError):  # the breaker logs outages
            redis_copy.save(current.held().by_name.values())


def is_alone() -> bool:
    """Whether edits elsewhere are found in the database alone, since Redis does not answer or is not used."""
    return _state.is_alone


def reread_switch() -> None:
    """Read the kill switch's row while Redis does not answer: rows are read less often when there are many."""
    database = connections[router.db_for_read(LimitSwitch)]
    if not _state.is_alone or _is_in_memory(database):
        return
    try:
        kill_switch.learn(read_switch())
    except DatabaseError:
        return  # logged where the rules are read
    finally:
        database.close()


def _rest_s(last: reading.Last) -> float:
    """How long a reading is used without news. A hundred thousand blocks take a second, which is not to be all of its time."""
    if not _state.is_alone and not last.failed:
        return REREAD_S
    return min(REREAD_S, max(REREAD_ALONE_S, REREAD_SPARING * last.took_s))


def _is_in_memory(database: Any) -> bool:
    """Such a database belongs to the thread of a test, which another thread would lock out."""
    return database.vendor == "sqlite" and bool(database.is_in_memory_db())


def _on_edit(sender: Any, using: str, **_: Any) -> None:
    if not _will_announce(using):
        transaction.on_commit(announce_switch if sender._meta.label_lower == _SWITCH else announce, using=using)


def _on_group_change(action: str, using: str, **_: Any) -> None:
    """Announce that the members of a group have changed, which a block or an exemption may name."""
    if current.names_groups() and action.startswith("post_") and not _will_announce(using):
        transaction.on_commit(announce, using=using)


def _will_announce(using: str) -> bool:
    """Whether this transaction will do so anyway: saving a thousand rules is one edit, not a thousand."""
    return any(entry[1] is announce for entry in connections[using].run_on_commit)


def _on_migrate(**_: Any) -> None:
    """Read the table that ``migrate`` has made, or that ``flush``, and so many a test, has emptied."""
    reading.reload()


def connect() -> None:
    """Connect the signals of this process's own edits."""
    for signal in (post_save, post_delete):
        row_signals.connect(signal, _on_edit, _EDITED, "ratewindow.rulebook.edits")
    if (groups := users.groups_of_users()) is not None:
        m2m_changed.connect(_on_group_change, sender=groups.through, dispatch_uid="ratewindow.rulebook.edits")
    post_migrate.connect(_on_migrate, sender=apps.get_app_config("ratewindow"), dispatch_uid="ratewindow.rulebook.edits")


def interval_s() -> float:
    """How often `check_redis` and `reread` are called."""
    return min(conf.current().refresh_s / 2, CHECK_S)


def reset() -> None:
    """As in a process that knows nothing yet."""
    global _state
    _state = _State()
