"""URLconf of the demo site; the last pattern matches everything else."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.contrib.staticfiles.views import serve
from django.urls import path, re_path

from testproject import views

urlpatterns = [
    path("", views.home, name="home"),
    path("limited/", views.limited, name="limited"),
    path("search/", views.search, name="search"),
    path("export/", views.export, name="export"),
    path("slow/", views.slow, name="slow"),
    path("api/orders/", views.orders, name="orders"),
    path("api/orders/<int:number>/", views.order, name="order"),
    path("login/", LoginView.as_view(template_name="demo/login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    # A demo has no web server in front: it serves its own static files, also with DEBUG off.
    path("static/<path:path>", serve, {"insecure": True}),
    re_path(r"", views.anything, name="anything"),
]
