"""Deletes what nobody needs: blocks that ended long ago, and in Redis the state of no rule, and what would never expire; for a
site that leaves, all that is in Redis.

All state expires by itself. What a run leaves, since it was killed or a server did not answer, goes a little later.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import redis

from ratewindow import conf, rooms
from ratewindow.conf import time_zone
from ratewindow.models import Override, RateRule, origin
from ratewindow.models.overrides import KEPT
from ratewindow.overrides.lookup import RATE
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS
from ratewindow.store import process_clients, shared_prefix, state_keys

KEYS_PER_SECOND = 20_000  # of a server, others' keys included
AT_ONCE = 200  # keys of the server in one call: a fraction of a millisecond
BATCH = 1_000  # keys for one reading of the rules
RULE_TAG = 8  # characters

# Unless the limiter has written it since it was looked at.
_UNLINK_ENDLESS = "return redis.call('PTTL', KEYS[1]) == -1 and redis.call('UNLINK', KEYS[1]) or 0"
# The key's slot moves to another server, where the next run finds it.
_ELSEWHERE = (redis.exceptions.MovedError, redis.exceptions.AskError, redis.exceptions.TryAgainError)


def clean(dry_run: bool = False, keys_per_second: int = KEYS_PER_SECOND) -> Iterator[str]:
    """All that is cleaned regularly; what each part has done, in a sentence."""
    yield clean_ended(dry_run)
    for room in rooms.installed():
        yield from room.clean(dry_run)
    yield clean_orphans(dry_run, keys_per_second)


def clean_ended(dry_run: bool = False) -> str:
    """Delete overrides that ended long ago. They apply to nobody, so processes need not be notified."""
    ended = Override.objects.filter(expires_at__lte=time_zone.now() - KEPT)
    with origin.edits("cleaning", recorded=False):
        count = ended.count()
        while not dry_run and (pks := ended.values_list("pk", flat=True)[:BATCH]):
            Override.objects.filter(pk__in=[*pks]).delete()
    rows = "block or exemption" if count == 1 else "blocks and exemptions"
    return f"{count} {rows} that ended {KEPT.days} days ago {_deleted(dry_run)}"


def clean_orphans(dry_run: bool = False, keys_per_second: int = KEYS_PER_SECOND) -> str:
    """Delete state of no rule. Raise SharedPrefix, and delete nothing, if it may belong to another site."""
    seen, orphaned, endless = 0, 0, 0
    if not process_clients.in_memory():
        shared_prefix.refuse_when_shared()
        for master in process_clients.masters():
            for keys in _scan(master, keys_per_second):
                is_owned = read_owned()  # after the keys were seen: a rule made in between would lose its first counts
                kept = [key for key, tags in keys.items() if is_owned(tags)]
                orphans = [("UNLINK", key) for key in keys.keys() - kept]
                seen += len(keys)
                orphaned += len(orphans) if dry_run else sum(_ask(master, orphans))
                endless += _clean_endless(master, kept, dry_run)
    return f"{seen} keys seen, {orphaned} of no rule and {endless} without an expiry {_deleted(dry_run)}"


def _clean_endless(master: redis.Redis, keys: Sequence[bytes], dry_run: bool) -> int:
    """Delete those that would never expire, as another program may have left them; returns how many."""
    left_ms = _ask(master, [("PTTL", key) for key in keys])
    endless = [("EVAL", _UNLINK_ENDLESS, 1, key) for key, each_ms in zip(keys, left_ms, strict=True) if each_ms == -1]
    return len(endless) if dry_run else sum(_ask(master, endless))


def clean_everything(dry_run: bool = False, keys_per_second: int = KEYS_PER_SECOND) -> str:
    """Delete whatever has a name of ours. Raise SharedPrefix, and delete nothing, if it may belong to another site."""
    if process_clients.in_memory():
        return "nothing to delete: with memory:// each process counts for itself, and its counts end with it"
    shared_prefix.refuse_when_shared()
    names = {name.encode() for part in (state_keys, *(room for room, _ in rooms.known())) for name in part.key_names}
    count = 0
    for master in process_clients.masters():
        for keys in _pages(master, f"{conf.current().key_prefix}:*", keys_per_second):
            ours = [("UNLINK", key) for key in keys if key.split(b":")[1] in names]
            count += len(ours) if dry_run else sum(_ask(master, ours))
    return f"{count} keys of ratewindow under the prefix {conf.current().key_prefix!r} {_deleted(dry_run)}"


def read_owned() -> Callable[[str], bool]:
    """Whether a state belongs to a rule as they are now, by its 16 characters: those of the windows and locks of rules in the
    database, and any of rules that only code knows, that cannot be read, since they may be corrected, or that have other limits
    for some clients."""
    rules = reading.read_rules()
    names = [(rule.name, window.tag) for rule in rules for window in rule.windows]
    names += [(rule.name, state_keys.LOCK_TAG) for rule in rules if rule.penalty_ms]
    # In shadow a rule counts apart from what is enforced under its name.
    states = {state_keys.rule_tag(name, is_beside) + tag for name, tag in names for is_beside in (False, True)}
    unread = set(RateRule.objects.values_list("name", flat=True)) - {rule.name for rule in rules}
    # Rules whose windows are others for some clients.
    of_clients = set(Override.objects.not_ended().filter(action=RATE).values_list("rule", flat=True))
    if "" in of_clients:
        of_clients = {rule.name for rule in rules}
    of_clients |= {rule.name for rule in rules if rule.limits_from}
    whole = set(map(state_keys.rule_tag, code_rates.load_names() | unread | of_clients | {BLOCKS}))
    return lambda tags: tags in states or tags[:RULE_TAG] in whole


def _scan(master: redis.Redis, keys_per_second: int) -> Iterator[dict[bytes, str]]:
    """The keys named like states, a batch at a time, each with the tags of its rule and window."""
    prefix = state_keys.state_prefix()
    named = re.compile(re.escape(prefix).encode() + rb"([A-Za-z0-9_-]{16}):\{[^{}]*\}")
    batch: dict[bytes, str] = {}
    for keys in _pages(master, f"{prefix}*", keys_per_second):
        batch.update((key, match[1].decode()) for key in keys if (match := named.fullmatch(key)))
        if len(batch) >= BATCH:
            yield batch
            batch = {}
    yield batch


def _pages(master: redis.Redis, pattern: str, keys_per_second: int) -> Iterator[list[bytes]]:
    """The keys that match, as one call after another returns them."""
    cursor = -1
    while cursor:
        cursor, keys = cast("tuple[int, list[bytes]]", master.scan(max(0, cursor), pattern, AT_ONCE))
        yield keys
        time.sleep(AT_ONCE / keys_per_second)  # others' keys, which do not match, take the server's time, too


def _ask(master: redis.Redis, commands: Sequence[tuple[Any, ...]]) -> list[int]:
    """The reply to each command, 0 about a key that has moved to another server: on a cluster they are in many slots."""
    with master.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        replies = pipe.execute(raise_on_error=False)
    for reply in replies:
        if isinstance(reply, redis.ResponseError) and not isinstance(reply, _ELSEWHERE):
            raise reply
    return [0 if isinstance(reply, redis.ResponseError) else reply for reply in replies]


def _deleted(dry_run: bool) -> str:
    return "would be deleted" if dry_run else "deleted"
