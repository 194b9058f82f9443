"""The house has floors: imports point down, and only the command line prints."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

import bridge

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(bridge.__file__).parent
ROOT = PACKAGE.parent
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
QUICK = ROOT / "tests" / "quick.txt"
BEGIN, END = "<!-- the plan of the house, written by `make plan` -->", "<!-- end of the plan -->"
ROOMS: dict[str, str] = {
    "base": "what knows nothing of loops: files, text, times, amounts, records, options, CLIs, processes, git",
    "shell": "the living bash",
    "scripts": "what a script must offer and what CLIs print: contracts, `Driver`, `Agent`, `Provider`, output",
    "loop": "one turn, its box, the engine and its stages, the kinds of setup, tasks, swarm, report",
    "verify": "whether a script holds: facts, probe, checks, mends, reports, features, drift",
    "adapters": "interactive programs on a terminal, described by YAML",
    "cli": "click commands: the only place that prints",
}
"""The rooms, from the ground floor up; one imports only what stands above it here."""
# fmt: off
FLOORS = (
    "_version",
    "errors",
    "base.records", "base.patterns", "base.log", "base.roots", "base.files", "base.amounts", "base.timestamps",
    "base.yaml_bounds", "base.wording", "base.encodings", "base.json_files", "base.resources", "base.packages",
    "base.options", "base.json_ready", "base.clis", "base.process", "base.git",
    "shell",
    "scripts.help_text", "scripts.contract", "scripts.stream", "scripts.session_id", "scripts.script",
    "scripts.driver", "scripts.agent", "scripts.provider", "scripts.lookup",
    "loop.sandbox", "loop.turn", "loop.engine", "loop.telemetry", "loop.setups", "loop.loops", "loop.tasks",
    "loop.report", "loop.swarm", "loop.demo",
    "verify.rehearsal", "verify", "verify.scaffold", "verify.drift", "verify.doctor",
    "adapters",
    "cli",
    "__main__",
)
# fmt: on
"""The floors of the rooms, likewise: one imports only what stands above it."""
FLOOR_OF = {floor: number for number, floor in enumerate(FLOORS)}
APART = {"loop.telemetry": ("loop.swarm",), "loop.swarm": (), "verify": (), "adapters": ()}
"""What the loop does without: nothing but the command line, and the floors named here, imports any of it."""
REGISTERED = {
    "bridge.loop.engine.observers": "bridge.loop.telemetry",
    "bridge.loop.setups.diagnosis.checks": "bridge.verify.doctor",
    "bridge.loop.setups.ralph_loop.kind": "bridge.cli.ralph_loop",  # its own command line
}
"""The lines by which what is apart is reached: a module, and what it names."""
PUBLIC_NAMES = "__init__"  # bridge/__init__.py hands out names of any floor below the command line
PROGRAMS = {
    "bridge.loop.demo.standin",
    "bridge.scripts.stream.jq_command",
    "bridge.loop.swarm.worker",
}  # processes of their own: they print
STREAMS = {("sys", name) for name in ("stdout", "stderr", "stdin")}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)


class Import(NamedTuple):
    """One import of one of our own modules."""

    target: str
    line: int
    lazy: bool


def _public() -> dict[str, str]:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {each.name: str(node.module) for node in found for each in node.names}


PUBLIC = _public()
"""The module that each public name comes from."""


def floor_of(module: str) -> str:
    """``bridge.base.git.repository`` to ``base.git``; the package itself to its public names."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOORS), parts[0] if parts else PUBLIC_NAMES)


def room_of(module: str) -> str:
    """``bridge.base.git.repository`` to ``base``."""
    return floor_of(module).partition(".")[0]


