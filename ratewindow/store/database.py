"""Which database has the rules: one of the same name on another server belongs to another site."""

import os
import re
from configparser import Error as ConfigError
from configparser import RawConfigParser
from ipaddress import ip_address
from typing import Any

from django.apps import apps
from django.db import Error as DatabaseError
from django.db import connections, router

_PORTS = {"postgresql": "5432", "mysql": "3306", "oracle": "1521", "microsoft": "1433"}
_WHERE = ("service", "hostaddr", "unix_socket", "read_default_file", "read_default_group", "dsn")  # in OPTIONS
_ENVIRONMENT = {  # of libpq
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "options": "PGOPTIONS",
    "service": "PGSERVICE",
    "servicefile": "PGSERVICEFILE",
}
_SEARCH_PATH = re.compile(r"search_path\s*=\s*(\S+)")

# What a running server says of itself, the same by whatever way it is reached, and not what a copy of its data would say.
_SERVERS = {
    "postgresql": "SELECT extract(epoch FROM pg_postmaster_start_time())::text, current_database(), current_schema()",
    "mysql": "SELECT @@hostname, @@port, @@datadir, database()",
}


def held() -> Any:
    """The connection to it, which need not be open. By the router for writing: for reading it may choose any replica."""
    return connections[router.db_for_write(apps.get_model("ratewindow", "RateRule"))]


def address() -> str:
    """Its address by the settings, however it is spelled: without a query, since a process may start while it is down."""
    database = held()
    vendor, given = database.vendor, database.settings_dict
    name, options = str(given.get("NAME") or ""), given.get("OPTIONS") or {}
    if vendor == "sqlite":
        return f"sqlite {os.path.realpath(name.removeprefix('file:').partition('?')[0])}"
    if vendor == "postgresql":
        options = _with_libpq(options)
    host = given.get("HOST") or options.get("host") or ""
    port = str(given.get("PORT") or options.get("port") or _PORTS.get(vendor, ""))
    more = [f"{each}={options[each]}" for each in _WHERE if options.get(each)]
    more += _SEARCH_PATH.findall(str(options.get("options") or ""))
    return " ".join([vendor, _host(str(host)), port.lstrip("0"), name or str(options.get("dbname") or ""), *more])


def _with_libpq(options: dict[str, Any]) -> dict[str, Any]:
    """These options, and where they say nothing what libpq takes: from the file of its services, else from the environment."""
    environment = {name: os.environ[variable] for name, variable in _ENVIRONMENT.items() if os.environ.get(variable)}
    given = {name: value for name, value in options.items() if value}
    chosen = {**environment, **given}
    paths = [chosen.get("servicefile", os.path.expanduser("~/.pg_service.conf"))]
    if folder := os.environ.get("PGSYSCONFDIR"):
        paths.append(os.path.join(folder, "pg_service.conf"))
    found = (_section(path, chosen["service"]) for path in paths if "service" in chosen)
    return {**environment, **next(filter(None, found), {}), **given}


def _section(path: str, name: str) -> dict[str, str | None]:
    """The service of that name in a file; empty if there is none, or the file cannot be read."""
    parser = RawConfigParser(allow_no_value=True, delimiters="=", comment_prefixes="#", strict=False, default_section="")
    try:
        parser.read(path, "utf-8")
        return dict(parser[name])
    except (KeyError, ConfigError, OSError, ValueError):
        return {}


def _host(text: str) -> str:
    """A socket's folder as it is; this machine by one name."""
    if text.startswith("/"):
        return os.path.realpath(text)
    text = text.strip("[] ").rstrip(".").lower()
    try:
        number = ip_address(text)
    except ValueError:
        return text or "localhost"
    return "localhost" if number.is_loopback else number.compressed


def server() -> str:
    """The server that answers there now, and the database on it; empty if it does not answer, or cannot tell."""
    database = held()
    if database.vendor not in _SERVERS:
        return ""
    try:
        with database.cursor() as cursor:
            cursor.execute(_SERVERS[database.vendor])
            return " ".join(map(str, cursor.fetchone()))
    except DatabaseError:
        return ""
