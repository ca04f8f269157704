"""The demo site for an ASGI server: ``uvicorn testproject.asgi:application``."""

import os

from django.core.asgi import get_asgi_application

from ratewindow.asgi import lifespan

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
application = lifespan(get_asgi_application())
