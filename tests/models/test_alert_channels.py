"""What a channel of alerts needs before it is saved in a form."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from ratewindow.models import AlertChannel

pytestmark = pytest.mark.django_db


def wrong(**fields: Any) -> set[str]:
    try:
        AlertChannel(**{"name": "ops", "addresses": "ann@example.com", **fields}).full_clean()
    except ValidationError as error:
        return set(error.message_dict)
    return set()


def test_each_way_needs_its_own() -> None:
    assert wrong() == set()
    assert wrong(addresses="") == {"addresses"}
    assert wrong(addresses="ann@example.com\nbob") == {"addresses"}
    assert wrong(way="log", addresses="") == set()
    assert wrong(way="webhook") == {"url"}
    assert wrong(way="webhook", url="ftp://example.com/") == {"url"}
    assert wrong(way="webhook", url="https://example.com/hook") == set()


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3:8080", "[::1]", "[::ffff:10.0.0.1]", "localhost", "a.localhost:80"])
def test_a_webhook_to_an_internal_address_is_refused_when_it_is_saved(host: str) -> None:
    assert wrong(way="webhook", url=f"http://{host}/hook") == {"url"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("refused_a_minute", 0), ("refused_percent", 0), ("refused_percent", 101), ("never_met_days", 61), ("ready_days", 0)],
)
def test_thresholds_are_within_bounds(name: str, value: int) -> None:
    assert wrong(**{name: value}) == {name}


def test_each_channel_has_a_secret_of_its_own() -> None:
    assert len({AlertChannel().secret, AlertChannel().secret}) == 2
    assert AlertChannel(addresses="a@b.c, d@e.f\ng@h.i").address_list() == ["a@b.c", "d@e.f", "g@h.i"]
