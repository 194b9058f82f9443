"""The house has floors: imports point down, and only the command line prints."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import bridge

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(bridge.__file__).parent
# From top to bottom, as ARCHITECTURE.md draws it; neighbours on one floor may know each other.
FLOORS = (
    ("__main__",),
    ("cli",),
    ("demo",),
    ("verify", "setups", "adapters", "drift"),
    ("rehearsal",),
    ("loop",),
    ("driver", "agent", "script", "stream", "session_id"),
    ("contract", "shell"),
    ("git",),
    ("process",),
    ("files", "resources"),
    ("errors", "_version"),
)
FLOOR_OF = {room: -number for number, rooms in enumerate(FLOORS) for room in rooms}
PUBLIC_NAMES = "__init__"  # bridge/__init__.py hands out names of any floor below the command line
PROGRAMS = {"bridge.demo.standin", "bridge.stream.jq_command"}  # processes of their own: they print
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


class Import(NamedTuple):
    """One import of one of our own modules."""

    target: str
    line: int
    lazy: bool


def room_of(module: str) -> str:
    """``bridge.shell.values`` to ``shell``; the package itself to its public names."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else PUBLIC_NAMES


def module_of(path: Path) -> str:
    parts = ["bridge", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    path = PACKAGE.parent / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or path.is_dir()


def imports(path: Path) -> Iterator[Import]:
    """Every import of ours in a file, those within functions and under TYPE_CHECKING included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    outside = {id(node) for node in tree.body}
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = list(targets(node, package))
        elif isinstance(node, ast.Call) and (name := dynamic(node)):
            names = [name]
        else:
            continue
        for name in names:
            if name == "bridge" or name.startswith("bridge."):
                yield Import(name, node.lineno, id(node) not in outside)


def targets(node: ast.ImportFrom, package: str) -> Iterator[str]:
    base = package.split(".")
    base = base[: len(base) - node.level + 1] if node.level else []
    origin = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        # `from bridge import resources` is an import of the module, not of a public name.
        yield inner if is_module(inner := f"{origin}.{alias.name}") else origin


def dynamic(node: ast.Call) -> str | None:
    """The module of ``import_module("...")``, as far as a constant says it."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else None
    if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
        return str(first.value)
    return None


def test_the_parser_sees_imports_of_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "bridge"
    (package / "stream").mkdir(parents=True)
    (package / "driver.py").touch()
    path = package / "stream" / "jq.py"
    path.write_text(
        "import bridge.cli.app as app, os\nfrom bridge import driver\nfrom bridge import Driver\n"
        "from . import text\nfrom .events import base\nfrom ..driver import Driver\nfrom .. import driver\n"
        "def f():\n    from bridge.errors import BridgeError\n    import importlib\n"
        "    importlib.import_module('bridge.loop')\n"
    )
    monkeypatch.setattr("tests.test_layering.PACKAGE", package)
    assert [(found.target, found.lazy) for found in sorted(imports(path), key=lambda each: each.line)] == [
        ("bridge.cli.app", False),
        ("bridge.driver", False),
        ("bridge", False),
        ("bridge.stream", False),
        ("bridge.stream.events", False),
        ("bridge.driver", False),
        ("bridge.driver", False),
        ("bridge.errors", True),
        ("bridge.loop", True),
    ]


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_every_module_has_a_floor(path: Path) -> None:
    assert room_of(module_of(path)) in {*FLOOR_OF, PUBLIC_NAMES}, "give it a place in FLOORS and ARCHITECTURE.md"


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_imports_point_down(path: Path) -> None:
    own = room_of(module_of(path))
    floor = FLOOR_OF["cli"] - 1 if own == PUBLIC_NAMES else FLOOR_OF.get(own, 0)
    upwards = [
        f"line {found.line}: {found.target}"
        for found in imports(path)
        if FLOOR_OF.get(room_of(found.target), 1) > floor and room_of(found.target) != own
    ]
    assert upwards == []


def test_rooms_on_one_floor_do_not_need_each_other_in_circles() -> None:
    needs: dict[str, set[str]] = {}
    for path in MODULES:
        own = room_of(module_of(path))
        if own != PUBLIC_NAMES:
            others = {room_of(found.target) for found in imports(path)} - {own, PUBLIC_NAMES}
            needs.setdefault(own, set()).update(others)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"these need each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if room_of(module_of(path)) != "cli" and module_of(path) not in PROGRAMS],
    ids=module_of,
)
def test_only_the_command_line_prints(path: Path) -> None:
    told = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
            told.append(f"line {node.lineno}: {node.func.id}()")
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr", "sys.stdin"):
            told.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            told += [f"line {node.lineno}: click" for name in names if name.split(".")[0] in ("click", "rich")]
    assert told == []
