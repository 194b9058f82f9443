"""``ralph-bridge session-id``: the recovery chain on one output file."""

from __future__ import annotations

import click

from bridge.cli.common import os_text, print_json, write


@click.command(name="session-id")
@click.argument("driver_name", metavar="DRIVER")
@click.argument("output_file")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document that also says which step answered.")
def session_id(driver_name: str, output_file: str, as_json: bool) -> int:
    """Find the session id in OUTPUT_FILE as the loop does: driver hook, generic extraction, fallback hook.

    Exit code 1 when no step finds a valid one.
    """
    from bridge.cli._scripts import driver_folders
    from bridge.driver import Driver
    from bridge.session_id import recover

    with Driver.load(driver_name, folders=driver_folders()) as driver:
        found = recover(driver, os_text(output_file))
    if as_json:
        print_json({"session_id": found.session_id, "step": found.step, "rejected": list(found.rejected)})
    elif found.session_id is not None:
        write(found.session_id + "\n")
        click.echo(f"found by: {found.step}", err=True)
    else:
        click.echo("no session id: neither the driver, nor the output, nor the fallback gave one", err=True)
    for value in found.rejected:
        click.echo(f"not a session id, passed over: {value[:80]!r}", err=True)
    return 0 if found.session_id is not None else 1
