"""Two sites move over: by imports and settings alone, as docs/migration/ says, and their limits hold as before."""

import difflib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.test import override_settings

from tests.support.doors import decorated, get

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent

pytestmark = pytest.mark.slow

SHOP = {
    "POST /login/": [200, 200, 429],
    "GET /login/": [200] * 4,
    "POST /login/ from 203.0.113.9": [200, 200, 429],
    "GET /search/": [200] * 2,
    "GET /suggest/": [200],
    "GET /search/ as ann": [200] * 3,
    "POST /order/ as ann": [200, 200, 429],
    "GET /order/ as ann": [200] * 3,
    "PUT /order/ as bob": [405, 405, 429],
    "POST /order/ as staff": [200] * 4,
    "POST /subscribe/ with email=a@example.com": [200, 429],
    "POST /subscribe/ with email=b@example.com": [200, 429],
    "GET /stock/ sending x-api-key: one": [200, 429],
    "GET /stock/ sending x-api-key: two": [200, 429],
    "GET /voucher/?code=1": [200, 429],
    "GET /voucher/?code=2": [200, 429],
    "GET /report/ sending x-tenant: one": [200, 200, 429],
    "GET /report/ as staff sending x-tenant: one": [200] * 2,
    "GET /invoice/ sending x-tenant: one": [200, 429],
    "GET /invoice/ sending x-tenant: two": [200, 429],
    "GET /closed/": [429],
}
SEARCHED = ["everything"] * 2 + ["nothing"] + ["everything"] * 2 + ["the first three"]

API = {
    "GET /home/": [200, 200, 429],
    "GET /home/ from 203.0.113.9": [200, 200, 429],
    "GET /home/ sending x-forwarded-for: 192.0.2.1": [200, 200, 429],
    "GET /home/ sending x-forwarded-for: 192.0.2.77,192.0.2.1": [429],
    "GET /home/ as ann": [200, 200, 200, 429],
    "GET /home/ as ann from 203.0.113.10": [429],
    "GET /upload/ as ann": [200, 200, 429],
    "GET /upload/": [200, 200, 429],
    "GET /burst/ as ann": [200, 200, 429],
    "GET /shop/?shop=1": [200, 429],
    "GET /shop/?shop=2": [200, 429],
    "GET /shop/": [200] * 3,
    "GET /shop/prices/": [200, 429],
    "GET /shop/prices/ sending x-staff: yes": [200] * 2,
    "GET /shop/prices/ sending x-device: one": [200, 429],
    "GET /shop/prices/ as ann": [200] * 2,
    "GET /daily/ as ann": [200, 429],
    "GET /daily/ as bob": [200, 429],
}


def visited(site: str, requests: dict[str, list[int]], environment: dict[str, str], frozen: bool = False) -> dict[str, Any]:
    """What a site answers to each of these requests, sent as often as statuses are expected."""
    lines = [line for line, expected in requests.items() for _ in expected]
    program = "import runpy, sys; sys.argv[:] = [sys.argv[1]]\n"
    if frozen:  # windows of django-ratelimit begin with the clock: none may end in between
        program += "import time_machine; time_machine.travel('2026-11-20T12:00:10+00:00', tick=False).start()\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", program, str(HERE / "visit.py")],
        cwd=HERE / site,
        env={**environment, "PYTHONPATH": str(CHECKOUT)},
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    by_line: dict[str, list[Any]] = {line: [] for line in requests}
    for line, answer in zip(lines, told["answers"], strict=True):
        by_line[line].append(answer)
    return {**told, "statuses": {line: [answer["status"] for answer in answers] for line, answers in by_line.items()}}


@pytest.mark.parametrize("site", ["from_ratelimit", "from_drf"])
def test_only_imports_and_settings_have_changed(site: str) -> None:
    before, after = ((HERE / site / place).glob("*.py") for place in ("before", "after"))
    assert {path.name for path in before} == {path.name for path in after} == {"settings.py", "urls.py", "views.py"}
    for name in ("urls.py", "views.py"):
        old, new = ((HERE / site / place / name).read_text().splitlines() for place in ("before", "after"))
        changed = [line for line in difflib.ndiff(old, new) if line[:2] in ("- ", "+ ") and line[2:]]
        assert all(line[2:].startswith(("from ", "import ")) for line in changed), changed


def test_a_site_on_django_ratelimit_refuses_with_403(program_environment: dict[str, str]) -> None:
    before = visited("from_ratelimit/before", SHOP, program_environment, frozen=True)
    assert before["statuses"] == {line: [403 if each == 429 else each for each in told] for line, told in SHOP.items()}
    assert [answer["text"] for answer in before["answers"] if answer["text"] in SEARCHED] == SEARCHED


def test_moved_over_it_refuses_the_same_requests_with_429(program_environment: dict[str, str]) -> None:
    after = visited("from_ratelimit/after", SHOP, program_environment)
    assert after["statuses"] == SHOP
    assert [answer["text"] for answer in after["answers"] if answer["text"] in SEARCHED] == SEARCHED
    refused = [answer for answer in after["answers"] if answer["status"] == 429]
    assert all(int(answer["retry_after"]) >= 1 for answer in refused[:-1])
    assert refused[-1]["retry_after"] is None  # at 0/s no waiting helps
    assert after["checks"] == []


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_site_on_rest_frameworks_throttles_answers_the_same_before_and_after(
    place: str, program_environment: dict[str, str]
) -> None:
    told = visited(f"from_drf/{place}", API, program_environment)
    assert told["statuses"] == API
    refused = [answer for answer in told["answers"] if answer["status"] == 429]
    assert {answer["text"] for answer in refused} == {'{"error":"Throttled","wait":true}'}
    assert all(int(answer["retry_after"]) >= 1 for answer in refused)
    assert told["checks"] == []


class Refusing:
    """A root URLconf of a site that keeps the answers of before."""

    handler429 = "django.views.defaults.permission_denied"
    urlpatterns: ClassVar[list[Any]] = []


def test_a_site_may_keep_the_403_and_its_page() -> None:
    with override_settings(ROOT_URLCONF=Refusing):
        view = decorated(False, "kept", "1/m")
        answers = [get(view) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 403]
    assert b"403 Forbidden" in answers[1].content
    assert "Retry-After" in answers[1].headers
