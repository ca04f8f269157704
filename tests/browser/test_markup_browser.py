"""Markup that clients and colleagues wrote, in a real browser: shown on every page, run on none."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.models import Override, RateRule, ThrottleStat
from tests.browser.chromium import IN_A_BROWSER, opened
from tests.support.admin_addresses import POSTED_TO, addresses

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

EVIL = "<img src=x onerror=alert(1)>"
CLOSING = '"></option></textarea></title></script><script>alert(2)</script>'


@pytest.fixture
def written(admin_user: Any) -> None:
    """As far as forms take it by the forms' ways, beyond that by raw rows, as another program might write them."""
    rule, _ = RateRule.objects.define(
        "login", "5/m", path="/login/", mode="enforce", message=EVIL, description=f"{EVIL} {CLOSING}"
    )
    RateRule.objects.define("other", "5/m", path="/other/", mode="shadow")
    RateRule.objects.filter(name="other").update(
        name=f"o{EVIL}", pattern=CLOSING, key=f"header:{EVIL}", methods=EVIL, applies_to="path", count_when=EVIL
    )
    Override.objects.block(f"header:x-client:{EVIL}", reason=EVIL, duration="2h", source=CLOSING[:32])
    AlertChannel.objects.create(name=EVIL, addresses=CLOSING, error=EVIL, raised={"unusual:login": {"since": "", "text": EVIL}})
    Override.objects.allow(f"group:{EVIL}", reason=CLOSING)
    start = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=3)
    for name in ("login", EVIL, CLOSING[:64]):
        ThrottleStat.objects.create(
            rule=name, resolution="minute", start=start, passed=5, refused=9, reasons={EVIL: 9, f"store:{CLOSING}": 2}
        )
    for row in (rule, Override.objects.get_queryset().first()):
        LogEntry.objects.log_actions(admin_user.pk, [row], 2, change_message=f"Changed {EVIL}{CLOSING}")


def test_markup_that_people_and_clients_wrote_runs_nowhere(
    browser: Any, live_server: Any, admin_client: Any, written: None
) -> None:
    page = opened(browser, live_server, admin_client, bypass_csp=True)  # the policy would hide markup that runs
    ran: list[str] = []
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: ran.append(request.url) if request.url.endswith("/x") else None)
    found = [reverse("admin:ratewindow_override_changelist") + f"?q={EVIL}", reverse("admin:ratewindow_report") + f"?rule={EVIL}"]
    shown = 0
    for address in [*addresses(), *found]:
        if address.endswith(POSTED_TO):
            continue
        page.goto(live_server.url + address, wait_until="load")
        assert page.locator("img[src=x], img[onerror]").count() == 0, address
        shown += "onerror=alert(1)" in page.locator("body").inner_text() or page.get_by_text("onerror=alert(1)").count() > 0
    # What an action says of them: messages.
    page.goto(live_server.url + reverse("admin:ratewindow_override_changelist"), wait_until="load")
    page.get_by_role("button", name="End now").first.click()
    assert page.locator(".messagelist").inner_text()
    assert page.locator("img[src=x], img[onerror]").count() == 0
    # A visitor who is refused reads the rule's message.
    page.goto(live_server.url + "/login/", wait_until="load")
    for _ in range(6):
        page.reload(wait_until="load")
    assert EVIL in page.locator("body").inner_text()
    assert ran == []
    with page.expect_event("dialog"):  # so it would have been seen
        page.set_content(EVIL)
    assert shown >= 6  # it was there to be run
    page.context.close()
