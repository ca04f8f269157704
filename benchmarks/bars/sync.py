"""What a decorated view and the middleware cost a request, with one rule each."""

from benchmarks.commands import hit, teach
from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.site import CLIENTS, requests, view
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow import limits, ratelimit
from ratewindow.limiter import Limiter, RedisStore
from ratewindow.limiter.rates import parse_rates
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.store import process_clients

AT_MOST = 1.5
RATE = "1000/m"
SCRIPT = "the script, called as the floor is"
LIMITER = "`Limiter.hit`, without Django"
DECORATOR = "decorator, rate in code"
ROW = "decorator, rule in the database"
MIDDLEWARE = "middleware, rule for the path"
FUNCTION = "the same, its limits from a function"


def measure() -> Section:
    RateRule.objects.define("bench.row", RATE, mode="enforce")
    RateRule.objects.define("bench.path", RATE, path="/middleware/", mode="enforce")
    limits("bench")(lambda request: RATE)
    RateRule.objects.define("bench.function", RATE, path="/function/", mode="enforce", limits_from="bench")
    client = process_clients.client()
    windows = parse_rates(RATE)
    teach(client, windows[0])
    script = [hit(windows[0], f"bench:{number}")[1:] for number in range(CLIENTS)]
    limiter = Limiter(RedisStore(client), prefix="bench")
    times = side_by_side(
        {
            FLOOR: floor(),
            DECORATOR: Contestant(ratelimit("bench.code", RATE)(view), requests("/code/")),
            ROW: Contestant(ratelimit("bench.row")(view), requests("/row/")),
            MIDDLEWARE: Contestant(RateWindowMiddleware(view), requests("/middleware/")),
            FUNCTION: Contestant(RateWindowMiddleware(view), requests("/function/")),
            "decorator, refused": Contestant(ratelimit("bench.refused", "1/h")(view), requests("/refused/", "10.2.0.1")),
            SCRIPT: Contestant(lambda number: client.evalsha(*script[number % CLIENTS])),
            LIMITER: Contestant(lambda number: limiter.hit(f"ip:10.1.0.{number}", windows)),
        }
    )
    us = {name: each.median_us for name, each in times.items()}
    return Section(
        "One rule, sync",
        f"A request through one rule of {RATE}, before a view that takes no time, against a redis-py call that does nothing. "
        f"The requests come from {CLIENTS} addresses in turn.",
        [Timed(name, (), AT_MOST if name in (DECORATOR, ROW, MIDDLEWARE) else None, times[name], times[FLOOR]) for name in times],
        why=(
            f"Why more: `Limiter.hit`, whose store leaves out what a client does around a call, takes {us[LIMITER]:.0f} µs, "
            f"most of it the way to the server and back and the script, which redis-py sends in {us[SCRIPT]:.0f}. A request adds "
            f"{us[DECORATOR] - us[LIMITER]:.0f} µs of Python: which rule, who asks, the headers, the counts for the report."
        ),
    )
