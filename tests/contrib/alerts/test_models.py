"""What a channel of alerts needs before it is saved in a form."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from ratewindow.contrib.alerts.models import AlertChannel

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


@pytest.mark.parametrize(
    "way",
    [{"way": "mail", "addresses": "ann@example.com"}, {"way": "webhook", "url": "https://example.com/"}, {"way": "log"}],
    ids=lambda fields: fields["way"],
)
def test_the_fields_of_other_ways_are_not_checked(way: dict[str, str]) -> None:
    for wrongly in ({"url": "http://127.0.0.1/"}, {"url": "what?"}, {"addresses": "bob"}, {"secret": ""}):
        assert wrong(**{**wrongly, **way}) == ({"secret"} if way["way"] == "webhook" and "secret" in wrongly else set())


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3:8080", "[::1]", "[::ffff:10.0.0.1]", "localhost", "a.localhost:80"])
def test_a_webhook_to_an_internal_address_is_refused_when_it_is_saved(host: str) -> None:
    assert wrong(way="webhook", url=f"http://{host}/hook") == {"url"}


def test_thresholds_begin_with_one_and_the_report_needs_an_address() -> None:
    assert wrong(refused_a_minute=0) == {"refused_a_minute"}
    assert wrong(way="log", daily_report=True) == {"daily_report"}
    assert wrong(daily_report=True) == set()


def test_each_channel_has_a_secret_of_its_own() -> None:
    assert len({AlertChannel().secret, AlertChannel().secret}) == 2
    assert AlertChannel(addresses="a@b.c, d@e.f\ng@h.i").address_list() == ["a@b.c", "d@e.f", "g@h.i"]
