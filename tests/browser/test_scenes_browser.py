"""The four scenes of the demo: the first sentence names cause and person, its button ends the harm, and no wrong one is there."""

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from ratewindow.counting.counters import counters
from ratewindow.identity import address
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import edits
from testproject import scenes
from tests.browser.chromium import IN_A_BROWSER, click_to_leave

pytestmark = [pytest.mark.django_db(transaction=True), *IN_A_BROWSER]

REPORT = "/admin/ratewindow/throttlestat/"
SOON_MS = 45_000  # in the demo it takes ten seconds; here a busy machine may take more
Scene = Callable[[str], threading.Event]


@pytest.fixture(autouse=True)
def _a_site_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    counters.reset()
    monkeypatch.setattr(address, "warnings", [])
    monkeypatch.setattr(address, "_sample", [])
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": ["127.0.0.1/32"]}):
        RateRule.objects.define("api.minute", "20/m", prefix="/api/", key="user_or_ip", mode="enforce")
        call_command("ratewindow", "protect", "--enforce")
        yield
    counters.reset()


@pytest.fixture
def play(live_server: LiveServer) -> Iterator[Scene]:
    """Plays a scene until the test is over, or until its event is set."""
    over, threads = threading.Event(), list[threading.Thread]()
    host, _, port = live_server.url.removeprefix("http://").partition(":")

    def sends(name: str) -> None:
        """And does what threads of a site do: tests have none."""
        for number, sent in enumerate(scenes.SCENES[name]()):
            if over.wait(scenes.PAUSE_S):
                return
            scenes.send(sent, host, int(port))
            if number % 20 == 0:
                for chore in (edits.check_redis, counters.flush, address.judge_sample):
                    chore()

    def play(name: str) -> threading.Event:
        scenes.prepare(name)
        threads.append(threading.Thread(target=sends, args=[name]))
        threads[-1].start()
        return over

    yield play
    over.set()
    for thread in threads:
        thread.join()


def until_said(page: Any, text: str) -> str:
    """The sentence once it says so."""
    page.wait_for_function(
        "(text) => document.querySelector('#rw-sentence')?.innerText.includes(text)", arg=text, timeout=SOON_MS
    )
    return str(page.locator("#rw-sentence").inner_text())


def buttons(page: Any) -> list[str]:
    return [each.strip() for each in page.locator(".rw-acts").locator("a, button").all_inner_texts()]


@pytest.fixture(params=["15m", "1h"])
def report(request: pytest.FixtureRequest, open_page: Any) -> Any:
    return open_page(f"{REPORT}?period={request.param}")


def test_a_rule_that_refuses_everybody_goes_back_to_shadow(report: Any, play: Scene) -> None:
    play("everybody")
    said = until_said(report, "oops refuses nearly everybody")
    assert said.startswith("oops refuses nearly everybody: ") and ", when root changed it." in said
    assert buttons(report) == ["To shadow", "Undo that edit…", "Raise…", "Open rule"]
    assert not report.locator(".rw-harms").count()
    click_to_leave(report, report.locator(".rw-acts button"))
    report.goto(REPORT)
    assert until_said(report, "Over now.").startswith("oops refused nearly everybody until ")
    assert buttons(report) == ["Open rule"]


def test_that_edit_can_be_undone(report: Any, play: Scene) -> None:
    play("everybody")
    until_said(report, "oops refuses nearly everybody")
    click_to_leave(report, report.locator(".rw-acts").get_by_text("Undo that edit…"))
    report.locator("[name=reason]").fill("it refuses everybody")
    click_to_leave(report, report.locator("[type=submit]:visible").last)
    assert not RateRule.objects.filter(name="oops").exists()
    report.goto(REPORT)
    until_said(report, "Over now.")


def test_a_proxy_that_is_not_trusted_is_named_and_never_blocked(report: Any, play: Scene) -> None:
    play("proxy")
    said = until_said(report, "All visitors share one address, 127.0.0.2, which looks like your proxy")
    assert "RATEWINDOW['TRUSTED_PROXIES'] = ['127.0.0.2']" in said
    until_said(report, "api.minute has refused")
    assert buttons(report) == ["To shadow", "Raise…", "Open rule"]
    assert not report.locator(".rw-harms").count()
    assert not report.locator("tr", has_text="ip:127.0.0.2").locator("a").count()
    click_to_leave(report, report.locator(".rw-acts button"))
    report.goto(REPORT)
    assert "api.minute refused" in until_said(report, "Over now.")
    report.goto("/admin/ratewindow/raterule/")
    assert "All visitors share one address, 127.0.0.2" in report.locator(".rw-banner").inner_text()


def test_a_customer_over_his_limit_is_shown_with_what_is_known_and_can_have_more(report: Any, play: Scene) -> None:
    play("customer")
    said = until_said(report, "came from user:")
    assert said.startswith("api.minute has refused ")
    about = report.locator(".rw-about").inner_text()
    assert re.match(r"user:\d+ sends about \d+ requests a minute\. Signed in as customer\. User agent: orders-sync/2\.4\.", about)
    assert buttons(report)[-5:] == [
        "Exempt…",
        "Raise for this client…",
        "Release…",
        "Block…",
        "Tighten api.minute for everybody…",
    ]
    click_to_leave(report, report.locator(".rw-acts").get_by_text("Raise for this client…"))
    assert report.locator("[name=reason]").input_value() == ""
    report.locator("[name=reason]").fill("pays for more")
    click_to_leave(report, report.locator("[name=_save]"))
    (override,) = Override.objects.all()
    assert (override.action, override.rate, override.rule) == ("rate", "40/1m", "api.minute")
    assert override.identity.startswith("user:")


def test_who_guesses_passwords_is_named_and_blocked(report: Any, play: Scene) -> None:
    play("guesser")
    said = until_said(report, "came from ip:203.0.113.66")
    assert said.startswith("login.") and "has refused" in said
    assert "succeeded" not in report.locator(".rw-about").inner_text()
    click_to_leave(report, report.locator(".rw-acts").get_by_text("Block…"))
    report.locator("[name=reason]").fill("guesses passwords")
    click_to_leave(report, report.locator("[name=_save]"))
    assert Override.objects.get().identity == "ip:203.0.113.66"
    report.goto(REPORT)
    report.locator(".rw-acts").get_by_text("Blocked until").wait_for(timeout=SOON_MS)
    assert "Block…" not in buttons(report)
