"""Make the site's database: `python -m conformance.site.prepare`."""

import os

NAMES = ("owner", "mallory", *(f"victim-{number}" for number in range(1, 5)), *(f"user{number}" for number in range(100)))
PASSWORD = "right-horse-7"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conformance.site.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    password = make_password(PASSWORD)
    staff = {"is_staff": True, "is_superuser": True, "password": password}
    User.objects.bulk_create(User(username=name, email=f"{name}@site.example", **staff) for name in NAMES)
    settings.ADAPTER.prepare()


if __name__ == "__main__":
    main()
