"""Other libraries in the same run: the time of one request, and how many pass of a crowd."""

from benchmarks.contenders import CONTENDERS, rest_framework
from benchmarks.crowd import REQUESTS, THREADS, admitted
from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.plots import Picture, bars
from benchmarks.site import requests
from benchmarks.tables import TIMES, Section, Timed
from benchmarks.timing import Contestant, side_by_side

RATE = "1000/m"
LIMIT = 50


def measure() -> Section:
    contestants = {FLOOR: floor()}
    contestants |= {name: Contestant(around(RATE), requests()) for name, around in CONTENDERS.items()}
    contestants["DRF, a view without a throttle"] = Contestant(rest_framework(None), requests())
    times = side_by_side(contestants, rounds=40)
    # Hours, so that no window ends while the crowd is there.
    passed = {name: admitted(around(f"{LIMIT}/h"), f"10.3.0.{place}") for place, (name, around) in enumerate(CONTENDERS.items())}
    return Section(
        "Other libraries",
        f"The same view behind each, by client address at {RATE}, all admitted. Beside it: how many of {REQUESTS} requests of "
        f"one client, from {THREADS} threads at once, pass a limit of {LIMIT}. `limits` knows no Django and writes no headers.",
        [Timed(name, (str(passed.get(name, "")),), None, times[name], times[FLOOR]) for name in contestants],
        (*TIMES, f"pass at a limit of {LIMIT}"),
        picture=Picture(
            "peers",
            "Time of a request, and requests that pass, by library",
            bars(
                {
                    "µs a request": {name: times[name].median_us for name in CONTENDERS},
                    f"of {REQUESTS} pass at a limit of {LIMIT}": passed,
                },
                ("ratewindow",),
            ),
            (9, 3),
        ),
    )
