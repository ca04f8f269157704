"""The keys of the hashes of identities, and their rotation: what an earlier key has hashed is found as long as it is listed."""

from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from ratewindow import conf
from ratewindow.identity import forms, hashed, stored
from ratewindow.models import Override
from ratewindow.overrides.subjects import parse_subject, stored_forms
from ratewindow.rulebook import reading
from ratewindow.store import state_keys
from tests.support.doors import answer, decorated

OLD, NEW, OTHER = "the key of last year", "the key of this year", "somebody else's key"
COOKIE = "cookie:session:abcdefghijklmnop"


def with_pepper(*keys: str, **more: Any) -> override_settings:
    return override_settings(RATEWINDOW={**settings.RATEWINDOW, "PEPPER": list(keys), **more})


def test_without_one_hashes_depend_on_the_secret_key_and_its_fallbacks_are_found() -> None:
    with override_settings(SECRET_KEY=OLD):
        before = hashed(COOKIE)
    with override_settings(SECRET_KEY=NEW, SECRET_KEY_FALLBACKS=[OLD]):
        assert forms(COOKIE) == (COOKIE, hashed(COOKIE), before)
    with override_settings(SECRET_KEY=NEW):
        assert before not in forms(COOKIE)


def test_the_first_writes_and_all_are_found() -> None:
    with with_pepper(OLD):
        before = stored(COOKIE)
    with with_pepper(NEW, OLD):
        after = stored(COOKIE)
        assert before != after and {before, after} < {*forms(COOKIE)}
        assert {before, after} < stored_forms(parse_subject(COOKIE))
    with with_pepper(NEW):
        assert stored(COOKIE) == after and before not in forms(COOKIE)


def test_with_one_the_secret_key_does_not_matter() -> None:
    with with_pepper(OLD):
        before = hashed(COOKIE), state_keys.client_tag("user:42"), state_keys.secret_fingerprint()
        with override_settings(SECRET_KEY="a new one after a leak", SECRET_KEY_FALLBACKS=[]):
            assert (hashed(COOKIE), state_keys.client_tag("user:42"), state_keys.secret_fingerprint()) == before


def test_counts_are_under_the_first_alone() -> None:
    with with_pepper(OLD):
        old = state_keys.client_tag("user:42"), state_keys.secret_fingerprint()
    with with_pepper(NEW, OLD):
        new = state_keys.client_tag("user:42"), state_keys.secret_fingerprint()
    assert old[0] != new[0] and old[1] != new[1]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("anonymize", ["secrets", "all"])
def test_a_block_survives_a_rotation(anonymize: str) -> None:
    with with_pepper(OLD, ANONYMIZE=anonymize):
        Override.objects.create(identity=COOKIE, action="block", reason="stolen")
    for keys, status in (((NEW, OLD), 429), ((NEW,), 200)):
        with with_pepper(*keys, ANONYMIZE=anonymize):
            reading.reload()
            request: HttpRequest = RequestFactory().get("/")
            request.COOKIES["session"] = "abcdefghijklmnop"
            assert answer(decorated(False, "pages", "100/m"), request).status_code == status, keys


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("one key as a text", "it is not a list of texts"),
        ([], "it is not a list of texts"),
        ([OLD, 7], "it is not a list of texts"),
        ([OLD, "short"], "key 2 has 5 characters: write at least 16"),
    ],
)
def test_a_wrong_one_is_an_error_that_does_not_show_it(value: Any, says: str) -> None:
    found, problems = conf.read({"PEPPER": value})
    assert found.pepper == ()
    (problem,) = problems
    assert says in problem.message
    assert "one key as a text" not in problem.message and OLD not in problem.message and "short" not in problem.message
