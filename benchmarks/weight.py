"""What the package weighs: the modules of ours that are loaded, their memory and the time to import them, in five set-ups.

Each is measured after its first request, in a process of its own, beside the same site without the package, but with redis-py.
Times are compared with that of a site with ``django.contrib.auth`` alone: ``python -m benchmarks.weight [--rounds N] [--check]``.
"""

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

PACKAGE = "ratewindow"
MOST_MODULES = {"limiter alone": 26, "decorator": 119, "and middleware": 120, "and DRF": 125, "the admin opened": 170}
MOST_MB = 8.0  # of the first three, as is what follows
MOST_RATIO = 2.0  # of the time to import to that of django.contrib.auth
AUTH = "django.contrib.auth"

urlpatterns: list[Any] = []


class Weight(NamedTuple):
    """What one process has loaded by its first answer."""

    modules: int
    memory_mb: float
    import_s: float


def measure(name: str, with_package: bool, database: str) -> Weight:
    """The weight of a set-up, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.weight", "--child", name, "--database", database]
    told = subprocess.run([*command, *(["--bare"] if not with_package else [])], capture_output=True, text=True, check=True)
    return Weight(*json.loads(told.stdout.splitlines()[-1]))


def prepare(database: str) -> None:
    """Make the tables that the pages of the admin read."""
    measure("migrate", True, database)


def _report(rounds: int) -> list[str]:
    """Print a table, and return what is above its budget."""
    above = []
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "weight.sqlite3")
        prepare(database)
        auth_s = median(measure(AUTH, False, database).import_s for _ in range(rounds))
        print(f"| set-up | modules | memory | import, {AUTH} = 1 |\n|---|---:|---:|---:|")
        for name, most in MOST_MODULES.items():
            added = _added(name, rounds, database)
            print(f"| {name} | {added.modules} | {added.memory_mb:.1f} MB | {added.import_s / auth_s:.1f} |")
            if added.modules > most:
                above.append(f"{name}: {added.modules} modules, at most {most}")
    most = MOST_MODULES["and middleware"]
    print(f"\nBudget of a site with one decorated view and the middleware: {most} modules, {MOST_MB:.0f} MB, {MOST_RATIO:.0f}.")
    return above


def _added(name: str, rounds: int, database: str) -> Weight:
    """What the package adds to a site, in the median of the rounds."""
    pairs = [(measure(name, True, database), measure(name, False, database)) for _ in range(rounds)]
    memory, seconds = (median(a[place] - b[place] for a, b in pairs) for place in (1, 2))
    return Weight(pairs[0][0].modules, memory, seconds)


def _child(name: str, bare: bool, database: str) -> None:
    import redis.asyncio  # noqa: F401  not measured: what we stand on

    began_s = time.perf_counter()
    _SETUPS[name](bare, database)
    took_s = time.perf_counter() - began_s
    gc.collect()
    modules = sum(each.partition(".")[0] == PACKAGE for each in sys.modules)
    print(json.dumps(Weight(modules, _memory_mb(), took_s)), flush=True)
    os._exit(0)  # threads and what they would still send are not measured


def _memory_mb() -> float:
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _limiter(bare: bool, database: str) -> None:
    if not bare:
        from ratewindow.limiter import Limiter, MemoryStore, Window

        assert Limiter(MemoryStore()).hit("user:42", [Window(10, 1000)])


def _auth(bare: bool, database: str) -> None:
    _set_up(["django.contrib.contenttypes", AUTH], database)


def _decorator(bare: bool, database: str, middleware: bool = False) -> None:
    from django.http import HttpRequest, HttpResponse
    from django.test import Client
    from django.urls import path

    _set_up(["django.contrib.contenttypes", AUTH, *([] if bare else [PACKAGE])], database, middleware and not bare)

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok")

    if not bare:
        import ratewindow

        view = ratewindow.ratelimit(rate="5/m")(view)
    urlpatterns.append(path("", view))
    assert Client().get("/").status_code == 200


def _middleware(bare: bool, database: str) -> None:
    _decorator(bare, database, middleware=True)


def _drf(bare: bool, database: str) -> None:
    from django.test import Client
    from django.urls import path

    _set_up(["django.contrib.contenttypes", AUTH, "rest_framework", *([] if bare else [PACKAGE])], database, not bare)
    from rest_framework import throttling
    from rest_framework.request import Request
    from rest_framework.response import Response
    from rest_framework.views import APIView

    base: Any = throttling.AnonRateThrottle
    if not bare:
        from ratewindow import rest_framework

        base = rest_framework.AnonRateThrottle
    throttle = type("Throttle", (base,), {"rate": "5/m"})

    class View(APIView):
        throttle_classes = [throttle]

        def get(self, request: Request) -> Response:
            return Response("ok")

    urlpatterns.append(path("", View.as_view()))
    assert Client().get("/", HTTP_ACCEPT="application/json").status_code == 200


def _admin(bare: bool, database: str) -> None:
    from django.test import Client
    from django.urls import path

    _set_up([*_ADMIN, *([] if bare else [PACKAGE])], database, not bare)
    from django.contrib import admin
    from django.contrib.auth import get_user_model

    urlpatterns.append(path("admin/", admin.site.urls))
    client = Client()
    client.force_login(get_user_model().objects.get(username="staff"))
    assert client.get("/admin/auth/group/" if bare else "/admin/ratewindow/raterule/").status_code == 200


def _migrate(bare: bool, database: str) -> None:
    from django.core.management import call_command

    _set_up([*_ADMIN, PACKAGE], database)
    from django.contrib.auth import get_user_model

    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("staff")


_ADMIN = [
    "django.contrib.contenttypes",
    AUTH,
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.admin",
]
_OF_ADMIN = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]


def _set_up(apps: list[str], database: str, middleware: bool = False) -> None:
    import django
    from django.conf import settings

    processors = [f"django.{each}" for each in ("template.context_processors.request", "contrib.auth.context_processors.auth")]
    settings.configure(
        SECRET_KEY="to be weighed",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        STATIC_URL="static/",
        USE_TZ=True,
        INSTALLED_APPS=apps,
        MIDDLEWARE=[
            *(_OF_ADMIN if "django.contrib.admin" in apps else ()),
            *(["ratewindow.middleware.RateWindowMiddleware"] if middleware else ()),
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": [*processors, "django.contrib.messages.context_processors.messages"]},
            }
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": database}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        RATEWINDOW={"REDIS": "memory://"},
    )
    django.setup()


_SETUPS: dict[str, Callable[[bool, str], None]] = {
    "limiter alone": _limiter,
    AUTH: _auth,
    "decorator": _decorator,
    "and middleware": _middleware,
    "and DRF": _drf,
    "the admin opened": _admin,
    "migrate": _migrate,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="fail if more modules are loaded than the budget allows")
    for name in ("--child", "--database"):
        parser.add_argument(name, default="", help=argparse.SUPPRESS)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _child(options.child, options.bare, options.database)
    above = _report(options.rounds)
    if options.check and above:
        sys.exit("Above the budget: " + "; ".join(above))


if __name__ == "__main__":
    main()