def module_of(path: Path) -> str:
    parts = ["bridge", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    path = PACKAGE.parent / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or path.is_dir()


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """They are 150 MB, which each later look for garbage would go through."""
    yield
    for cached in (tree_of, nodes_of, imports):
        cached.cache_clear()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """The nodes of a module that the rules look at."""
    looked_at = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute)
    return tuple(node for node in ast.walk(tree_of(path)) if isinstance(node, looked_at))


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every import of ours in a file, those within functions and under TYPE_CHECKING included."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    outside = {id(node) for node in tree_of(path).body}
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in nodes_of(path):
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
        # `from bridge import errors` is an import of the module; that of a public name is one of its module.
        public = PUBLIC.get(alias.name, origin) if origin == "bridge" else origin
        yield inner if is_module(inner := f"{origin}.{alias.name}") else public


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
        "    importlib.import_module('bridge.loop.engine')\n"
    )
    monkeypatch.setattr("tests.test_layering.PACKAGE", package)
    assert [(found.target, found.lazy) for found in sorted(imports(path), key=lambda each: each.line)] == [
        ("bridge.cli.app", False),
        ("bridge.driver", False),
        ("bridge.scripts.driver", False),
        ("bridge.stream", False),
        ("bridge.stream.events", False),
        ("bridge.driver", False),
        ("bridge.driver", False),
        ("bridge.errors", True),
        ("bridge.loop.engine", True),
    ]


def needs() -> dict[str, set[str]]:
    """What each floor imports of the others."""
    found: dict[str, set[str]] = {floor: set() for floor in FLOORS}
    for path in MODULES:
        own = floor_of(module_of(path))
        if own in FLOORS:
            found[own] |= {floor_of(each.target) for each in imports(path)} - {own, PUBLIC_NAMES}
    return found


def plan_of_the_house() -> str:
    """The table of ARCHITECTURE.md; ``python -m tests.test_layering`` writes it there."""
    wanted: dict[str, set[str]] = {room: set() for room in ROOMS}
    for floor, others in needs().items():
        wanted.get(floor.partition(".")[0], set()).update(each.partition(".")[0] for each in others)
    rows = ["| room | what is in it | its floors, from the ground up | imports |", "|---|---|---|---|"]
    for room, words in ROOMS.items():
        floors = ", ".join(
            each.partition(".")[2] or "all else" for each in FLOORS if each.partition(".")[0] == room
        )
        listed = ", ".join(each for each in ROOMS if each in wanted[room] - {room})
        rows.append(
            f"| `bridge/{room}/` | {words} | {'' if floors == 'all else' else floors} | {listed or 'nothing'} |"
        )
    return "\n".join(rows) + "\n"


def with_plan(text: str) -> str:
    """ARCHITECTURE.md with that table in its place."""
    head, mark, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert mark, f"ARCHITECTURE.md lacks {BEGIN}"
    assert end, f"ARCHITECTURE.md lacks {END}"
    return f"{head}{mark}\n{plan_of_the_house()}{end}{tail}"


def test_the_plan_in_the_architecture_is_this_one() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert text == with_plan(text), "make plan writes it"


def test_there_are_seven_rooms_and_few_files_beside_them() -> None:
    assert {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()} == {*ROOMS}
    assert len([*PACKAGE.glob("*.py")]) <= 5


def test_each_room_says_what_it_is_for() -> None:
    for room in ROOMS:
        text = (PACKAGE / room / "README.md").read_text(encoding="utf-8")
        assert "its door" in text.lower(), room


def test_every_module_has_a_floor() -> None:
    found = {floor_of(module_of(path)) for path in MODULES}
    assert found <= {*FLOORS, *ROOMS, PUBLIC_NAMES}, "give it a place in FLOORS"


def test_imports_point_down() -> None:
    upwards = []
    for path in MODULES:
        own = floor_of(module_of(path))
        floor = FLOOR_OF["cli"] if own == PUBLIC_NAMES else FLOOR_OF.get(own, 0)
        upwards += [
            f"{path}:{found.line}: {found.target}"
            for found in imports(path)
            if floor_of(found.target) != own and FLOOR_OF.get(floor_of(found.target), 99) >= floor
        ]
    assert upwards == []


