"""Every text of a path that leads to the same page meets the rule for it: in other languages, through any converter."""

from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpResponse
from django.middleware.locale import LocaleMiddleware
from django.test import RequestFactory, override_settings
from django.urls import converters, include, path, re_path, register_converter
from django.utils import translation
from django.utils.functional import lazy
from django.views.generic import TemplateView, View

from ratewindow.limiter.types import Window
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.rules.matching import Index
from ratewindow.rules.path_variants import PathVariants
from ratewindow.rules.rule import Rule


class Lower(converters.StringConverter):
    def to_python(self, value: str) -> str:
        return value.lower()


class Trimmed(converters.PathConverter):
    def to_python(self, value: str) -> str:
        return value.strip()


class Hexadecimal(converters.SlugConverter):
    def to_python(self, value: str) -> Any:
        return int(value, 16)


class Page:
    """What a converter of a site may give, told apart only by where it is in memory."""

    def __init__(self, name: str) -> None:
        self.name = name


class Paged:
    regex = "[^/]+"

    def to_python(self, value: str) -> Page:
        return Page(value.lower())

    def to_url(self, value: Page) -> str:
        return value.name


class Words:
    regex = "[a-z+]+"

    def to_python(self, value: str) -> list[str]:
        return [word for word in value.split("+") if word]

    def to_url(self, value: list[str]) -> str:
        return "+".join(value)


for converter in (Lower, Trimmed, Hexadecimal, Paged, Words):
    register_converter(converter, f"rw-{converter.__name__.lower()}")


def view(request: Any, *_: Any, **__: Any) -> HttpResponse:
    return HttpResponse()


class Shown(View):
    def get(self, request: Any) -> HttpResponse:
        return HttpResponse()


def german(english: str, word: str) -> Any:
    """A route that is translated, without a catalogue."""
    return lazy(lambda: word if translation.get_language() == "de" else english, str)()


def urlconf(*patterns: Any) -> Any:
    module: Any = ModuleType("urls")
    module.urlpatterns = [*patterns]
    return module


def met(pattern: str, urls: Any, *requested: str, applies_to: str = "path") -> list[str]:
    """Which of the requested paths a rule meets."""
    index = Index([Rule("rule", (Window(5, 60_000),), applies_to=applies_to, pattern=pattern)])

    def meets(text: str) -> bool:
        request: Any = RequestFactory().get(text)
        request.urlconf = urls
        return bool(index.match(request))

    return [text for text in requested if meets(text)]


account = path("account/", view, name="account")
LANGUAGES = override_settings(LANGUAGES=[("en", "English"), ("de", "German"), ("pt-br", "Portuguese")])


@pytest.mark.parametrize(
    "route, spellings, others",
    [
        ("profile/<rw-lower:name>/", ["/profile/ann/", "/profile/ANN/", "/profile/Ann/"], ["/profile/bob/"]),
        ("trim/<rw-trimmed:name>/", ["/trim/bob/", "/trim/ bob/", "/trim/bob /", "/trim/\tbob/"], ["/trim/b ob/"]),
        ("hex/<rw-hexadecimal:number>/", ["/hex/ff/", "/hex/00FF/", "/hex/0xff/"], ["/hex/fe/"]),
        ("page/<rw-paged:page>/", ["/page/one/", "/page/ONE/"], ["/page/two/"]),
        ("words/<rw-words:words>/", ["/words/a+b/", "/words/a++b/", "/words/+a+b/"], ["/words/b+a/"]),
        ("item/<int:pk>/", ["/item/7/", "/item/007/"], ["/item/8/"]),
    ],
)
def test_a_converter_that_takes_several_texts_for_one_value_makes_one_path_of_them(
    route: str, spellings: list[str], others: list[str]
) -> None:
    urls = urlconf(path(route, view, name="page"))
    assert met(spellings[0], urls, *spellings, *others) == spellings


@pytest.mark.parametrize(
    "patterns",
    [
        [path("two", view, name="two"), path("two/", view, name="two")],
        [path("two", view), path("two/", view)],
        [path("two", Shown.as_view(), name="two"), path("two/", Shown.as_view(), name="two")],
        [re_path("^two$", view), re_path("^two/$", view)],
        [path("two", view, name="two"), re_path("^two/$", view, name="two")],
        [path("two", include([path("", view), path("/", view)]))],
    ],
)
def test_a_page_with_and_without_a_slash_is_one(patterns: list[Any]) -> None:
    urls = urlconf(*patterns)
    assert met("/two", urls, "/two", "/two/") == ["/two", "/two/"]
    assert met("/two/", urls, "/two", "/two/") == ["/two", "/two/"]


