"""Digests, of which the names of counts are made: short, and of one length whatever they are about. The names themselves are put
together in `store/state_keys.py`, and in `counter.py` for counters."""

import base64
import hashlib
from collections.abc import Iterable
from functools import lru_cache

MOST_REMEMBERED = 128  # characters
LAYOUT = "2"  # part of every window's name: a new layout of the state is a new key


def digest(text: str, size: int, secret: bytes = b"") -> str:
    """A digest of `size` bytes, a multiple of three, as text of a third more characters."""
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size, key=secret).digest()
    return base64.urlsafe_b64encode(raw).decode()


def joined(values: Iterable[str]) -> str:
    """Several typed values as one identity; their lengths keep ("a+b", "c") and ("a", "b+c") apart."""
    return "+".join([f"{len(value)}:{value}" for value in values])


def identity_tag(identity: str, secret: bytes = b"") -> str:
    """An identity as a hash tag, ``{...}``: on a cluster all state of one client lies in one slot."""
    # Long identities are what somebody sends to fill the memory.
    return _remembered_tag(identity, secret) if len(identity) <= MOST_REMEMBERED else _tag(identity, secret)


def _tag(identity: str, secret: bytes) -> str:
    return "{" + digest(identity, 15, secret) + "}"


_remembered_tag = lru_cache(maxsize=4096)(_tag)
