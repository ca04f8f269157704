"""What is stored about a client: in the database, in Redis, and in the rooms of the site."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import Q

from ratewindow import rooms
from ratewindow.contrib.privacy.client import TypedClient
from ratewindow.counting import minutes
from ratewindow.counting.sums import Who, who_from_text
from ratewindow.models import OffenderStat, Override
from ratewindow.operations.clients import counting_rules
from ratewindow.rulebook import current
from ratewindow.store import process_clients, state_keys

AHEAD = 10  # minutes by which the clock of a process may be ahead
ERASED = "[erased]"


def find(client: TypedClient) -> list[rooms.Found]:
    """By place; places where nothing is are left out."""
    found = [
        rooms.Found.at("blocks and exemptions", [override.created_at for override in _overrides(client)]),
        rooms.Found.at("statistics", [row.start for row in _statistics(client)]),
        rooms.Found.at("log of the admin", [entry.action_time for entry in _log(client)]),
        *_in_redis(client),
        *(each for find_in in rooms.plugged("find") for each in find_in(client)),
    ]
    return [each for each in found if each.number]


def erase(client: TypedClient) -> None:
    """Delete the blocks, exemptions and counts; in statistics a hash of nothing takes the place of the client."""
    if not process_clients.in_memory():
        _erase_from_redis(client)  # before the rows: what is collected meanwhile has the stand-in already
    _erase_rows(client)
    for erase_from in rooms.plugged("erase"):
        erase_from(client)


@transaction.atomic
def _erase_rows(client: TypedClient) -> None:
    for override in _overrides(client):
        override.delete()  # one by one: the signals let the other processes know
    rows = _statistics(client)
    for row in rows:
        row.value = client.stand_in(row.value)
    OffenderStat.objects.bulk_update(rows, ["value"], batch_size=500)
    for entry in _log(client):
        entry.object_repr = entry.change_message = ERASED
        entry.save()


def _overrides(client: TypedClient) -> list[Override]:
    may_be = _has(client, "identity") | Q(identity__contains="/")  # a network, which may be a part of the client
    return [row for row in Override.objects.filter(may_be).iterator() if client.is_in(row.identity)]


def _statistics(client: TypedClient) -> list[OffenderStat]:
    rows = OffenderStat.objects.filter(_has(client, "value"), kind=OffenderStat.Kind.CLIENT).iterator()
    return [row for row in rows if client.is_in(row.value)]


def _log(client: TypedClient) -> list[Any]:
    """Entries about our models that name the client, in the log of Django's admin where that is installed."""
    if not apps.is_installed("django.contrib.admin"):
        return []
    from django.contrib.admin.models import LogEntry

    rows = LogEntry.objects.filter(
        _has(client, "object_repr") | _has(client, "change_message"), content_type__app_label__startswith="ratewindow"
    )
    alone = re.compile("|".join(rf"(?<![\w.:]){re.escape(text)}(?![\w:]|\.\w)" for text in client.texts))
    return [entry for entry in rows if alone.search(f"{entry.object_repr} {entry.change_message}")]


def _has(client: TypedClient, field: str) -> Q:
    return reduce(or_, (Q(**{f"{field}__contains": text}) for text in client.texts))


def _in_redis(client: TypedClient) -> Iterator[rooms.Found]:
    if not process_clients.in_memory():
        redis = process_clients.patient_client()
        yield rooms.Found("counts in Redis", sum(redis.exists(key) for key in _states(client)))
        moments = [datetime.fromtimestamp(minute * minutes.MINUTE_S, UTC) for minute, *_ in _sent(client)]
        yield rooms.Found.at("clients of the last hours in Redis", moments)


def _erase_from_redis(client: TypedClient) -> None:
    redis = process_clients.patient_client()
    for key in _states(client):
        redis.unlink(key)
    for minute, field, value in _sent(client):
        named = {client.stand_in(name) if client.is_in(name) else name: counted for name, counted in value.clients.named.items()}
        known = {name: facts for name, facts in value.known.items() if not client.is_in(name)}
        erased = value._replace(clients=value.clients._replace(named=named), known=known)
        redis.hset(state_keys.minute_who(minute), field, erased.to_text())


def _states(client: TypedClient) -> set[str]:
    """The keys of counts that the client alone may have: what it is joined with in others, nobody knows."""
    found: set[str] = set()
    for rule in counting_rules(current.rulebook()):
        names = [*rule.state_names, *filter(None, [rule.lock_name])]
        tags = [tag for identity in client.identities(rule.recipe.normaliser) for tag in state_keys.client_tags(identity)]
        found.update(state_keys.state(name, tag) for name in names for tag in tags)
    return found


def _sent(client: TypedClient) -> Iterator[tuple[int, str, Who]]:
    """Minute and field of what a process has sent about one rule, where the client is named."""
    now = int(time.time()) // minutes.MINUTE_S
    numbers = range(now - minutes.UNCOLLECTED_S // minutes.MINUTE_S - 1, now + AHEAD)
    for minute, fields in minutes.fields({number: state_keys.minute_who(number) for number in numbers}).items():
        for field, text in fields.items():
            value = who_from_text(text)
            if value is not None and any(map(client.is_in, (*value.clients.named, *value.known))):
                yield minute, field, value