def test_what_stands_behind_an_expression_without_an_end_is_part_of_the_path() -> None:
    urls = urlconf(re_path("^search", view, name="search"), re_path("^app/", view), re_path("", view))
    assert met("/app/one/", urls, "/app/one/", "/app/", "/app/two/", "/") == ["/app/one/"]
    assert met("/other/", urls, "/other/", "/", "/another/") == ["/other/"]


def test_two_routes_of_one_name_are_one_page_for_the_same_arguments() -> None:
    urls = urlconf(
        path("shop/<slug:item>/", view, name="item"),
        path("old/shop/<slug:item>", view, name="item"),
        path("sale/<slug:item>/", view, {"cheaper": True}, name="item"),
    )
    spellings = ["/shop/hat/", "/old/shop/hat"]
    assert met("/shop/hat/", urls, *spellings, "/old/shop/cap", "/sale/hat/") == spellings
    assert met("/sale/hat/", urls, *spellings, "/sale/hat/") == ["/sale/hat/"]


def test_other_names_and_other_views_are_other_pages() -> None:
    urls = urlconf(
        path("a/", view, name="a"),
        path("b/", view, name="b"),
        path("c/", view),
        path("d/", view),
        path("e/", TemplateView.as_view(template_name="e.html")),
        path("f/", TemplateView.as_view(template_name="f.html")),
        path("g/", Shown.as_view(), name="a"),
        path("one/", include(([account], "one"))),
        path("another/", include(([account], "another"))),
    )
    every = ["/a/", "/b/", "/c/", "/d/", "/e/", "/f/", "/g/", "/one/account/", "/another/account/"]
    for each in every:
        assert met(each, urls, *every) == [each]


@LANGUAGES
@pytest.mark.parametrize("name", [{"name": "account"}, {}])
def test_a_path_is_one_path_in_every_language(name: dict[str, str]) -> None:
    urls = urlconf(*i18n_patterns(path("account/", view, **name), prefix_default_language=False), path("x/", view))
    spellings = ["/account/", "/de/account/", "/pt-br/account/"]
    for each in spellings:
        assert met(each, urls, *spellings, "/x/", "/fr/account/", "/de/x/") == spellings


@LANGUAGES
def test_so_it_is_where_the_usual_language_has_a_prefix_too() -> None:
    urls = urlconf(*i18n_patterns(path("shop/<slug:item>/", view, name="item")))
    spellings = ["/en/shop/hat/", "/de/shop/hat/", "/pt-br/shop/hat/"]
    for each in spellings:
        assert met(each, urls, *spellings, "/de/shop/cap/", "/shop/hat/") == spellings


@override_settings(LANGUAGES=[("en", "English"), ("zh-Hans", "Chinese")], LANGUAGE_CODE="en-us")
def test_so_it_is_in_the_usual_language_where_it_is_none_of_languages_and_in_capitals() -> None:
    urls = urlconf(*i18n_patterns(account, prefix_default_language=False))
    spellings = ["/account/", "/en/account/", "/zh-hans/account/"]
    for each in spellings:
        assert met(each, urls, *spellings, "/x/") == spellings
        assert met(each, urls, *spellings, "/x/", applies_to="prefix") == spellings


@LANGUAGES
@pytest.mark.parametrize("name", [{"name": "settings"}, {}])
@pytest.mark.parametrize("make", [path, lambda route, *rest, **options: re_path(f"^{route}$", *rest, **options)])
def test_a_path_whose_words_are_translated_is_one_path(make: Any, name: dict[str, str]) -> None:
    below = [make("settings/", view, **name)]
    urls = urlconf(*i18n_patterns(path(german("account/", "konto/"), include(below)), prefix_default_language=False))
    spellings = ["/account/settings/", "/de/konto/settings/", "/pt-br/account/settings/"]
    for each in spellings:
        assert met(each, urls, *spellings, "/account/", "/other/") == spellings


@LANGUAGES
@pytest.mark.parametrize("name", [{"name": "loose"}, {}])
def test_nor_is_a_loose_route_another_one_in_another_language(name: dict[str, str]) -> None:
    patterns = [re_path("^(?i:search)", view, **name), path("item/<int:pk>/", view, **name)]
    urls = urlconf(*i18n_patterns(*patterns, prefix_default_language=False))
    for spellings in (["/search", "/de/search", "/SEARCHX", "/de/Search/x"], ["/item/7/", "/de/item/7/", "/de/item/07/"]):
        for each in spellings[:2]:
            assert met(each, urls, *spellings, "/de/item/8/") == spellings


