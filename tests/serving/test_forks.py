"""Processes that fork amid traffic: the child opens its own, waits for nobody's lock, and counts for itself."""

import subprocess
import sys
import textwrap

import pytest

from tests.serving.servers import CHECKOUT

pytestmark = pytest.mark.slow

TIMEOUT_S = 120

BEGIN = """
import asyncio, os, signal, sys, threading, time
from django.conf import settings
settings.RATEWINDOW["TIMEOUT"] = "5s"
import django
django.setup()
import ratewindow
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.counting.counters import counters
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
code_rates.register(CodeRate("forked", "1000000/h", "ip", frozenset(), "this test"))

def sure(decision, left):
    "This client's own answer, decided by Redis: an answer of somebody else would have another number."
    assert decision.reason != "store", decision
    assert decision.remaining == left, (decision.remaining, left)

def ask(who, times, first=0):
    for number in range(first, first + times):
        sure(ratewindow.hit("forked", who), 999_999 - number)

async def aask(who, times, first=0):
    for number in range(first, first + times):
        sure(await ratewindow.ahit("forked", who), 999_999 - number)

def wait_for(pid):
    "The child's exit status; one that hangs is ended, and shown."
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGABRT)
    os.waitpid(pid, 0)
    return "hangs"

def child(work):
    pid = os.fork()
    if pid:
        return wait_for(pid)
    import faulthandler
    faulthandler.enable(all_threads=True)
    try:
        work()
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
"""


def run(environment: dict[str, str], program: str) -> str:
    code = BEGIN + textwrap.dedent(program)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]  # newer Pythons warn of what is tried here
    told = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert told.returncode == 0, told.stdout + told.stderr
    print(told.stderr)  # where a child stood that hung
    return told.stdout.strip()


@pytest.fixture
def environment(program_environment: dict[str, str], site_database: object) -> dict[str, str]:
    return {**program_environment, "TESTPROJECT_DATABASE": str(site_database)}


def test_a_fork_amid_the_traffic_of_threads_leaves_parent_and_child_well(environment: dict[str, str]) -> None:
    program = """
        going, failures, begun = True, [], threading.Barrier(7)

        def traffic(number):
            asked = 1
            try:
                ask(f"ip:198.51.100.{number}", 1)
                begun.wait(30)
                while going:
                    ask(f"ip:198.51.100.{number}", 1, asked)
                    counters.record([RuleDecision(rule="forked")])
                    asked += 1
            except BaseException as error:
                failures.append(repr(error))

        threads = [threading.Thread(target=traffic, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        begun.wait(30)

        def work(number):
            def mine():
                others = [threading.Thread(target=ask, args=(f"ip:203.0.113.{number}", 20))]
                others += [threading.Thread(target=lambda: asyncio.run(aask(f"ip:192.0.2.{number}", 20)))]
                for each in others:
                    each.start()
                for each in others:
                    each.join()
                ask(f"ip:203.0.113.{number}", 5, 20)  # fails, if a thread did
                ask(f"ip:192.0.2.{number}", 5, 20)
                counters.flush()
                names = {thread.name for thread in threading.enumerate()}
                assert "ratewindow-housekeeping" in names, names
            return mine

        statuses = [child(work(number)) for number in range(25)]
        going = False
        for thread in threads:
            thread.join()
        print(statuses.count(0), failures)
    """
    assert run(environment, program) == "25 []"


def test_a_fork_amid_the_traffic_of_an_event_loop_leaves_parent_and_child_well(environment: dict[str, str]) -> None:
    program = """
        going, failures = True, []

        async def traffic():
            async def one(number):
                asked = 0
                while going:
                    await aask(f"ip:198.51.100.{number}", 1, asked)
                    asked += 1
            await asyncio.gather(*(one(number) for number in range(20)))

        def loop():
            try:
                asyncio.run(traffic())
            except BaseException as error:
                failures.append(repr(error))

        thread = threading.Thread(target=loop)
        thread.start()
        ask("ip:198.51.100.100", 10)

        def work(number):
            def mine():
                asyncio.run(aask(f"ip:203.0.113.{number}", 20))
                ask(f"ip:203.0.113.{number}", 5, 20)
            return mine

        statuses = [child(work(number)) for number in range(15)]
        going = False
        thread.join()
        print(statuses.count(0), failures)
    """
    assert run(environment, program) == "15 []"


