"""What a replay saw and what the report says of it are the same numbers."""

import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.support.demo import CHECKOUT

pytestmark = pytest.mark.slow

CLIENTS, REQUESTS = 20, 600
LOG = "\n".join(
    f'host{number % CLIENTS}.example - - [01/Jul/1995:00:00:{number // 10:02d} -0400] "GET /page/{number} HTTP/1.0" 200 1'
    for number in range(REQUESTS)
)
DEFINE = """
from ratewindow.models import RateRule
RateRule.objects.define("pages", "4/s", prefix="/page/", mode="enforce")
"""
ASK = """
import json
from django.utils import timezone
from ratewindow import conf
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import report
rules = report(last("15m", timezone.now(), conf.current().retention)).rules
print(json.dumps({name: sums._asdict() for name, sums in rules.items()}, default=dict))
"""


class Site:
    """The demo's site, as a person with a terminal reaches it."""

    def __init__(self, demo):
        words = demo.said.split()
        folder = words[words.index("Logs") + 3].rstrip(".")
        redis_url = words[words.index("Redis") + 2].rstrip(".")
        self.environment = {**os.environ, "RATEWINDOW_REDIS_URL": redis_url, "TESTPROJECT_DATABASE": f"{folder}/db.sqlite3"}

    def manage(self, *arguments):
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def reported(self, rule):
        lines = self.manage("shell", "--verbosity", "0", "-c", ASK).splitlines()
        sums = json.loads(lines[-1]).get(rule, {})
        return {200: sums.get("passed"), 429: sums.get("refused")}


def test_a_replay_counts_what_the_report_counts(start_demo, tmp_path):
    demo = start_demo()
    demo.wait_for("Ctrl-C ends everything")
    site = Site(demo)
    site.manage("shell", "--verbosity", "0", "-c", DEFINE)
    expected = Counter()
    known_everywhere = time.monotonic() + 2.0  # each worker hears of a rule within a second
    while time.monotonic() < known_everywhere:
        answer = demo.get("/page/")
        if "pages" in answer.headers.get("RateLimit-Policy", ""):
            expected[answer.status] += 1
    assert expected, "no worker has heard of the rule"

    (tmp_path / "access.log").write_text(LOG)
    url = f"http://127.0.0.1:{demo.port}"
    said = site.manage("ratewindow", "replay", str(tmp_path / "access.log"), "--url", url, "--speed", "20")
    statuses = {
        words[0]: int(words[1]) for words in map(str.split, said.splitlines()) if words and words[0] in ("200", "429", "Total")
    }
    assert statuses["Total"] == REQUESTS
    assert statuses["429"] > 0
    expected.update({200: statuses["200"], 429: statuses["429"]})

    deadline = time.monotonic() + 15.0  # workers send their counts about once a second
    while (found := site.reported("pages")) != expected and time.monotonic() < deadline:
        pass
    assert found == expected
