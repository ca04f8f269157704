"""Views of REST framework in the served site."""

import warnings
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow.rest_framework import UserRateThrottle

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from adrf.views import APIView as AsyncAPIView


class Burst(UserRateThrottle):
    rate, scope = "2/h", "rest.burst"


class Sustained(UserRateThrottle):
    rate, scope = "3/h", "rest.sustained"


class Throttled(APIView):
    authentication_classes: Any = []
    throttle_classes = [Burst, Sustained]

    def get(self, request: Request) -> Response:
        return Response("ok")


class AsyncThrottled(AsyncAPIView):
    authentication_classes: Any = []
    throttle_classes = [Burst, Sustained]

    async def get(self, request: Request) -> Response:
        return Response("ok")
