"""Serves the site of DJANGO_SETTINGS_MODULE with rules, blocks and an hour of counts: ``python -m tests.sites.serve``.

The first line that it prints is JSON: its address, and the cookie of a superuser's session. It ends with its standard input.
"""

import json
import sys
import threading
from datetime import timedelta
from typing import Any

import django


def fill() -> None:
    """What the pages show: rules in each mode, blocks in each state, minutes of counts with reasons, and alerts."""
    from django.utils import timezone

    from ratewindow.contrib.alerts.models import AlertChannel
    from ratewindow.models import Override, RateRule, ThrottleStat

    define = RateRule.objects.define
    define("login", "5/m; 20/h", path="/login/", key="ip+post:username", mode="enforce", methods="POST")
    define("search", "30/m", path="/search/")
    define("api.minute", "100/m; 2000/h", prefix="/api/", key="user_or_ip", mode="enforce", enforce_percent=10)
    define("a-rule-with-a-name-of-sixty-four-characters-which-is-the-longest", "1/d", prefix=f"/{'long/' * 20}", mode="off")
    Override.objects.block("ip:203.0.113.0/24", duration="1h", reason="scraping")
    Override.objects.allow("group:staff", reason="us")
    Override.objects.rate("user:42", "1000/h", rule="api.minute", duration="30d")
    Override.objects.block("header:x-api-key:0123456789", rule="search", duration="2h")
    ended = Override.objects.block("user:43", duration="1h", reason="spam")
    Override.objects.get_queryset().filter(pk=ended.pk).end()
    now = timezone.now().replace(second=0, microsecond=0)
    for ago in range(1, 50):
        reasons = {"limit": 40, "block": 8, "penalty": 2, "store:timeout": 3}
        sums = {"passed": 100 + ago, "refused": 50, "fallback": 3, "reasons": reasons, "latency": {"0.181": 90, "1.45": 9}}
        ThrottleStat.objects.create(rule="login", resolution="minute", start=now - timedelta(minutes=ago), **sums)
        ThrottleStat.objects.create(
            rule="search", resolution="minute", start=now - timedelta(minutes=ago), passed=60, would_refuse=20
        )

    _fill_who(now - timedelta(minutes=3))
    text, since = "login refuses 50 requests a minute.", now.isoformat()
    alert = {"condition": "refused_a_minute", "rule": "login", "since": since, "last": since, "text": text}
    AlertChannel.objects.create(
        name="night", addresses="night@example.com", refused_a_minute=20, raised={"refusals:login": alert}, sent_at=now
    )
    AlertChannel.objects.create(name="chat", way="webhook", url=f"https://example.com/{'long' * 20}", error="Answer: 500")


def _fill_who(minute: Any) -> None:
    from ratewindow.counting.collecting import store_who
    from ratewindow.counting.sums import Counted, Group, Who

    network = "ip:203.0.113.0/24"
    named = {f"ip:203.0.113.{number}": Counted(3) for number in range(14)}
    named["header:x-api-key:" + "long" * 40] = Counted(2)
    store_who({(minute, "login"): Who(Counted(44, 0, 150), Group(named), Group({network: Counted(42)}))})


def session() -> str:
    """The key of a session in which a superuser is logged in."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
    from django.contrib.sessions.backends.db import SessionStore

    user: Any = get_user_model().objects.create(username="boss", is_staff=True, is_superuser=True)
    made = SessionStore()
    made[SESSION_KEY], made[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    made[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    made.save()
    return str(made.session_key)


def main() -> None:
    django.setup()
    from django.core.management import call_command
    from django.core.servers.basehttp import ThreadedWSGIServer
    from django.core.wsgi import get_wsgi_application
    from django.test.testcases import QuietWSGIRequestHandler

    call_command("migrate", verbosity=0)
    fill()
    cookie = session()
    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler)
    server.set_app(get_wsgi_application())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}", "sessionid": cookie}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
