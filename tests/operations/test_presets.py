"""Ready rules for the routes that a site has."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordResetDoneView, PasswordResetView
from django.forms import EmailField
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views import View
from rest_framework.authentication import BasicAuthentication, TokenAuthentication
from rest_framework.generics import GenericAPIView
from rest_framework.routers import DefaultRouter
from rest_framework.serializers import CharField, Serializer
from rest_framework.viewsets import ViewSet
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView

from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.operations import preset_kinds, presets
from ratewindow.operations.presets import Preset
from tests.support.urlconfs import site

KINDS = {kind.name: kind for kind in preset_kinds.KINDS}

pytestmark = pytest.mark.django_db


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class Form(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


class Orders(ViewSet):
    def list(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


def of_another(module: str, name: str) -> Any:
    """A view of a package that is not installed here: a subclass of one that has its name."""
    return type("Mine", (type(name, (Form,), {"__module__": module, "__qualname__": name}),), {}).as_view()


def found(kind: str) -> list[Preset]:
    (group,) = (group for group in presets.groups() if group.kind.name == kind)
    assert bool(group.found) is not bool(group.to_fill_in)
    return list(group.found)


def notes(kind: str) -> list[str]:
    return [note for group in presets.groups() if group.kind.name == kind for note in group.notes]


def places(kind: str) -> list[tuple[str, str]]:
    return [(each.fields["applies_to"], each.fields["pattern"]) for each in found(kind)]


class TestLogins:
    def test_they_are_found_by_their_views_wherever_they_are(self) -> None:
        with site(
            path("admin/", admin.site.urls),
            path("enter/", LoginView.as_view(), name="enter"),
            path("jwt/", TokenObtainPairView.as_view(), name="jwt"),
            path("jwt/refresh/", TokenRefreshView.as_view(), name="refresh"),
            path("x/", of_another("allauth.account.views", "LoginView"), name="x"),
            path("y/", of_another("dj_rest_auth.views", "LoginView"), name="y"),
            path("unnamed/", LoginView.as_view()),
        ):
            keys = {each.fields["pattern"]: each.fields["key"] for each in found("login") if not each.part}
        assert keys == {
            "enter": "ip+post:username",
            "jwt": "ip+body:username",
            "x": "ip+post:login",
            "y": "ip+body:username",
            "/unnamed/": "ip+post:username",
            "admin:login": "ip+post:username",  # last: first come the visitors' logins
        }
        assert list(keys)[-1] == "admin:login"

    def test_the_field_is_that_of_the_views_own_form(self) -> None:
        class ByEmail(AuthenticationForm):
            username = None
            email = EmailField()

        with site(path("in/", LoginView.as_view(authentication_form=ByEmail), name="in")):
            assert [each.fields["key"] for each in found("login")] == ["ip+post:email", "ip", "post:email"]
            assert presets.login_keys() == ["ip+post:email"]

    def test_one_of_the_sites_own_is_found_by_name_and_counted_by_address(self) -> None:
        with site(
            path("a/", view, name="user_login"),
            path("sign-in/", view),
            path("b/", view, name="login_done"),
            path("login/help/", view),
        ):
            assert places("login") == [("route", "user_login"), ("path", "/sign-in/")]
            assert [(each.part, each.fields["key"]) for each in found("login")] == [("address", "ip")] * 2
            assert presets.login_keys() == []
            first, _ = notes("login")
        assert first.startswith("user_login: no field with the login name was found.")
        assert "a field named username, email or login." in first
        assert first.endswith("two more rules: per body:FIELD, and per ip+body:FIELD.")  # which a view of JSON sends, too

    def test_a_site_whose_rest_framework_takes_a_password_with_every_request_is_told_so(self) -> None:
        class ByToken(Orders):
            authentication_classes = [TokenAuthentication]

        class MyBasic(BasicAuthentication):
            pass

        for classes in ({}, {"authentication_classes": [MyBasic]}):
            with site(path("a/", LoginView.as_view(), name="login"), path("b/", Orders.as_view({"get": "list"}, **classes))):
                assert [each[:15] for each in notes("login")] == ["REST framework "]
            with site(path("b/", Orders.as_view({"get": "list"}, **classes))):
                assert [each[:15] for each in notes("login")] == ["REST framework "]
        with site(path("a/", LoginView.as_view(), name="login"), path("b/", ByToken.as_view({"get": "list"}))):
            assert notes("login") == []

    def test_a_view_may_say_by_code_that_it_takes_passwords_from_a_header(self) -> None:
        view = type("View", (Orders,), {"authentication_classes": property(lambda view: [BasicAuthentication])})
        with site(path("a/", LoginView.as_view(), name="login"), path("b/", view.as_view({"get": "list"}))):
            assert len(notes("login")) == 1

    @pytest.mark.parametrize("listed", [property(lambda view: view.request.user.ways), None, [partial(BasicAuthentication)]])
    def test_a_view_that_says_only_in_a_request_what_it_takes_tells_nothing(self, listed: Any) -> None:
        view = type("View", (Orders,), {"authentication_classes": listed, "throttle_classes": listed})
        with site(path("b/", view.as_view({"get": "list"}))):
            assert notes("login") == []

    def test_the_field_of_a_serializer_is_found_in_form_and_json(self) -> None:
        class Login(Serializer):
            email = CharField()

        class Token(GenericAPIView):
            serializer_class = Login
            authentication_classes = ()

            def post(self, request: HttpRequest) -> HttpResponse:
                return HttpResponse()

        with site(path("token/", Token.as_view(), name="login")):
            assert [each.fields["key"] for each in found("login")] == ["ip+body:email", "ip", "body:email"]
            assert notes("login") == []

    def test_each_page_has_three_rules_that_hold_without_redis_and_count_failed_logins_at_once(self) -> None:
        with site(path("in/", LoginView.as_view(), name="in")):
            assert {(each.name, each.rate, each.fields["key"]) for each in found("login")} == {
                ("login", "5/15m", "ip+post:username"),
                ("login.address", "20/h", "ip"),
                ("login.name", "10/15m", "post:username"),
            }
            for each in found("login"):
                shared = [each.fields[name] for name in ("methods", "count_when", "hold", "on_error")]
                assert shared == ["POST", "login_failed", True, "local"]
                assert each.fields.get("normalise", False) is (each.part != "address")
                assert each.fields["description"] == each.why

    def test_a_name_may_be_missing_only_where_a_login_may_come_without_it(self) -> None:
        with site(
            path("in/", LoginView.as_view(), name="in"),
            path("jwt/", TokenObtainPairView.as_view(), name="jwt"),
            path("y/", of_another("dj_rest_auth.views", "LoginView"), name="rest"),
            path("z/", of_another("two_factor.views.core", "LoginView"), name="steps"),
        ):
            missing = {each.fields["pattern"]: each.fields["on_missing"] for each in found("login") if each.part == "name"}
        assert missing == {"in": "refuse", "jwt": "refuse", "rest": "ip", "steps": "ip"}

    def test_one_that_an_earlier_pattern_hides_is_not_offered(self) -> None:
        with site(
            path("in/", view, name="front"),
            path("in/", LoginView.as_view(), name="hidden"),
            path("accounts/<path:rest>", view, name="accounts"),
            path("accounts/login/", LoginView.as_view(), name="below"),
            path("twice/", view, name="front"),
            path("enter/", LoginView.as_view(), name="enter"),
        ):
            assert {pattern for _, pattern in places("login")} == {"enter"}

    def test_one_that_an_earlier_pattern_hides_in_one_of_its_two_places_is_offered(self) -> None:
        with site(
            path("in/", view, name="front"),
            path("in/", LoginView.as_view(), name="login"),
            path("enter/", LoginView.as_view(), name="login"),
        ):
            assert {pattern for _, pattern in places("login")} == {"login"}


class TestOthers:
    def test_a_password_reset_is_the_page_that_sends_the_mail(self) -> None:
        with site(
            path("forgot/", PasswordResetView.as_view(), name="forgot"),
            path("done/", PasswordResetDoneView.as_view(), name="password_reset_done"),
            path("reset-password/", view),
        ):
            assert places("password-reset") == [("route", "forgot"), ("path", "/reset-password/")]

    def test_a_sign_up_is_found_by_name_or_path(self) -> None:
        with site(path("join/", view, name="signup"), path("accounts/register/", view), path("cash-registers/", view)):
            assert places("sign-up") == [("route", "signup"), ("path", "/accounts/register/")]

    def test_a_search_is_found_by_name_or_path_and_research_is_none(self) -> None:
        with site(
            path("find/", view, name="product-search"), path("shop/<slug:shop>/search/", view, name="in"), path("research/", view)
        ):
            assert places("search") == [("route", "product-search"), ("route", "in")]

    def test_an_export_is_found_by_name_or_path(self) -> None:
        with site(
            path("out/", view, name="orders-export"),
            path("orders.csv", view),
            path("orders/<int:order>/xlsx/", view, name="sheet"),
            path("exporters/", view),
        ):
            assert places("export") == [("route", "orders-export"), ("path", "/orders.csv"), ("route", "sheet")]

    def test_a_path_below_export_is_one_whatever_it_is_called(self) -> None:
        with site(
            path("export/orders/", view),
            path("export-orders/", view, name="all"),
            path("x/", view, name="export_csv"),
            path("y/", view, name="shop-exports"),
            path("exports/", view, name="list"),
            path("exports/users/", view, name="export-users"),
            path("export-year/<int:year>/", view, name="year"),
            path("reports/<int:pk>/export/<str:format>/", view, name="one"),
        ):
            assert {pattern for _, pattern in places("export")} == {
                "/export/orders/",
                "all",
                "export_csv",
                "shop-exports",
                "one",
                "list",
                "export-users",
                "year",
            }

    @pytest.mark.parametrize("thing", ["export-templates", "export_formats", "exports"])
    def test_pages_about_a_thing_that_is_called_after_exports_are_none(self, thing: str) -> None:
        name = thing.replace("-", "").removesuffix("s")
        with site(
            path(f"extras/{thing}/", view, name=f"{name}_list"),
            path(f"extras/{thing}/add/", view, name=f"{name}_add"),
            path(f"extras/{thing}/import/", view, name=f"{name}_import"),
            path(f"extras/{thing}/<int:pk>/", view, name=name),
            path(f"extras/{thing}/<int:pk>/edit/", view, name=f"{name}_edit"),
            path(f"extras/{thing}/<int:pk>/changelog/", view, name=f"{thing}-changelog"),
            path(f"api/extras/{thing}/", Orders.as_view({"get": "list"}), name=f"{name}-list"),
            path(f"api/extras/{thing}/<int:pk>/", Orders.as_view({"get": "list"}), name=f"{name}-detail"),
        ):
            assert places("export") == []

    def test_an_export_of_such_things_is_one(self) -> None:
        with site(
            path("export-templates/", view, name="list"),
            path("export-templates/<int:pk>/export/", view, name="out"),
            path("export-templates/csv/", view),
        ):
            assert places("export") == [("route", "out"), ("path", "/export-templates/csv/")]

    def test_everything_is_offered_to_each_site(self) -> None:
        with site():
            (ready,) = found("everything")
        assert (ready.fields["applies_to"], ready.fields["pattern"], ready.is_complete) == ("all", "", True)


class TestApis:
    def test_the_beginning_of_its_paths_is_found_by_the_views_below_it(self) -> None:
        router = DefaultRouter()
        router.register("orders", Orders, basename="orders")
        with site(path("v1/", include(router.urls)), path("shop/", view), path("shop/api/stock/", view)):
            assert places("api") == [("prefix", "/v1/"), ("prefix", "/shop/api/")]

    def test_a_part_of_the_site_that_has_other_pages_too_is_no_api(self) -> None:
        router = DefaultRouter()
        router.register("orders", Orders, basename="orders")
        with site(path("shop/", include(router.urls)), path("shop/about/", view), path("", include(router.urls))):
            assert ("prefix", "/shop/") not in places("api")
            assert ("prefix", "/") not in places("api")


class TestWhatIsProposed:
    def test_what_is_not_found_is_said_and_can_be_filled_in(self) -> None:
        with site(path("about/", view)):
            missing = {group.kind.name: group.to_fill_in for group in presets.groups() if not group.found}
        assert list(missing) == ["login", "password-reset", "sign-up", "one-time-code", "api", "search", "export"]
        assert [each.fields["key"] for each in missing["login"]] == ["ip+body:username", "ip", "body:username"]
        assert not any(ready.is_complete for blanks in missing.values() for ready in blanks)
        assert all(group.kind.missing for group in presets.groups() if group.kind.name != "everything")

    def test_each_can_be_saved_and_is_then_in_shadow(self) -> None:
        for group in presets.groups():
            for ready in group.found:
                rule, created = presets.save(ready)
                assert created
                rule.full_clean()
                assert rule.mode == "shadow"
        assert set(RateRule.objects.values_list("name", flat=True)) == {
            *("login", "login.address", "login.name", "login.admin", "login.admin.address", "login.admin.name"),
            *("api", "search", "export", "everything"),
        }

    def test_one_whose_requests_have_a_rule_names_it_and_is_not_saved_again(self) -> None:
        RateRule.objects.define("mine", "5/m", path="/search/")
        RateRule.objects.define("other", "5/m", route="search", key="user")
        (ready,) = found("search")
        assert (ready.used_by, presets.save(ready)) == ("other", (RateRule.objects.get(name="other"), False))

    def test_a_rule_for_a_login_stands_for_the_one_with_its_key_and_for_no_other(self) -> None:
        RateRule.objects.define("mine", "5/m", route="login")
        assert [each.used_by for each in found("login")] == ["", "mine", "", "", "", ""]

    def test_a_rule_for_failed_logins_is_none_for_codes_that_are_tried_on_the_same_page(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        RateRule.objects.define("mine", "5/m", route="login", count_when="login_failed")
        tried = replace(KINDS["one-time-code"], find=lambda known: iter([preset_kinds.Place("route", "login")]))
        monkeypatch.setattr(presets, "KINDS", (KINDS["login"], tried))
        login, code = presets.groups()
        assert (login.found[1].used_by, code.found[0].used_by) == ("mine", "")

    def test_a_name_that_is_taken_by_a_rule_or_by_code_is_not_proposed(self) -> None:
        RateRule.objects.define("login", "5/m", path="/elsewhere/")
        ratelimit("search", "5/m")(view)
        assert [each.name for each in found("login") if not each.part] == ["login.login", "login.admin"]
        assert [each.name for each in found("search")] == ["search.search"]
        RateRule.objects.define("login.login", "5/m", path="/elsewhere/")
        assert found("login")[0].name == "login.login-2"

    def test_a_slug_leads_to_the_same_requests_whatever_names_are_taken(self) -> None:
        slug = found("login")[3].slug
        RateRule.objects.define("login.admin", "5/m", path="/elsewhere/")
        ready = presets.preset(slug)
        assert ready is not None
        assert (ready.fields["pattern"], ready.name) == ("admin:login", "login.admin-login")
        assert presets.preset("login:route:nowhere") is None
        assert [each.part for each in presets.at(slug)] == ["", "address", "name"]
