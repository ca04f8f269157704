"""Ways in that ask `authenticate()` nothing: their views are known by kind, and one rule counts all of a kind."""

from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model, login as log_in, views
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path
from django.views import View
from rest_framework.routers import DefaultRouter
from rest_framework.viewsets import ViewSet

from ratewindow.contrib.logins import step
from ratewindow.contrib.logins.steps import kinds_of
from ratewindow.models import RateRule
from testproject.urls import urlpatterns
from tests.contrib.logins.support.trying import PASSWORD, stranger
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class Form(View):
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


def of_another(place: str) -> Any:
    """A view of a package that is not installed here: a subclass of one that has its name."""
    module, _, name = place.rpartition(".")
    return type("Mine", (type(name, (Form,), {"__module__": module, "__qualname__": name}),), {}).as_view()


@pytest.mark.parametrize(
    "place, kind",
    [
        ("allauth.account.views._password.PasswordResetView", "resets"),
        ("allauth.account.views.RequestLoginCodeView", "resets"),
        ("allauth.headless.account.views.SignupView", "sign_ups"),
        ("allauth.account.views.ConfirmLoginCodeView", "codes"),
        ("allauth.mfa.base.views.AuthenticateView", "codes"),
        ("allauth.account.views.ReauthenticateView", "changes"),
        ("dj_rest_auth.views.PasswordChangeView", "changes"),
        ("dj_rest_auth.mfa.views.MFAVerifyView", "codes"),
        ("dj_rest_auth.registration.views.RegisterView", "sign_ups"),
    ],
)
def test_views_of_packages_are_known(place: str, kind: str) -> None:
    assert kinds_of(of_another(place), "post", "anything", "x/") == {kind}


def test_views_are_known_by_names_that_such_urls_have() -> None:
    for name, kind in (
        ("signup", "sign_ups"),
        ("verify_otp", "codes"),
        ("forgot_password", "resets"),
        ("change-password", "changes"),
    ):
        assert kinds_of(view, "post", name, "x/") == {kind}
        assert kinds_of(view, "post", "", f"accounts/{name}/") == {kind}
    assert not kinds_of(view, "post", "orders", "orders/")


def test_a_name_says_nothing_of_a_package_whose_views_are_known() -> None:
    """As of `oauth2_provider:register`, which registers a program."""
    assert not kinds_of(of_another("oauth2_provider.views.application.ApplicationRegistration"), "post", "register", "register/")


def test_two_views_of_one_url_name_are_two() -> None:
    assert kinds_of(views.PasswordChangeView.as_view(), "post", "account", "a/") == {"changes"}
    assert not kinds_of(view, "post", "account", "b/")


class Users(ViewSet):
    def create(self, request: Any) -> Any:
        return HttpResponse()

    set_password = destroy = me = update = create


@pytest.mark.parametrize(
    "method, action, kinds",
    [
        ("post", "set_password", {"changes"}),
        ("post", "create", {"sign_ups"}),
        ("delete", "destroy", {"changes"}),
        ("delete", "me", {"changes"}),
        ("patch", "me", set()),
        ("put", "update", set()),
    ],
)
def test_a_view_set_is_known_by_its_action(method: str, action: str, kinds: set[str]) -> None:
    base = type("UserViewSet", (Users,), {"__module__": "djoser.views", "__qualname__": "UserViewSet"})
    assert kinds_of(base.as_view({method: action}), method, "", "x/") == kinds


def test_one_rule_counts_all_views_of_a_kind_but_only_what_is_sent() -> None:
    RateRule.objects.define("codes", "3/m", applies_to="codes", mode="enforce")
    mine = step("codes")(lambda request: HttpResponse())
    with site(path("otp/", view), path("pin/", mine), path("other/", view), *urlpatterns):
        client = Client()
        assert {client.get("/otp/").status_code for _ in range(9)} == {200}
        told = [client.post(place).status_code for place in ("/otp/", "/pin/", "/otp/", "/pin/", "/otp/", "/other/")]
        assert told == [200, 200, 200, 429, 429, 200]


def test_a_decorated_view_is_of_that_kind_alone() -> None:
    """A class is decorated as a whole, and its name then says nothing."""

    @step("changes")
    class Signup(Form):
        pass

    assert kinds_of(Signup.as_view(), "post", "signup", "signup/") == {"changes"}
    assert kinds_of(type("Mine", (Signup,), {}).as_view(), "post", "signup", "signup/") == {"changes"}


