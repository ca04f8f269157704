"""Under django-unfold, with our pages registered anew on its own classes, as docs/developers/admin.md shows."""

from tests.sites.unfold import *  # noqa: F403
from tests.sites.unfold import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.sites.unfold_app"]
