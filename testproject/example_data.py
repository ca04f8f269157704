"""Creates the demo's database: tables, an admin user, and rules that show what rules can do."""

from io import StringIO

import django


def main() -> None:
    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from ratewindow.models import Override, RateRule

    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("admin", "admin@example.com", "admin")
    define = RateRule.objects.define
    define(
        "demo.limited", "5/m", path="/limited/", mode="enforce", description="A page that a person may load five times a minute."
    )
    define(
        "api.minute",
        "20/m; 200/h",
        prefix="/api/",
        key="user_or_ip",
        mode="enforce",
        description="A burst and an hour, both at once.",
    )
    call_command("ratewindow", "suggest", "--create", "login.name", stdout=StringIO())  # with the others of its set
    for rule in RateRule.objects.filter(name__startswith="login"):
        rule.mode, rule.message = "enforce", "Too many wrong passwords."
        rule.save()
    define("search", "10/m", path="/search/", description="In shadow: watch the report before enforcing it.")
    define("site", "10/s", applies_to="all", description="In shadow, on every path: what all traffic would run into.")
    Override.objects.block("ip:2001:db8:bad::/48", duration="2h", reason="Scraping. Try to end this block.")
    Override.objects.rate("ip:198.51.100.30", "20/m", rule="demo.limited", duration="30d", reason="A partner.")


if __name__ == "__main__":
    main()
