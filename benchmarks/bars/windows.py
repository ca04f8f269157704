"""Five windows in one call against one window: the call is what costs, not the windows."""

from benchmarks.tables import Row, Section
from benchmarks.timing import Contestant, side_by_side
from ratewindow import connection
from ratewindow.limiter import Limiter, RedisStore
from ratewindow.limiter.rates import parse_rates

AT_MOST = 1.4
FIVE = "100/s; 1000/m; 5000/10m; 20000/h; 100000/d"


def measure() -> Section:
    limiter = Limiter(RedisStore(connection.client()), prefix="bench")
    one, five = parse_rates("1000/m"), parse_rates(FIVE)
    times = side_by_side(
        {
            "one window": Contestant(lambda number: limiter.hit(f"one:{number}", one)),
            "five windows": Contestant(lambda number: limiter.hit(f"five:{number}", five)),
        },
        calls=100,
    )
    ratio = times["five windows"].ratio(times["one window"])
    return Section(
        "Five windows in one call",
        f"`Limiter.hit` with {FIVE}, against one window; the ratio is to one window.",
        [Row("one window", times["one window"], 1.0), Row("five windows", times["five windows"], ratio, AT_MOST)],
    )
