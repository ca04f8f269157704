"""One side of `benchmarks.beside`: answers each line ``CASE COUNT`` with the microseconds of one request.

It runs in a process of its own, on the packages of the checkout that is its first argument, and uses public names alone.
"""

import gc
import sys
import tempfile
import time
from pathlib import Path

FIVE = "1000/m; 2000/2m; 3000/3m; 4000/h; 5000/d"
CLIENTS = 200  # of `benchmarks.site`: after so many requests each client of a rule of one is refused


def main(checkout: str, url: str) -> None:
    sys.path[0] = checkout  # instead of the folder of this file
    from benchmarks import site

    site.set_up(url, Path(tempfile.mkdtemp(prefix="ratewindow-side-")))
    from ratewindow import ratelimit
    from ratewindow.middleware import RateWindowMiddleware
    from ratewindow.models import RateRule

    for name, rate in (("view", "1000/m"), ("refused", "1/d"), ("five", FIVE)):
        RateRule.objects.define(f"beside.{name}", rate, path=f"/{name}/", mode="enforce")
    middleware = RateWindowMiddleware(site.view)
    cases = {
        "view, middleware": (middleware, site.requests("/view/"), 0),
        "view, decorator": (ratelimit("beside.code", "1000/m")(site.view), site.requests("/code/"), 0),
        "refused, middleware": (middleware, site.requests("/refused/"), CLIENTS),
        "refused, decorator": (ratelimit("beside.codes", "1/d")(site.view), site.requests("/codes/"), CLIENTS),
        "five windows": (middleware, site.requests("/five/"), 0),
        "no rule": (middleware, site.requests("/none/"), 0),
    }
    for line in sys.stdin:
        case, count = line.rsplit(" ", 1)
        ask, make, first = cases[case]
        requests = make(int(count))
        for request in make(first):
            ask(request)
        gc.collect()
        gc.disable()
        began_s = time.perf_counter()
        for request in requests:
            ask(request)
        took_s = time.perf_counter() - began_s
        gc.enable()
        print(took_s / len(requests) * 1e6, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
