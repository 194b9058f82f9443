"""Schema 1 as data: these classes are the one definition that validates, types and describes adapter files."""

# ruff: noqa: RUF009 -- the types are read at run time, and key() and part() make fields
from __future__ import annotations

from dataclasses import dataclass

from bridge.adapters.model.describing import (
    AdvanceCommand,
    BuiltinCommand,
    Capabilities,
    Commands,
    Debugger,
    DeclaredTest,
    ExitCommand,
    Lifecycle,
    Mode,
    Probe,
    SetupStep,
    Shutdown,
    Signals,
)
from bridge.adapters.model.fields import FieldRule, key, part
from bridge.adapters.model.running import (
    BalancedParens,
    Banner,
    GroupCapture,
    Init,
    InitTempfile,
    Input,
    Interleave,
    Marker,
    Markers,
    Output,
    Process,
    Prompt,
    PropertyUpdates,
    RcFile,
    Ready,
    ShellIntegration,
    Tempfile,
    Wrapper,
)

__all__ = [
    "AdapterFile",
    "AdvanceCommand",
    "BalancedParens",
    "Banner",
    "BuiltinCommand",
    "Capabilities",
    "Commands",
    "Debugger",
    "DeclaredTest",
    "ExitCommand",
    "FieldRule",
    "GroupCapture",
    "Init",
    "InitTempfile",
    "Input",
    "Interleave",
    "Lifecycle",
    "Marker",
    "Markers",
    "Mode",
    "Output",
    "Probe",
    "Process",
    "Prompt",
    "PropertyUpdates",
    "RcFile",
    "Ready",
    "SetupStep",
    "ShellIntegration",
    "Shutdown",
    "Signals",
    "Tempfile",
    "Wrapper",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterFile:
    """Section 2: everything that one adapter file says."""

    schema: int = key(0, "Version of the schema: 1.", vital=True)
    name: str = key("", "What the adapter is called.", vital=True)
    version: str = key("", "Version of the file.", required=True)
    description: str = key("", "One line about it.", required=True)
    homepage: str | None = key(None, "Where the program lives.")
    license: str | None = key(None, "Licence of the program.")
    family: str = key("", "What kind of program it is.", choices=("shell", "repl", "debugger"), vital=True)
    aliases: tuple[str, ...] = key((), "Other names of the adapter.")
    integration_script: str | None = key(None, "The integration script itself; wins over `script_resource`.")
    process: Process = part(Process, "How the program is started.", required=True)
    ready: Ready = part(Ready, "How it is known to be ready.", required=True)
    init: Init = part(Init, "How it is made to announce prompts.", required=True)
    prompt: Prompt = part(Prompt, "How a prompt is recognised.", required=True)
    output: Output = part(Output, "What is done to output.", required=True)
    input: Input = part(Input, "How commands get in.", required=True)
    modes: tuple[Mode, ...] = key((), "States with prompts of their own.")
    commands: Commands = part(Commands, "Helpers of the program.")
    signals: Signals = part(Signals, "Keys.", required=True)
    lifecycle: Lifecycle = part(Lifecycle, "End and new beginning.", required=True)
    capabilities: Capabilities = part(Capabilities, "What can be counted on.", required=True)
    probe: Probe | None = key(None, "Whether it works at all.", required=True)
    tests: tuple[DeclaredTest, ...] = key((), "Contract tests.", required=True)
