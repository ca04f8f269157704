"""Addresses of IPv4 that are written as ones of IPv6, in their last 32 bits: all of them would else be one /64."""

import ipaddress

# Mapped, translated by SIIT, and by NAT64 as everywhere and as within one site.
_NETWORKS = ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::")
_FIRST_96_BITS = frozenset(int(ipaddress.IPv6Address(network)) >> 32 for network in _NETWORKS)


def is_ipv4(number: int) -> bool:
    """Whether an address of IPv6, as a number, is one of IPv4."""
    return number >> 32 in _FIRST_96_BITS


def ipv4_of(number: int) -> int:
    """Which one it is."""
    return number & 0xFFFFFFFF
