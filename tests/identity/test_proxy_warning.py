"""The classic mistake behind a proxy, told once, from the first requests of a process."""

from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

from ratewindow.identity import address
from ratewindow.identity.address import MOSTLY, SAMPLE, client_address


@pytest.fixture(autouse=True)
def _like_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("watching", True), ("_sample", []), ("warnings", [])):
        monkeypatch.setattr(address, name, value)


def visits(count: int = SAMPLE, setting: Any = (), **extra: str) -> None:
    """So many requests from 10.0.0.1, unless told."""
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": setting}):
        for number in range(count):
            told = {name: value.format(n=number % 200) for name, value in extra.items()}
            client_address(RequestFactory().get("/", **{"REMOTE_ADDR": "10.0.0.1", **told}))


@pytest.mark.parametrize(
    ("header", "name"),
    [("HTTP_X_FORWARDED_FOR", "X-Forwarded-For"), ("HTTP_FORWARDED", "Forwarded"), ("HTTP_X_REAL_IP", "X-Real-Ip")],
)
def test_forwarded_headers_that_arrive_though_nothing_is_trusted_are_told(
    header: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    visits(**{header: "203.0.113.{n}"})
    (told,) = map(str, address.warnings)
    assert told.startswith(
        f"100 of 100 requests came with {name}, and no proxy is trusted: all clients behind 10.0.0.1 count as one"
    )
    assert "RATEWINDOW['TRUSTED_PROXIES']" in told
    assert [record.getMessage() for record in caplog.records] == [f"ratewindow: {told}"]


def test_the_last_request_may_be_of_another_kind() -> None:
    visits(SAMPLE - 1, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    visits(1, REMOTE_ADDR="127.0.0.1")
    (told,) = map(str, address.warnings)
    assert told.startswith("99 of 100 requests came with X-Forwarded-For") and "behind 10.0.0.1 count as one" in told


def test_threads_may_count_past_the_sample() -> None:
    address._sample += [("", "10.0.0.1")] * SAMPLE
    visits(MOSTLY, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert not address.watching


@pytest.mark.parametrize("peer", ["", "localhost", "0.0.0.0"])
def test_so_are_those_at_a_unix_socket(peer: str) -> None:
    visits(REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR="203.0.113.{n}")
    assert "all clients behind a unix socket count as one" in str(address.warnings[0])


@pytest.mark.parametrize(
    "given",
    [
        {"setting": ["10.0.0.0/8"], "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # as it should be
        {"setting": 1, "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},
        {"REMOTE_ADDR": "203.0.113.{n}"},  # the internet without a proxy
        {"REMOTE_ADDR": "203.0.113.{n}", "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # uvicorn has corrected the address
        {"count": SAMPLE - 1, "HTTP_X_FORWARDED_FOR": "203.0.113.{n}"},  # too early to tell
    ],
)
def test_nothing_is_told_where_nothing_is_wrong(given: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    visits(**given)
    assert address.warnings == []
    assert caplog.records == []


def test_after_the_sample_nothing_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    visits()
    monkeypatch.setattr(address, "observe", None)
    visits()


def test_requests_that_nobody_has_sent_are_in_no_sample() -> None:
    visits(**{address.SUPPOSED: "1"})
    assert (address._sample, address.watching) == ([], True)
