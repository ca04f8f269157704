"""Load for a server without waiting: 16 commands a write, by redis-benchmark if it is installed, else by us."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import redis

from benchmarks import core

PIPELINE = 16
RANDOM = "__rand_int__"  # redis-benchmark puts twelve digits in its place, below the number of keys


def driver() -> str:
    return "redis-benchmark" if shutil.which("redis-benchmark") else "a Python driver"


def load(client: redis.Redis, command: Sequence[str], calls: int, keys: int) -> None:
    """Send `command` so many times, with `RANDOM` in it replaced by numbers below `keys`. Errors are raised."""
    command = [str(part) for part in command]
    _drive(client, [command], 1, 1)  # one by one first: redis-benchmark does not tell of errors
    if shutil.which("redis-benchmark"):
        options = client.connection_pool.connection_kwargs
        where = ["-h", str(options["host"]), "-p", str(options["port"]), "--dbnum", str(options.get("db", 0))]
        subprocess.run(
            ["redis-benchmark", *where, "-n", str(calls), "-P", str(PIPELINE), "-c", "8", "-r", str(keys), "-q", *command],
            check=True,
            capture_output=True,
            timeout=60,
            preexec_fn=core.take_any,
        )
    else:
        # A prime step visits every key once before it meets one again; each time it begins elsewhere.
        first = random.randrange(keys)
        numbers = [f"{(first + step * 7919) % keys:012}" for step in range(min(keys, calls))]
        texts = [[part.replace(RANDOM, number) for part in command] for number in numbers]
        _drive(client, texts, calls, PIPELINE)


def _drive(client: redis.Redis, commands: Sequence[Sequence[str]], calls: int, pipeline: int) -> None:
    """Replies are skipped by counting lines, since reading them in Python would take longer than the server does."""
    connection = client.connection_pool.get_connection()
    try:
        connection.send_command(*commands[0])
        reply = connection.read_response()
        lines_each = 1 + len(reply) if isinstance(reply, list) else 1
        packed = [b"".join(connection.pack_command(*command)) for command in commands]
        socket: Any = connection._sock
        sent = 0
        while sent < calls:
            batch = [packed[(sent + place) % len(packed)] for place in range(pipeline)]
            socket.sendall(b"".join(batch))
            sent += pipeline
            lines = 0
            while lines < lines_each * pipeline:
                lines += socket.recv(65536).count(b"\r\n")
    finally:
        connection.disconnect()
        client.connection_pool.release(connection)
