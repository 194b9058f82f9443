"""Command lines of docker and podman, and the settings of srt: pure, so that each promise is a line."""

from __future__ import annotations

import csv
import json
import os
import shlex
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from bridge.errors import BridgeError, ConfigurationError
from bridge.loop.sandbox import containers, srt
from bridge.loop.sandbox.box_policy import Policy
from bridge.loop.sandbox.boxed import Boxed, boxed

if TYPE_CHECKING:
    from pathlib import Path

POLICY = Policy(
    cwd="/home/me/a, b/work",
    home="/home/me",
    system=("/usr", "/etc", "/sys", "/opt", "/sbin", "/run/systemd/resolve/stub-resolv.conf"),
    readable=("/home/me/.config/git", "/opt/tools"),
    writable=("/home/me/a, b/work", "/home/me/a, b/work/.git", "/home/me/.claude"),
    readonly=("/home/me/a, b/work/.git/hooks", "/home/me/.claude/settings.json"),
    masked=("/etc/shadow",),
    links=(("/bin", "usr/bin"), ("/srv/link", "/home/me/a, b/work")),
    env={"PATH": "/usr/bin", "HOME": "/home/me", "KEY": "sekrit", "RALPH_BRIDGE_PROJECT": "/srv/link"},
    hosts=("api.example.com",),
    memory_mb=512,
    processes=99,
)


def line(policy: Policy = POLICY, client: containers.Client = "docker", user: str = "1000:1000") -> list[str]:
    return containers.command(policy, ["/usr/bin/claude", "-p", "x"], client=client, name="n", user=user)


def options(words: list[str], name: str) -> list[str]:
    return [value for option, value in pairwise(words) if option == name]


def mounts(words: list[str]) -> dict[str, tuple[str, bool]]:
    """Where something is mounted: from where, and whether it can be written to."""
    found = {}
    for each in options(words, "--mount"):
        kind, source, target, *more = next(iter(csv.reader([each])))
        assert kind == "type=bind"
        place = target.removeprefix("target=")
        assert place not in found
        found[place] = (source.removeprefix("source="), more != ["readonly"])
    return found


def test_a_container_is_closed_has_a_name_and_no_terminal() -> None:
    words = line()
    assert words[:2] == ["docker", "run"]
    assert {"--rm", "--interactive", "--init", "--read-only"} <= {*words}
    assert not {"--tty", "-t", "-it", "--privileged"} & {*words}
    assert options(words, "--name") == ["n"]
    assert options(words, "--user") == ["1000:1000"]
    assert options(words, "--cap-drop") == ["ALL"]
    assert {"no-new-privileges", "label=disable"} == {*options(words, "--security-opt")}
    assert options(words, "--memory") == ["512m"]
    assert options(words, "--pids-limit") == ["99"]
    assert options(words, "--pull") == ["never"]
    assert options(words, "--workdir") == [POLICY.cwd]
    assert words[-4:] == [containers.EMPTY, "/usr/bin/claude", "-p", "x"]


def test_values_of_variables_stay_out_of_the_command_line() -> None:
    words = line()
    assert options(words, "--env") == ["PATH=/usr/bin", "HOME", "KEY", "RALPH_BRIDGE_PROJECT=/srv/link"]
    assert "sekrit" not in " ".join(words)


def test_the_network_is_the_clients_own_or_none() -> None:
    assert options(line(), "--network") == []
    assert options(line(replace(POLICY, network="off")), "--network") == ["none"]


def test_nothing_is_bounded_where_nothing_is_asked_for() -> None:
    words = line(replace(POLICY, memory_mb=None, processes=None))
    assert not {"--memory", "--pids-limit", "--cpus"} & {*words}


@pytest.mark.parametrize(("cpus", "word"), [(2.0, "2"), (1.5, "1.5")])
def test_a_container_keeps_so_many_cpus_busy(cpus: float, word: str) -> None:
    assert options(line(replace(POLICY, cpus=cpus)), "--cpus") == [word]


def test_what_is_mounted_is_what_the_policy_names() -> None:
    found = mounts(line())
    work = POLICY.cwd
    assert found[work] == (work, True)
    assert found[f"{work}/.git/hooks"] == (f"{work}/.git/hooks", False)
    assert found["/home/me/.claude/settings.json"][1] is False
    assert found["/usr"] == ("/usr", False)
    assert found["/etc/shadow"] == ("/dev/null", False)
    assert not {"/sys", "/sbin", "/run/systemd/resolve/stub-resolv.conf"} & {*found}  # a container has its own


def test_links_are_mounted_a_second_time_with_what_is_protected_in_them() -> None:
    found, work = mounts(line()), POLICY.cwd
    assert found["/bin"] == ("/usr/bin", False)
    assert found["/srv/link"] == (work, True)
    assert found["/srv/link/.git/hooks"] == (f"{work}/.git/hooks", False)


