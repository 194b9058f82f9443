"""Names, tiers, and where scripts may lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge import Adapter
from bridge.adapters.registry import Registry, load_file, lookup_name
from bridge.errors import AdapterInvalid, ConfigurationError, UnknownAdapter

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, name: str, *, file: str = "", more: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file or f"{name}.yaml")
    path.write_text(f"schema: 1\nname: {name}\nfamily: repl\n{more}")
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.mark.usefixtures("home")
def test_ours_are_found_by_name_alias_and_path_in_any_case() -> None:
    found = Registry.read()
    assert found.find("Python3").adapter.name == "python"
    assert found.find("/usr/bin/BASH").adapter.name == "bash"
    assert found.find(r"C:\tools\zsh.exe").adapter.name == "zsh"
    assert found.collisions == found.overrides == []


@pytest.mark.parametrize(
    "folder", [".ripple/adapters", ".config/ralph-bridge/adapters", "project/.ralph-bridge/adapters"]
)
def test_a_later_tier_replaces_name_and_aliases(home: Path, folder: str) -> None:
    path = write(home / folder, "Python", more="aliases: [snake]\n")
    found = Registry.read()
    assert found.find("python").path == path
    assert found.find("snake").path == path
    assert "py" not in found.names
    assert len(found.overrides) == 1


def test_the_project_comes_before_the_user_and_is_found_from_below(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".ripple" / "adapters", "mine")
    path = write(home / "project" / ".ralph-bridge" / "adapters", "mine")
    (home / "project" / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(home / "project" / "deep" / "er")
    found = Registry.read()
    assert found.find("mine").path == path


def test_within_a_tier_the_first_keeps_the_name(home: Path) -> None:
    folder = home / ".ripple" / "adapters"
    first = write(folder, "mine", file="a.yaml")
    write(folder, "mine", file="b.yaml")
    write(folder, "other", file="c.yaml", more="aliases: [mine, bash]\n")
    found = Registry.read()
    assert found.find("mine").path == first
    assert found.find("bash").tier == "builtin"
    assert len(found.collisions) == 3


def test_a_bad_file_hides_no_other(home: Path) -> None:
    folder = home / ".ripple" / "adapters"
    folder.mkdir(parents=True)
    (folder / "bad.yaml").write_text("schema: 9\n")
    good = write(folder, "good")
    found = Registry.read()
    assert found.find("good").path == good
    assert found.failed == [folder / "bad.yaml"]
    with pytest.raises(UnknownAdapter, match=r"could not be loaded: ralph-bridge adapter check"):
        found.find("bad")


@pytest.mark.usefixtures("home")
def test_an_unknown_name_has_the_nearest_beside_it() -> None:
    with pytest.raises(UnknownAdapter, match="did you mean python"):
        Registry.read().find("pyton")


@pytest.mark.parametrize(
    "name", ["../secret.py", "/etc/passwd", "sub/x.py", "..", "missing.py", "a\\b.py", "x" * 300]
)
def test_a_script_lies_beside_its_adapter_or_nowhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.py").write_text("")
    path = write(tmp_path / "adapters", "x", more=f"init: {{ script_resource: '{name}' }}\n")
    entry, problems = load_file(path)
    assert entry is None
    assert [each.key for each in problems if each.is_error()] == ["init.script_resource"]


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    path = write(tmp_path / "adapters", "x", more="init: { script_resource: link.py }\n")
    (path.parent / "link.py").symlink_to(tmp_path / "secret.py")
    assert load_file(path)[0] is None


@pytest.mark.parametrize(
    "name",
    [
        "integration.bash",
        "integration.zsh",
        "integration.py",
        "integration.js",
        "integration.rkt",
        "integration.sbcl.lisp",
    ],
)
def test_p11_our_scripts_stand_in_for_those_that_files_name(tmp_path: Path, name: str) -> None:
    entry, _ = load_file(write(tmp_path, "x", more=f"init: {{ script_resource: {name} }}\n"))
    assert entry is not None
    assert entry.script is not None
    assert entry.script.ours
    assert "{nonce}" in entry.script.body


def test_a_script_beside_the_adapter_and_an_inline_one_come_first(tmp_path: Path) -> None:
    (tmp_path / "integration.py").write_text("beside")
    beside, _ = load_file(write(tmp_path, "x", more="init: { script_resource: integration.py }\n"))
    inline, _ = load_file(
        write(tmp_path, "y", more="init: { script_resource: integration.py }\nintegration_script: in\n")
    )
    assert beside is not None
    assert beside.script is not None
    assert (beside.script.body, beside.script.ours) == ("beside", False)
    assert inline is not None
    assert inline.script is not None
    assert inline.script.body == "in"


def test_the_public_class_tells_all_errors_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("schema: 3\nready: { timeout_ms: x }\n")
    with pytest.raises(AdapterInvalid) as caught:
        Adapter.load(path)
    assert all(key in str(caught.value) for key in ("schema", "name", "family", "ready.timeout_ms"))
    with pytest.raises(ConfigurationError, match="there is no such file"):
        Adapter.load(tmp_path / "none.yaml")
    assert Adapter.load("bash").definition.family == "shell"


def test_names_are_looked_up_without_folder_and_extension() -> None:
    assert lookup_name("/opt/x/Bash.EXE") == "bash"
