"""Who is refused, on the report page: to whom it shows what."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from ratewindow.admin.overrides.client import of_client
from ratewindow.counting.collecting import store_who
from ratewindow.counting.sums import Counted, Group, Who
from ratewindow.identity import hashed, joined
from ratewindow.models import OffenderStat, RateRule, ThrottleStat
from ratewindow.report.offenders import HowMany
from ratewindow.report.summary import clients

pytestmark = pytest.mark.django_db

NETWORK_OF_9 = "ip:203.0.113.0/24"


def stored(who: Who, rule: str = "login") -> None:
    start = timezone.now().replace(second=0, microsecond=0)
    store_who({(start, rule): who})
    refused, would_refuse, met = who.total
    ThrottleStat.objects.create(
        rule=rule, resolution="minute", start=start, refused=refused, would_refuse=would_refuse, passed=met - refused, near=3
    )


def some(bound: int = 0) -> Who:
    clients = {"ip:203.0.113.9": Counted(30), "ip:203.0.113.8": Counted(10), "user:42": Counted(2, 1)}
    return Who(Counted(42, 1, 59), Group(clients, Counted(bound)), Group({NETWORK_OF_9: Counted(40)}, Counted(bound)))


def section(client: Client, rule: str = "") -> str:
    html = client.get(reverse("admin:ratewindow_report"), {"rule": rule} if rule else {}).content.decode()
    found = re.search(r'<section class="module rw-who.*?</section>', html, re.DOTALL)
    words = re.sub(r"<a .*?</a>|<[^>]+>", " ", found[0], flags=re.DOTALL) if found else ""
    return re.sub(r"\s+", " ", words)


def many(count: int = 12) -> Who:
    """A network whose clients behave alike, and a user who is refused less."""
    clients = {**{f"ip:203.0.113.{number}": Counted(30) for number in range(count)}, "user:42": Counted(2, 1)}
    return Who(Counted(30 * count + 2, 1, 999), Group(clients), Group({NETWORK_OF_9: Counted(30 * count)}))


def test_those_most_refused_come_first_with_their_shares(admin_client: Client) -> None:
    stored(some())
    text = section(admin_client)
    assert "Refused: 3 clients. Would be refused: 1 client." in text
    lines = (
        "ip:203.0.113.9 in ip:203.0.113.0/24 30 0 71 %",
        "ip:203.0.113.8 in ip:203.0.113.0/24 10 0 24 %",
        "user:42 2 1 4.7 %",
    )
    assert [text.index(line) for line in lines] == sorted(text.index(line) for line in lines)
    assert "too small" not in text


def test_a_network_is_a_line_only_where_ten_of_its_clients_behave_alike(admin_client: Client) -> None:
    stored(many())
    assert "ip:203.0.113.0/24 12 clients Its clients ip:203.0.113.0 30 refused, 0 would be" in section(admin_client)
    ThrottleStat.objects.all().delete()
    OffenderStat.objects.all().delete()
    stored(many(9))
    assert "Its clients" not in section(admin_client)


def test_what_may_be_too_small_is_said_to_be(admin_client: Client) -> None:
    stored(some(bound=1200))
    text = section(admin_client)
    assert "Refused: at least 3 clients." in text
    assert "Any number below may be too small by up to 1,200." in text


def test_identities_are_masked_for_staff_who_may_not_see_them(client: Client) -> None:
    stored(some())
    staff = User.objects.create_user("staff", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_throttlestat"))
    client.force_login(staff)
    text = section(client)
    assert "ip:203.0.113.x" in text and "ip:203.0.113.9" not in text and "user:42" not in text and "user:#" in text


def test_a_report_of_one_rule_shows_who_that_rule_refuses(admin_client: Client) -> None:
    stored(some())
    stored(Who(Counted(1, 0, 1), Group({"user:7": Counted(1, 0, 1)})), "api")
    assert "user:7" in section(admin_client)


def test_where_nobody_is_refused_there_is_no_list(admin_client: Client) -> None:
    stored(Who(Counted(0, 0, 5), Group({"user:7": Counted(0, 0, 5)})))
    assert section(admin_client) == ""


def test_a_number_of_clients_in_words() -> None:
    assert clients(HowMany(1)) == "1 client"
    assert clients(HowMany(1000, exact=False)) == "at least 1,000 clients"


@pytest.mark.parametrize("evil", ["<img src=x onerror=alert(1)>", "javascript:alert(1)"])
def test_what_clients_send_is_text_on_the_page(evil: str, admin_client: Client) -> None:
    stored(Who(Counted(5, 0, 5), Group({f"header:x-api-key:{evil}": Counted(5, 0, 5)})))
    html = admin_client.get(reverse("admin:ratewindow_report")).content.decode()
    assert "<img src=x" not in html


def items(client: Client) -> dict[str, str]:
    """Of each client in the fold of a network its part of the page."""
    page = client.get(reverse("admin:ratewindow_report")).content.decode()
    fold = re.search(r'<details class="rw-members".*?</ul>', page, re.DOTALL)
    assert fold is not None
    return {each.split(" ")[0]: each for each in re.findall(r"<li>(.*?)</li>", fold[0], re.DOTALL)}


def test_a_client_in_a_network_has_the_links_of_a_row_of_its_own(admin_client: Client) -> None:
    stored(many())
    links = re.findall(r'href="([^"]+)" aria-label="([^"]+)"', items(admin_client)["ip:203.0.113.9"])
    assert [label for _, label in links][-3:] == [f"{act}… ip:203.0.113.9" for act in ("Exempt", "Release", "Block")]
    assert all("identity=ip%3A203.0.113.9" in url for url, _ in links[-3:])


def test_each_fold_has_an_id_of_its_own(admin_client: Client) -> None:
    home = "ip:203.0.113.66"
    named = {name: Counted(5, 0, 5) for name in (home, joined([home, "post:username:ann"]))}
    stored(Who(Counted(10, 0, 10), Group(named), Group({NETWORK_OF_9: Counted(10)})))
    assert "ip:203.0.113.66 2 clients Its clients" in section(admin_client)
    ids = re.findall(r' id="(rw-[^"]+)"', admin_client.get(reverse("admin:ratewindow_report")).content.decode())
    assert len(ids) == len({*ids})


def test_a_release_is_offered_only_for_one_client_in_clear(admin_client: Client) -> None:
    for identity in ("user:42", "ip:203.0.113.9"):
        assert "release" in links(admin_client, identity)
    for identity in (NETWORK_OF_9, hashed("user:42"), "group:staff", "*", "nonsense"):
        assert "release" not in links(admin_client, identity)


def links(client: Client, identity: str) -> set[str]:
    """The pages that a client leads to."""
    request = RequestFactory().get("/")
    request.user = User.objects.get()
    return {link.url.split("?")[0].rstrip("/").split("/")[-1] for link in of_client(request, identity)}


@pytest.mark.parametrize(
    "identity", ["ip:10.0.0.1", "ip:127.0.0.0/8", "ip:fd00::/64", "path:/", "route:GET /", "method:GET", "global"]
)
def test_nobody_is_offered_to_block_the_site_itself_or_what_is_no_client(admin_client: Client, identity: str) -> None:
    request = RequestFactory().get("/")
    request.user = User.objects.get()
    assert not any(link.harms for link in of_client(request, identity))


def test_no_reason_is_typed_for_anybody(admin_client: Client) -> None:
    stored(some())
    assert "reason=" not in admin_client.get(reverse("admin:ratewindow_report")).content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_client_of_a_rule_can_have_its_limits_raised(admin_client: Client) -> None:
    RateRule.objects.define("login", "5/m; 20/h", path="/login/", mode="enforce")
    stored(some())
    html = admin_client.get(reverse("admin:ratewindow_report"), {"rule": "login"}).content.decode()
    assert "Raise for this client…" in html
    assert "rate=10%2F1m%3B+40%2F1h" in html
