"""An address for each client of a log, so that a rule by address counts each for itself."""

import hashlib
import ipaddress
from functools import lru_cache

from ratewindow.identity import split
from ratewindow.overrides.networks import parse_network


class Addresses:
    """Addresses are kept; a host name, in capitals or not, gets a /64 of its own below 2001:db8::/32, which is for documentation.

    The /64 is a hash of the name, so that a name has the same address in the next run. If the hashes of two
    names collide, the later one takes the next free network. Where a shorter `prefix` counts as one client, it gets one of
    that length below fc00::/7, since there are too few below the other.
    """

    def __init__(self, prefix: int = 64) -> None:
        self._base, used = (0x20010DB8, 32) if prefix >= 64 else (0xFD, 8)
        self._shift = 128 - min(prefix, 64)
        self._networks = 2 ** max(0, 128 - used - self._shift)
        self._base <<= 128 - used
        self._known: dict[str, str] = {}  # by name, in small letters
        self._names: dict[str, str] = {}  # by address, as the log has it first
        self._taken: set[int] = set()

    def __len__(self) -> int:
        """How many names there were."""
        return len(self._known)

    def name_in(self, identity: str) -> str:
        """The host name whose address is in an identity, ``ip:2001:db8:7::/64``; empty if it has none of these."""
        if not self._known:
            return ""
        for part in split(identity):
            kind, _, value = part.partition(":")
            network = parse_network(value) if kind == "ip" and ":" in value else None
            if network is not None:
                return self._names.get(str(ipaddress.IPv6Address(network.number | 1)), "")
        return ""

    def of(self, client: str) -> str:
        name = client.lower()
        known = self._known.get(name) or _literal(client)
        if known is None:
            known = self._known[name] = self._made_up(name)
            self._names.setdefault(known, client)
        return known

    def _made_up(self, name: str) -> str:
        number = _number(name) % self._networks
        while number in self._taken and len(self._taken) < self._networks:
            number = (number + 1) % self._networks
        self._taken.add(number)
        return str(ipaddress.IPv6Address(self._base | (number << self._shift) | 1))


@lru_cache(maxsize=4096)
def _literal(client: str) -> str | None:
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or address)
    return str(address)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(errors="surrogateescape"), digest_size=4).digest())
