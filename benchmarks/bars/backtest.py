"""A backtest of a log of a million lines, in a process of its own: how long it takes, and how much memory."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.tables import Section

LINES, CLIENTS, DAY_S = 1_000_000, 60_000, 86_400
AIM_S, AIM_MB = 60, 300
CASES = {
    "`30/m`": ["--rates", "30/m"],
    "`30/m` by `sliding_log`": ["--rates", "30/m", "--algorithm", "sliding_log"],
    "`30/m; 500/h` by `ip+path`": ["--rates", "30/m; 500/h", "--key", "ip+path"],
    "`5/s; 100/m` by `ip+path`": ["--rates", "5/s; 100/m", "--key", "ip+path"],
    "`30/m`, with `--suggest`": ["--rates", "30/m", "--suggest"],
    "`5/s; 100/m` by `ip+path`, with `--suggest`": ["--rates", "5/s; 100/m", "--key", "ip+path", "--suggest"],
}
_RUN = """
import json, resource, sys
import django
from django.core.management import call_command
django.setup()
call_command("ratewindow", "backtest", *sys.argv[1:], "--json")
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


def measure() -> Section:
    with tempfile.TemporaryDirectory(prefix="ratewindow-log-") as folder:
        log = Path(folder) / "access.log"
        with log.open("w", encoding="utf-8") as file:
            file.writelines(_lines())
        rows = [_row(name, log, arguments) for name, arguments in CASES.items()]
    table = "\n".join(["| rule | s | lines a second | MB | refused |", "|---|--:|--:|--:|--:|", *rows])
    return Section(
        "A backtest of a million lines",
        f"`manage.py ratewindow backtest` on a day's log of {LINES:,} lines in the combined format, with whole seconds, so each "
        "request is decided twice. Seconds of processor time for the whole command, and the most memory; the aims are "
        f"{AIM_S} s and {AIM_MB} MB.\n\n{table}",
    )


def _row(name: str, log: Path, arguments: list[str]) -> str:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "testproject.settings")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(log), *arguments], check=True, capture_output=True, text=True, env=environment
    )
    found, (took_s, kilobytes) = map(json.loads, done.stdout.splitlines()[-2:])
    refused = found["refused"] if isinstance(found["refused"], int) else found["refused"][1]
    return f"| {name} | {took_s:.0f} | {LINES / took_s:,.0f} | {kilobytes / 1024:.0f} | {refused:,} |"


def _lines() -> Iterator[str]:
    chance = random.Random(5)
    paths = ["/", "/login/", "/api/items/", "/search/?q=a", "/static/app.js", *(f"/product/{number}/" for number in range(500))]
    agents = ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36", "curl/8.4.0"]
    start_s = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    for number in range(LINES):
        at = datetime.fromtimestamp(start_s + number * DAY_S // LINES, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        client = min(int(chance.paretovariate(0.55)), CLIENTS)
        address = f"{10 + client % 7}.{client >> 14 & 255}.{client >> 7 & 127}.{client & 127}"
        request, status = f"GET {chance.choice(paths)} HTTP/1.1", chance.choice((200, 200, 200, 302, 404))
        yield f'{address} - - [{at}] "{request}" {status} {chance.randrange(50_000)} "-" "{chance.choice(agents)}"\n'
