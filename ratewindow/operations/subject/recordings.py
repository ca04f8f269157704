"""A client in recordings, which know it by a keyed hash alone: in rows, in Redis, and in what is still recorded."""

import time
from datetime import timedelta

from ratewindow.conf import time_zone
from ratewindow.models import RecordedHour, Recording
from ratewindow.operations import client_rules
from ratewindow.operations.subject.named import Named
from ratewindow.reporting import hours, recorded_hours
from ratewindow.reporting.recorded_hours import Hour, erased, name_of
from ratewindow.rulebook import current
from ratewindow.store import process_clients, state_keys


def names(named: Named) -> set[str]:
    """Those that the client may have, by each pepper, as each rule reads its values."""
    book = current.rulebook()
    rules = [rule for name in client_rules.names(book) for rule in client_rules.named(book, name)]
    identities = {each for rule in rules for each in named.identities(rule.recipe.normaliser)} | named.identities()
    return {name_of(tag) for identity in identities for tag in state_keys.client_tags(identity)}


def leave_out(named: Named) -> None:
    """Let no process record the client again: each holds an hour, and would send it once more."""
    gone = {erased(name) for name in names(named)}
    for recording in Recording.objects.filter(until__gt=time_zone.now() - timedelta(seconds=hours.EXPIRES_S)):
        if not gone <= {*recording.left_out}:
            recording.left_out = sorted({*recording.left_out, *gone})
            recording.save(update_fields=["left_out"])


def rows(named: Named) -> list[tuple[RecordedHour, Hour]]:
    """The rows that have the client, each with what is left without it."""
    wanted, gone = names(named), {erased(name) for name in names(named)}
    found = RecordedHour.objects.order_by("start").iterator(chunk_size=100)
    return [
        (row, recorded_hours.of_json(row.level, row.clients).without(gone))
        for row in found
        if isinstance(row.clients, dict) and not wanted.isdisjoint(row.clients)
    ]


def erase_rows(named: Named) -> None:
    for row, left in rows(named):
        row.clients = left.to_json()
        row.save(update_fields=["clients"])


def fields(named: Named) -> list[tuple[int, str, Hour]]:
    """Hour and field of what a process has sent, where the client is named, and what is left without it."""
    wanted, gone = names(named), {erased(name) for name in names(named)}
    sent = hours.fields(hours.still_there(time.time()))
    read = ((hour, field, recorded_hours.from_text(text)) for hour, field, text in sent)
    return [
        (hour, field, peaks.without(gone))
        for hour, field, peaks in read
        if peaks is not None and not wanted.isdisjoint(peaks.clients)
    ]


def erase_fields(named: Named) -> None:
    client = process_clients.patient_client()
    for hour, field, left in fields(named):
        client.hset(state_keys.hour_peaks(hour), field, left.to_text())
