"""The sentences on top of the report, and the buttons beside them."""

import html
import re
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.identity import joined
from ratewindow.models import Edit, Override, RateRule, ThrottleStat
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.who import CLIENT, NETWORK, ROUTE, Counted, Group, Known, Who
from tests.support.made_attack import THE_NETWORK, attack
from tests.support.rule_pages import said
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

REPORT, ACT = reverse("admin:ratewindow_report"), reverse("admin:ratewindow_report_act")


def usual_days(rule: str = "login", refused: int = 180) -> None:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    rows = [
        ThrottleStat(rule=rule, resolution="hour", start=now - timedelta(hours=each), refused=refused) for each in range(4, 240)
    ]
    rows += [ThrottleStat(rule=rule, resolution="day", start=now.replace(hour=0) - timedelta(days=each)) for each in range(1, 10)]
    ThrottleStat.objects.bulk_create(rows)


def sentence(client: Client, **query: str) -> str:
    return re.search(r'id="rw-sentence">(.*?)</p>', client.get(REPORT, query).content.decode())[1]  # type: ignore[index]


def test_an_attack_in_sentences_what_since_when_who_and_whether_others_suffer(admin_client: Client) -> None:
    usual_days()
    attack()
    said = sentence(admin_client)
    since = r"(\d{4}-\d\d-\d\d )?\d\d:\d\d"  # with its date after midnight
    assert re.match(rf"login refuses 1,\d{{3}} requests a minute \(usually 3\), since {since}\. ", said)
    assert "99.8 % come from ip:203.0.113.0/24 (14 clients)." in said
    assert re.search(r"Of all other requests to it 1\.\d % are refused\.", said)


