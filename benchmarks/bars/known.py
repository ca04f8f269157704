"""A refusal that this process already knows of: no round trip, so a small part of one."""

from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.limiter import Limiter, RedisStore
from ratewindow.limiter.keys import identity_tag
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.reply import decision, parse
from ratewindow.limiter.types import Check
from ratewindow.store import process_clients

AT_MOST = 0.1
KNOWN = "`Limiter.hit`, a refusal known"
NAME, DECISION = "the digest of the client alone", "the `Decision` alone"


def measure() -> Section:
    store, windows = RedisStore(process_clients.client()), parse_rates("1/h")
    limiter, asking = Limiter(store, prefix="bench"), Limiter(store, prefix="bench", believed_ms=0)
    question = [Check("limiter", windows, ("bench",))]
    times = side_by_side(
        {
            FLOOR: floor(),
            KNOWN: Contestant(lambda _: limiter.hit("ip:10.2.0.2", windows)),
            "the same, asking the server each time": Contestant(lambda _: asking.hit("ip:10.2.0.2", windows)),
            NAME: Contestant(lambda _: identity_tag("ip:10.2.0.2")),
            DECISION: Contestant(lambda _: decision(question, parse(question, [0, 1000, 1000, 0]))),
        },
        calls=100,
    )
    return Section(
        "A refusal already known",
        "A client that was refused asks again within the second for which a process caches it.",
        [Timed(name, (), AT_MOST if name == KNOWN else None, times[name], times[FLOOR]) for name in times],
        why=(
            f"Why more: it is all Python, {times[KNOWN].median_us:.1f} µs. The client's digest takes "
            f"{times[NAME].median_us:.1f}, a `Decision` {times[DECISION].median_us:.1f}, and names of keys, the clock "
            "and the times of the answer the rest."
        ),
    )
