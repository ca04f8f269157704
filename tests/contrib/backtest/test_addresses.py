"""Each client of a log has an address of its own."""

import ipaddress

from ratewindow.contrib.backtest.requests import Addresses
from ratewindow.identity.address import client_of


def test_an_address_stays_itself():
    addresses = Addresses()
    assert addresses.of("199.72.81.55") == "199.72.81.55"
    assert addresses.of("2a00::7%eth0") == "2a00::7"
    assert addresses.of("::ffff:203.0.113.9") == "203.0.113.9"


def test_a_name_has_the_same_network_in_every_run():
    first, second = Addresses(), Addresses()
    second.of("another.example")
    assert first.of("unicomp6.unicomp.net") == second.of("unicomp6.unicomp.net")


def test_every_name_has_a_network_of_its_own_for_private_use():
    addresses = Addresses()
    made = {addresses.of(f"host{number}.example") for number in range(2000)}
    networks = {ipaddress.ip_network(f"{each}/64", strict=False) for each in made}
    assert len(networks) == 2000
    assert all(network.subnet_of(ipaddress.ip_network("fd00::/8")) for network in networks)


def test_a_client_is_one_however_its_name_or_address_is_written():
    addresses = Addresses()
    assert len({addresses.of(name) for name in ("Host.Example.com", "host.example.COM", "host.example.com")}) == 1
    identity = f"ip:{client_of(addresses.of('HOST.example.com'), '')}"
    assert addresses.name_in(identity) == addresses.name_in(f"{len(identity)}:{identity}+6:path:/") == "Host.Example.com"
    assert addresses.name_in("ip:203.0.113.9") == ""
    spelled = ("2001:DB8:7::1", "2001:db8:7:0:0:0:0:1", "2001:0db8:0007::0001", "2001:db8:7::1%eth0")
    assert {addresses.of(each) for each in spelled} == {"2001:db8:7::1"}
    assert {addresses.of(each) for each in ("::ffff:203.0.113.9", "::FFFF:cb00:7109", "203.0.113.9")} == {"203.0.113.9"}
