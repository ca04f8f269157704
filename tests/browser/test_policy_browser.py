"""Every page of the admin in a real browser, under a policy that allows files of the site and nothing inline."""

from typing import Any

import pytest

from tests.browser.chromium import IN_A_BROWSER, opened
from tests.support.admin_addresses import addresses
from tests.support.worst_rows import STORED, write

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

INLINE = """() => {
    document.body.append(Object.assign(document.createElement("script"), {textContent: "window.ran = true"}));
    return window.ran;
}"""


def test_every_page_keeps_a_strict_policy(browser: Any, live_server: Any, admin_client: Any, admin_user: Any) -> None:
    write(admin_user, STORED[:20])
    page = opened(browser, live_server, admin_client)
    said: list[str] = []
    page.on("console", lambda message: message.type == "error" and said.append(f"{page.url}: {message.text}"))
    for address in addresses():
        if admin_client.get(address).status_code in (403, 404, 405):
            continue  # it takes no GET, or has nothing to restore
        page.goto(address, wait_until="load")
    assert said == []
    with page.expect_console_message():  # so a violation would have been seen
        assert page.evaluate(INLINE) is None
    assert "script-src 'self'" in said[0]
    page.context.close()
