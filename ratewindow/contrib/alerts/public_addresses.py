"""Which addresses are of the public internet: a webhook may send to no other, so that nobody who edits alerts reaches the
site's own network, or what its machines run on.
"""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

_NAT64 = IPv6Network("64:ff9b::/96")  # its last 32 bits are the IPv4 address that is meant
_ISATAP = 0x5EFE  # the third quarter of a tunnel's address but for two flags, before such an IPv4 address
_UNICAST = IPv6Network("2000::/3")  # all that is public of IPv6 is in it
# Named here, since what Python takes for global has changed from version to version, and does not know the clouds.
_INTERNAL = [
    ip_network(each)
    for each in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 "
        "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 "
        "168.63.129.16/32 "  # Azure's own services, with the keys of a virtual machine
        "2001::/23 2001:db8::/32 2002::/16 3fff::/20"  # Teredo and other protocols, documentation, 6to4
    ).split()
]


def is_public(address: str) -> bool:
    """Whether an address is of the public internet, also if it contains an IPv4 address. ValueError for what is no address."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip in _NAT64 or (ip in _UNICAST and int(ip) >> 32 & 0xFCFFFFFF == _ISATAP):
            ip = IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip not in _UNICAST:
            return False
    return not any(ip in network for network in _INTERNAL)


def internal_host(url: str) -> str:
    """The host of a URL if that is an internal address, as far as it is known without asking for a name; else empty."""
    try:
        host = urlsplit(url).hostname or ""
        is_internal = host.rstrip(".").rpartition(".")[2] == "localhost" or not is_public(host)
    except ValueError:  # a name, or no URL
        return ""
    return host if is_internal else ""
