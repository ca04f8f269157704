"""`manage.py ratewindow rules`."""

import io

import pytest
from django.core.management import call_command

from ratewindow import ratelimit
from ratewindow.models import RateRule


def rules():
    out = io.StringIO()
    call_command("ratewindow", "rules", stdout=out)
    return [line.split("  ") for line in out.getvalue().splitlines()]


@pytest.mark.django_db
def test_rules_of_the_database_and_rates_in_code_stand_in_one_list():
    RateRule.objects.define("login", "5/m; 20/h", path="/login/", methods="POST", mode="enforce")
    lines = {line[0]: [cell.strip() for cell in line if cell.strip()] for line in rules()}
    assert lines["login"] == ["login", "enforce", "path /login/", "POST", "ip", "5/m; 20/h"]
    assert lines["demo.limited"] == ["demo.limited", "in code", "testproject.views.limited", "ip", "5/m"]


@pytest.mark.django_db
def test_a_rate_in_code_stands_there_with_its_options():
    ratelimit("export", "5/m", methods=["POST"], algorithm="token_bucket", burst=20, mode="shadow")(lambda request: None)
    (line,) = [[cell.strip() for cell in line if cell.strip()] for line in rules() if line[0].startswith("export")]
    assert line[3:] == ["POST", "ip", "5/m, algorithm='token_bucket', burst=20, mode='shadow'"]


@pytest.mark.django_db
def test_a_rule_that_limits_nothing_says_so():
    RateRule.objects.create(name="empty")
    assert any("none: limits nothing" in line[-1] for line in rules() if line[0].startswith("empty"))


@pytest.mark.django_db
def test_what_only_some_meet_and_what_only_some_answers_count_stands_there_too():
    RateRule.objects.define("login", "5/h", mode="enforce", enforce_percent=10, count_when="login_failed", hold=True)
    (line,) = [[cell.strip() for cell in line if cell.strip()] for line in rules() if line[0].startswith("login")]
    assert line == ["login", "enforce 10 %", "named", "all", "ip", "5/h when login_failed, charged first"]


@pytest.mark.django_db
def test_a_limit_that_only_a_fixture_can_write_is_told_as_what_it_is():
    rule, _ = RateRule.objects.define("login", "5/m; 20/h", path="/login/")
    rule.windows.filter(limit=5).update(algorithm="guesswork")
    rule.windows.filter(limit=20).update(buckets=0)
    told = " ".join(cell for line in rules() for cell in line)
    assert "wrong: 'guesswork' is not an algorithm: choose from sliding_window" in told
    assert "wrong: buckets 0: write 1 to 1000" in told