def test_a_calm_hour_is_compared_and_said_to_be_calm(admin_client: Client) -> None:
    usual_days()
    minutes.send({int(time.time()) // 60: {"p|login": Sums(passed=41_230, refused=9)}}, time.time())
    assert sentence(admin_client) == "All quiet. 41,230 passed, 9 refused in the last hour; nothing unusual."


def test_a_rule_in_shadow_is_said_to_refuse_nobody(admin_client: Client) -> None:
    usual_days("search")
    attack("search", "would_refuse")
    said = sentence(admin_client)
    assert re.match(r"search, in shadow, would refuse 1,\d{3} requests a minute \(usually none\), since", said)
    assert "passed, 32 refused in the last hour." in said


def press(client: Client, do: str, **fields: str) -> Any:
    return client.post(f"{ACT}?period=1h&rule=login", {"do": do, **fields}, follow=True)


def test_its_button_blocks_the_network_and_the_message_undoes_it(admin_client: Client) -> None:
    attack()
    page = admin_client.get(REPORT).content.decode()
    assert 'name="do" value="block-1h"' in page and f'name="identity" value="{THE_NETWORK}"' in page
    response = press(admin_client, "block-1h", identity=THE_NETWORK, reason="attack")
    assert response.redirect_chain == [(f"{REPORT}?period=1h&rule=login", 302)]
    block = Override.objects.get()
    assert (block.action, block.identity, block.rule, block.reason, block.source) == ("block", THE_NETWORK, "", "attack", "admin")
    assert timedelta(minutes=59) < block.expires_at - timezone.now() <= timedelta(hours=1)
    assert "Blocked ip:203.0.113.0/24" in said(response)
    edit = Edit.objects.first()
    assert edit is not None and (edit.reason, edit.user) == ("attack", block.created_by)
    before = re.search(r'name="before" value="([^"]+)"', response.content.decode())[1]  # type: ignore[index]
    admin_client.post(reverse("admin:ratewindow_override_undo"), {"before": before, "reason": "Undone"})
    assert Override.objects.get().state == "ended"


def test_its_button_tightens_the_rule_for_everybody_for_an_hour(admin_client: Client) -> None:
    RateRule.objects.define("login", "5/m; 20/h", path="/login/", mode="enforce")
    attack()
    page = admin_client.get(REPORT).content.decode()
    assert 'name="rate" value="2/1m; 10/1h"' in page
    press(admin_client, "tighten-1h", identity="*", rule="login", rate="2/1m; 10/1h", reason="attack")
    found = Override.objects.get()
    assert (found.action, found.identity, found.rule, found.rate) == ("rate", "*", "login", "2/1m; 10/1h")
    assert found.expires_at is not None


def test_an_exemption_from_the_list_lasts_an_hour(admin_client: Client) -> None:
    press(admin_client, "exempt-1h", identity="user:42", reason="a customer")
    assert Override.objects.get().action == "allow"


@pytest.mark.parametrize(
    ("do", "fields", "problem"),
    [
        ("block-1h", {"identity": THE_NETWORK, "reason": ""}, "Enter a reason for your colleagues."),
        ("block-1h", {"identity": "ip:nonsense", "reason": "x"}, "nonsense"),
        ("tighten-1h", {"identity": "*", "rule": "login", "rate": "soon", "reason": "x"}, "soon"),
        ("dance", {"identity": THE_NETWORK, "reason": "x"}, "This field is required."),
    ],
)
def test_what_is_wrong_is_shown_in_the_short_form_as_it_was_filled(
    do: str, fields: dict[str, str], problem: str, admin_client: Client
) -> None:
    response = press(admin_client, do, **fields)
    assert response.status_code == 200 and not Override.objects.exists()
    assert problem in response.content.decode()
    assert fields["identity"] in response.content.decode()


def test_the_same_block_twice_is_asked_about_and_the_answer_leads_back(admin_client: Client) -> None:
    for _ in range(2):
        response = press(admin_client, "block-1h", identity=THE_NETWORK, reason="attack")
    assert "is already blocked" in said(response)
    fields = {"identity": THE_NETWORK, "what": "block", "lasts": "1h", "reason": "attack", "twice": "another", "_quick": "Save"}
    response = admin_client.post(f"{ACT}?period=1h", fields)
    assert response["Location"] == f"{REPORT}?period=1h"
    assert Override.objects.count() == 2


def test_a_button_takes_its_permission_and_a_post(admin_client: Client) -> None:
    attack()
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    viewer = staff("view_throttlestat")
    assert 'class="rw-act"' not in viewer.get(REPORT).content.decode()
    assert press(viewer, "block-1h", identity=THE_NETWORK, reason="x").status_code == 403
    assert admin_client.get(ACT).status_code == 405
    assert not Override.objects.exists()
    blocker = staff("view_throttlestat", "add_override").get(REPORT).content.decode()
    assert 'value="block-1h"' in blocker and 'value="tighten-1h"' not in blocker


def test_who_may_not_see_identities_gets_none_but_networks_in_the_page() -> None:
    attack()
    page = staff("view_throttlestat", "add_override").get(REPORT).content.decode()
    assert f'name="identity" value="{THE_NETWORK}"' in page
    assert "ip:203.0.113.9" not in page and "user:42" not in page
    assert "Identities are masked" in page


def test_back_is_the_report_wherever_the_query_points(admin_client: Client) -> None:
    response = admin_client.post(f"{ACT}?//evil.example/", {"do": "block-1h", "identity": THE_NETWORK, "reason": "x"})
    assert response["Location"].startswith(f"{REPORT}?")


def test_explain_is_opened_with_the_client_and_the_route_filled_in(admin_client: Client) -> None:
    minute = int(time.time()) // 60
    named = {"user:42": Known(Counted(90, 0, 90), signed_in=True)}
    who = Who(Counted(90, 0, 90), {CLIENT: Group(named), ROUTE: Group({"POST /login/": Known(Counted(90, 0, 0))})})
    minutes.send({minute: {"p|login": Sums(refused=90)}}, time.time(), {minute: {"p|login": who}})
    page = admin_client.get(REPORT).content.decode()
    assert page.count("explain/?method=POST&amp;path=%2Flogin%2F&amp;user=user%3A42") == 2
    assert "explain/?" not in staff("view_throttlestat").get(REPORT).content.decode()


def send(rule: str, refused: int, route: str) -> None:
    """Refusals of one address, on one route, as another process has counted them."""
    minute = int(time.time()) // 60
    named = {"ip:203.0.113.9": Known(Counted(refused, 0, refused), network=THE_NETWORK)}
    groups = {CLIENT: Group(named), ROUTE: Group({route: Known(Counted(refused, 0, 0))})}
    who = Who(Counted(refused, 0, refused), groups)
    minutes.send({minute: {f"p|{rule}": Sums(refused=refused)}}, time.time(), {minute: {f"p|{rule}": who}})


def links_of_headline(client: Client) -> list[str]:
    acts = re.search(r'<div class="rw-acts">(.*?)</div>\n', client.get(REPORT).content.decode(), re.DOTALL)
    assert acts is not None
    return [html.unescape(each) for each in re.findall(r'href="([^"]*explain/[^"]*)"', acts[1])]


def test_explain_is_of_what_the_rule_of_the_headline_refused(admin_client: Client) -> None:
    minute = int(time.time()) // 60
    send("api", 90, "POST /api/orders/")
    shadow = Who(Counted(0, 50, 500), {ROUTE: Group({"GET /search/": Known(Counted(0, 500, 0))})})
    minutes.send({minute: {"q|search": Sums(passed=500, would_refuse=50)}}, time.time(), {minute: {"q|search": shadow}})
    assert sentence(admin_client).startswith("api refuses")
    (link,) = links_of_headline(admin_client)
    assert link.endswith("explain/?method=POST&path=%2Fapi%2Forders%2F&address=203.0.113.9")


def test_explain_of_a_route_that_varies_is_of_a_path_that_the_rule_meets(admin_client: Client) -> None:
    RateRule.objects.define("api", "5/m", prefix="/api/", mode="enforce")
    send("api", 90, "POST /api/orders/<int:number>/")
    (link,) = links_of_headline(admin_client)
    assert link.endswith("explain/?method=POST&path=%2Fapi%2F&address=203.0.113.9")


def test_explain_without_a_path_asks_for_one(admin_client: Client) -> None:
    send("code", 90, "GET no route")
    (link,) = links_of_headline(admin_client)
    assert link.endswith("explain/?method=GET&address=203.0.113.9")
    page = admin_client.get(link).content.decode()
    assert 'value="203.0.113.9"' in page and "errornote" not in page


def test_one_machine_is_behind_it_by_its_address(admin_client: Client) -> None:
    minute = int(time.time()) // 60
    home = "ip:203.0.113.66"
    named = {name: Known(Counted(45, 0, 45), network=THE_NETWORK) for name in (home, joined([home, "post:username:ann"]))}
    groups = {CLIENT: Group(named), NETWORK: Group({THE_NETWORK: Known(Counted(90, 0, 0))})}
    who = Who(Counted(90, 0, 90), groups)
    minutes.send({minute: {"p|login": Sums(refused=90)}}, time.time(), {minute: {"p|login": who}})
    assert "100 % come from ip:203.0.113.66 (2 clients)." in sentence(admin_client)
    page = admin_client.get(REPORT).content.decode()
    assert "Block ip:203.0.113.66 for 24 h" in page and THE_NETWORK not in page


def test_who_is_blocked_already_is_said_to_be_and_has_no_button_to_block(admin_client: Client) -> None:
    attack()
    press(admin_client, "block-1h", identity=THE_NETWORK, reason="scraping")
    page = admin_client.get(REPORT)
    assert re.search(r"ip:203\.0\.113\.0/24 is already blocked until [\d: -]+, by admin: scraping\.", said(page))
    assert "Block ip:203.0.113.0/24…" not in page.content.decode()
