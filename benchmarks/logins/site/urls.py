"""The ways in, one for each view that takes a password, and the steps around them."""

import gc
import os

from django.contrib import admin
from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from graphene_django.views import GraphQLView
from knox.views import LoginView as KnoxLogin
from ninja_extra import NinjaExtraAPI
from ninja_jwt.controller import NinjaJWTDefaultController
from rest_framework.authentication import BasicAuthentication
from rest_framework.authtoken.views import obtain_auth_token
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_simplejwt.views import TokenObtainPairView, TokenObtainSlidingView
from two_factor.urls import urlpatterns as two_factor
from wagtail.admin import urls as wagtail_admin

PAGE = "page.html"


def home(request: HttpRequest) -> HttpResponse:
    """Says which process answers: whoever starts a server waits for all of them."""
    return HttpResponse(str(os.getpid()))


@api_view(["GET"])
@authentication_classes([BasicAuthentication])
@permission_classes([IsAuthenticated])
def basic(request: Request) -> Response:
    return Response({"user": request.user.username})


ninja = NinjaExtraAPI()
ninja.register_controllers(NinjaJWTDefaultController)

urlpatterns = [
    path("", home),
    path("login/", auth.LoginView.as_view(template_name=PAGE), name="login"),
    path("change/", auth.PasswordChangeView.as_view(template_name=PAGE, success_url="/"), name="password_change"),
    path("reset/<uidb64>/<token>/", auth.PasswordResetConfirmView.as_view(template_name=PAGE, success_url="/")),
    path("admin/", admin.site.urls),
    path("", include(two_factor)),
    path("cms/", include(wagtail_admin)),
    path("accounts/", include("allauth.urls")),
    path("_allauth/", include("allauth.headless.urls")),
    path("rest/", include("dj_rest_auth.urls")),
    path("djoser/", include("djoser.urls")),
    path("djoser/", include("djoser.urls.authtoken")),
    path("jwt/", TokenObtainPairView.as_view()),
    path("sliding/", TokenObtainSlidingView.as_view()),
    path("knox/", KnoxLogin.as_view()),
    path("token/", obtain_auth_token),
    path("basic/", basic),
    path("ninja/", ninja.urls),
    path("o/", include("oauth2_provider.urls")),
    path("graphql/", csrf_exempt(GraphQLView.as_view())),
]

# All is loaded. Python's first full collection would look through these 200,000 objects in the middle of a request, for 150 ms.
gc.freeze()
