"""How far a reader follows one request through the files of the core: few of them, in few turns.

A file is entered by a call of a function in it; the walk turns when a call enters another file than the call before it. A
property is read as a field is, by whoever follows the request.
"""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponseBase
from django.test import RequestFactory

import ratewindow
from ratewindow.identity import address
from ratewindow.models import RateRule
from ratewindow.rulebook import reading
from ratewindow.rules import rate_options
from ratewindow.store import outage
from tests.support.doors import behind_middleware, plain

pytestmark = pytest.mark.django_db(transaction=True)

# A refusal that Redis has just decided is the first of its client, and walks through both: Redis, and the answer.
MOST = {"admitted": (16, 28), "refused": (21, 41), "known to be refused": (18, 30)}  # files and turns
MOST_OF_A_NEW_CLIENT = 20  # whose digest is made, and who is counted for the first time
PACKAGE = f"{Path(ratewindow.__file__).parent}/"
ROOMS = f"{PACKAGE}contrib/"


def is_property(frame: FrameType) -> bool:
    return isinstance(getattr(type(frame.f_locals.get("self")), frame.f_code.co_name, None), property)


def walk(call: Callable[[HttpRequest], HttpResponseBase], request: HttpRequest) -> tuple[int, list[str]]:
    """The status of the answer, and the files of the core in the order of the calls."""
    files: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and not path.startswith(ROOMS) and not is_property(frame):
            files.append(path.removeprefix(PACKAGE))

    sys.setprofile(note)
    try:
        status = call(request).status_code
    finally:
        sys.setprofile(None)
    return status, files


@pytest.mark.parametrize("how", MOST)
def test_a_request_under_one_rule_is_followed_through_few_files(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "watching", False)  # as after the first hundred requests of a process
    monkeypatch.setattr(rate_options, "counts_by_answer", False)  # code of other tests has
    RateRule.objects.define("api", "100/h" if how == "admitted" else "5/h", path="/", mode="enforce")
    reading.reload()
    site, make = behind_middleware(plain(False)), RequestFactory().get
    for _ in range(10):  # what is cached by the first is not the walk of the others
        site(make("/"))
    walks = []
    for _ in range(3):  # of which one may begin a minute of the report, or look after a connection
        outage.breaker.reset()  # a busy machine may have missed TIMEOUT, after which it counts some answers
        if how == "refused":
            outage.refusals.forget()
        status, files = walk(site, make("/"))
        assert status == (200 if how == "admitted" else 429)
        walks.append(files)
    files = min(walks, key=lambda each: len(set(each)))
    turns = sum(before != after for before, after in pairwise(files))
    most_files, most_turns = MOST[how]
    assert len(set(files)) <= most_files, sorted(set(files))
    assert turns <= most_turns, files


def test_of_a_new_client_the_walk_is_little_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "watching", False)
    monkeypatch.setattr(rate_options, "counts_by_answer", False)
    RateRule.objects.define("api", "100/h", path="/", mode="enforce")
    reading.reload()
    site, make = behind_middleware(plain(False)), RequestFactory().get
    for number in range(10):
        site(make("/", REMOTE_ADDR=f"192.0.2.{number}"))
    outage.breaker.reset()
    walks = [walk(site, make("/", REMOTE_ADDR=f"198.51.100.{number}"))[1] for number in range(3)]
    assert min(len(set(files)) for files in walks) <= MOST_OF_A_NEW_CLIENT
