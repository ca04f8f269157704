"""``manage.py ratewindow check``: report whether limiting works."""

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
HELP = "Report whether limiting works: settings, Redis, rules and every process. The exit status is 1 if it does not."


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    reading.reload()
    wrong = [_settings(stdout), _server(stdout), _rules(stdout)]
    state = _health(stdout)
    if not any(wrong):
        wrong = [state]  # otherwise it would repeat the other problems
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
    stdout.write(f"Settings: {serious} to correct, see above." if serious else "Settings: no problems.")
    return "The settings need correcting." if serious else ""


def _health(stdout: Any) -> str:
    """What the other processes of the site report about themselves."""
    kill_switch.learn(switch_off.current())
    status = overview.status()
    for sentence in [status["summary"], *status.get("warnings", [])]:
        stdout.write(f"State: {sentence}")
    running = [each for each in status.get("processes", []) if each["pid"] != os.getpid()]
    for each in running:
        since = f" since {each['degraded_since']}" if each.get("degraded_since") else ""
        stdout.write(f"  {each['host']} {each['pid']} ({each['kind']}): {_BREAKERS.get(each['breaker'], each['breaker'])}{since}")
    if status.get("switch", {}).get("off"):
        stdout.write(f"Limits are {kill_switch.turned.words() if status['switch']['setting'] else 'off by the settings'}.")
    return "" if status["ok"] else "Limiting is degraded."


_BREAKERS = {"closed": "counts on Redis", "open": "decides without Redis", "silent": "has not reported"}


def _server(stdout: Any) -> str:
    try:
        url, _ = address.address()
    except ImproperlyConfigured as error:
        stdout.write(f"Redis: {error}")
        return "No Redis is configured."
    if process_clients.in_memory():
        stdout.write("Redis: not used, each process counts for itself in memory.")
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
        stdout.write(f"Permissions: our Redis user needs more. Run: ACL SETUSER <user> {' '.join(lacking)}")
        return "Our Redis user needs more permissions."
    return _decision(stdout)


def _decision(stdout: Any) -> str:
    """Make a decision: a server may answer PING and INFO and still fail at that."""
    try:
        stores.probe_all()
    except Exception as error:
        stdout.write(f"Decisions: they fail: {type(error).__name__}: {error}")
        return f"Decisions by Redis fail: {without_redis.in_words()} until it does."
    return ""


def _version(client: redis.Redis) -> str:
    try:
        info = client.info("server")
    except redis.RedisError:
        return "and hides its version"  # hosted servers may refuse INFO; nothing here depends on it
    if info.get("server_name") == "valkey":  # its redis_version is a constant
        return f"Valkey {info.get('valkey_version')}"
    return f"Redis {info.get('redis_version')}"


def _rules(stdout: Any) -> str:
    try:
        stdout.write(rules.listing())
    except (DatabaseError, ImproperlyConfigured) as error:
        stdout.write(f"Rules: the table cannot be read: {error}")
        return "The rules cannot be read: run manage.py migrate."
    return ""
