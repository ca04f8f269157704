"""The site that servers serve. What measures it is run without pytest, which names the settings."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.serving.site.settings")
