"""A server with a great many keys of ours and of others, and what the cleaner does to it meanwhile."""

import subprocess
import sys
from typing import NamedTuple

import redis

from ratewindow.limiter.types import Window
from ratewindow.store import state_keys
from tests.serving.servers import CHECKOUT, Place

WATCHED_US = 100  # commands that take longer are noted by the server

# As the limiter names them, a hundredth of a second's work at a time: ARGV is the first number, the last, and how a name begins.
SEED = "for number = ARGV[1], ARGV[2] do redis.call('SET', ARGV[3] .. number .. '}', '1', 'EX', 3600) end"


class Cleaned(NamedTuple):
    told: str
    longest_us: int  # of all commands meanwhile: for so long nobody else was served
    left: int  # keys of the living rule, and of others
    commands: frozenset[str]


def seed(place: Place, living: int, orphans: int, foreign: int) -> None:
    """Keys of a rule that is there, of one that is not, and of somebody else."""
    window = Window(100_000, 3_600_000)
    begins = [_begins("many", window), _begins("gone", window), "session:{"]
    for begin, count in zip(begins, (living, orphans, foreign), strict=True):
        for first in range(0, count, 5_000):
            place.redis.eval(SEED, 0, first, min(first + 5_000, count) - 1, begin)


def _begins(rule: str, window: Window) -> str:
    return state_keys.state_prefix() + state_keys.state_name(rule, window, False).removeprefix(":s:") + "{"


def clean(place: Place) -> Cleaned:
    """Run the command as cron does, and ask the server what it was busy with."""
    place.redis.config_set("slowlog-log-slower-than", WATCHED_US)
    place.redis.config_set("slowlog-max-len", 10_000)
    place.redis.slowlog_reset()
    place.redis.config_resetstat()
    command = [sys.executable, "manage.py", "ratewindow", "clean"]
    told = subprocess.run(command, cwd=CHECKOUT, env=place.environment(), capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    commands = frozenset(name.removeprefix("cmdstat_") for name in place.redis.info("commandstats"))
    slow = [int(each["duration"]) for each in place.redis.slowlog_get(10_000)]
    return Cleaned(told.stdout.splitlines()[-1], max(slow, default=WATCHED_US), _counted(place.redis), commands)


def _counted(client: redis.Redis) -> int:
    """Keys of states, and those that are not ours; without what housekeeping keeps."""
    return sum(str(key).endswith("}") for key in client.scan_iter(count=1_000))
