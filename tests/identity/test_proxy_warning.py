"""The classic mistake behind a proxy, told once, soon after its requests begin, whenever that is."""

from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from ratewindow.identity import address
from ratewindow.identity.address import DIFFERENT, SAMPLE, client_address


@pytest.fixture(autouse=True)
def _like_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("watching", True), ("_sample", []), ("warnings", [])):
        monkeypatch.setattr(address, name, value)


def visits(count: int = SAMPLE, setting: Any = (), **extra: str) -> None:
    """So many requests from 10.0.0.1, unless told; then a thread looks at them."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": setting}):
        for number in range(count):
            told = {name: value.format(n=number % 200) for name, value in extra.items()}
            client_address(RequestFactory().get("/", **{"REMOTE_ADDR": "10.0.0.1", **told}))
        address.judge_sample()


@pytest.mark.parametrize(
    ("header", "name"),
    [("HTTP_X_FORWARDED_FOR", "X-Forwarded-For"), ("HTTP_FORWARDED", "Forwarded"), ("HTTP_X_REAL_IP", "X-Real-Ip")],
)
def test_forwarded_headers_that_arrive_though_their_sender_is_not_trusted_are_told(
    header: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    visits(**{header: "203.0.113.{n}"})
    (told,) = map(str, address.warnings)
    assert told.startswith(
        f"all visitors share one address, 10.0.0.1, which looks like your proxy: its requests name other clients in {name}"
    )
    assert "RATEWINDOW['TRUSTED_PROXIES'] = ['10.0.0.1']" in told
    assert [record.getMessage() for record in caplog.records] == [f"ratewindow: {told}"]


def test_a_few_clients_are_enough_and_it_is_looked_for_again_later() -> None:
    visits(REMOTE_ADDR="203.0.113.{n}")
    assert not address.warnings
    visits(DIFFERENT, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert len(address.warnings) == 1


def test_a_proxy_beside_one_that_is_trusted_is_told() -> None:
    visits(setting=["10.0.0.2"], HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert "10.0.0.1" in str(address.warnings[0])


def test_other_requests_do_not_hide_it() -> None:
    for number in range(DIFFERENT):
        client_address(RequestFactory().get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}"))
    visits(SAMPLE - DIFFERENT, REMOTE_ADDR="198.51.100.{n}")
    assert len(address.warnings) == 1


@pytest.mark.parametrize("peer", ["", "localhost", "0.0.0.0"])
def test_so_are_those_at_a_unix_socket(peer: str) -> None:
    visits(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert "share one address, a unix socket," in str(address.warnings[0])
    assert "RATEWINDOW['TRUSTED_PROXIES'] = 1" in str(address.warnings[0])


@pytest.mark.parametrize(
    "given",
    [
        {"setting": ["10.0.0.0/8"], "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # as it should be
        {"setting": 1, "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},
        {"REMOTE_ADDR": "203.0.113.{n}"},  # the internet without a proxy
        {"REMOTE_ADDR": "203.0.113.{n}", "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # uvicorn has corrected the address
        {"count": DIFFERENT - 1, "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # too early to tell
        {"HTTP_X_FORWARDED_FOR": "203.0.113.9"},  # one client, who sends the header
    ],
)
def test_nothing_is_told_where_nothing_is_wrong(given: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    visits(**given)
    assert address.warnings == []
    assert caplog.records == []


def test_a_visitor_who_makes_up_addresses_is_no_proxy_of_a_site_that_others_reach() -> None:
    for number in range(SAMPLE // 2):
        client_address(RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", HTTP_X_FORWARDED_FOR=f"198.51.100.{number}"))
    visits(SAMPLE // 2, REMOTE_ADDR="198.51.100.{n}")
    assert address.warnings == []


def test_after_the_sample_nothing_is_looked_at_until_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(SAMPLE):
        client_address(RequestFactory().get("/"))
    assert not address.watching
    monkeypatch.setattr(address, "observe", None)
    client_address(RequestFactory().get("/"))
    address.judge_sample()
    assert address.watching


def test_requests_that_nobody_has_sent_are_in_no_sample() -> None:
    visits(**{address.SUPPOSED: "1"})
    assert (address._sample, address.watching) == ([], True)


def test_it_looks_again_where_a_thread_has_found_full_the_sample_that_was_just_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "watching", False)
    address.judge_sample()
    visits(HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert len(address.warnings) == 1
