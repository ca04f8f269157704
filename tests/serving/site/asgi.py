"""The served site for an ASGI server."""

import os

from django.core.asgi import get_asgi_application

from ratewindow.asgi import lifespan

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.serving.site.settings")
application = lifespan(get_asgi_application())
