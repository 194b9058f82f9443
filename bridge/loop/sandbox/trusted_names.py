"""Names of what the user's programs, or a loop of ours, run or believe by themselves: one table, with the reason.

A turn in a box makes and changes none of them, in whichever folder of the project. What people run by name (make,
npm, tests, CI's workflows), and what an editor runs of a project's own code (its linters' settings, builds), isn't
here: that is the agent's to write. Pure.
"""

from __future__ import annotations

import re
from dataclasses import field
from fnmatch import translate
from typing import TYPE_CHECKING

from bridge.base.clis import known_clis
from bridge.base.patterns import lazy
from bridge.base.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAMES: Mapping[str, tuple[str, ...]] = {
    "a shell that comes into the folder sources it, or takes variables and programs from it": (
        *(".envrc", ".direnv", ".autoenv", ".autoenv.zsh", ".tool-versions", ".mise", ".config/mise"),
        *("mise.toml", ".mise.toml", "mise.*.toml", ".mise.*.toml", ".config/mise.toml", ".config/mise.*.toml"),
        *("mise/config.toml", "mise/config.*.toml", ".rtx.toml", ".autoenv_leave.zsh", ".shadowenv.d"),
    ),
    "an editor that opens the folder runs its tasks, servers and scripts": (
        *(".vscode", "*.code-workspace", ".idea", ".zed", ".fleet", ".vs", ".helix", "*.sublime-project"),
        *(".nvim.lua", ".nvimrc", ".vimrc", ".exrc", ".lvimrc", ".local.vimrc", ".lazy.lua", ".neoconf.json"),
        *(".dir-locals.el", ".dir-locals-2.el", ".bsp", ".sourcekit-lsp", ".vim/coc-settings.json", ".luarc.json"),
        *(".luarc.jsonc", ".emacs.desktop"),
    ),
    "an environment that is made for the folder runs its commands": (
        *(".devcontainer", ".devcontainer.json", ".gitpod.yml", ".idx", ".replit", ".openhands"),
    ),
    "hooks of version control run it": (
        *(".husky", ".pre-commit-config.yaml", ".pre-commit-config.yml", "prek.toml", ".overcommit.yml"),
        *("lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".lefthook", ".lefthook-local"),
        *(".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*", ".simple-git-hooks.*", "captainhook.json"),
        *(".huskyrc", ".huskyrc.*", "husky.config.*", "simple-git-hooks.*", "grumphp.yml", "grumphp.yaml"),
        *(".rusty-hook.toml", "hk.pkl", "hk.local.pkl", ".config/hk.pkl", ".config/hk.local.pkl"),
        *(
            ".hg/hgrc",
            ".jj/repo/config.toml",
            ".jj/repo/config",
            ".sl/config",
            "_darcs/prefs/defaults",
            ".pijul/config",
        ),
    ),
    "a debugger or an interpreter that is started there runs it first": (
        *(".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".Renviron", ".irbrc", ".pryrc", ".ghci", ".iex.exs"),
        *(".octaverc", ".gdbearlyinit", ".rdbgrc", ".byebugrc", ".ocamlinit", ".erlang"),
    ),
    "a package manager or compiler that is started there takes programs from it, whatever its command": (
        *(
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            "bunfig.toml",
            ".cargo/config",
            ".cargo/config.toml",
        ),
        *("rust-toolchain", "rust-toolchain.toml", ".bazelrc", "latexmkrc", ".latexmkrc"),
        *(".yarn/releases", ".yarn/plugins", ".pdm-python"),
        *(".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config", ".sbtopts", ".jvmopts"),
    ),
    "a loop of ours takes its options from it": ("ralph-bridge.toml",),
    "an assistant that we have no file of goes by it": (
        *(".aider.conf.yml", ".continue", ".roo/mcp.json", ".kiro", ".windsurf", ".trae", ".junie", ".amazonq"),
        *(
            "crush.json",
            ".crush.json",
            "conductor.json",
            ".goose",
            ".grok",
            ".vibe",
            ".augment",
            ".codebuddy",
            ".iflow",
        ),
    ),
    "a coding CLI that is started there runs or believes it": (
        *dict.fromkeys(name for cli in known_clis().values() for name in cli.in_project),
    ),
}
"""Why it is guarded, to paths of one or more parts; ``*`` stands for anything in a part."""

REPOSITORIES = (".git", ".hg", ".jj", ".sl")
"""A new one brings settings and hooks of its own: it is taken out as a whole. One that was there is worked in."""

_IGNORABLE = lazy("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
"""Characters that file systems of other machines pass over in a name."""


def folded(name: str) -> str:
    """Give a name as file systems compare it that know no case."""
    return (name.lower() if name.isascii() else _IGNORABLE.sub("", name).casefold()).rstrip(". ")


@dataclass(slots=True)
class Node:
    """What may follow in a path; `ends`: a guarded name ends here, and all below is guarded.

    repository: only that it is new counts. parts: of the path up to here.
    """

    ends: bool = False
    repository: bool = False
    parts: int = 0
    names: dict[str, Node] = field(default_factory=dict)
    patterns: dict[str, Node] = field(default_factory=dict)
    any: re.Pattern[str] | None = None

    def follow(self, part: str) -> Node:
        """Give the node behind a part of a path, which is made if need be."""
        if "*" not in part:
            return self.names.setdefault(folded(part), Node(parts=self.parts + 1))
        found = self.patterns.setdefault(translate(part.casefold()), Node(parts=self.parts + 1))
        self.any = re.compile("|".join(self.patterns))
        return found


def found_behind(nodes: Iterable[Node], name: str) -> list[Node]:
    """Give the nodes that a name leads to."""
    key, found = folded(name), []
    for node in nodes:
        if key in node.names:
            found.append(node.names[key])
        if node.any is not None and node.any.match(key):
            found += [each for pattern, each in node.patterns.items() if re.match(pattern, key)]
    return found


def guarded_names(more: Iterable[str] = (), allowed: Iterable[str] = ()) -> Node:
    """Give the tree of all guarded names, and of `more`, but for those that the user lets turns write."""
    top, free = Node(), {folded(each) for each in allowed}
    for path in (*(name for names in NAMES.values() for name in names), *REPOSITORIES, *more):
        if folded(path) in free:
            continue
        node = top
        for part in path.split("/"):
            node = node.follow(part)
        node.ends, node.repository = True, path in REPOSITORIES
    return top


def at_top(allowed: Iterable[str] = ()) -> list[str]:
    """Give the guarded paths of a folder that have no pattern in them: those that are there can be mounted over."""
    free = {folded(each) for each in allowed}
    paths = dict.fromkeys(name for names in NAMES.values() for name in names)
    return [each for each in paths if "*" not in each and folded(each) not in free]
