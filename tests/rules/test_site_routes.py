"""The routes of a site as values."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

from ratewindow.rules.site_routes import routes
from tests.support.urlconfs import site


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


@pytest.mark.parametrize(
    ("route", "is_login"),
    [("login/", True), ("accounts/sign-up/", True), ("password_reset/", True), ("api/token/", True), ("blog/", False)],
)
def test_where_clients_prove_who_they_are_is_known_by_its_path(route: str, is_login: bool) -> None:
    with site(path(route, view)):
        (found,) = routes()
        assert found.is_login is is_login
        assert found.label == f"/{route}"


def test_a_section_is_the_first_part_of_the_path() -> None:
    with site(path("", view), path("about", view), path("shop/a/", view), path("<slug:tenant>/b/", view)):
        assert [each.section for each in routes()] == ["/", "/about", "/shop/", "/<slug:tenant>/"]


def test_without_a_urlconf_there_are_no_routes(settings: Any) -> None:
    del settings.ROOT_URLCONF
    assert routes() == ()


def test_another_urlconf_has_other_routes() -> None:
    with site(path("a/", view)):
        assert [each.path for each in routes()] == ["/a/"]
    with override_settings(ROOT_URLCONF="testproject.urls"):
        assert "/login/" in [each.path for each in routes()]
