"""Each client of a log has an address of its own."""

import ipaddress

from ratewindow.operations.backtest.addresses import Addresses


def test_an_address_stays_itself():
    addresses = Addresses()
    assert addresses.of("199.72.81.55") == "199.72.81.55"
    assert addresses.of("2a00::7%eth0") == "2a00::7"
    assert addresses.of("::ffff:203.0.113.9") == "203.0.113.9"


def test_a_name_has_the_same_network_in_every_run():
    first, second = Addresses(), Addresses()
    second.of("another.example")
    assert first.of("unicomp6.unicomp.net") == second.of("unicomp6.unicomp.net")


def test_every_name_has_its_own_64_below_the_network_for_examples():
    addresses = Addresses()
    made = {addresses.of(f"host{number}.example") for number in range(2000)}
    networks = {ipaddress.ip_network(f"{each}/64", strict=False) for each in made}
    assert len(networks) == 2000
    assert all(network.subnet_of(ipaddress.ip_network("2001:db8::/32")) for network in networks)


def test_names_whose_hashes_meet_are_still_two_clients(monkeypatch):
    addresses = Addresses()
    monkeypatch.setattr("ratewindow.operations.backtest.addresses._number", lambda name: 2**32 - 1)
    assert addresses.of("a.example") == "2001:db8:ffff:ffff::1"
    assert addresses.of("b.example") == "2001:db8::1"
