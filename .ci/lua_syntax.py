"""Compile every Lua file, alone and as the script that Redis gets; part of ``make lint``."""

import sys
from pathlib import Path

from lupa import LuaSyntaxError, lua51

from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.redis.commands import script_for
from ratewindow.limiter.types import Check, Window

LUA = Path(__file__).resolve().parent.parent / "lua"


def problem(source: str, name: str) -> str | None:
    """What Lua 5.1, the Lua of Redis, has against a chunk; None when it compiles."""
    compiled = lua51.LuaRuntime(encoding="utf-8").eval("function(source, name) return select(2, loadstring(source, name)) end")
    try:
        return compiled(source, f"={name}")
    except LuaSyntaxError as error:
        return f"{name}: {error}"


def joined(name: str) -> str:
    """``decide`` or ``refund`` with every algorithm and its rare functions in it."""
    windows = tuple(Window(1, period_ms=1000, algorithm=name) for name, _ in algorithm_choices())
    return script_for(name, [Check("all", windows, tuple(map(str, range(len(windows)))), counts_refused=True)]).source


def main() -> int:
    files = sorted(LUA.rglob("*.lua"))
    chunks = {str(path.relative_to(LUA.parent)): path.read_text() for path in files}
    chunks |= {f"{name}, all joined": joined(name) for name in ("decide", "refund")}
    problems = [found for name, source in chunks.items() if (found := problem(source, name))]
    print(f"{len(files)} Lua files: " + ("\n".join(problems) if problems else "no syntax error"))
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
