"""Throttles are explained as they decide."""

from typing import Any

import pytest
from django.test import Client
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow.contrib.explain.explanation import Description, explain
from ratewindow.models import RateRule
from ratewindow.rest_framework import RuleThrottle, UserRateThrottle
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)


class Rated(UserRateThrottle):
    rate = "2/h"
    scope = "explained.rated"


class Exempting(UserRateThrottle):
    """Only the request itself shows whom it exempts."""

    rate = "0/h"
    scope = "explained.exempting"

    def allow_request(self, request: Request, view: Any) -> bool:
        return True


class Told(UserRateThrottle):
    rate = "9/h"
    scope = "explained.told"

    def throttle_failure(self) -> bool:
        return super().throttle_failure()


class Exported(APIView):
    throttle_classes = [RuleThrottle, Rated, Exempting, Told]
    throttle_rules = ["explained.export"]
    authentication_classes: list[type] = []
    permission_classes: list[type] = []

    def get(self, request: object) -> Response:
        return Response({})


def test_throttles_of_a_view_are_explained_as_they_decide() -> None:
    RateRule.objects.define("explained.export", "9/h", mode="enforce")
    with site(path("export/", Exported.as_view())):
        asked = Description("GET", "/export/", "127.0.0.1")
        told = []
        for _ in range(3):
            found = explain(asked)
            told.append(found.refused is None)
            assert Client().get("/export/").status_code == (200 if (found.refused is None) else 429)
    assert told == [True, True, False]
    effects = {line.rule.name: (line.effect, line.identity) for line in found.lines}
    assert effects["explained.rated"] == ("refuses", "ip:127.0.0.1")
    assert effects["explained.told"] == ("passes", "ip:127.0.0.1")
    assert "explained.exempting" not in effects
    assert effects["explained.export"] == ("passes", "ip:127.0.0.1")
