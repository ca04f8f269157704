"""The arguments of a decorator, from the functions that it left around views."""

from django.test import override_settings

from ratewindow.contrib.moving.importers.django_ratelimit import arguments_of, uses


def test_a_decorator_is_found_around_functions_methods_and_classes() -> None:
    with override_settings(ROOT_URLCONF="tests.support.other_limits_urls"):
        found = [(use.route.path, use.arguments["rate"], sorted(use.methods)) for use in uses("django_ratelimit.decorators")]
    assert ("/prices/", "10/", ["GET"]) in found and ("/whole/", (7, 30), []) in found
    assert [rate for path, rate, _ in found if path == "/login/"] == ["5/m", "100/2h"]


def test_what_a_function_refers_to_is_known_by_name() -> None:
    limit, later = 5, None

    def inner() -> object:
        return limit, later, unset

    assert arguments_of(inner) == {"limit": 5, "later": None}
    unset = 1
    assert arguments_of(inner)["unset"] == 1 and arguments_of(len) == {}
