"""The subcommands about limiting as a whole: ``check`` whether it works, switch it ``off`` and ``on``, ``collect`` its counts and
``clean`` what nothing needs."""

import argparse
import getpass
import socket
import sys
from collections.abc import Sequence
from typing import Any

import redis
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError

from ratewindow import checks, conf, rooms
from ratewindow.counting.collecting import collect_stats
from ratewindow.health import emergency, overview, processes
from ratewindow.management.subcommand import REASON, Subcommand, table
from ratewindow.management.subcommands import rules
from ratewindow.operations import cleaning, switch_off
from ratewindow.request import without_redis
from ratewindow.rulebook import kill_switch, reading
from ratewindow.rules import code_rates
from ratewindow.store import process_clients, server_info, stores

ACTS_S = 5  # at most


def who() -> str:
    """The user of the terminal and the host."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return socket.gethostname()


def _off(options: dict[str, Any], stdout: Any) -> None:
    for_s = None if options["duration"] is None else switch_off.seconds_of(options["duration"])
    _say(switch_off.turn_off(for_s, options["reason"], who()), stdout)


def _say(unreached: Sequence[str], stdout: Any) -> None:
    others = unreached or [f"Every process follows within {ACTS_S} s."]
    stdout.write(" ".join([f"Limits are {kill_switch.turned.words()}.", *others]))
    if not conf.current().enabled:
        stdout.write("RATEWINDOW['ENABLED'] is False in the settings, which overrides this: no limit holds.")


def _rate(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate: write a whole number of keys a second, such as 5000")
    return int(text)


def _clean(options: dict[str, Any], stdout: Any) -> None:
    how = options["dry_run"], options["rate"]
    if options["everything"] and not options["dry_run"] and not process_clients.in_memory():
        _make_sure(options["asks"], stdout)
    for line in [cleaning.clean_everything(*how)] if options["everything"] else cleaning.clean(*how):
        stdout.write(line)


def _make_sure(asks: bool, stdout: Any) -> None:
    """CommandError unless somebody says that all may go, or said so before."""
    running = processes.everywhere(process_clients.patient_client())
    stdout.write(f"Processes that run now: {len(running)}. Those with the middleware, a decorator or a throttle write again.")
    if asks and not sys.stdin.isatty():
        raise CommandError("Nobody can be asked here whether all counts and penalties may go: add --no-input if they may.")
    if asks and input(f"Delete all that ratewindow has in {process_clients.shown()}, penalties included? Type yes: ") != "yes":
        raise CommandError("Nothing was deleted.")


OFF = Subcommand(
    "off",
    "Switch all limits off in every process: nothing is refused or counted.",
    _off,
    [REASON, ("--for", {"dest": "duration", "metavar": "DURATION", "help": "such as 30m; default until switched on"})],
)
ON = Subcommand(
    "on",
    "Switch the limits on again after off, in every process.",
    lambda options, stdout: _say(switch_off.turn_on(options["reason"], who()), stdout),
    [REASON],
)
COLLECT = Subcommand(
    "collect",
    "Write the counts of past minutes from Redis to the report's tables. Running it twice does no harm.",
    lambda options, stdout: stdout.write(collect_stats()),
)
CLEAN = Subcommand(
    "clean",
    "Delete from Redis the state of rules that have been deleted or changed, and no other key. Delete from the database blocks "
    "and exemptions that ended more than a month ago, and edits of them that are older than the statistics. With --everything, "
    "delete from Redis all that ratewindow has written, and nothing from the database: for a site that leaves.",
    _clean,
    [
        ("--dry-run", {"action": "store_true", "help": "only report what would be deleted"}),
        ("--everything", {"action": "store_true", "help": "all that ratewindow has in Redis, for a site that leaves"}),
        ("--no-input", {"action": "store_false", "dest": "asks", "help": "do not ask before --everything"}),
        (
            "--rate",
            {
                "type": _rate,
                "default": cleaning.KEYS_PER_SECOND,
                "metavar": "N",
                "help": f"how many keys of Redis to look at in a second; {cleaning.KEYS_PER_SECOND} without it",
            },
        ),
    ],
)


def _check(options: dict[str, Any], stdout: Any) -> None:
    reading.reload()
    problems = [*filter(None, (_settings(stdout), _server(stdout), _rules(stdout)))]
    state = _health(stdout)
    rows = [("yes" if is_one else "no", room.name, room.gives, room.stores) for room, is_one in rooms.known()]
    stdout.write("Rooms, each by one line in INSTALLED_APPS:")
    stdout.write(table(("HERE", "APP", "GIVES", "STORES"), rows))
    if problems or state:
        raise CommandError(" ".join(problems) or state)


def _settings(stdout: Any) -> str:
    code_rates.load_names()  # imports the views, so that the checks see the names in code
    messages = [*run_checks(tags=[checks.TAG], include_deployment_checks=True), *checks.check_rows(databases=["default"])]
    for message in messages:
        stdout.write(str(message))
    serious = sum(message.is_serious() and not message.is_silenced() for message in messages)
    stdout.write(f"Settings: {serious} to correct, see above." if serious else "Settings: no problems.")
    return "The settings need correcting." if serious else ""


def _health(stdout: Any) -> str:
    """What the other processes of the site report about themselves."""
    switch_off.current()
    status = overview.status()
    emergencies = [each.sentence for each in emergency.now(status["processes"])]
    for sentence in [status["summary"], *status["warnings"], *emergencies]:
        stdout.write(f"State: {sentence}")
    if status.get("switch", {}).get("off"):
        stdout.write(f"Limits are {kill_switch.turned.words() if status['switch']['setting'] else 'off by the settings'}.")
    complaints = {
        "A rule refuses nearly everybody.": emergencies,
        "A proxy is not trusted.": overview.proxies(status["processes"]),
        "Nobody collects.": overview.uncollected(status["store"]),
        "Limiting is degraded.": not status["ok"],
    }
    return " ".join(complaint for complaint, holds in complaints.items() if holds)


def _server(stdout: Any) -> str:
    try:
        process_clients.address()
    except ImproperlyConfigured as error:
        stdout.write(f"Redis: {error}")
        return "No Redis is configured."
    if process_clients.in_memory():
        stdout.write("Redis: not used, each process counts for itself in memory.")
        return ""
    try:
        client = process_clients.patient_client()
        facts = server_info.ask(client)
        lacking = dict.fromkeys(right for master in process_clients.masters(client) for right in server_info.lacking(master))
    except (redis.RedisError, OSError, ValueError) as error:
        stdout.write(f"Redis: {process_clients.shown()} does not answer: {error}")
        return f"Redis does not answer: {without_redis.in_words()} until it does."
    several = f"a cluster of {facts['masters']} masters, " if "masters" in facts else ""
    version = f"{facts['server']} {facts['version']}" if facts["version"] else "and hides its version"
    stdout.write(f"Redis: {process_clients.shown()} answers, {several}{version}.")
    if lacking:
        stdout.write(f"Permissions: our Redis user needs more. Run: ACL SETUSER <user> {' '.join(lacking)}")
        return "Our Redis user needs more permissions."
    try:
        stores.probe_all()  # a server may answer PING and INFO and still fail at a decision
    except Exception as error:
        stdout.write(f"Decisions: they fail: {type(error).__name__}: {error}")
        return f"Decisions by Redis fail: {without_redis.in_words()} until it does."
    return ""


def _rules(stdout: Any) -> str:
    try:
        stdout.write(rules.listing())
    except (DatabaseError, ImproperlyConfigured) as error:
        stdout.write(f"Rules: the table cannot be read: {error}")
        return "The rules cannot be read: run manage.py migrate."
    return ""


CHECK = Subcommand(
    "check",
    "Report whether limiting works: settings, Redis, rules and every process. The exit status is 1 if it does not.",
    _check,
)
