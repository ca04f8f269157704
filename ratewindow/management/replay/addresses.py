"""An address for each client of a log, so that a rule by address counts each for itself."""

import hashlib
import ipaddress


class Addresses:
    """Addresses are kept; a host name gets a /64 of its own below 2001:db8::/32, the network for documentation.

    The /64 is a hash of the name, so that a name has the same address in the next run. If the hashes of two
    names collide, the later one takes the next free network.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, client: str) -> str:
        if client not in self._known:
            self._known[client] = self._literal(client) or self._made_up(client)
        return self._known[client]

    def _literal(self, client: str) -> str | None:
        try:
            address = ipaddress.ip_address(client.partition("%")[0])
        except ValueError:
            return None
        if isinstance(address, ipaddress.IPv6Address):
            return str(address.ipv4_mapped or address)
        return str(address)

    def _made_up(self, name: str) -> str:
        number = _number(name)
        while number in self._taken:
            number = (number + 1) % 2**32
        self._taken.add(number)
        return str(ipaddress.IPv6Address((0x20010DB8 << 96) | (number << 64) | 1))


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.lower().encode(errors="surrogateescape"), digest_size=4).digest())
