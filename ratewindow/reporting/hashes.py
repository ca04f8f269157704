"""Hashes in Redis to which each process has set fields of its own: several are read at once, as text."""

from collections.abc import Mapping
from typing import TypeVar

from ratewindow.limiter.redis.faults import BadReply
from ratewindow.store import process_clients
from ratewindow.store.repair import with_repair

Name = TypeVar("Name")


def read(keys: Mapping[Name, str]) -> dict[Name, dict[str, str]]:
    """Field and value, by the name that the caller has for the key of the hash."""
    client = process_clients.patient_client()

    def ask() -> list[object]:
        with client.pipeline(transaction=False) as pipe:
            for key in keys.values():
                pipe.hgetall(key)
            return pipe.execute()

    hashes = with_repair(client, dict.fromkeys(keys.values(), "hash"), ask)
    if not all(isinstance(each, dict) for each in hashes):
        raise BadReply(f"not the hashes of processes: {hashes!r:.100}")
    return {name: _as_text(found) for name, found in zip(keys, hashes, strict=True) if isinstance(found, dict)}


def _as_text(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {field.decode(errors="replace"): value.decode(errors="replace") for field, value in fields.items()}