def test_no_lock_that_a_thread_of_the_parent_holds_is_held_in_the_child(environment: dict[str, str]) -> None:
    program = """
        from ratewindow import background
        from ratewindow.conf import site_functions
        from ratewindow.request import decide
        from ratewindow.store import stores

        def locks():
            "Every lock that a module of ours keeps, or that an object keeps which a module of ours keeps."
            found = {}
            def look(name, value):
                if isinstance(value, threading.Event):
                    value = value._cond._lock
                if isinstance(value, type(threading.Lock())):
                    if all(value is not each for each in found.values()):  # an object may be imported by several modules
                        found[name] = value
                    return False
                return type(value).__module__.startswith("ratewindow") and hasattr(value, "__dict__")
            for name, module in list(sys.modules.items()):
                if name.partition(".")[0] == "ratewindow":
                    for key, value in list(vars(module).items()):
                        if look(f"{name}.{key}", value):
                            for inner, part in list(vars(value).items()):
                                look(f"{name}.{key}.{inner}", part)
            return found

        # A thread that holds one lock and waits for the next one, which we hold, would never give the first one back.
        start, background._start = background._start, lambda *_: True
        ask("ip:203.0.113.1", 1)
        held = locks()
        for name, lock in held.items():
            if not lock.acquire(timeout=10):
                raise SystemExit(f"{name} is held for long")
        def work():
            background._start = start
            still = [name for name, lock in locks().items() if lock.locked()]
            assert not still, still
            ask("ip:203.0.113.2", 3)
        status = child(work)
        for lock in held.values():
            lock.release()
        print(len(held) >= 8 or held, status)
    """
    assert run(environment, program) == "True 0"


def test_a_child_counts_for_itself_and_not_for_its_parent(environment: dict[str, str]) -> None:
    program = """
        from ratewindow.counting import minutes
        counters.record([RuleDecision(rule="forked")] * 3)
        def work():
            counters.record([RuleDecision(rule="forked")] * 4)
            counters.flush()
        assert child(work) == 0
        counters.flush()
        print(sum(rules["forked"].passed for rules in minutes.read(minutes.waiting(time.time())).values()))
    """
    assert run(environment, program) == "7"


def test_the_rules_that_a_parent_holds_hold_in_its_child_at_once(environment: dict[str, str]) -> None:
    """As when a site asks a limiter while it is imported, under --preload."""
    program = """
        names = set(current.rulebook().by_name)
        assert "by.path" in names
        def work():
            assert set(current.rulebook().by_name) == names
        print(child(work))
    """
    assert run(environment, program) == "0"


def test_a_child_that_no_hook_of_python_has_told_of_its_fork_counts_for_itself(environment: dict[str, str]) -> None:
    """As uWSGI forks its workers, from a parent that has counted, too, but runs no thread: one that holds a lock of Python's
    at that moment would leave the child waiting for it."""
    program = """
        import ctypes
        from ratewindow import background
        from ratewindow.health import processes
        from ratewindow.counting import minutes

        def counts(times):
            current.rulebook()
            counters.record([RuleDecision(rule="raw")] * times)
            counters.flush_last()

        start, background._start = background._start, lambda *_: True
        counts(3)
        ask("ip:203.0.113.1", 1)
        def work():
            background._start = start
            counts(4)
            ask(f"user:{os.getpid()}", 2)
            running = [thread for thread in threading.enumerate() if os.path.exists(f"/proc/self/task/{thread.native_id}")]
            print(processes._self.token, *sorted(thread.name for thread in running))
            sys.stdout.flush()
        before = processes._self.token
        pids = []
        for _ in range(2):
            pid = ctypes.PyDLL(None).fork()
            if not pid:
                try:
                    work()
                    os._exit(0)
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    os._exit(1)
            pids.append(pid)
        assert [wait_for(pid) for pid in pids] == [0, 0]
        counts(5)
        print(before)
        print(sum(rules["raw"].passed for rules in minutes.read(minutes.waiting(time.time())).values()))
    """
    *children, before, total = run(environment, program).splitlines()
    tokens = {child.split()[0] for child in children}
    assert len(children) == len(tokens) == 2 and before not in tokens
    assert total == str(3 + 2 * 4 + 5)
    assert all("ratewindow-housekeeping" in child.split() for child in children), children


@pytest.mark.parametrize("server", ["wsgi", "asgi"])
def test_importing_a_site_opens_nothing(environment: dict[str, str], server: str) -> None:
    program = f"""
        from django.urls import get_resolver
        from testproject.{server} import application
        get_resolver().url_patterns
        names = [f"/proc/self/fd/{{each}}" for each in os.listdir("/proc/self/fd")]
        links = [os.readlink(name) for name in names if os.path.lexists(name)]
        print([link for link in links if link.startswith("socket:")], threading.active_count())
    """
    assert run(environment, program) == "[] 1"
