"""What is wrong with the server that counts; asks Redis."""

from collections.abc import Sequence
from typing import Any

import redis
from django.apps import AppConfig
from django.core import checks

from ratewindow.checks.messages import Told, warning
from ratewindow.operations.shared_prefix import other_site, remedy
from ratewindow.store import process_clients


@checks.register(checks.Tags.database)
def check_server(app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any) -> Told:
    """W013: a server that evicts keys when its memory is full. W022: another site on our prefix. A server that does not answer
    is `ratewindow check`'s to tell."""
    if not databases or process_clients.in_memory():
        return []
    return [*_shared(), *_evicting()]


def _shared() -> Told:
    try:
        told = other_site()
    except (redis.RedisError, OSError, ValueError):
        return []
    if not told:
        return []
    return [
        warning(
            22, f"{told}: its edits, its kill switch and its counts for rules of the same name are ours, too.", f"{remedy()}."
        )
    ]


def _evicting() -> Told:
    try:
        told = [dict(master.info("memory")) for master in process_clients.masters()]
    except (redis.RedisError, OSError, ValueError):
        return []
    policies = {str(each.get("maxmemory_policy")) for each in told if each.get("maxmemory")} - {"noeviction", "None"}
    if not policies:
        return []
    return [
        warning(
            13,
            f"Redis evicts keys when its memory is full ({', '.join(sorted(policies))}): a client whose counts are evicted is "
            "free again.",
            "Give the limiter a Redis of its own with maxmemory-policy noeviction.",
        )
    ]
