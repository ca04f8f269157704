"""The page of a rule: its mode with the switch, what it did and to whom, and blocks of it; *Edit* is another page."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.counting.collecting import store_who
from ratewindow.counting.sums import Counted, Group, Sums, Who
from ratewindow.models import Override, RateRule
from tests.support.rule_pages import ADD, LIST, change, count, define, look, said, typed
from tests.support.staff import staff

pytestmark = pytest.mark.django_db


def section(response: Any, name: str) -> str:
    """The words of a part of the page; empty if it is not there."""
    found = re.search(rf'<section[^>]*aria-labelledby="{name}".*?</section>', response.content.decode(), re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[0])).strip() if found else ""


def figures(response: Any) -> list[str]:
    return re.findall(r"<dd><strong>(.*?)</strong>", response.content.decode())


def test_it_says_what_the_rule_amounts_to_and_its_mode_since_when(page: Client) -> None:
    rule = define(path="/login/", key="ip", description="Stops guessing.")
    words = said(page.get(look(rule)))
    assert "Each address: at most 5 in 1 minute, on /login/." in words and "Stops guessing." in words
    assert "Shadow since" in words


def test_the_figures_the_chart_and_who_is_refused_are_those_of_this_rule_in_a_day(page: Client) -> None:
    rule, other = define(), define("other")
    count(login=Sums(passed=41_230, refused=10, would_refuse=312), other=Sums(passed=7))
    minute = timezone.now().replace(second=0, microsecond=0)
    store_who({(minute, name): Who(Counted(10, 0, 10), Group({f"user:{name}": Counted(10)})) for name in ("login", "other")})
    answer = page.get(look(rule))
    assert "user:login" in section(answer, "rw-who") and "user:other" not in section(answer, "rw-who")
    assert figures(answer) == ["41,230", "10", "312"]
    assert figures(page.get(look(other))) == ["7", "0", "0"]
    assert 'id="rw-chart-data"' in answer.content.decode() and "ratewindow/report.js" in answer.content.decode()


def test_a_part_of_the_chart_is_looked_at_closer(page: Client) -> None:
    rule = define()
    count(login=Sums(passed=7))
    assert "no requests" in said(page.get(look(rule), {"start": "2026-01-01T10:00", "end": "2026-01-01T11:00"}))
    assert figures(page.get(look(rule), {"rule": "other"}))[0] == "7"
    assert page.get(look(rule), {"start": "yesterday"}).status_code == 400


def test_what_matched_nothing_is_said(page: Client) -> None:
    assert ": no requests" in said(page.get(look(define())))


def test_while_redis_is_unavailable_it_says_what_is_not_known(page: Client, settings: Any) -> None:
    rule = define()
    settings.RATEWINDOW = {**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}
    assert ": not known" in said(page.get(look(rule)))


def test_blocks_and_exemptions_of_the_rule_are_listed_until_they_end(page: Client) -> None:
    rule = define()
    Override.objects.block("ip:203.0.113.9", rule="login", duration="1h", reason="Guesses.")
    Override.objects.rate("user:42", "100/h", rule="login", reason="A partner.")
    Override.objects.block("ip:203.0.113.1", rule="other")
    ended = Override.objects.allow("user:43", rule="login")
    Override.objects.get_queryset().filter(pk=ended.pk).end()
    listed = section(page.get(look(rule)), "rw-overrides")
    assert "ip:203.0.113.9" in listed and "Guesses." in listed and "100/h" in listed and "user:42" in listed
    assert "203.0.113.1 " not in listed and "user:43" not in listed
    assert section(staff("view_raterule").get(look(rule)), "rw-overrides") == ""
    masked = section(staff("view_raterule", "view_override").get(look(rule)), "rw-overrides")
    assert "Guesses." in masked and "203.0.113.9" not in masked


def test_the_list_leads_to_it_and_so_does_saving(page: Client) -> None:
    rule = define()
    assert f'<a href="{rule.pk}/"><strong>login</strong>' in page.get(LIST).content.decode()
    assert page.get(f"{LIST}{rule.pk}/").status_code == 200
    assert page.post(change(rule), typed(("7", "1m"), stored=rule)).url == look(rule)
    added = page.post(ADD, typed(("7", "1m"), name="new"))
    assert added.url == look(RateRule.objects.get(name="new"))
    assert page.post(change(rule), {**typed(("7", "1m"), stored=rule), "_continue": "1"}).url == change(rule)


def test_who_may_add_rules_alone_is_led_elsewhere() -> None:
    assert staff("add_raterule").post(ADD, typed(("7", "1m"))).url == reverse("admin:index")


def test_who_may_only_look_has_no_switch_and_no_edit() -> None:
    rule = define()
    count(login=Sums(passed=7, refused=3))
    for permission, buttons in (("view_raterule", False), ("change_raterule", True)):
        text = staff(permission).get(look(rule)).content.decode()
        assert ('name="to"' in text) == (f'href="{change(rule)}"' in text) == buttons
        assert "rw-figures" in text and "rw-chart" not in text  # the chart is for who may see the report
    assert staff("view_override").get(look(rule)).status_code == 403
    assert staff("view_raterule").get(reverse("admin:ratewindow_raterule_look", args=[0])).status_code == 404


def test_the_form_has_neither_the_mode_nor_the_buttons_of_it(page: Client) -> None:
    rule = define(mode="enforce")
    text = page.get(change(rule)).content.decode()
    assert 'name="mode"' not in text and 'name="to"' not in text and "object-tools" not in text.partition("</head>")[2]
    assert f'<a href="{look(rule)}">login</a>' in text  # the way back
    page.post(change(rule), typed(("7", "1m"), stored=rule, mode="off"))
    rule.refresh_from_db()
    assert (rule.mode, rule.windows.get().limit) == ("enforce", 7)


def test_a_rule_in_shadow_says_what_clients_sent_and_proposes_lower_limits(page: Client) -> None:
    rule = define("search", "100/m", path="/search/", mode="shadow")
    count(search=Sums(passed=500, used={"100/m:25": 500}))
    shown = page.get(look(rule))
    assert "500 requests were counted under the limits of search. No client had sent more than 25 in 1 minute." in said(shown)
    assert "With headroom: use 40 in 1 minute…" in said(shown)
    found = re.search(r'<p class="rw-lower">.*?href="(.*?)"', shown.content.decode())
    assert found is not None and 'value="40"' in page.get(found[1].replace("&amp;", "&")).content.decode()
    RateRule.objects.update(mode="enforce")
    assert "With headroom" not in said(page.get(look(rule)))
