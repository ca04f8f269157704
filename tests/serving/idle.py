"""What a worker asks of Redis and the database while it is idle. ``python -m tests.serving.idle`` measures a minute."""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.serving.servers import Served, make_database, place

SETTLED_S = 5.0  # what a worker does when it starts is over by then
IDLE_S = 60.0


def measure(served: Served, queries: Path) -> tuple[Counter[str], Counter[str], int, int]:
    """Commands, queries, threads and connections of one of its workers, while it is idle."""
    client, workers = served.place.redis, list(served.workers())
    time.sleep(SETTLED_S)
    commands, asked, began_s = _commands(client.info("commandstats")), queries.read_text(), time.process_time()
    time.sleep(IDLE_S)
    sent = _commands(client.info("commandstats")) - commands
    sent.subtract({"info": 1})
    texts = Counter(line[:70] for line in queries.read_text()[len(asked) :].splitlines())
    threads = sum(len(list(Path(f"/proc/{worker}/task").iterdir())) - 1 for worker in workers)
    connections = len(client.client_list()) - 1
    assert time.process_time() - began_s < IDLE_S
    return +sent, texts, threads, connections


def _commands(told: object) -> Counter[str]:
    assert isinstance(told, dict)
    return Counter({name.removeprefix("cmdstat_"): int(each["calls"]) for name, each in told.items()})


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ratewindow-idle-") as folder:
        template, queries = Path(folder) / "template.sqlite3", Path(folder) / "queries"
        make_database(template)
        queries.touch()
        with place(template) as made:
            served = made.serve("sync", {"SERVED_QUERIES": str(queries)}, REFRESH="1s")
            sent, asked, threads, connections = measure(served, queries)
            count = served.workers_wanted
    print(f"a worker in {IDLE_S:.0f} s: {sent.total() / count:.0f} commands to Redis, {asked.total() / count:.0f} queries;")
    print(f"{threads / count:.1f} threads of ours, {connections / count:.1f} connections to Redis")
    for name, number in [*sent.most_common(), *asked.most_common()]:
        print(f"{number / count:6.1f} {name}")


if __name__ == "__main__":
    sys.exit(main())
