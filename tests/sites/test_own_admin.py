"""A site without Django's admin that offers rules, blocks, the report and the history by an API of its own, with tokens."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import django; django.setup()
import sys
from django.apps import apps
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from rest_framework.authtoken.models import Token
from ratewindow.counting.counters import counters

assert not {"admin", "sessions", "messages"} & {app.label for app in apps.get_app_configs()}
call_command("check", fail_level="WARNING")
call_command("migrate", verbosity=0)


def client(name, *permissions):
    user = User.objects.create(username=name)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return Client(headers={"authorization": f"Token {Token.objects.create(user=user)}"})


def ask(who, method, path, status, /, **sent):
    answer = getattr(who, method)(f"/api/{path}/", sent or None, content_type="application/json")
    assert answer.status_code == status, (path, answer.status_code, answer.content)
    return answer.json() if answer.content else None


NEEDED = ("add_raterule", "change_raterule", "enforce_raterule", "delete_raterule", "add_override", "change_override",
    "view_throttlestat")
ann, eve, nobody = client("ann", *NEEDED), client("eve"), Client()
RULE = {"name": "login", "rate": "2/m; 20/h", "path": "/login/"}
BLOCK = {"identity": "203.0.113.9", "duration": "1h", "reason": "spam"}

for method, path, sent in (
    ("get", "rules", {}), ("post", "rules", RULE), ("patch", "rules/login", {"mode": "off"}), ("delete", "rules/login", {}),
    ("get", "blocks", {}), ("post", "blocks", BLOCK), ("delete", "blocks/1", {}), ("get", "report", {}), ("get", "history", {}),
):
    ask(eve, method, path, 403, **sent)
    ask(nobody, method, path, 401, **sent)

assert ask(ann, "post", "rules", 400, **{**RULE, "rate": "often"}).keys() == {"rate"}
assert ask(ann, "post", "rules", 400, colour="red", **RULE).keys() == {"colour"}
made = ask(ann, "post", "rules", 201, reason="a trial", by="somebody else", **RULE)
assert (made["mode"], made["limits"]) == ("shadow", ["2 in 1m", "20 in 1h"])
assert [nobody.get("/login/").status_code for _ in range(3)] == [200, 200, 200]
ask(ann, "patch", "rules/login", 200, mode="enforce")
assert [nobody.get("/login/").status_code for _ in range(2)] == [429, 429]
ask(ann, "patch", "rules/gone", 404, mode="off")
assert [rule["mode"] for rule in ask(ann, "get", "rules", 200)] == ["enforce"]

block = ask(ann, "post", "blocks", 201, **BLOCK)
assert (block["who"], block["created_by"]) == ("ip:203.0.113.x", "ann"), block
assert ask(ann, "post", "blocks", 400, identity="").keys() == {"identity"}
assert [each["pk"] for each in ask(ann, "get", "blocks", 200)] == [block["pk"]]
assert nobody.get("/login/", REMOTE_ADDR="203.0.113.9").status_code == 429
ask(ann, "delete", f"blocks/{block['pk']}", 204)
assert nobody.get("/login/", REMOTE_ADDR="203.0.113.9").status_code == 200

counters.flush()  # what its process does once a second
report = ask(ann, "get", "report", 200)
assert "refused" in report["summary"] and [rule["name"] for rule in report["rules"]] == ["login"], report
assert report["clients"][0]["refused"] == 2 and report["clients"][0]["who"] == "ip:127.0.0.x", report

edits = ask(ann, "get", "history", 200)
assert [(each["by"], each["way"], each["action"]) for each in edits] == [
    ("ann", "api", "changed"), ("ann", "api", "added"), ("ann", "api", "changed"), ("ann", "api", "added")
], edits
enforced = edits[2]
ask(eve, "post", f"history/{enforced['pk']}/restore", 403)
assert ask(ann, "post", f"history/{enforced['pk']}/restore", 200, reason="too soon")["way"] == "restore"
assert nobody.get("/login/").status_code == 200
ask(ann, "delete", "rules/login", 204)
assert "django.contrib.sessions.models" not in sys.modules and "django.contrib.admin.models" not in sys.modules
print("all of it")
"""


def test_a_site_with_an_api_of_its_own_does_all_that_staff_may_do(program_environment: dict[str, str], tmp_path: Path) -> None:
    environment = {
        **program_environment,
        "DJANGO_SETTINGS_MODULE": "tests.sites.own_admin",
        "TESTPROJECT_DATABASE": str(tmp_path / "db.sqlite3"),
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all of it\n")
