"""Networks, indexed so that those containing an address are found by one look-up for each prefix length in use."""

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from ratewindow.conf import networks
from ratewindow.identity.address import parse_address
from ratewindow.limiter.problem import Problem

Value = TypeVar("Value")

_BITS = {4: 32, 6: 128}


class Network(NamedTuple):
    """A network as integers, since a hundred thousand of them are read at a time."""

    version: int  # 4 or 6
    number: int  # of its first address
    length: int  # of its prefix, 32 or 128 for a single address

    def __str__(self) -> str:
        """``203.0.113.0/24``."""
        return f"{self.first}/{self.length}"

    @property
    def first(self) -> str:
        """Its first address, as text."""
        return str(ipaddress.IPv4Address(self.number) if self.version == 4 else ipaddress.IPv6Address(self.number))

    def shortened(self, length: int) -> "Network":
        """The network of that prefix length that contains this one; this one if it is no longer than that."""
        length = min(length, self.length)
        free = _BITS[self.version] - length
        return Network(self.version, self.number >> free << free, length)


def parse_network(text: str, ipv4_length: int = 32, ipv6_length: int = 128) -> Network:
    """``203.0.113.0/24`` as a network; an address alone becomes a network of the given prefix length.

    An IPv4-mapped IPv6 network becomes IPv4, as clients' addresses do. Raises ValueError.
    """
    written, slash, digits = text.strip().partition("/")
    version, number = _number(written)
    if not version or (slash and not (digits.isascii() and digits.isdigit() and len(digits) < 4)):
        raise Problem(
            "{text!r} is neither an address nor a network: write for example 203.0.113.9 or 203.0.113.0/24", text=text[:64]
        )
    length = int(digits) if slash else 128 if version == 6 else ipv4_length
    if version == 6 and length in range(96, 129) and networks.is_ipv4(number):
        version, number, length = 4, networks.ipv4_of(number), length - 96 if slash else ipv4_length
    elif version == 6 and not slash:
        length = ipv6_length
    if not 0 <= length <= _BITS[version]:
        raise Problem(
            "{text!r}: an IPv{version} network ends in /0 to /{bits}", text=text[:64], version=version, bits=_BITS[version]
        )
    free = _BITS[version] - length
    return Network(version, number >> free << free, length)


def _number(text: str) -> tuple[int, int]:
    """Version and number of an address, the fast way for common ones. Version 0 if it is not an address."""
    try:
        if ":" not in text:
            return 4, int.from_bytes(socket.inet_pton(socket.AF_INET, text), "big")
        return 6, int.from_bytes(socket.inet_pton(socket.AF_INET6, text), "big")
    except (OSError, ValueError):
        pass  # it may have brackets, a port or a zone
    address = parse_address(text)
    if address is None:
        return 0, 0
    if address.version == 4 and text.count(":") > 1:
        return 6, 0xFFFF << 32 | int(address)
    return address.version, int(address)


class Networks(Generic[Value]):
    """Immutable table of values by network, found by any address in the network."""

    def __init__(self, entries: Iterable[tuple[Network, Value]]) -> None:
        tables: dict[int, dict[int, dict[int, tuple[Value, ...]]]] = {4: {}, 6: {}}
        for (version, number, length), value in entries:
            free = _BITS[version] - length
            table = tables[version].setdefault(free, {})
            number >>= free
            table[number] = (*table[number], value) if number in table else (value,)
        self._tables = {version: tuple(sorted(found.items())) for version, found in tables.items()}

    def __bool__(self) -> bool:
        return any(self._tables.values())

    def containing(self, version: int, number: int, length: int = 128) -> Iterator[Value]:
        """The values of every network that contains this address, or all of this network; the narrowest first."""
        own = max(0, _BITS[version] - length)
        for free, table in self._tables[version]:
            if free >= own and (found := table.get(number >> free)) is not None:
                yield from found
