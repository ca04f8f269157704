"""The recorded hours in Redis: processes send the peaks of clients, the collector reads them.

Each process sets its own field in the hash of an hour. Fields are set rather than incremented, so that what is sent twice
counts once.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.reporting import hashes, recorded_hours
from ratewindow.reporting.peak_counts import HOUR_S, Unsent
from ratewindow.reporting.recorded_hours import Hour
from ratewindow.store import malformed, process_clients, state_keys
from ratewindow.store.repair import with_repair

EXPIRES_S = 3 * HOUR_S  # after the last process has sent; longer than one keeps what it could not send


def send(unsent: Collection[Unsent]) -> None:
    client = process_clients.patient_client()

    def write() -> None:
        with limited(process_clients.PATIENT_S), client.pipeline(transaction=True) as pipe:
            for hour, field, peaks, _ in unsent:
                pipe.hset(state_keys.hour_peaks(hour), field, peaks.to_text())
                pipe.expire(state_keys.hour_peaks(hour), EXPIRES_S)
            pipe.execute()

    with_repair(client, {state_keys.hour_peaks(each.hour): "hash" for each in unsent}, write)


def still_there(now_s: float) -> range:
    """The hours that may be in Redis; a clock may be ahead."""
    now = int(now_s) // HOUR_S
    return range(now - EXPIRES_S // HOUR_S - 1, now + 2)


def read(numbers: Iterable[int]) -> dict[tuple[int, int], Hour]:
    """The peaks of all processes, by recording and hour."""
    found: dict[tuple[int, int], Hour] = defaultdict(Hour)
    for hour, field, text in fields(numbers):
        recording, peaks = recording_of(field), recorded_hours.from_text(text)
        if recording is None or peaks is None:
            malformed.skip("recorded hour", field, text)
        else:
            found[recording, hour] = found[recording, hour].plus(peaks)
    return found


def recording_of(field: str) -> int | None:
    number = field.rpartition("|")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 19 else None


def fields(numbers: Iterable[int]) -> list[tuple[int, str, str]]:
    """Hour, field and text of all that processes have sent."""
    found = hashes.read({number: state_keys.hour_peaks(number) for number in numbers})
    return [(number, field, text) for number, by_field in found.items() for field, text in by_field.items()]
