"""The page State says what cleaning has done, and where the next run begins."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse

from ratewindow.conf import time_zone
from ratewindow.models import CleaningRun
from ratewindow.operations.cleaning.orphans import clean_orphans

pytestmark = pytest.mark.django_db

STATE = reverse("admin:ratewindow_state")


def text_of(response):
    assert response.status_code == 200
    section = response.content.decode().partition('id="rw-cleaning"')[2].partition("</section>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", section))


def made(**fields):
    ago = timedelta(minutes=CleaningRun.objects.count())  # the newest first
    return CleaningRun.objects.create(**{"began_at": time_zone.now() - ago, "took_ms": 12_400, **fields})


def test_before_the_first_run_it_says_how_to_begin(admin_client):
    assert "Nothing was cleaned yet. Let cron or Celery run it every hour: manage.py ratewindow clean." in text_of(
        admin_client.get(STATE)
    )


def test_a_run_is_shown_with_what_it_saw_deleted_and_freed(admin_client, redis_client):
    for number in range(3):
        redis_client.set(f"rw:s:{'gone' * 4}:{{{number}}}", "1", ex=60)
    clean_orphans()
    words = text_of(admin_client.get(STATE))
    assert re.search(r"\d+ seconds? 3 3 \d+ bytes all keys were seen", words)
    assert "The next run begins with the first key." in words


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"ended": "time", "seen": 1_200_000, "orphans": 40_000, "measured": 2_000, "freed_bytes": 5_000_000}, "about 4.8 MB"),
        ({"ended": "time", "seen": 1_200_000}, "12 seconds 1,200,000 0 0 bytes its time was over"),
        ({"ended": "complete", "orphans": 7, "dry_run": True}, "would be 7, a dry run"),
        (
            {"ended": "complete", "orphans": 7, "harmed": 2, "freed_bytes": None},
            "9 not known: the Redis user lacks +memory|usage",
        ),
        ({"ended": "error", "error": "Connection refused"}, "an error: Connection refused"),
        ({"ended": ""}, "nothing yet, or it was killed"),
    ],
)
def test_what_ended_a_run_and_what_is_not_known_is_said(admin_client, fields, told):
    made(**fields)
    assert told in text_of(admin_client.get(STATE)).replace("\xa0", " ")


def test_where_the_next_run_goes_on_is_said_also_after_many_dry_runs(admin_client):
    for _ in range(6):
        made(ended="complete", dry_run=True)
    made(ended="time", position={"server": "17"})
    assert "The next run goes on where the last one ended." in text_of(admin_client.get(STATE))


def test_many_runs_take_no_more_queries_than_one(admin_client, django_assert_num_queries, django_assert_max_num_queries):
    made(ended="complete")
    with django_assert_max_num_queries(40) as some:
        admin_client.get(STATE)
    for _ in range(30):
        made(ended="complete")
    with django_assert_num_queries(len(some)):
        html = text_of(admin_client.get(STATE))
    assert html.count("all keys were seen") == 5
