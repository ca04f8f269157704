"""The site to which a replay sends."""

import contextlib
from typing import Any

import pytest

from ratewindow.management.replay.site import Site
from ratewindow.operations.logs.entry import Entry
from testproject.redis_server import free_port


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://site", "http://"])
def test_what_is_not_the_address_of_a_site_is_named(url: str) -> None:
    with pytest.raises(ValueError, match="is not the address of a site: write for example http"):
        Site(url)


def test_a_request_has_the_path_of_the_url_before_its_own_and_its_client_in_a_header(recorder: Any) -> None:
    with contextlib.closing(Site(f"http://127.0.0.1:{recorder.server_port}/below/")) as site:
        assert site.send(Entry(0, "a", "GET", "/login/?status=204"), "203.0.113.1") == 204
    assert recorder.seen["203.0.113.1"] == [("GET", "/below/login/?status=204")]


def test_without_a_server_it_is_an_error() -> None:
    with pytest.raises(OSError):
        Site(f"http://127.0.0.1:{free_port()}").connect()