def test_a_method_that_answers_is_decorated_alone() -> None:
    class Both(View):
        def get(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse()

        @step("codes")
        def post(self, request: HttpRequest) -> HttpResponse:
            return HttpResponse()

    class Several(ViewSet):
        def create(self, request: Any) -> Any:
            return HttpResponse()

        @step("codes")
        def confirm(self, request: Any) -> Any:
            return HttpResponse()

    assert [kinds_of(Both.as_view(), method, "", "x/") for method in ("post", "put")] == [{"codes"}, set()]
    actions = [kinds_of(Several.as_view({"post": action}), "post", "", "x/") for action in ("confirm", "create")]
    assert actions == [{"codes"}, set()]


class Wizard(Form):
    """That of two-factor: a password first, which the gate counts, and then a code."""

    def post(self, request: HttpRequest) -> HttpResponse:
        if request.POST.get("token") == "right":
            log_in(request, get_user_model().objects.get(username="ann"))
        return HttpResponse()


def wizard() -> Any:
    return type("Mine", (type("LoginView", (Wizard,), {"__module__": "two_factor.views.core", "__qualname__": "LoginView"}),), {})


def test_the_password_of_two_factor_is_no_code(checked: list[str]) -> None:
    sent = {"login_view-current_step": "auth", "auth-username": "ann"}
    with site(path("two/", wizard().as_view()), *urlpatterns):
        assert {Client().post("/two/", sent).status_code for _ in range(9)} == {200}
        both = {"a-current_step": "auth", "login_view-current_step": "token"}
        assert [Client().post("/two/", both).status_code for _ in range(6)] == [200] * 5 + [429]


def test_a_code_that_logs_somebody_in_uses_nothing_up(checked: list[str], ann: Any) -> None:
    sent = {"login_view-current_step": "token", "token": "right"}
    with site(path("two/", wizard().as_view()), *urlpatterns):
        told = [Client().post("/two/", sent) for _ in range(9)]
        assert {each.status_code for each in told} == {200}
        assert [Client().post("/two/", {**sent, "token": "x"}).status_code for _ in range(6)] == [200] * 5 + [429]


def test_a_wrong_code_beside_a_right_password_counts(checked: list[str], ann: Any) -> None:
    @step("codes")
    def both(request: HttpRequest) -> HttpResponse:
        log_in(request, authenticate(request, username="ann", password=PASSWORD))
        return HttpResponse()

    with site(path("both/", both), *urlpatterns):
        assert [Client().post("/both/").status_code for _ in range(6)] == [200] * 5 + [429]


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="'logins' is no kind of step: write resets, sign_ups, codes, changes"):
        step("logins")


def test_views_of_a_router_are_counted() -> None:
    class SignupViewSet(ViewSet):
        authentication_classes = ()

        def create(self, request: Any) -> Any:
            return HttpResponse()

    router = DefaultRouter()
    router.register("signup", SignupViewSet, "signup")
    RateRule.objects.define("ups", "1/m", applies_to="sign_ups", mode="enforce")
    with site(path("api/", include(router.urls)), *urlpatterns):
        assert [Client().post("/api/signup/").status_code for _ in range(2)] == [200, 429]


def test_a_session_guesses_ten_passwords_an_hour(checked: list[str], ann: Any) -> None:
    with site(path("change/", views.PasswordChangeView.as_view(template_name="demo/login.html", success_url="/")), *urlpatterns):
        client = Client()
        client.force_login(ann)
        sent = {"new_password1": "a-new-one-2026", "new_password2": "a-new-one-2026"}
        told = [client.post("/change/", {"old_password": f"w{number}", **sent}).status_code for number in range(60)]
        assert (told.count(200), told.count(429)) == (10, 50)


RESET = views.PasswordResetView.as_view(
    template_name="demo/login.html",
    email_template_name="demo/login.html",
    subject_template_name="demo/login.html",
    success_url="/",
)
FORGOTTEN = [path("forgot/", RESET), path("reset/<uidb64>/<token>/", view, name="password_reset_confirm"), *urlpatterns]


def test_a_mailbox_gets_three_mails_an_hour_whoever_asks(checked: list[str], ann: Any, mailoutbox: list[Any]) -> None:
    with site(*FORGOTTEN):
        spellings = ("ann@example.com", "Ann@Example.com", " ann@example.com", "ann@example.com")
        told = [Client().post("/forgot/", {"email": text}, REMOTE_ADDR=stranger(number)) for number, text in enumerate(spellings)]
    assert [each.status_code for each in told] == [302, 302, 302, 429] and len(mailoutbox) == 3


def test_a_mailbox_that_nobody_has_is_refused_alike(checked: list[str], ann: Any) -> None:
    def ask(address: str, first: int) -> list[Any]:
        return [Client().post("/forgot/", {"email": address}, REMOTE_ADDR=stranger(first + number)) for number in range(5)]

    with site(*FORGOTTEN):
        for one, other in zip(ask("ann@example.com", 0), ask("nobody@example.com", 50), strict=True):
            assert (one.status_code, {*one.headers}) == (other.status_code, {*other.headers})
            assert one.get("Retry-After") == other.get("Retry-After")
