"""``manage.py ratewindow check``: whether everything that limiting needs is there, in words."""

import os
from typing import Any

import redis
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, router

from ratewindow.checks import TAG
from ratewindow.checks.rows import check_rules
from ratewindow.checks.server import check_server
from ratewindow.health import overview
from ratewindow.management.subcommands import rules
from ratewindow.models import RateRule
from ratewindow.operations import switch_off
from ratewindow.request import without_redis
from ratewindow.rulebook import kill_switch, reading
from ratewindow.rules import code_rates
from ratewindow.store import address, permissions, process_clients, stores
from ratewindow.store import url as redis_url

NAME = "check"
HELP = "Say whether limiting works: the settings, the server, the rules, every process. Exit status 1 when not, or degraded."


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    reading.reload()
    wrong = [_settings(stdout), _server(stdout), _rules(stdout)]
    state = _health(stdout)
    if not any(wrong):
        wrong = [state]  # else it says what has been said
    if any(wrong):
        raise CommandError(" ".join(problem for problem in wrong if problem))


def _settings(stdout: Any) -> str:
    code_rates.names()  # imports the views, so that the checks see the names in code
    databases = [router.db_for_read(RateRule)]
    messages = [*run_checks(tags=[TAG], include_deployment_checks=True)]
    messages += [*check_rules(None, databases=databases), *check_server(None, databases=databases)]
    for message in messages:
        stdout.write(str(message))
    serious = sum(message.is_serious() and not message.is_silenced() for message in messages)
    stdout.write(f"Settings: {serious} to correct, see above." if serious else "Settings: in order.")
    return "The settings need correcting." if serious else ""


def _health(stdout: Any) -> str:
    """What the processes of the site tell; this one has just begun, and counts for nothing."""
    kill_switch.learn(switch_off.current())
    told = overview.status()
    for sentence in [told["summary"], *told.get("warnings", [])]:
        stdout.write(f"State: {sentence}")
    running = [each for each in told.get("processes", []) if each["pid"] != os.getpid()]
    for each in running:
        since = f" since {each['degraded_since']}" if each.get("degraded_since") else ""
        stdout.write(f"  {each['host']} {each['pid']} ({each['kind']}): {_BREAKERS.get(each['breaker'], each['breaker'])}{since}")
    if told.get("switch", {}).get("off"):
        stdout.write(f"Limits are {kill_switch.turned.words() if told['switch']['setting'] else 'off by the settings'}.")
    return "" if told["ok"] else "Limiting is degraded."


_BREAKERS = {"closed": "counts on Redis", "open": "decides without Redis", "silent": "not heard of"}


def _server(stdout: Any) -> str:
    try:
        url, _ = address.address()
    except ImproperlyConfigured as error:
        stdout.write(f"Redis: {error}")
        return "No Redis is configured."
    if process_clients.in_memory():
        stdout.write("Redis: none, each process counts for itself in memory.")
        return ""
    try:
        masters = process_clients.masters()
        lacking = dict.fromkeys(right for master in masters for right in permissions.missing(master))
    except (redis.RedisError, OSError, ValueError) as error:
        stdout.write(f"Redis: {redis_url.shown(url)} does not answer: {error}")
        return f"Redis does not answer: {without_redis.in_words()} until it does."
    several = f"a cluster of {len(masters)} masters, " if redis_url.parse(url).kind == "cluster" else ""
    stdout.write(f"Redis: {redis_url.shown(url)} answers, {several}{_version(masters[0])}.")
    if lacking:
        stdout.write(f"Rights: our user lacks some. Write: ACL SETUSER <user> {' '.join(lacking)}")
        return "Our user of Redis lacks rights."
    return _decision(stdout)


def _decision(stdout: Any) -> str:
    """A server may answer all that it is asked about itself, and decide nothing."""
    try:
        stores.probe_all()
    except Exception as error:
        stdout.write(f"Decisions: none can be made: {type(error).__name__}: {error}")
        return f"Redis makes no decision: {without_redis.in_words()} until it does."
    return ""


def _version(client: redis.Redis) -> str:
    try:
        info = client.info("server")
    except redis.RedisError:
        return "and keeps its version to itself"  # hosted servers may refuse INFO; nothing here depends on it
    if info.get("server_name") == "valkey":  # its redis_version stands still
        return f"Valkey {info.get('valkey_version')}"
    return f"Redis {info.get('redis_version')}"


def _rules(stdout: Any) -> str:
    try:
        stdout.write(rules.listing())
    except (DatabaseError, ImproperlyConfigured) as error:
        stdout.write(f"Rules: the table cannot be read: {error}")
        return "The rules cannot be read: run manage.py migrate."
    return ""
