"""A site in one file, whose page is limited to five requests a minute: ``python one_file.py`` sends six."""

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import path

settings.configure(
    SECRET_KEY="of an example",
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["ratewindow"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:one?mode=memory&cache=shared"}},
    RATEWINDOW={"REDIS": "memory://"},
)
django.setup()
from ratewindow import ratelimit


@ratelimit("hello", "5/m")
def hello(request):
    return HttpResponse("hello")


urlpatterns = [path("", hello)]
call_command("migrate", verbosity=0)
print(*(Client().get("/").status_code for _ in range(6)))
