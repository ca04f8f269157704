"""Who is refused, on the report page: to whom it shows what."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratewindow.identity import joined
from ratewindow.models import ThrottleStat
from ratewindow.reporting.how_many import clients
from ratewindow.reporting.offender_rows import set_rows
from ratewindow.reporting.offenders import HowMany
from ratewindow.reporting.who import CLIENT, NETWORK, ROUTE, Counted, Group, Known, Who

pytestmark = pytest.mark.django_db

NETWORK_OF_9 = "ip:203.0.113.0/24"


def stored(who: Who, rule: str = "login") -> None:
    start = timezone.now().replace(second=0, microsecond=0)
    set_rows("minute", {(start, rule): who})
    refused, would_refuse, met = who.total
    ThrottleStat.objects.create(
        rule=rule, resolution="minute", start=start, refused=refused, would_refuse=would_refuse, passed=met - refused, near=3
    )


def some(bound: int = 0) -> Who:
    clients = {
        "ip:203.0.113.9": Known(Counted(30, 0, 40), False, NETWORK_OF_9),
        "ip:203.0.113.8": Known(Counted(10, 0, 10), False, NETWORK_OF_9),
        "user:42": Known(Counted(2, 1, 9), True),
    }
    groups = {
        CLIENT: Group(clients, Counted(bound, 0, 0)),
        NETWORK: Group({NETWORK_OF_9: Known(Counted(40, 0, 0))}, Counted(bound, 0, 0)),
    }
    return Who(Counted(42, 1, 59), groups)


def section(client: Client, rule: str = "") -> str:
    html = client.get(reverse("admin:ratewindow_report"), {"rule": rule} if rule else {}).content.decode()
    found = re.search(r'<section class="module rw-who.*?</section>', html, re.DOTALL)
    words = re.sub(r'<details class="rw-act".*?</details>|<a .*?</a>|<[^>]+>', " ", found[0], flags=re.DOTALL) if found else ""
    return re.sub(r"\s+", " ", words)


def test_networks_come_first_and_then_clients_with_their_shares(admin_client: Client) -> None:
    stored(some())
    text = section(admin_client)
    assert "3 clients were refused, 1 of them signed in. 1 client would have been refused, 1 of them signed in." in text
    assert (
        "ip:203.0.113.0/24 network, 2 clients Its clients ip:203.0.113.9 30 refused ip:203.0.113.8 10 refused 40 0 93 %" in text
    )
    assert "user:42 signed in 2 1 7.0 %" in text
    assert "too small" not in text


def test_clients_of_a_network_that_a_rule_in_shadow_would_refuse_are_counted_as_such(admin_client: Client) -> None:
    clients = {
        "ip:203.0.113.9": Known(Counted(0, 30, 40), False, NETWORK_OF_9),
        "ip:203.0.113.8": Known(Counted(3, 10, 20), False, NETWORK_OF_9),
    }
    groups = {CLIENT: Group(clients), NETWORK: Group({NETWORK_OF_9: Known(Counted(3, 40, 0))})}
    stored(Who(Counted(3, 40, 60), groups))
    assert "ip:203.0.113.9 30 would be refused ip:203.0.113.8 3 refused, 10 would be 3 40 100 %" in section(admin_client)


def test_what_may_be_too_small_is_said_to_be(admin_client: Client) -> None:
    stored(some(bound=1200))
    text = section(admin_client)
    assert "At least 3 clients were refused, at least 1 of them signed in." in text
    assert "Any number below may be too small by up to 1,200." in text
    assert "network, at least 2 clients" in text


def test_identities_are_masked_for_staff_who_may_not_see_them(client: Client) -> None:
    stored(some())
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_throttlestat"))
    client.force_login(staff)
    text = section(client)
    assert "ip:203.0.113.x" in text and "ip:203.0.113.9" not in text and "user:42" not in text and "user:#" in text


def test_a_report_of_one_rule_shows_who_that_rule_refuses(admin_client: Client) -> None:
    stored(some())
    stored(Who(Counted(1, 0, 1), {CLIENT: Group({"user:7": Known(Counted(1, 0, 1))})}), "api")
    assert "user:7" in section(admin_client)


def test_where_nobody_is_refused_there_is_no_list(admin_client: Client) -> None:
    stored(Who(Counted(0, 0, 5), {CLIENT: Group({"user:7": Known(Counted(0, 0, 5))})}))
    assert section(admin_client) == ""


def test_how_many_passed_near_a_limit_is_said_beside_those_that_passed(admin_client: Client) -> None:
    stored(some())
    assert "3 near a limit" in admin_client.get(reverse("admin:ratewindow_report")).content.decode()


def test_a_number_of_clients_in_words() -> None:
    assert clients(HowMany(1)) == "1 client"
    assert clients(HowMany(1000, exact=False)) == "at least 1,000 clients"


@pytest.mark.parametrize("evil", ["<img src=x onerror=alert(1)>", "javascript:alert(1)"])
def test_what_clients_send_is_text_on_the_page(evil: str, admin_client: Client) -> None:
    stored(Who(Counted(5, 0, 5), {CLIENT: Group({f"header:x-api-key:{evil}": Known(Counted(5, 0, 5))})}))
    html = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    assert "<img src=x" not in html


def items(client: Client) -> dict[str, str]:
    """Of each client in the fold of a network its part of the page."""
    page = client.get(reverse("admin:ratewindow_report")).content.decode()
    fold = re.search(r'<details class="rw-members".*?</ul>', page, re.DOTALL)
    assert fold is not None
    return {each.split(" ")[0]: each for each in re.findall(r"<li>(.*?)</li>", fold[0], re.DOTALL)}


def test_a_client_in_a_network_has_the_buttons_of_a_row_of_its_own(admin_client: Client) -> None:
    stored(some())
    item = items(admin_client)["ip:203.0.113.9"]
    buttons = re.findall(r'name="do" value="([^"]+)">([^<]+)<', item)
    assert buttons == [
        ("block-1h", "Block ip:203.0.113.9 for 1 h"),
        ("block-24h", "Block ip:203.0.113.9 for 24 h"),
        ("exempt-1h", "Exempt ip:203.0.113.9 for 1 h"),
    ]
    assert 'name="identity" value="ip:203.0.113.9"' in item
    assert "explain/?address=203.0.113.9" in item and "Release ip:203.0.113.9" in item


def test_each_fold_has_an_id_of_its_own(admin_client: Client) -> None:
    home = "ip:203.0.113.66"
    named = {name: Known(Counted(5, 0, 5), network=NETWORK_OF_9) for name in (home, joined([home, "post:username:ann"]))}
    groups = {CLIENT: Group(named), NETWORK: Group({NETWORK_OF_9: Known(Counted(10, 0, 0))})}
    stored(Who(Counted(10, 0, 10), groups))
    assert "ip:203.0.113.66 2 clients Its clients" in section(admin_client)
    ids = re.findall(r' id="(rw-[^"]+)"', admin_client.get(reverse("admin:ratewindow_report")).content.decode())
    assert len(ids) == len({*ids})


def test_buttons_name_a_network_with_its_size(admin_client: Client) -> None:
    stored(some())
    page = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    assert ">Block 203.0.113.0/24 (256 addresses) for 1 h<" in page
    assert ">Exempt 203.0.113.0/24 (256 addresses) for 1 h<" in page


def test_a_client_with_a_long_name_has_buttons_of_a_bounded_width(admin_client: Client) -> None:
    stored(Who(Counted(5, 0, 5), {CLIENT: Group({f"header:x-api-key:{'k' * 150}": Known(Counted(5, 0, 5))})}))
    page = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    assert f">Block header:x-api-key:{'k' * 42}… for 1 h<" in page


def test_explain_of_a_client_in_the_list_has_a_path_only_if_one_route_was_refused(admin_client: Client) -> None:
    routes = {"GET /search/": Known(Counted(5, 0, 0)), "POST /login/": Known(Counted(5, 0, 0))}
    clients = {joined(["ip:203.0.113.9", "post:username:ann"]): Known(Counted(5, 0, 5))}
    stored(Who(Counted(5, 0, 5), {CLIENT: Group(clients), ROUTE: Group(routes)}))
    page = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    assert 'explain/?address=203.0.113.9&amp;fields_=username%3Dann"' in page
