"""The demo's addresses, and those that Grappelli needs before them."""

from django.urls import include, path

from testproject.urls import urlpatterns as demo

urlpatterns = [path("grappelli/", include("grappelli.urls")), *demo]
