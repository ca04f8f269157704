"""Where clients are: a network has several addresses; one address with several clients is itself."""

import pytest

from ratewindow.counting.sums import Counted, Group, Who
from ratewindow.identity import hashed, joined
from ratewindow.report.offenders import grouped

NETWORK, HOME, OTHER = "ip:203.0.113.0/24", "ip:203.0.113.66", "ip:203.0.113.9"
ANN, BOB = (joined([HOME, f"post:username:{name}"]) for name in ("ann", "bob"))


def found(clients: dict[str, int], more: int = 0) -> tuple[dict[str, int], dict[str, str]]:
    """How often each network or address was refused, and where each client is; `more` is of clients that are not listed."""
    at_an_address = sum(count for name, count in clients.items() if not name.startswith("user:"))
    networks = Group({NETWORK: Counted(at_an_address + more)})
    named = Group({name: Counted(count, 0, count + 1) for name, count in clients.items()})
    above, below = grouped(Who(clients=named, networks=networks))
    return {name.value: name.refused for name in above}, {name.value: name.inside for name in below}


def test_one_machine_with_several_clients_is_its_address() -> None:
    assert found({HOME: 5, ANN: 3, BOB: 1}) == ({HOME: 9}, dict.fromkeys((HOME, ANN, BOB), HOME))
    assert found({ANN: 3, BOB: 1}) == ({HOME: 4}, dict.fromkeys((ANN, BOB), HOME))


def test_an_address_that_is_stored_as_a_hash_tells_of_no_network() -> None:
    secret = hashed(HOME)
    assert found({secret: 5, hashed(OTHER): 3}) == ({NETWORK: 8}, {secret: "", hashed(OTHER): ""})


def test_two_addresses_are_a_network() -> None:
    assert found({HOME: 5, ANN: 3, OTHER: 1}) == ({NETWORK: 9}, dict.fromkeys((HOME, ANN, OTHER), NETWORK))


@pytest.mark.parametrize("client", [HOME, ANN, "user:42"])
def test_one_client_has_no_place_beside_itself(client: str) -> None:
    assert found({client: 5}) == ({}, {client: ""})


def test_a_user_is_listed_apart() -> None:
    assert found({HOME: 5, ANN: 3, "user:42": 3}) == ({HOME: 8}, {HOME: HOME, ANN: HOME, "user:42": ""})


def test_a_network_stays_if_more_was_refused_than_its_listed_clients_account_for() -> None:
    assert found({HOME: 5, ANN: 3}, more=1)[0] == {NETWORK: 9}
    assert found({HOME: 5}, more=1)[0] == {NETWORK: 6}


def test_whoever_was_not_refused_makes_no_network() -> None:
    assert found({HOME: 5, OTHER: 0}) == ({}, {HOME: ""})
