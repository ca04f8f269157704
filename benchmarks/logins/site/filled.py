"""Fills the database that ``LOGINS_DATABASE`` names, for servers of the site."""

import django


def main() -> None:
    django.setup()
    from django.db import connection

    from benchmarks.logins.site.accounts import make_site
    from benchmarks.logins.site.names import OTHERS, VICTIM, VICTIMS

    make_site([VICTIM, *VICTIMS, *OTHERS])
    connection.close()  # SQLite has all in one file again
    print("null")


if __name__ == "__main__":
    main()
