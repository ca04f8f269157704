"""The period as rows, forms and people have it."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db.models import F
from django.forms import modelform_factory

from ratewindow.models import RateRule, RuleWindow
from ratewindow.models.fields import PeriodField, PeriodFormField, to_text

HALF = timedelta(hours=2, minutes=30)


@pytest.fixture
def window(db: None) -> RuleWindow:
    return RateRule.objects.define("login", "5/2h30m")[0].windows.get()


@pytest.mark.parametrize(
    ("value", "text"), [(HALF, "2h30m"), (timedelta(milliseconds=500), "500ms"), ("1x", "1x"), (None, ""), ("", "")]
)
def test_a_period_is_shown_as_it_is_typed(value: Any, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize("value", [timedelta(0), timedelta(seconds=-5), timedelta(microseconds=7)])
def test_what_is_no_period_can_still_be_looked_at(value: timedelta) -> None:
    assert to_text(value) == str(value)


def test_a_period_is_written_as_text_or_timedelta_and_read_as_timedelta(window: RuleWindow) -> None:
    for typed in ("2h30m", HALF):
        window.period = typed  # type: ignore[assignment]
        window.save()
        window.refresh_from_db()
        assert window.period == HALF


def test_rows_are_found_by_either(window: RuleWindow) -> None:
    assert RuleWindow.objects.get(period="150m") == RuleWindow.objects.get(period=HALF) == window
    assert RuleWindow.objects.get(period__gt="2h") == window
    assert RuleWindow.objects.filter(period__in=["1m", "2h30m"]).count() == 1


def test_the_database_may_calculate_with_it(window: RuleWindow) -> None:
    RuleWindow.objects.update(period=F("period") + timedelta(minutes=30))
    assert RuleWindow.objects.get().period == timedelta(hours=3)


def test_a_bad_period_is_not_saved(window: RuleWindow) -> None:
    with pytest.raises(ValidationError, match="'60' has no unit: write 60s for seconds"):
        RuleWindow.objects.update(period="60")


def test_a_migration_repeats_the_field() -> None:
    assert PeriodField().deconstruct()[1:] == ("ratewindow.models.fields.PeriodField", [], {})


class TestForm:
    @pytest.fixture
    def form(self) -> Any:
        return modelform_factory(RuleWindow, fields=["period"])

    def test_it_shows_what_is_stored_as_text(self, form: Any, window: RuleWindow) -> None:
        assert 'value="2h30m"' in str(form(instance=window)["period"])

    def test_what_was_typed_stays_when_it_is_wrong(self, form: Any) -> None:
        bound = form({"period": "5 parsecs"})
        assert bound.errors == {"period": ["'5 parsecs': 'parsecs' is not a unit of time: use ms, s, m, h, d or w."]}
        assert 'value="5 parsecs"' in str(bound["period"])

    def test_the_same_time_in_other_words_is_no_change(self, form: Any, window: RuleWindow) -> None:
        assert form({"period": "150m"}, instance=window).changed_data == []
        assert form({"period": "3h"}, instance=window).changed_data == ["period"]
        assert form({"period": "junk"}, instance=window).changed_data == ["period"]

    def test_nothing_typed_is_an_error_of_its_own(self, form: Any) -> None:
        assert form({"period": " "}).errors == {"period": ["This field is required."]}

    def test_it_says_what_may_be_typed(self, form: Any) -> None:
        assert form().fields["period"].help_text == "For example 10s, 1m, 2h30m, 1d2h3m4s or 500ms."

    def test_more_than_a_calendar_holds_is_an_error(self) -> None:
        with pytest.raises(ValidationError, match="999999999999w is too long to be counted"):
            PeriodFormField().clean("999999999999w")
