"""What the report keeps of a refused request."""

import pytest
from django.test import RequestFactory, override_settings
from django.urls import path, re_path, resolve

from ratewindow.reporting.about_request import MOST_AGENT, about, family, network_of
from ratewindow.reporting.counters import facts_of


def view(request, **_):
    raise AssertionError


urlpatterns = [path("login/", view, name="login"), path("shop/<int:pk>/", view), re_path(r"^old/(\d+)$", view)]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "ip:203.0.113.0/24"),
        ("2001:db8:1:2::/64", "ip:2001:db8:1::/48"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_the_network_of_an_address(address, network):
    assert network_of(address) == network


def test_where_a_client_is_finer_than_a_64_the_network_is_the_64(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "IPV6_PREFIX": 128}):
        network_of.cache_clear()
        assert network_of("2001:db8:1:2::9") == "ip:2001:db8:1:2::/64"
    network_of.cache_clear()


@pytest.mark.parametrize(
    ("method", "url", "route"),
    [
        ("POST", "/login/", "POST /login/"),
        ("HEAD", "/login/", "GET /login/"),
        ("GET", "/shop/7/", "GET /shop/<int:pk>/"),
        ("GET", "/old/7", r"GET /old/(\d+)$"),
        ("BREW", "/shop/7/", "OTHER /shop/<int:pk>/"),
        ("GET", "/nowhere/" + "x" * 1000, "GET no route"),
    ],
)
@override_settings(ROOT_URLCONF=__name__)
def test_the_route_is_method_and_pattern(method, url, route):
    request = RequestFactory().generic(method, url)
    assert about(facts_of(request)).route == route
    if "no route" not in route:
        request.resolver_match = resolve(url)
        assert about(facts_of(request)).route == route


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("", "none"),
        ("  ", "none"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36", "Chrome"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Edg/120.0", "Edge"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0", "Firefox"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/605.1 (KHTML, like Gecko) Version/17.1 Safari/605.1", "Safari"),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot"),
        ("Mozilla/5.0", "other"),
        ("python-requests/2.31.0", "python-requests"),
        ("\x00\x01", "other"),
    ],
)
def test_a_user_agent_is_its_family(agent, name):
    assert family(agent) == name


def test_a_long_user_agent_is_cut():
    request = RequestFactory().get("/", HTTP_USER_AGENT="x" * 100_000)
    assert len(about(facts_of(request)).agent) <= 40 < MOST_AGENT


def test_of_nobody_nothing_is_known():
    assert not any(about(""))