@LANGUAGES
def test_words_that_are_translated_without_a_prefix_are_one_path() -> None:
    urls = urlconf(path(german("account/", "konto/"), view, name="account"))
    assert met("/account/", urls, "/account/", "/konto/") == ["/account/", "/konto/"]
    assert met("/konto/", urls, "/account/", "/konto/") == ["/account/", "/konto/"]


@LANGUAGES
def test_a_page_of_a_single_page_application_has_its_text_in_each_language() -> None:
    urls = urlconf(*i18n_patterns(re_path("^app/.*$", view, name="app"), prefix_default_language=False))
    assert met("/app/one/", urls, "/app/one/", "/de/app/one/", "/app/two/", "/de/app/two/") == ["/app/one/", "/de/app/one/"]


@LANGUAGES
def test_a_prefix_is_one_in_every_language() -> None:
    below = include([path(german("orders/", "bestellungen/"), view), path("7/", view)])
    urls = urlconf(*i18n_patterns(path(german("account/", "konto/"), below), prefix_default_language=False), path("x/", view))
    spellings = ["/account/", "/account/orders/", "/de/konto/", "/de/konto/bestellungen/", "/pt-br/account/7/", "/account/none/"]
    assert met("/account/", urls, *spellings, "/de/", "/x/", applies_to="prefix") == spellings
    assert met("/de/konto/", urls, *spellings, "/de/", "/x/", applies_to="prefix") == spellings
    below_orders = ["/account/orders/", "/de/konto/bestellungen/"]
    assert met("/account/orders/", urls, *spellings, "/x/", applies_to="prefix") == below_orders
    assert met("/acc", urls, "/account/", "/de/account/", "/x/", applies_to="prefix") == ["/account/", "/de/account/"]


@LANGUAGES
def test_a_prefix_that_is_a_language_means_that_language() -> None:
    urls = urlconf(*i18n_patterns(account))
    assert met("/en/", urls, "/en/account/", "/de/account/", applies_to="prefix") == ["/en/account/"]
    assert met("/", urls, "/en/account/", "/de/account/", applies_to="prefix") == ["/en/account/", "/de/account/"]


@LANGUAGES
def test_a_route_is_found_before_django_has_learned_the_language() -> None:
    """Where our middleware stands before Django's, another language is spoken: that of the thread's last request."""
    urls = urlconf(*i18n_patterns(account, prefix_default_language=False))
    for spoken in ("en", "de"):
        with translation.override(spoken):
            assert met("account", urls, "/account/", "/de/account/", applies_to="route") == ["/account/", "/de/account/"]
            assert met("/account/", urls, "/account/", "/de/account/") == ["/account/", "/de/account/"]


@LANGUAGES
@pytest.mark.parametrize("order", [(LocaleMiddleware, RateWindowMiddleware), (RateWindowMiddleware, LocaleMiddleware)])
def test_the_view_speaks_the_language_that_django_has_chosen(order: Any) -> None:
    urls = urlconf(*i18n_patterns(account, prefix_default_language=False))
    spoken: list[str] = []

    def handler(request: Any) -> HttpResponse:
        spoken.append(translation.get_language())
        return HttpResponse()

    for middleware in reversed(order):
        handler = middleware(handler)
    request: Any = RequestFactory().get("/de/account/")
    request.urlconf = urls
    with translation.override("en"):
        handler(request)
    assert spoken == ["de"]


def test_of_languages_that_nobody_speaks_none_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django has a hundred; each takes a megabyte."""
    spoken: list[str] = []
    monkeypatch.setattr(translation, "activate", spoken.append)
    urls = urlconf(*i18n_patterns(account, prefix_default_language=False))
    spellings = PathVariants(urls, ["/account/"], ["/account/"])
    assert spellings.paths["/nb/account/"] == {"/account/"}
    assert set(spoken) <= {"en", None}


def test_a_urlconf_that_replaces_the_usual_one_replaces_its_spellings() -> None:
    index = Index([Rule("rule", (Window(5, 60_000),), applies_to="path", pattern="/loud/")])
    request = RequestFactory().get("/LOUD/")
    assert not index.match(request)
    with override_settings(ROOT_URLCONF="tests.rules.test_matching"):
        assert index.match(RequestFactory().get("/LOUD/"))
    assert not index.match(RequestFactory().get("/LOUD/"))


def test_of_many_urlconfs_a_bounded_number_is_kept() -> None:
    index = Index([Rule("rule", (Window(5, 60_000),), applies_to="path", pattern="/account/")])
    for _ in range(250):
        request: Any = RequestFactory().get("/account/")
        request.urlconf = urlconf(account)
        assert index.match(request)
    assert len(index.finders) <= 100
