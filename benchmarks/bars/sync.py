"""What a decorated view and the middleware cost a request, with one rule each."""

from benchmarks.floor import NAME as FLOOR
from benchmarks.floor import floor
from benchmarks.site import CLIENTS, requests, view
from benchmarks.tables import Row, Section
from benchmarks.timing import Contestant, side_by_side
from ratewindow import ratelimit
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule

AT_MOST = 1.5
RATE = "1000/m"


def measure() -> Section:
    RateRule.objects.define("bench.row", RATE, mode="enforce")
    RateRule.objects.define("bench.path", RATE, path="/middleware/", mode="enforce")
    contestants = {
        FLOOR: floor(),
        "decorator, rate in code": Contestant(ratelimit("bench.code", RATE)(view), requests("/code/")),
        "decorator, rule in the database": Contestant(ratelimit("bench.row")(view), requests("/row/")),
        "middleware, rule for the path": Contestant(RateWindowMiddleware(view), requests("/middleware/")),
        "decorator, refused": Contestant(ratelimit("bench.refused", "1/h")(view), requests("/refused/", "10.2.0.1")),
    }
    times = side_by_side(contestants)
    promised = ("decorator, rate in code", "decorator, rule in the database", "middleware, rule for the path")
    return Section(
        "One rule, sync",
        f"A request through one rule of {RATE}, before a view that takes no time, against a redis-py call that does nothing, on "
        f"the limiter's own client. The requests come from {CLIENTS} addresses in turn.",
        [Row(name, times[name], times[name].ratio(times[FLOOR]), AT_MOST if name in promised else None) for name in contestants],
    )
