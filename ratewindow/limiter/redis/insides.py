"""The names of redis-py that are not public: each with its reason, and with what is done without it.

Methods by which connections connect are overridden in `thread_deadline.py` and in `store/clients.py`. A version that
does not call these gives each step of connecting a timeout of its own, and a server that sends a byte now and then prolongs
a login.
`RATEWINDOW_PUBLIC_WAY=1` makes the tests of the limiter hide all of this.
"""

from typing import Any

from redis.exceptions import RedisError

# Of a connection of threads, its socket: commands and replies pass it directly, which takes less than the server's decision,
# and its timeout is set once for a call. Without it: the connection's own methods, with the timeouts it was made with.
SOCKET = "_sock"

_READER = "_reader"  # of a connection of asyncio, its stream
_FREE = "_free"  # of a server in a cluster's client before redis-py 6.2, the connections that rest
_IS_NEW = "_initialize"  # of a cluster's client on asyncio, whether it is still to ask for the map of slots


async def has_ended(connection: Any) -> bool:
    """Whether the server has closed this resting connection. Without its stream a reading of no duration tells."""
    reader = getattr(connection, _READER, None)
    if reader is not None:
        return bool(reader.at_eof())
    look = getattr(connection, "can_read", None) or connection.can_read_destructive  # its name before redis-py 8
    try:
        return connection.is_connected and bool(await look())
    except (RedisError, OSError):
        return True


def release(node: Any, connection: Any) -> None:
    """Let the connection rest at its node; where this has neither way, it is closed with the client."""
    if hasattr(node, "release"):
        node.release(connection)
    elif hasattr(node, _FREE):
        getattr(node, _FREE).append(connection)


async def read_slots(client: Any) -> None:
    """Read the map of slots again. The public way reads more, before its first command, and closes nothing without it."""
    if hasattr(client, _IS_NEW):
        await client.nodes_manager.initialize()
        setattr(client, _IS_NEW, False)
    else:
        await client.initialize()  # nothing but the first time
        await client.nodes_manager.initialize()
