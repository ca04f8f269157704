"""Which addresses are of the public internet, and no part of the site's own network."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether it is, in whatever form an IPv4 address may stand in it. ValueError for what is no address."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip in _NAT64:
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip.ipv4_mapped or ip.sixtofour or ip.teredo:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def internal_host(url: str) -> str:
    """The host of a URL if that is an internal address, as far as it is known without asking for a name; else empty."""
    try:
        host = urlsplit(url).hostname or ""
        is_internal = host.rstrip(".").rpartition(".")[2] == "localhost" or not is_public(host)
    except ValueError:  # a name, or no URL
        return ""
    return host if is_internal else ""