def test_the_loop_does_without_what_is_apart() -> None:
    for apart, users in APART.items():
        within = (apart, *users, "cli")
        for path in MODULES:
            own = floor_of(module_of(path))
            if own != PUBLIC_NAMES and not f"{own}.".startswith(tuple(f"{each}." for each in within)):
                found = [each for each in imports(path) if f"{floor_of(each.target)}.".startswith(f"{apart}.")]
                assert found == [], path


def test_what_is_apart_is_named_in_one_line_each() -> None:
    named = []
    for path in MODULES:
        own = module_of(path)
        for name in re.findall(r"""(?<=["'])bridge(?:\.\w+)+(?=["'])""", path.read_text(encoding="utf-8")):
            up = FLOOR_OF.get(floor_of(name), 0) > FLOOR_OF.get(floor_of(own), 99)
            if is_module(name) and up:
                named.append((own, name))
    assert sorted(named) == sorted(REGISTERED.items())


def test_no_module_is_imported_by_what_it_imports() -> None:
    """No circle, types included."""
    graph = {module_of(path): {each.target for each in imports(path)} for path in MODULES}
    left = {name: {each for each in found if each in graph and each != name} for name, found in graph.items()}
    left.pop("bridge", None)  # hands out names of any floor
    while free := {name for name, found in left.items() if not found & left.keys()}:
        for name in free:
            del left[name]
    assert left == {}


def test_only_the_command_line_prints() -> None:
    quiet = [path for path in MODULES if floor_of(module_of(path)) != "cli" and module_of(path) not in PROGRAMS]
    assert [found for path in quiet for found in printing(path)] == []


WAYS_OUT = ("_terminal", "stop_hook", "__init__")
"""Modules of the command line that write to a stream themselves: what isn't ours is made harmless in the first."""


def test_what_is_printed_goes_through_what_makes_it_harmless() -> None:
    around = []
    for path in (PACKAGE / "cli").glob("*.py"):
        for node in nodes_of(path) if path.stem not in WAYS_OUT else ():
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            owner, _, name = called.rpartition(".")
            if called in ("print", "click.echo", "click.secho", "os.write") or (
                name.startswith("write") and re.search(r"\bstd(out|err)|stream", owner)
            ):
                around.append(f"{path}:{node.lineno}: {called}()")
    assert around == []


def printing(path: Path) -> Iterator[str]:
    """What of a module writes to the terminal, or could."""
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
            yield f"{path}:{node.lineno}: {node.func.id}()"
        if isinstance(node, ast.Attribute) and (getattr(node.value, "id", ""), node.attr) in STREAMS:
            yield f"{path}:{node.lineno}: sys.{node.attr}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            for name in names:
                if name.split(".")[0] in ("click", "rich") and name != "rich.cells":  # that one measures text
                    yield f"{path}:{node.lineno}: {name}"


# -- one door to a project's files -----------------------------------------------------------------------

CONFINED = (
    *("base.json_files", "base.git", "loop.turn", "loop.engine", "loop.setups", "loop.loops", "loop.swarm"),
    "loop.report",
)
OPENS = {
    "": "open",
    "os": "open rename replace renames unlink remove mkdir makedirs rmdir removedirs truncate link symlink chmod"
    " utime mkfifo mknod",
    "shutil": "copy copy2 copyfile copymode copystat copytree move rmtree",
    "gzip": "open",
    "io": "open open_code FileIO",
}
PATH_METHODS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "rmdir", "rename", "touch"),
    *("symlink_to", "hardlink_to", "chmod"),
}
EXCEPT = {
    f"bridge.loop.setups.frankbria.adoption.{function}": "the user's own command and list of projects, at home"
    for function in ("_mark", "_unmark", "_forget_all", "_adopted", "_bring_back", "_give_back", "adopt")
} | {
    "bridge.loop.setups.wiggum.install._command_file": "part of the package",
    "bridge.loop.setups.wiggum.task.template": "part of the package",
    "bridge.loop.setups.script.server.__exit__": "a private folder of this run",
    "bridge.loop.setups.script.server.keep": "a private folder of this run",
    "bridge.loop.setups.script.server._make_stand_ins": "a private folder of this run",
    "bridge.loop.setups.wiggum.opening._check_program": "a folder of its own, outside of the project",
    "bridge.loop.swarm.executors._importing_nothing_here": "a private folder of this run",
    "bridge.loop.engine.notify._lines": "a file that the user names for addresses",
    "bridge.loop.engine.review._prompt": "our own template",
}
"""Functions that touch files otherwise than by `bridge.base.files`, with the reason."""


