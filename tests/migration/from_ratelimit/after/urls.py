"""Addresses of the shop."""

import views
from django.urls import path

urlpatterns = [
    path("login/", views.login),
    path("search/", views.search),
    path("suggest/", views.suggest),
    path("order/", views.Order.as_view()),
    path("subscribe/", views.subscribe),
    path("stock/", views.stock),
    path("voucher/", views.voucher),
    path("report/", views.report),
    path("invoice/", views.invoice),
    path("closed/", views.closed),
]
