"""django-axes: failed logins, counted in the database, by address."""

from typing import Any

from conformance.adapter import Adapter, Where

ONLY_LOGINS = "counts failed logins, and limits nothing else"


class Axes(Adapter):
    title = "django-axes"
    distribution = "django-axes"
    requirements = ("django-axes==8.3.1",)
    configuration = (
        "the database handler and `AXES_LOCKOUT_PARAMETERS` by address, both its defaults; five failures, a cool-off of a minute "
        "that further failures do not prolong"
    )
    without = dict.fromkeys(("views", "async", "drf", "open", "closed", "rate", "header", "edits"), ONLY_LOGINS)
    without["proxy"] = "the address is found by django-ipware, a package of its own"

    def settings(self, where: Where) -> dict[str, Any]:
        from datetime import timedelta

        return {
            "INSTALLED_APPS": ["axes"],
            "MIDDLEWARE": ["axes.middleware.AxesMiddleware"],
            "AUTHENTICATION_BACKENDS": ["axes.backends.AxesStandaloneBackend"],
            "AXES_FAILURE_LIMIT": 5,
            "AXES_COOLOFF_TIME": timedelta(minutes=1),
            "AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT": False,
        }


ADAPTER = Axes()
