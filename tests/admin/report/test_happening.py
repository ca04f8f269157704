"""The sentences on top of the report, and the buttons beside them."""

import re
import time
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.counting import minutes
from ratewindow.counting.sums import Counted, Group, Known, Sums, Who
from ratewindow.identity import joined
from ratewindow.models import RateRule, ThrottleStat
from tests.support.made_attack import THE_NETWORK, attack
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

REPORT = reverse("admin:ratewindow_report")


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
    assert re.match(rf"login has refused 1\d,\d{{3}} requests since {since}\. Usually it is \d\d? in that time\. ", said)
    assert "99.8 % came from ip:203.0.113.0/24 (14 clients)." in said
    assert re.search(r"Of the 2,880 other requests under login 1\.\d % were refused\.", said)


def test_a_calm_hour_is_compared_and_said_to_be_calm(admin_client: Client) -> None:
    usual_days()
    minutes.send({int(time.time()) // 60: {"p|login": Sums(passed=41_230, refused=9)}}, time.time())
    assert sentence(admin_client) == "All quiet. 41,230 passed, 9 refused in the last hour."


def test_a_rule_in_shadow_is_said_to_refuse_nobody(admin_client: Client) -> None:
    usual_days("search")
    attack("search", "would_refuse")
    said = sentence(admin_client)
    assert re.match(r"search, in shadow, would have refused 1\d,\d{3} requests since", said)
    assert "passed, 32 refused in the last hour." in said


def forms(client: Client) -> dict[str, dict[str, str]]:
    """What the links beside the sentence fill in, by their texts."""
    page = client.get(REPORT).content.decode()
    links = re.search(r'<div class="rw-acts">(.*?)</div>', page, re.DOTALL)
    found = re.findall(r'href="([^"]+)">([^<]+)<', links[1]) if links else []
    return {text: dict(parse_qsl(urlsplit(unescape(url)).query)) for url, text in found}


def test_its_links_fill_in_a_block_an_exemption_and_half_of_the_limits(admin_client: Client) -> None:
    RateRule.objects.define("login", "5/m; 20/h", path="/login/", mode="enforce")
    attack()
    found = forms(admin_client)
    assert {"identity": THE_NETWORK, "action": "block", "lasts": "1h"}.items() <= found["Block…"].items()
    assert {"identity": THE_NETWORK, "action": "allow"}.items() <= found["Exempt…"].items()
    tighten = {"identity": "*", "action": "rate", "rule": "login", "rate": "2/1m; 10/1h", "lasts": "1h"}
    assert tighten.items() <= found["Tighten login for everybody…"].items()


def test_a_link_takes_the_permission_of_its_form() -> None:
    attack()
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    assert forms(staff("view_throttlestat")) == {}
    assert {*forms(staff("view_throttlestat", "add_override"))} == {"Block…", "Exempt…", "Raise for this client…"}


def test_who_may_not_see_identities_gets_none_but_networks_in_the_page() -> None:
    attack()
    page = staff("view_throttlestat", "add_override").get(REPORT).content.decode()
    assert quote(THE_NETWORK, safe="") in page
    assert "ip:203.0.113.9" not in page and "user:42" not in page
    assert "Identities are masked" in page


def test_one_machine_is_behind_it_by_its_address(admin_client: Client) -> None:
    minute = int(time.time()) // 60
    home = "ip:203.0.113.66"
    named = {name: Counted(45) for name in (home, joined([home, "post:username:ann"]))}
    who = Who(Counted(90, 0, 90), Group(named), Group({THE_NETWORK: Counted(90)}))
    minutes.send({minute: {"p|login": Sums(refused=90)}}, time.time(), {minute: {"p|login": who}})
    assert "100 % came from ip:203.0.113.66 (2 clients)." in sentence(admin_client)
    assert forms(admin_client)["Block…"]["identity"] == home


def test_a_name_that_is_tried_can_only_be_released(admin_client: Client) -> None:
    minute, name = int(time.time()) // 60, "post:username:ann"
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    who = Who(Counted(90, 0, 90), Group({name: Counted(90)}), Group({}), known={name: Known(agent="curl/8.5")})
    minutes.send({minute: {"p|login": Sums(refused=90)}}, time.time(), {minute: {"p|login": who}})
    assert "100 % were for post:username:ann." in sentence(admin_client)
    assert forms(admin_client).keys() - {"Explain"} == {"Release…", "Tighten login for everybody…"}
    assert "curl" not in admin_client.get(REPORT).content.decode()


def test_a_client_of_an_intranet_is_named_and_helped_and_never_blocked(admin_client: Client) -> None:
    minute, client = int(time.time()) // 60, "ip:10.0.0.9"
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    who = Who(Counted(90, 0, 90), Group({client: Counted(90)}), Group({}))
    minutes.send({minute: {"p|login": Sums(refused=90)}}, time.time(), {minute: {"p|login": who}})
    assert "100 % came from ip:10.0.0.9." in sentence(admin_client)
    assert {"Exempt…", "Release…"} < forms(admin_client).keys() and "Block…" not in forms(admin_client)
