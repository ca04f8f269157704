"""The served site's database: tables, rules, an administrator and two users."""

import django


def main() -> None:
    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from tests.serving.site import rules

    call_command("migrate", verbosity=0)
    get_user_model().objects.create_superuser("admin", "admin@example.com", "admin")
    for name in ("ann", "bob"):
        get_user_model().objects.create_user(name)
    rules.write()


if __name__ == "__main__":
    main()
