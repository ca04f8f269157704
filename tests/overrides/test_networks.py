"""Networks as people write them, and as an address finds them."""

import ipaddress
import random

import pytest

from ratewindow.overrides.lookup import Networks
from ratewindow.overrides.subjects import parse_network


def containing(held: Networks, address: str) -> list[str]:
    return list(held.containing(*parse_network(address)))


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("203.0.113.9", "203.0.113.9/32"),
        ("203.0.113.9/24", "203.0.113.0/24"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        (" 2001:DB8::1 ", "2001:db8::1/128"),
        ("2001:db8::1/64", "2001:db8::/64"),
        ("::/0", "::/0"),
        ("::1", "::1/128"),
        ("::ffff:203.0.113.9", "203.0.113.9/32"),
        ("::ffff:203.0.113.9/120", "203.0.113.0/24"),
        ("::ffff:cb00:7109", "203.0.113.9/32"),
        ("0:0:0:0:0:ffff:cb00:7109", "203.0.113.9/32"),
        ("[::ffff:203.0.113.9]/120", "203.0.113.0/24"),
        ("64:ff9b::/64", "64:ff9b::/64"),
        ("::ffff:0:0/64", "::/64"),
        ("64:ff9b::203.0.113.9", "203.0.113.9/32"),
        ("0064:FF9B::cb00:7109/120", "203.0.113.0/24"),
        ("64:ff9b:1::cb00:7109", "203.0.113.9/32"),
        ("::ffff:0:203.0.113.9", "203.0.113.9/32"),
        ("64:ff9b::/96", "0.0.0.0/0"),
        ("fe80::1%eth0", "fe80::1/128"),
        ("[2001:db8::1]:443", "2001:db8::1/128"),
    ],
)
def test_a_network_is_read_as_clients_are(text: str, network: str) -> None:
    assert str(parse_network(text)) == network


def test_an_address_alone_is_as_much_of_a_network_as_is_asked_for() -> None:
    assert str(parse_network("203.0.113.9", 24, 64)) == "203.0.113.0/24"
    assert str(parse_network("2001:db8::1", 24, 64)) == "2001:db8::/64"
    assert str(parse_network("64:ff9b::203.0.113.9", 24, 64)) == "203.0.113.0/24"
    assert str(parse_network("2001:db8::1/128", 24, 64)) == "2001:db8::1/128"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "203.0.113",
        "256.0.0.1",
        "010.0.0.1",
        "0x7f.0.0.1",
        "1.2.3.4/33",
        "1.2.3.4/-1",
        "1.2.3.4/",
        "::/129",
    ],
)
def test_anything_else_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"neither an address|network ends in"):
        parse_network(text)


def test_an_address_finds_every_network_around_it_the_narrowest_first() -> None:
    networks = ["0.0.0.0/0", "203.0.113.0/24", "203.0.113.9", "203.0.113.9", "203.0.114.0/24", "2001:db8::/32"]
    held = Networks((parse_network(each), f"{place} {each}") for place, each in enumerate(networks))
    assert containing(held, "203.0.113.9") == ["2 203.0.113.9", "3 203.0.113.9", "1 203.0.113.0/24", "0 0.0.0.0/0"]
    assert containing(held, "198.51.100.1") == ["0 0.0.0.0/0"]
    assert containing(held, "2001:db8:ffff::1") == ["5 2001:db8::/32"]
    assert containing(held, "2001:db9::1") == []


def test_a_network_finds_those_that_contain_all_of_it() -> None:
    held = Networks((parse_network(each), each) for each in ("203.0.113.0/24", "203.0.113.9", "203.0.0.0/16"))
    assert containing(held, "203.0.113.0/24") == ["203.0.113.0/24", "203.0.0.0/16"]


def test_it_finds_what_trying_each_network_finds() -> None:
    chance = random.Random(20261120)
    networks = [
        ipaddress.ip_network((chance.getrandbits(32) & 0xFF0F00FF, chance.randint(0, 32)), strict=False) for _ in range(500)
    ]
    networks += [
        ipaddress.ip_network((0x20010DB8 << 96 | chance.getrandbits(16) << 64, chance.randint(8, 128)), strict=False)
        for _ in range(500)
    ]
    held = Networks((parse_network(str(each)), str(each)) for each in networks)
    for _ in range(500):
        near = chance.choice(networks)
        address = near[chance.randrange(min(near.num_addresses, 2**60))]
        assert sorted(containing(held, str(address))) == sorted(
            str(each) for each in networks if each.version == address.version and address in each
        )
