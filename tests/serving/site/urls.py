"""Addresses of the served site."""

from typing import Any

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import converters, path, re_path, register_converter
from django.utils.functional import lazy
from django.utils.translation import get_language

from tests.serving.site import rest, views


class Lower(converters.StringConverter):
    def to_python(self, value: str) -> str:
        return value.lower()


def german(english: str, word: str) -> Any:
    return lazy(lambda: word if get_language() == "de" else english, str)()


register_converter(Lower, "lower")

urlpatterns = [
    *i18n_patterns(
        path(german("account/", "konto/"), views.plain, name="account"),
        path("orders/<int:number>/", views.plain, name="order"),
        prefix_default_language=False,
    ),
    path("profile/<lower:name>/", views.plain, name="profile"),
    path("two", views.plain, name="two"),
    path("two/", views.plain, name="two"),
    path("dotted/<str:rest>/end", views.plain, name="dotted"),
    path("admin/", admin.site.urls),
    path("sync/", views.sync_view),
    path("async/", views.async_view),
    path("class/", views.SyncClass.as_view()),
    path("async-class/", views.AsyncClass.as_view()),
    path("method/", views.OneMethod.as_view()),
    path("stacked/", views.stacked),
    path("rest/", rest.Throttled.as_view()),
    path("async-rest/", rest.AsyncThrottled.as_view()),
    path("decides/", views.decides),
    path("adecides/", views.adecides),
    path("headers/", views.own_headers),
    path("both/", views.both),
    path("broken/", views.broken),
    path("abroken/", views.abroken),
    path("raises/", views.raises),
    path("araises/", views.araises),
    path("asks/", views.asks),
    path("aasks/", views.aasks),
    path("stream/", views.stream),
    path("astream/", views.astream),
    path("log-in/<str:name>/", views.log_in),
    path("upload/", views.upload),
    path("named/", views.named),
    path("guess/<str:word>/", views.guess),
    path("aguess/<str:word>/", views.aguess),
    path("charged/", views.charged),
    path("acharged/", views.acharged),
    path("slow/", views.slow),
    path("aslow/", views.aslow),
    path("blocking/<int:milliseconds>/", views.blocking),
    path("quick/", views.quick),
    path("state/", views.state),
    path("slashed/", views.plain),
    path("drip/", views.drip),
    path("adrip/", views.adrip),
    re_path(r"^(path|form|mine|silent|edited|many|crowd|pipelined|keyed|soaked|guarded|each)/$", views.plain),
    re_path(r"^(asoaked|amany)/$", views.aplain),
    re_path(r"^prefix/found/$", views.plain),
    path("login/", views.plain, name="login"),
    re_path(r"^search", views.plain),
    re_path(r"^[Ll][Oo][Uu][Dd]/$", views.plain),  # with (?i), the admin could reverse none of its own
]

if apps.is_installed("ratewindow.contrib.metrics"):
    from ratewindow.contrib.metrics.views import metrics

    urlpatterns.append(path("metrics/", metrics))
