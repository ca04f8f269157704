"""A limit without a log in a real browser: recorded by a button, and chosen on the curve of what was recorded."""

from datetime import timedelta
from typing import Any

import pytest

from ratewindow.conf import time_zone
from ratewindow.limiter.keys import digest
from ratewindow.models import RateRule, RecordedHour, Recording
from ratewindow.operations import recordings
from ratewindow.reporting.recorded_hours import BAD, GOOD
from tests.browser.chromium import IN_A_BROWSER
from tests.support.rule_pages import change

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_a_rule_is_recorded_and_its_limit_read_from_the_curve(open_page: Any, look: Any) -> None:
    rule = RateRule.objects.define("search", "10/m", path="/search/")[0]
    page = open_page(**look)
    page.goto(change(rule))
    page.get_by_text("What should the limit be?").click()
    page.get_by_role("button", name="7 days").click()
    page.get_by_text("what the clients use of 10/m is recorded").first.wait_for()
    page.wait_for_load_state("networkidle")  # the preview reads rows, which an edit would lock in this database in memory
    page.get_by_role("button", name="End recording now").click()
    page.get_by_text("Recording ended.").wait_for()
    page.wait_for_load_state("networkidle")
    fill(Recording.objects.get())
    page.goto(change(rule))
    page.get_by_text("The limit would have refused 160 of them").wait_for()
    page.get_by_text("Suggested:").wait_for()
    page.locator(".rw-curve input[type=range]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def fill(recording: Recording) -> None:
    """A week in which clients take at most nine units, and two take sixty."""
    recording.since = time_zone.now() - timedelta(days=7)
    recording.save()
    assert not recordings.is_going_on(recording)
    for day in range(7):
        peaks = {digest(f"client {number}", 9): [1 + number % 9, 0, 5, 0, GOOD] for number in range(400)}
        if day < 4:
            peaks |= {digest(f"abuser {number}", 9): [10, 50, 80, 20, BAD] for number in range(2)}
        start = recording.since + timedelta(days=day)
        RecordedHour.objects.create(recording=recording, start=start, clients=peaks)
