"""Ready rules for the routes that a site has."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordResetDoneView, PasswordResetView
from django.forms import EmailField
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views import View
from rest_framework.generics import GenericAPIView
from rest_framework.routers import DefaultRouter
from rest_framework.serializers import CharField, Serializer
from rest_framework.viewsets import ViewSet
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView

from ratewindow import ratelimit
from ratewindow.models import RateRule
from ratewindow.start import presets
from ratewindow.start.presets import Preset
from tests.support.urlconfs import site

KINDS = {kind.name: kind for kind in presets.KINDS}

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("core_presets")]


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
    return list(group.found)


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
                assert each.fields["description"] in {str(part.why) for part in presets.KINDS[0].parts}

    def test_a_name_may_be_missing_only_where_a_login_may_come_without_it(self) -> None:
        with site(
            path("in/", LoginView.as_view(), name="in"),
            path("jwt/", TokenObtainPairView.as_view(), name="jwt"),
            path("y/", of_another("dj_rest_auth.views", "LoginView"), name="rest"),
            path("z/", of_another("two_factor.views.core", "LoginView"), name="steps"),
        ):
            missing = {each.fields["pattern"]: each.fields["on_missing"] for each in found("login") if each.part == "name"}
        assert missing == {"in": "refuse", "jwt": "refuse", "rest": "ip", "steps": "ip"}


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

    def test_everything_is_offered_to_each_site(self) -> None:
        with site():
            (ready,) = found("everything")
        assert (ready.fields["applies_to"], ready.fields["pattern"]) == ("all", "")


class TestApis:
    def test_the_beginning_of_its_paths_is_found_by_the_views_below_it(self) -> None:
        router = DefaultRouter()
        router.register("orders", Orders, basename="orders")
        with site(path("api/", include(router.urls)), path("shop/", view), path("shop/api/stock/", view)):
            assert places("api") == [("prefix", "/api/"), ("prefix", "/shop/api/")]


class TestWhatIsProposed:
    def test_each_can_be_saved_and_is_then_in_shadow(self) -> None:
        for group in presets.groups():
            for ready in group.found:
                rule = presets.save(ready)
                rule.full_clean()
                assert rule.mode == "shadow"
        assert set(RateRule.objects.values_list("name", flat=True)) == {
            *("login", "login.address", "login.name"),
            *("login.admin-login", "login.admin-login.address", "login.admin-login.name"),
            *("api", "everything"),
        }

    def test_one_whose_requests_have_a_rule_names_it_and_is_not_saved_again(self) -> None:
        RateRule.objects.define("mine", "5/m", path="/")
        RateRule.objects.define("other", "5/m", applies_to="all")
        (ready,) = found("everything")
        assert ready.used_by == "other"

    def test_a_rule_for_a_login_stands_for_the_one_with_its_key_and_for_no_other(self) -> None:
        RateRule.objects.define("mine", "5/m", route="login")
        assert [each.used_by for each in found("login")] == ["", "mine", "", "", "", ""]

    def test_a_rule_for_failed_logins_is_none_for_codes_that_are_tried_on_the_same_page(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        RateRule.objects.define("mine", "5/m", route="login", count_when="login_failed")
        tried = replace(KINDS["one-time-code"], find=lambda known: iter([presets.Target("route", "login")]))
        monkeypatch.setattr(presets, "KINDS", (KINDS["login"], tried))
        login, code = presets.groups()
        assert (login.found[1].used_by, code.found[0].used_by) == ("mine", "")

    def test_a_name_that_is_taken_by_a_rule_or_by_code_is_not_proposed(self) -> None:
        RateRule.objects.define("login", "5/m", path="/elsewhere/")
        ratelimit("everything", "5/m")(view)
        assert [each.name for each in found("login") if not each.part] == ["login.login", "login.admin-login"]
        assert [each.name for each in found("everything")] == ["everything.2"]
        RateRule.objects.define("login.login", "5/m", path="/elsewhere/")
        assert found("login")[0].name == "login.2"
