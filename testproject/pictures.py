"""``make pictures``: the pictures of the admin in docs/pictures, taken from a running demo.

The demo is started on a free port, given an hour of history so that its report has something to show, and ended again.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from testproject import running_demo
from testproject.redis_server import free_port

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDER = CHECKOUT / "docs" / "pictures"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync".split()
WIDTH = 1280
MARGIN = 16

# For each picture: its page, below the index of the app, and the last element that is in it.
PAGES = {
    "admin-rules.png": ("raterule/", "#content-main, .rw-in-code"),
    "admin-rule.png": ("raterule/{rule}/", ".rw-figures"),
    "admin-blocks.png": ("override/", "#changelist-form"),
    "admin-report.png": ("throttlestat/", ".rw-over-time"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m testproject.pictures")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    if not CHROMIUM.exists():
        sys.exit(f"There is no {CHROMIUM}, which draws the pages: apt-get install chromium")
    with _demo() as site:
        rule = _write_history()
        for path in _take(f"{site}/admin/ratewindow/", rule, folder):
            print(f"{path}: {path.stat().st_size // 1024} kB")


@contextmanager
def _demo() -> Iterator[str]:
    """A demo of its own, whose database and Redis this process uses from here on; yields its address."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="ratewindow-pictures-") as folder:
        for name in [name for name in os.environ if name.startswith(("RATEWINDOW_", "TESTPROJECT_"))]:
            del os.environ[name]
        os.environ["TESTPROJECT_RUNNING"] = str(Path(folder) / "running.json")
        command = [sys.executable, "-m", "testproject.demo", "--port", str(port)]
        with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as demo:
            try:
                assert demo.stdout is not None
                printed = ""
                for line in demo.stdout:
                    printed += line
                    if "Ctrl-C ends everything" in line:
                        break
                else:
                    sys.exit(f"The demo ended before it was ready:\n{printed}")
                os.environ.update(running_demo.environment())
                yield f"http://127.0.0.1:{port}"
            finally:
                demo.terminate()
                demo.wait()


def _write_history() -> int:
    """An hour of counts, the same in each run but for the clock; returns the primary key of the rule that is pictured."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "testproject.settings"
    import django

    django.setup()
    from django.utils import timezone

    from ratewindow.models import RateRule, ThrottleStat

    # Of each rule: requests in a minute, and the share of its requests that is over the limit in a busy minute.
    rules = {"api.minute": (60, 0.5), "login.name": (6, 0.7), "search": (25, 0.4), "site": (110, 0.15), "demo.limited": (8, 0.3)}
    chance = random.Random(7)
    this_minute = timezone.now().replace(second=0, microsecond=0)
    rows = []
    for minutes in range(2, 60):
        busy = minutes in range(14, 24) or minutes in range(41, 46)
        for name, (requests, share) in rules.items():
            count = int(requests * chance.uniform(0.7, 1.2) * (2 if busy else 1))
            over = int(count * share * chance.uniform(0.6, 1.0)) if busy else 0
            in_shadow = name in ("search", "site")
            counts = {"would_refuse": over} if in_shadow else {"refused": over, "reasons": {"limit": over}}
            passed = count if in_shadow else count - over
            start = this_minute - timedelta(minutes=minutes)
            rows.append(ThrottleStat(rule=name, resolution="minute", start=start, passed=passed, **counts))
    ThrottleStat.objects.bulk_create(rows)
    return RateRule.objects.get(name="login.name").pk


def _take(index: str, rule: int, folder: Path) -> Iterator[Path]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(color_scheme="light", viewport={"width": WIDTH, "height": 900})
        page.goto(f"{index}../login/?next=/admin/ratewindow/")
        page.fill("[name=username]", "admin")
        page.fill("[name=password]", "admin")
        page.click("[type=submit]")
        page.wait_for_load_state()
        for name, (place, last) in PAGES.items():
            page.goto(index + place.format(rule=rule), wait_until="load")
            page.wait_for_load_state("networkidle")
            path = folder / name
            page.screenshot(path=path, full_page=True, clip=_down_to(page, last), animations="disabled")
            yield path
        browser.close()


def _down_to(page: Any, last: str) -> dict[str, float]:
    """The page from its top to the end of the element."""
    bottoms = [box["y"] + box["height"] for each in page.locator(last).all() if (box := each.bounding_box())]
    return {"x": 0, "y": 0, "width": WIDTH, "height": max(bottoms) + MARGIN}


if __name__ == "__main__":
    main()
