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
    bound = Counted(more)
    named = Group({name: Counted(count, 0, count + 1) for name, count in clients.items()})
    above, below = grouped(Who(clients=named._replace(bound=bound), networks=networks))
    return {name.value: name.refused for name in above}, {name.value: name.inside for name in below}


def test_one_machine_with_several_clients_is_its_address() -> None:
    assert found({HOME: 5, ANN: 3, BOB: 1}) == ({HOME: 9}, dict.fromkeys((HOME, ANN, BOB), HOME))
    assert found({ANN: 3, BOB: 1}) == ({HOME: 4}, dict.fromkeys((ANN, BOB), HOME))


def test_an_address_that_is_stored_as_a_hash_tells_of_no_network() -> None:
    secret = hashed(HOME)
    assert found({secret: 5, hashed(OTHER): 3}) == ({}, {secret: "", hashed(OTHER): ""})


def test_ten_addresses_that_behave_alike_are_a_network() -> None:
    alike = {f"ip:203.0.113.{number}": 5 for number in range(10)}
    assert found(alike) == ({NETWORK: 50}, dict.fromkeys(alike, NETWORK))
    assert found({**alike, HOME: 1})[0] == {NETWORK: 51}
    assert found({**alike, HOME: 21})[0] == {}  # the others have less than a quarter of its refusals
    assert found({HOME: 5, ANN: 3, OTHER: 1})[0] == {}


@pytest.mark.parametrize("client", [HOME, ANN, "user:42"])
def test_one_client_has_no_place_beside_itself(client: str) -> None:
    assert found({client: 5}) == ({}, {client: ""})


def test_a_user_is_listed_apart() -> None:
    assert found({HOME: 5, ANN: 3, "user:42": 3}) == ({HOME: 8}, {HOME: HOME, ANN: HOME, "user:42": ""})


def test_a_network_stays_if_most_of_what_was_refused_is_of_clients_that_are_not_listed() -> None:
    assert found({HOME: 5, OTHER: 3}, more=9)[0] == {NETWORK: 17}
    assert found({HOME: 5, OTHER: 3}, more=7)[0] == {}


def test_whoever_was_not_refused_makes_no_network() -> None:
    assert found({HOME: 5, OTHER: 0}) == ({}, {HOME: ""})
