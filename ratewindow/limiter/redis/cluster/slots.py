"""Which server of a cluster has a key: the map that its client has read, corrected by what servers have answered since."""

from typing import Any

from redis.crc import key_slot
from redis.exceptions import AskError
from redis.exceptions import ConnectionError as RedisConnectionError

Address = tuple[str, int]


def name_of(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


class Slots:
    """The map of a cluster's client, sync or async, which is the client's to renew."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._moved: dict[int, Address] = {}

    def home(self, key: str) -> Address:
        """The server that has the key; a ConnectionError while nobody knows."""
        slot = key_slot(key.encode())
        moved = self._moved.get(slot)
        if moved is not None:
            return moved
        nodes = self._client.nodes_manager.slots_cache.get(slot)
        if not nodes:
            raise RedisConnectionError(f"no server of the cluster is known to have slot {slot}")
        return nodes[0].host, nodes[0].port

    def redirected_to(self, error: AskError, by: Address) -> Address:
        """The server that a redirection names; one without a host is on the host of the server that answered."""
        remapped: Address = self._client.nodes_manager.remap_host_port(error.host or by[0], error.port)
        return remapped

    def move(self, slot: int, address: Address) -> None:
        self._moved[slot] = address

    def renewed(self) -> None:
        """The client's map is newer than what servers said."""
        self._moved = {}

    def servers(self) -> list[Address]:
        """All that have slots."""
        first = (nodes[0] for nodes in list(self._client.nodes_manager.slots_cache.values()) if nodes)
        return sorted({(node.host, node.port) for node in first} | set(self._moved.values()))

    def key_at(self, address: Address, name: str) -> str | None:
        """A key of that name with a hash tag that this server has; None when it has no slots."""
        slots = {slot for slot, nodes in list(self._client.nodes_manager.slots_cache.items()) if nodes and _is(nodes[0], address)}
        slots -= self._moved.keys()
        slots |= {slot for slot, moved in self._moved.items() if moved == address}
        if not slots:
            return None
        number = 0
        while key_slot(b"%d" % number) not in slots:
            number += 1
        return f"{name}:{{{number}}}"


def _is(node: Any, address: Address) -> bool:
    return bool((node.host, node.port) == address)
