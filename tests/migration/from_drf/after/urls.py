"""Addresses of the API."""

import views
from django.urls import include, path
from rest_framework.routers import SimpleRouter

router = SimpleRouter()
router.register("shop", views.Shop, basename="shop")
urlpatterns = [
    path("home/", views.Home.as_view()),
    path("upload/", views.Upload.as_view()),
    path("burst/", views.Burst.as_view()),
    path("daily/", views.daily),
    path("", include(router.urls)),
]
