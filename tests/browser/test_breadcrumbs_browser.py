"""Our pages beside those of the plain admin in a real browser: breadcrumbs, object tools and links of this version of Django."""

from typing import Any

import pytest
from django.urls import reverse

from ratewindow.models import Override, RateRule
from tests.browser.chromium import IN_A_BROWSER, opened

pytestmark = [*IN_A_BROWSER, pytest.mark.django_db(transaction=True)]

LOOKS = """() => {
    const crumbs = document.querySelector(".breadcrumbs"), link = crumbs.querySelector("a");
    const {backgroundColor, color, padding} = getComputedStyle(crumbs);
    return [backgroundColor, color, getComputedStyle(link).color, innerWidth < 1280 ? "" : padding];
}"""


def test_breadcrumbs_and_tools_look_as_those_of_the_plain_admin(
    browser: Any, live_server: Any, admin_client: Any, look: Any
) -> None:
    page = opened(browser, live_server, admin_client, **look)
    page.goto(live_server.url + reverse("admin:auth_group_changelist"), wait_until="load")
    plain = page.evaluate(LOOKS)
    for name in ("ratewindow_report", "ratewindow_override_release", "ratewindow_state"):
        page.goto(live_server.url + reverse(f"admin:{name}"), wait_until="load")
        assert page.evaluate(LOOKS) == plain, name
    RateRule.objects.define("login", "5/m", path="/login/")
    Override.objects.block("ip:203.0.113.9", duration="1h")
    for name in ("ratewindow_raterule_changelist", "ratewindow_override_changelist"):
        page.goto(live_server.url + reverse(f"admin:{name}"), wait_until="load")
        tops = page.eval_on_selector_all(".object-tools a", "all => all.map(each => each.getBoundingClientRect().top)")
        assert look["viewport"]["width"] < 1280 or max(tops) - min(tops) <= 1, name
        # A line below a link's name does not go on below its sentence.
        sentence = page.locator("a > .rw-sentence").first
        assert sentence.evaluate("each => getComputedStyle(each).display") == "inline-block"
    page.context.close()