def doors(path: Path) -> Iterator[tuple[str, int]]:
    """What a module reads, writes or deletes otherwise than by `bridge.base.files`: the function, and the line."""
    ours = {
        alias.asname or alias.name
        for node in nodes_of(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if isinstance(node, ast.Import) or (node.module or "").startswith("bridge")
    } - OPENS.keys()
    functions = [each for each in ast.walk(tree_of(path)) if isinstance(each, ast.FunctionDef)]
    for node in nodes_of(path):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            raw = called.id in OPENS[""].split()
        elif isinstance(called, ast.Attribute):
            of = called.value.id if isinstance(called.value, ast.Name) else "?"
            raw = called.attr in OPENS.get(of, "").split()
            raw |= called.attr in PATH_METHODS and of not in ours and of not in OPENS
            raw |= called.attr == "replace" and of != "os" and len(node.args) == 1 and not node.keywords
            raw |= called.attr == "open" and any(isinstance(each, ast.Constant) for each in node.args)
        else:
            raw = False
        if raw:
            within = [each for each in functions if each.lineno <= node.lineno <= (each.end_lineno or 0)]
            name = max(within, key=lambda each: each.lineno).name if within else ""
            yield f"{module_of(path)}.{name}", node.lineno


def test_the_files_of_a_project_are_touched_by_one_door_alone() -> None:
    found = {
        name: f"{path}:{line}: {name}"
        for path in MODULES
        if floor_of(module_of(path)) in CONFINED
        for name, line in doors(path)
    }
    assert [where for name, where in found.items() if name not in EXCEPT] == [], (
        "bridge.base.files has what you need"
    )
    assert sorted({*EXCEPT} - {*found}) == [], "no exception without need"


@cache
def used(path: Path) -> frozenset[str]:
    """The modules of ours and of the tests that a module imports."""
    package = ".".join(path.relative_to(ROOT).parent.parts)
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "bridge":
            names |= {PUBLIC.get(each.name, f"bridge.{each.name}") for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= set(targets(node, package))
    return frozenset(name for name in names if name.startswith(("bridge.", "tests.")))


def reached(path: Path) -> set[str]:
    """What a test imports, and what that imports."""
    seen: set[str] = set()
    left = set(used(path))
    while left:
        name = left.pop()
        seen.add(name)
        folder = ROOT / name.replace(".", "/")
        for file in (folder / "__init__.py", folder.with_suffix(".py")):
            left |= used(file) - seen if file.exists() else set()
    return seen


def test_make_quick_touches_every_floor() -> None:
    touched = set()
    for line in QUICK.read_text(encoding="utf-8").splitlines():
        floor, *tests = line.split() if line[:1].isalpha() or line[:1] == "_" else [""]
        for test in tests:
            name, _, function = test.partition("::")
            files = [ROOT / name] if name.endswith(".py") else sorted((ROOT / name).glob("test_*.py"))
            texts = [file.read_text(encoding="utf-8") for file in files]
            assert any(f"def {function}" in text for text in texts), f"there is no {test}"
            modules = {module for file in files for module in reached(file)}
            if floor in map(floor_of, modules) or any(f"bridge.{floor}" in text for text in texts):
                touched.add(floor)
    assert sorted({*FLOORS} - touched) == []


if __name__ == "__main__":
    ARCHITECTURE.write_text(with_plan(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
