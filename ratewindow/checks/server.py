"""Checks of the Redis server; they connect to it."""

from collections.abc import Sequence
from typing import Any

import redis
from django.apps import AppConfig
from django.core import checks

from ratewindow.checks.messages import Messages, warning
from ratewindow.operations.shared_prefix import other_site, remedy
from ratewindow.store import process_clients


@checks.register(checks.Tags.database)
def check_server(app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any) -> Messages:
    """W013: the server evicts keys when its memory is full. W022: another site uses our prefix. `ratewindow check` reports a
    server that does not answer."""
    if not databases or process_clients.in_memory():
        return []
    return [*_shared(), *_evicting()]


def _shared() -> Messages:
    try:
        other = other_site()
    except (redis.RedisError, OSError, ValueError):
        return []
    if not other:
        return []
    message = (
        f"{other}: its edits and its counts for rules of the same name are ours, too, and its kill switch replaces ours in Redis."
    )
    return [warning(22, message, f"{remedy()}.")]


def _evicting() -> Messages:
    try:
        memory = [dict(master.info("memory")) for master in process_clients.masters()]
    except (redis.RedisError, OSError, ValueError):
        return []
    policies = {str(each.get("maxmemory_policy")) for each in memory if each.get("maxmemory")} - {"noeviction", "None"}
    if not policies:
        return []
    return [
        warning(
            13,
            f"Redis evicts keys when its memory is full ({', '.join(sorted(policies))}): a client whose counts are evicted may "
            "use its whole limit again.",
            "Give the limiter a Redis of its own with maxmemory-policy noeviction.",
        )
    ]
