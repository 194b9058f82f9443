"""Hooks that run jq once per line, and drivers' live filters: one jq for all lines."""

from bridge.scripts.stream.filters.hosted import HookRun, HostedFilter

__all__ = ["HookRun", "HostedFilter"]
