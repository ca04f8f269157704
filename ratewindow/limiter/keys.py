"""Names of state: short digests, so that a key has the same small length whatever it is about."""

import base64
import hashlib

LAYOUT = "1"  # part of every window's name: a new layout of the state is a new key


def digest(text: str, size: int, secret: bytes = b"") -> str:
    """A digest of `size` bytes, a multiple of three, as text of a third more characters."""
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size, key=secret).digest()
    return base64.urlsafe_b64encode(raw).decode()


def identity_tag(identity: str, secret: bytes = b"") -> str:
    """An identity as a hash tag, ``{...}``: on a cluster all state of one client lies in one slot."""
    return "{" + digest(identity, 15, secret) + "}"
