"""A process that edits rules and serves nothing: it reads edits from its input and says when each was committed."""

import json
import sys
import tempfile
import time

import django


def main() -> None:
    django.setup()
    for line in sys.stdin:
        edit(**json.loads(line))
        print(time.monotonic(), flush=True)  # one clock for all processes of a machine


def edit(how: str, rule: str, limit: int) -> None:
    from django.core.management import call_command
    from django.core.serializers import serialize
    from django.db import connection

    from ratewindow.models import Override, RateRule, RuleWindow

    windows = RuleWindow.objects.filter(rule__name=rule)
    match how:
        case "save":
            window = windows.get()
            window.limit = limit
            window.save()
        case "update":
            windows.update(limit=limit)
        case "sql":
            with connection.cursor() as cursor:
                owner = "(SELECT id FROM ratewindow_raterule WHERE name = %s)"
                cursor.execute(f'UPDATE ratewindow_rulewindow SET "limit" = %s WHERE rule_id = {owner}', [limit, rule])
        case "loaddata":
            window = windows.get()
            window.limit = limit
            with tempfile.NamedTemporaryFile("w", suffix=".json") as fixture:
                fixture.write(serialize("json", [window]))
                fixture.flush()
                call_command("loaddata", fixture.name, verbosity=0)
        case "tighten":
            Override.objects.rate("*", f"{limit}/h", rule=rule, duration="1h")
        case "let go":
            Override.objects.all().delete()
        case "delete":
            RateRule.objects.filter(name=rule).delete()
        case _:
            raise ValueError(f"{how!r} is no way to edit")


if __name__ == "__main__":
    main()
