"""Compile every Lua file, alone and as the script that Redis gets; part of ``make lint``."""

import sys
from pathlib import Path

from lupa import LuaSyntaxError, lua51

LUA = Path(__file__).resolve().parent.parent / "lua"


def problem(source: str, name: str) -> str | None:
    """What Lua 5.1, the Lua of Redis, has against a chunk; None when it compiles."""
    compiled = lua51.LuaRuntime(encoding="utf-8").eval("function(source, name) return select(2, loadstring(source, name)) end")
    try:
        return compiled(source, f"={name}")
    except LuaSyntaxError as error:
        return f"{name}: {error}"


def main() -> int:
    files = sorted(LUA.rglob("*.lua"))
    problems = [found for path in files if (found := problem(path.read_text(), str(path.relative_to(LUA.parent))))]
    print(f"{len(files)} Lua files: " + ("\n".join(problems) if problems else "no syntax error"))
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
