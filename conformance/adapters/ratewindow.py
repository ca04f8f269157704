"""ratewindow: its decorator, its throttles, a rule for edits, and its gate with the ready rules for logins."""

from pathlib import Path
from typing import Any

from conformance.adapter import Adapter, Limit, View, Where

CHECKOUT = Path(__file__).resolve().parents[2]
HERE = str(CHECKOUT) if CHECKOUT.joinpath("ratewindow").is_dir() else "ratewindow"


class RateWindow(Adapter):
    title = "ratewindow"
    distribution = "ratewindow"
    requirements = (f"ratewindow[drf,hiredis] @ file://{HERE}" if HERE != "ratewindow" else "ratewindow[drf,hiredis]",)
    configuration = (
        "the middleware, `@ratelimit`, the default algorithm, `sliding_window`; `TRUSTED_PROXIES` behind the proxy; `ON_ERROR` "
        "as the case says; logins by the room `logins` and `manage.py ratewindow protect --enforce`"
    )

    def settings(self, where: Where) -> dict[str, Any]:
        options: dict[str, Any] = {"REDIS": where.redis_url, "ON_ERROR": "refuse" if where.kind == "closed" else "allow"}
        if where.kind == "proxied":
            options["TRUSTED_PROXIES"] = ["10.0.0.0/8"]
        return {
            "INSTALLED_APPS": ["rest_framework", "ratewindow", "ratewindow.contrib.logins"],
            "MIDDLEWARE": ["ratewindow.middleware.RateWindowMiddleware"],
            "AUTHENTICATION_BACKENDS": ["ratewindow.contrib.logins.LoginGate"],
            "RATEWINDOW": options,
        }

    def prepare(self) -> None:
        from django.core.management import call_command

        from ratewindow.models import RateRule

        call_command("ratewindow", "protect", "--enforce", verbosity=0)
        RateRule.objects.define("edited", "5/m", path="/edited/", mode="enforce")

    def edit(self, requests: int) -> None:
        from ratewindow.models import RateRule

        window = RateRule.objects.get(name="edited").windows.get()
        window.limit = requests
        window.save()

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from ratewindow import ratelimit

        rate = "; ".join(f"{limit.requests}/{limit.period_s}s" for limit in limits)
        header = limits[0].header
        limited: View = ratelimit(name, rate, key=f"header:{header}" if header else "ip")(view)
        return limited

    def throttles(self, name: str, limit: Limit) -> list[Any]:
        from ratewindow.rest_framework import AnonRateThrottle

        return [type("Throttle", (AnonRateThrottle,), {"scope": name, "rate": f"{limit.requests}/{limit.period_s}s"})]

    def rate(self, view: View, text: str) -> View:
        from ratewindow import ratelimit

        limited: View = ratelimit(rate=text)(view)
        return limited


ADAPTER = RateWindow()
