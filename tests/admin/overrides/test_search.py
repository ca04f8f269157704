"""The search of the list of blocks: addresses, identities and names of rules by an index, other words anywhere."""

import pytest
from django.db import connection

from ratewindow.admin.overrides.search import search
from ratewindow.models import Override

pytestmark = pytest.mark.django_db


def add(identity: str, **values: str) -> int:
    return Override.objects.create(**{"action": "block", "identity": identity, **values}).pk


def found(term: str, identities: bool = True) -> list[int]:
    return sorted(search(Override.objects.get_queryset(), term, identities).values_list("pk", flat=True))


def test_an_address_finds_its_blocks_and_those_of_the_networks_that_contain_it() -> None:
    alone, network, everywhere = add("ip:203.0.113.9"), add("ip:203.0.113.0/24"), add("ip:0.0.0.0/0", rule="login")
    add("ip:203.0.114.0/24")
    neighbour = add("ip:203.0.113.91")
    assert found("203.0.113.9") == found("ip:203.0.113.9") == [alone, network, everywhere, neighbour]
    sixth = add("ip:2001:db8::/32")
    assert found("2001:db8::7") == found("IP:2001:DB8::7") == [sixth]


def test_the_beginning_of_an_address_or_an_identity_finds_all_that_begin_so() -> None:
    first, second, user, other = add("ip:198.51.100.1"), add("ip:198.51.7.0/24"), add("user:42"), add("user:421")
    add("ip:10.198.51.3")
    assert found("198.51.") == found("ip:198.51.") == [first, second]
    assert found("user:42") == [user, other]
    assert found("user:421") == [other]


def test_a_secret_finds_the_hash_of_it() -> None:
    one = add("header:x-api-key:abcdef123456")
    assert "abcdef" not in Override.objects.get_queryset().get(pk=one).identity
    assert found("header:x-api-key:abcdef123456") == [one]


def test_the_name_of_a_rule_finds_those_for_it() -> None:
    one = add("user:1", rule="login")
    add("user:2", rule="login.slow", reason="login")
    assert found("login") == found("login", identities=False) == [one]


def test_what_is_no_beginning_is_found_anywhere() -> None:
    one, two = add("ip:10.198.51.3", reason="Scraping the Catalogue"), add("user:5", reason="see 198.51", rule="catalogue.all")
    assert found("198.51.") == [one]
    assert found("8.51") == [one, two]
    assert found("catalogue") == [one, two] and found("CATALOGUE 198.51.3") == [one] and found('"the cat"') == [one]
    assert found("catalogue nobody") == []


@pytest.mark.parametrize("term", ["'", '"', "%", "_", "\\", "ip:", "ip:x", "1.2.3.4/99", "[", "🦊:1", "header:"])
def test_odd_words_find_nothing(term: str) -> None:
    add("user:1")
    assert found(term) == []


def test_identities_that_may_not_be_seen_are_not_found() -> None:
    add("ip:203.0.113.9")
    one = add("user:6", reason="like 203.0.113.9")
    assert found("203.0.113.9", identities=False) == [one]
    assert found("user:6", identities=False) == []


@pytest.mark.skipif(connection.vendor != "sqlite", reason="this reads SQLite's plans")
@pytest.mark.parametrize("term", ["203.0.113.9", "user:42", "login", "2001:db8::1"])
def test_an_index_finds_them(term: str) -> None:
    add("ip:203.0.113.0/24", rule="login")
    add("user:42")
    add("ip:2001:db8::/64")
    assert "SCAN" not in search(Override.objects.get_queryset(), term, identities=True).order_by().explain()
