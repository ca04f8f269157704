"""Where clients are: in a network, if it has several addresses among them, or at one address, if several are clients of that.

One machine is often several clients: its address, and its address with each login name that it tries.
"""

from collections import defaultdict
from functools import reduce

from ratewindow.identity import split
from ratewindow.reporting.who import Counted, Group, Known


def placed(networks: Group, clients: Group) -> tuple[Group, Group]:
    """Both as the report groups them: an address takes the place of a network that has no other, and a client alone has none.

    The address as a name has `network`; its clients have the address as their network. A network stays if more was refused in it
    than its clients account for, which are then not all listed, and if several of them have no address.
    """
    found = dict(networks.named)
    places: dict[str, str] = {}
    for network, theirs in _refused_in(clients).items():
        if network not in found:
            continue
        by_address: dict[str, list[Known]] = defaultdict(list)
        for name, known in theirs:
            by_address[address_of(name)].append(known)
        nowhere = by_address.pop("", [])
        listed = sum(known.counted.rank for _, known in theirs)
        if len(by_address) > 1 or len(nowhere) > 1 or listed < found[network].counted.rank:
            continue
        del found[network]
        for address, at_it in by_address.items():
            if len(at_it) > 1:
                total = reduce(Counted.plus, (known.counted for known in at_it))
                found[address] = Known(total._replace(met=0), network=network)
                places |= {name: address for name, _ in theirs if address_of(name) == address}
    named = {name: known._replace(network=places[name]) if name in places else known for name, known in clients.named.items()}
    return Group(found, networks.bound), Group(named, clients.bound)


def address_of(client: str) -> str:
    """The address that a client's identity has, as ``ip:203.0.113.9`` or hashed; empty if it has none."""
    return next((part for part in split(client) if part.startswith("ip:")), "")


def _refused_in(clients: Group) -> dict[str, list[tuple[str, Known]]]:
    """The clients of each network that were refused, or would have been."""
    found: dict[str, list[tuple[str, Known]]] = defaultdict(list)
    for name, known in clients.named.items():
        if known.counted.rank and known.network:
            found[known.network].append((name, known))
    return found
