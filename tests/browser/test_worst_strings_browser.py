"""The worst strings in the rows of every page, in a real browser: none of them runs."""

from typing import Any

import pytest

from tests.browser.chromium import IN_A_BROWSER, opened
from tests.support.admin_addresses import addresses
from tests.support.worst_rows import STORED, write

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]


def test_no_page_runs_them(browser: Any, live_server: Any, admin_client: Any, admin_user: Any) -> None:
    write(admin_user, [each for each in STORED if "<" in each or ":" in each or "(" in each][:200])
    page = opened(browser, live_server, admin_client, bypass_csp=True)  # the policy would hide markup that runs
    ran: list[str] = []
    page.on("dialog", lambda dialog: (ran.append(dialog.message), dialog.dismiss()))
    page.on(
        "request", lambda request: None if request.url.startswith((live_server.url, "data:image/")) else ran.append(request.url)
    )
    for address in addresses():
        if admin_client.get(address).status_code in (403, 404, 405):
            continue  # it takes no GET, or has nothing to restore
        page.goto(live_server.url + address, wait_until="load")
        assert page.locator("img[src=x], svg[onload], [onerror], [onclick], [onfocus], iframe").count() == 0, address
    assert ran == []
    with page.expect_event("dialog"):  # so it would have been seen
        page.set_content("<img src=x onerror=alert(1)>")
    page.context.close()
