"""Views that block the event loop beside a crowd of requests. ``python -m tests.serving.lag`` measures 120 ms at 100 ms.

While the loop is blocked no answer of Redis is read, though it has come; that is no fault of the store, and nobody may
be decided without it.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.serving.rawhttp import request
from tests.serving.servers import Served, make_database, new_address, place

BLOCKING = 10  # views that block, of each round, spread among the others


async def ask_beside_blocking_views(served: Served, count: int, block_ms: int) -> list[str]:
    """How each of `count` requests at the same moment was decided: ``decided``, or ``store`` for without it."""

    async def ask(path: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(request("GET", path, new_address(), Connection="close"))
        told = await reader.read()
        writer.close()
        await writer.wait_closed()
        return told.partition(b"\r\n\r\n")[2].decode()

    every = count // BLOCKING
    paths = [f"/blocking/{block_ms}/" if number % every == every // 2 else "/quick/" for number in range(count + BLOCKING)]
    told = await asyncio.gather(*map(ask, paths))
    return [each for path, each in zip(paths, told, strict=True) if path == "/quick/"]


def main(rounds: int = 10) -> int:
    with tempfile.TemporaryDirectory(prefix="ratewindow-lag-") as folder:
        template = Path(folder) / "template.sqlite3"
        make_database(template)
        with place(template) as made:
            served = made.serve("uvicorn", TIMEOUT="100ms")
            told = [each for _ in range(rounds) for each in asyncio.run(ask_beside_blocking_views(served, 200, 120))]
    without = sum(each != "decided" for each in told)
    print(f"{without} of {len(told)} requests beside views that block the loop for 120 ms were decided without Redis,")
    print("at a TIMEOUT of 100 ms.")
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
