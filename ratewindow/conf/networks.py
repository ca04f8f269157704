"""IPv4 addresses in the last 32 bits of IPv6 addresses, which would otherwise all belong to one /64."""

import ipaddress

# Mapped; translated by SIIT; by NAT64 with the well-known prefix; by NAT64 with the local one.
_NETWORKS = ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::")
_FIRST_96_BITS = frozenset(int(ipaddress.IPv6Address(network)) >> 32 for network in _NETWORKS)


def is_ipv4(number: int) -> bool:
    """Whether an IPv6 address, as a number, contains an IPv4 address."""
    return number >> 32 in _FIRST_96_BITS


def ipv4_of(number: int) -> int:
    """The IPv4 address in it, as a number."""
    return number & 0xFFFFFFFF
