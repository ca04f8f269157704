"""How this process hears that somebody has edited the rules, and tells the others of its own edits.

An edit renews a token in Redis. Housekeeping compares the token three times within `REFRESH`; when it has
changed, a thread beside reads the rows anew, so that neither a request nor what housekeeping does for Redis
ever waits for the database. It also reads them every half minute, for edits that no signal told of
(``QuerySet.update()``, raw SQL), and more often while Redis is away.
"""

import contextlib
import logging
import secrets
from typing import Any, cast

from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import Error as DatabaseError  # InterfaceError, a lost connection, is no django.db.DatabaseError
from django.db import connections, router, transaction
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save
from redis.exceptions import RedisError

from ratewindow import background, conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.rulebook import current, kill_switch, reading, redis_copy
from ratewindow.rulebook.rule_rows import read_switch
from ratewindow.rules.kill_switch import from_text
from ratewindow.store import process_clients, state_keys

logger = logging.getLogger("ratewindow")

REREAD_S = 30.0  # how soon an edit acts that no signal told of
REREAD_ALONE_S = 2.0  # the same while Redis is away, or the last reading failed
REREAD_SPARING = 20  # at least so many times as long as a reading takes

LISTEN_S = 1.5  # how soon the kill switch acts, at most, however long REFRESH is

_SWITCH = "ratewindow.limitswitch"
_EDITED = ("ratewindow.raterule", "ratewindow.rulewindow", _SWITCH, "ratewindow.override")


class _Heard:
    """What this process has heard, and has not told yet."""

    def __init__(self) -> None:
        self.token: bytes | str | None = None
        self.edited = False  # somebody has renewed the token since the last reading began
        self.alone = False  # Redis tells nothing
        self.unannounced = False


_heard = _Heard()


def announce() -> None:
    """Tell every process that the rules have changed; this one reads them at once."""
    error = _announce()
    if error is not None:
        logger.warning("ratewindow: other processes learn of the edited rules within %.0f s: %s", REREAD_S, error)


def announce_switch() -> None:
    """The same of the kill switch's row. Where Redis is away processes look at it anyway, and who turns it is told."""
    _announce()


def _announce() -> Exception | None:
    reading.reload(after_edit=True)
    _heard.unannounced = not process_clients.in_memory()
    try:
        _renew_token()
    except (RedisError, OSError) as error:
        return error
    return None


def _renew_token() -> None:
    if not _heard.unannounced:
        return
    _heard.unannounced = False  # before it is sent: an edit meanwhile is another one
    try:
        # Random, not counted up: a Redis that lost its data would repeat a number.
        with limited(conf.current().timeout_s):
            process_clients.client().set(state_keys.token(), secrets.token_hex(8))
    except BaseException:
        _heard.unannounced = True
        raise


def listen() -> None:
    """Hear from Redis whether somebody has edited the rules, or turned the kill switch."""
    kill_switch.learn()
    if process_clients.in_memory():
        _heard.alone = True
        return
    try:
        _renew_token()
        with limited(conf.current().timeout_s):  # an answer that drips in must not hold up the kill switch
            token, turned = cast("list[bytes | None]", process_clients.client().mget(state_keys.token(), state_keys.switch()))
        if turned is None and kill_switch.off:  # a server that has lost its data: processes that start shall hear of it
            held = kill_switch.turned
            with limited(conf.current().timeout_s):
                process_clients.client().set(state_keys.switch(), held.to_text(), nx=True, pxat=held.kept_until_ms)
    except (RedisError, OSError):
        _heard.alone = True
        return
    _heard.alone = False
    if turned is not None:
        kill_switch.learn(from_text(turned))
    if token != _heard.token:
        _heard.token, _heard.edited = token, True
        background.hurry(look)


def look() -> None:
    """Read the rows when somebody has edited them, or nobody has read them for a while."""
    last = reading.last()
    is_old = last.age_s >= _rest_s(last)
    if not (is_old or _heard.edited or last.finds_more):
        return
    _heard.edited = False  # before the rows are read, so that no edit falls between
    database = connections[router.db_for_read(RateRule)]
    if _is_in_memory(database):
        current.stop_waiting()
        return
    if current.is_empty():
        current.offer(redis_copy.find())  # before the database, which may hang
    try:
        reading.reload(after_edit=not is_old, listeners_wait=True)
    finally:
        database.close()
    _keep_copy()


def _keep_copy() -> None:
    """Let processes that start while the database is away have what this one has read."""
    if not reading.last().failed:
        with contextlib.suppress(RedisError, OSError):  # of an outage the breaker tells
            redis_copy.keep(current.held().by_name.values())


def look_at_switch() -> None:
    """Read its row while Redis tells nothing: a reading of all rows may rest for longer than the switch may."""
    database = connections[router.db_for_read(LimitSwitch)]
    if not _heard.alone or _is_in_memory(database):
        return
    try:
        kill_switch.learn(read_switch())
    except DatabaseError:
        return  # told where the rules are read
    finally:
        database.close()


def _rest_s(last: reading.Last) -> float:
    """How long a reading is good without news. A hundred thousand blocks take a second: not all of a process's time."""
    if not _heard.alone and not last.failed:
        return REREAD_S
    return min(REREAD_S, max(REREAD_ALONE_S, REREAD_SPARING * last.took_s))


def _is_in_memory(database: Any) -> bool:
    """Such a database belongs to the thread of a test, which a reader beside it would lock out."""
    return database.vendor == "sqlite" and bool(database.is_in_memory_db())


def _edited(sender: Any, using: str, **_: Any) -> None:
    name = sender._meta.label_lower  # migrations have classes of their own
    if name in _EDITED and not _will_announce(using):
        transaction.on_commit(announce_switch if name == _SWITCH else announce, using=using)


def _regrouped(action: str, using: str, **_: Any) -> None:
    """Somebody has come into a group or has left it, of which a block or an exemption may speak."""
    if current.names_groups() and action.startswith("post_") and not _will_announce(using):
        transaction.on_commit(announce, using=using)


def _will_announce(using: str) -> bool:
    """Whether this transaction will do so anyway: loading a thousand rules is one edit, not a thousand."""
    return any(entry[1] is announce for entry in connections[using].run_on_commit)


def _emptied(**_: Any) -> None:
    """After ``migrate`` there is a table to read, after ``flush`` (and so after many a test) there are no rows."""
    reading.reload()


def connect() -> None:
    """Listen for this process's edits; called once, when Django starts."""
    post_save.connect(_edited, dispatch_uid="ratewindow.rulebook.edits")
    post_delete.connect(_edited, dispatch_uid="ratewindow.rulebook.edits")
    if (groups := getattr(get_user_model(), "groups", None)) is not None:
        m2m_changed.connect(_regrouped, sender=groups.through, dispatch_uid="ratewindow.rulebook.edits")
    post_migrate.connect(_emptied, sender=apps.get_app_config("ratewindow"), dispatch_uid="ratewindow.rulebook.edits")


def interval_s() -> float:
    """How often `listen` and `look` are called."""
    return min(conf.current().refresh_s / 3, LISTEN_S)


def reset() -> None:
    """As in a process that has heard nothing."""
    global _heard
    _heard = _Heard()
