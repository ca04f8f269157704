"""Print the statements of the package: of the core, of each room and of the demo, without docstrings and migrations.

Statements cannot be saved by longer lines, so the medians of these and of the functions stand beside them.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

PACKAGE = Path(__file__).resolve().parents[1] / "ratewindow"
MOST_WHOLE, MOST_CORE = 18_480, 13_610
MOST_LINES, MOST_SHORT, SHORT = 400, 60, 40


def main() -> None:
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py")) if "migrations" not in path.parts}
    trees = {path: ast.parse(source) for path, source in sources.items()}
    by_part: Counter[str] = Counter()
    for path, tree in trees.items():
        by_part[part_of(path)] += sum(1 for _ in statements(tree))
    beside = sum(number for part, number in by_part.items() if part == "demo" or part.startswith("contrib/"))
    for part, number in sorted(by_part.items()):
        print(f"{number:7,} {part}")
    core = by_part.total() - beside
    print(f"{core:7,} core (at most {MOST_CORE:,})\n{by_part.total():7,} whole (at most {MOST_WHOLE:,})")
    functions = [node.end_lineno - node.lineno + 1 for tree in trees.values() for node in ast.walk(tree) if is_function(node)]
    lines = [len(line) for source in sources.values() for line in source.splitlines() if line.strip()]
    print(f"Median: {median(functions):g} lines of a function, {median(lines):g} characters of a line")
    lengths = {path: source.count("\n") for path, source in sources.items() if path.name not in ("__init__.py", "apps.py")}
    long = [str(path.relative_to(PACKAGE)) for path, length in lengths.items() if length > MOST_LINES]
    short = sum(length < SHORT for length in lengths.values())
    print(f"Files above {MOST_LINES} lines: {', '.join(long) or 'none'}. Below {SHORT} lines: {short} (at most {MOST_SHORT}).")


def part_of(path: Path) -> str:
    """``request``, ``contrib/history``; a module beside these belongs to no part of its own."""
    folders = path.relative_to(PACKAGE).parts[:-1]
    return "/".join(folders[: 2 if folders[0] == "contrib" else 1]) if folders else "modules"


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All but docstrings."""
    for node in ast.walk(tree):
        body = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        yield from (child for child in body if not is_docstring(node, child))


def is_docstring(node: ast.AST, child: ast.stmt) -> bool:
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return documented and child is node.body[0] and ast.get_docstring(node, clean=False) is not None


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


if __name__ == "__main__":
    main()
