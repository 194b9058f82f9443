"""14 D.3: a driver that doesn't take the blanks off its allowlist's entries is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bridge.verify.findings import Severity
from tests.skeletons import minimal_driver

from .standin import verify

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = (
    minimal_driver()
    + """
driver_supports_tool_allowlist() { return 0; }
driver_build_command() {
    local tool IFS=$' \\t\\n'
    local -a tools allowed
    [[ -f "$1" ]] || { echo "no prompt file: $1" >&2; return 1; }
    CLAUDE_CMD_ARGS=("my-platform" "--prompt" "$1" "--output-format" "${CLAUDE_OUTPUT_FORMAT:-json}")
    tools=() allowed=()
    IFS=',' read -ra tools <<<"${CLAUDE_ALLOWED_TOOLS:-}"
    for tool in ${tools[@]+"${tools[@]}"}; do
        @TRIM@
        if [[ -n "$tool" ]]; then allowed+=(@OPTION@"$tool"); fi
    done
    @PASS_ON@
    if [[ "$CLAUDE_USE_CONTINUE" == "true" && -n "$3" ]]; then CLAUDE_CMD_ARGS+=("--session" "$3"); fi
    if [[ -n "$2" ]]; then CLAUDE_CMD_ARGS+=("--context" "$2"); fi
}
"""
)
APART = 'if ((${#allowed[@]} > 0)); then CLAUDE_CMD_ARGS+=("--allowedTools" "${allowed[@]}"); fi'
EACH = 'CLAUDE_CMD_ARGS+=(${allowed[@]+"${allowed[@]}"})'
WHOLE = 'if [[ -n "${CLAUDE_ALLOWED_TOOLS:-}" ]]; then CLAUDE_CMD_ARGS+=("--allowed" "$CLAUDE_ALLOWED_TOOLS"); fi'
XARGS = 'tool=$(printf "%s" "$tool" | sed "s/^[[:space:]]*//; s/[[:space:]]*$//")'
ONE = 'tool="${tool# }"'


@pytest.mark.parametrize(
    ("trim", "option", "pass_on", "severity"),
    [
        (":", "", APART, Severity.ERROR),
        (":", '"--tool" ', EACH, Severity.ERROR),
        (":", '"--tool="', EACH, Severity.ERROR),
        ('tool="${tool%% }"', "", APART, Severity.ERROR),  # the wrong end
        (ONE, "", APART, Severity.INFO),  # as people write it, but not with more blanks
        (XARGS, "", APART, None),
        (XARGS, '"--tool="', EACH, None),
        (":", "", WHOLE, None),  # the CLI splits it
    ],
)
def test_d3_blanks_around_an_entry(
    tmp_path: Path, trim: str, option: str, pass_on: str, severity: Severity | None
) -> None:
    path = tmp_path / "my-platform.sh"
    path.write_text(DRIVER.replace("@TRIM@", trim).replace("@OPTION@", option).replace("@PASS_ON@", pass_on))
    found = [finding for finding in verify(path, ["RB115"]).findings if "comma within" not in finding.message]
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
    assert all("blanks around" in finding.message for finding in found)


@pytest.mark.parametrize(
    ("body", "supported", "found"),
    [
        ("VALID_TOOL_PATTERNS=()", False, set()),
        ("VALID_TOOL_PATTERNS=(); return 0", False, set()),
        ("VALID_TOOL_PATTERNS=()", True, {"RB078"}),
        ("local VALID_TOOL_PATTERNS=()", False, {"RB078"}),
        ("tools=()", False, {"RB078"}),
        ('VALID_TOOL_PATTERNS=("Read" "Bash(git *)" "Read")', True, {"RB078"}),
        ('VALID_TOOL_PATTERNS=("Read" "Bash(git *)" "Bash(gh *)")', True, set()),
    ],
)
def test_the_list_of_tools_holds_each_once_and_is_empty_where_no_allowlist_is_supported(
    body: str, supported: bool, found: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "my-platform.sh"
    hooks = (
        f"driver_valid_tools() {{ {body}; }}\ndriver_supports_tool_allowlist() {{ return {int(not supported)}; }}\n"
    )
    path.write_text(minimal_driver() + hooks)
    assert verify(path, ["RB078"]).codes == found