def test_folders_around_what_is_mounted_in_the_home_are_no_ones() -> None:
    assert {"/home/me:exec,mode=1777", "/home/me/a, b:exec,mode=1777", "/home/me/.config:exec,mode=1777"} <= {
        *options(line(), "--tmpfs")
    }
    assert not [each for each in options(line(), "--tmpfs") if each.startswith(f"{POLICY.cwd}")]


def test_an_ordinary_users_podman_keeps_their_id() -> None:
    words = line(client="podman", user="")
    assert options(words, "--userns") == ["keep-id"]
    assert "--user" not in words
    assert "/sbin" in mounts(words)


def test_an_image_has_a_system_and_a_path_of_its_own() -> None:
    words = line(replace(POLICY, image="mine:1"))
    found = mounts(words)
    assert not {"/usr", "/bin", "/etc", "/etc/shadow"} & {*found}
    assert found["/srv/link"] == (POLICY.cwd, True)
    assert "--read-only" not in words
    assert not [each for each in options(words, "--env") if each.startswith("PATH")]
    assert words[-4] == "mine:1"


def test_the_client_gets_what_it_needs_itself_and_the_mark_of_leftovers_is_not_on_it(tmp_path: Path) -> None:
    (tmp_path / "podman").write_text("#!/bin/sh\n")
    (tmp_path / "podman").chmod(0o755)
    env = {"DOCKER_HOST": "unix:///x", "XDG_RUNTIME_DIR": "/run/1", "GITHUB_TOKEN": "t", "PATH": str(tmp_path)}
    made = boxed("podman", POLICY, ["claude"], env)
    assert {name: made.env.get(name) for name in env} == {**env, "GITHUB_TOKEN": None}
    assert "RALPH_BRIDGE_PROJECT" not in made.env
    assert made.inside == POLICY.env
    ((client, *words),) = made.cleanup
    assert ["podman", *words] == [*containers.removal("podman", made.argv[made.argv.index("--name") + 1])]
    assert os.path.basename(client) == "podman"


# -- srt ------------------------------------------------------------------------------------------------


def settings(policy: Policy = POLICY) -> dict[str, dict[str, list[str]]]:
    top = ["/etc", "/home", "/mnt", "/opt", "/run", "/srv", "/tmp", "/usr"]
    text = srt.files(policy, ["claude", "a b"], folder="/tmp/f", top=top)[srt.SETTINGS]
    found: dict[str, dict[str, list[str]]] = json.loads(text)
    return found


def test_srt_hides_the_home_and_what_lies_beside_the_system() -> None:
    found = settings()["filesystem"]
    assert found["denyRead"] == ["/home", "/mnt", "/run", "/srv", "/tmp", "/home/me", "/etc/shadow"]
    assert {*POLICY.readable, *POLICY.writable} <= {*found["allowRead"]}
    assert {*POLICY.writable} <= {*found["allowWrite"]}
    assert found["denyWrite"] == [*POLICY.readonly]


@pytest.mark.parametrize(
    ("network", "allowed"),
    [
        ("off", []),
        ("on", ["api.example.com"]),
        (("pypi.org", "api.example.com"), ["pypi.org", "api.example.com"]),
    ],
)
def test_srt_lets_hosts_be_reached_that_are_named_or_the_clis_own(network: object, allowed: list[str]) -> None:
    assert settings(replace(POLICY, network=network))["network"]["allowedDomains"] == allowed  # type: ignore[arg-type]


def test_srt_refuses_a_network_of_which_nothing_is_known() -> None:
    with pytest.raises(ConfigurationError, match="hosts be reached that are named"):
        settings(replace(POLICY, hosts=()))


def test_srt_gets_its_command_in_a_file_since_it_may_be_long() -> None:
    argv = ["claude", "a'b", "x" * 200_000]
    assert len(" ".join(srt.command("/tmp/f"))) < 200
    script = srt.files(POLICY, argv, folder="/tmp/f", top=[])[srt.SCRIPT]
    assert shlex.split(script)[-3:] == argv


def test_files_of_a_turn_are_private_and_gone_behind_it(tmp_path: Path) -> None:
    made = Boxed(("true",), {}, {}, folder=str(tmp_path / "f"), files={"a": "b"})
    with made.standing():
        assert (tmp_path / "f/a").read_text() == "b"
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "f").exists()


def test_a_folder_that_somebody_else_has_made_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    made = Boxed(("true",), {}, {}, folder=str(tmp_path / "f"), files={"a": "b"})
    with pytest.raises(BridgeError, match="the folder"), made.standing():
        pass
    assert (tmp_path / "f").exists()
