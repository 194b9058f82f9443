"""Mends are tried before anybody sees them: on a copy of the script, where they may make nothing worse."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bridge.base.files import script_root, write_atomic
from bridge.verify.findings import CheckOutcome, Mend, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bridge.verify.findings import CheckResult, Edit, Finding, Fix

    Again = Callable[[Path], Sequence[CheckResult]]


class _Verdict(NamedTuple):
    """What a verification came to. found: how many of what. unknown: codes of checks that could not tell."""

    found: Counter[tuple[str, Severity, str | None]]
    unknown: frozenset[str]

    def worse(self, later: _Verdict) -> bool:
        """Whether a later verification finds anything new. What could not be told before isn't new.

        Nor is a note, where an error is gone: that may have hidden it.
        """
        mended = any(severity is Severity.ERROR for _, severity, _ in self.found - later.found)
        found = later.found - self.found
        new = {code for code, severity, _ in found if not (mended and severity is Severity.INFO)}
        return bool((new | later.unknown) - self.unknown)

    def gone(self, later: _Verdict) -> Counter[str]:
        """How many findings of each check a later verification doesn't have any more."""
        return Counter(code for code, _, _ in (self.found - later.found).elements())


def _verdict(results: Iterable[CheckResult]) -> _Verdict:
    kept = list(results)
    found = Counter((each.code, each.severity, each.hook) for result in kept for each in result.findings)
    return _Verdict(found, frozenset(result.code for result in kept if result.outcome is CheckOutcome.UNKNOWN))


def offered(
    path: Path, source: bytes, findings: Sequence[Finding], again: Again, known: Sequence[CheckResult] | None = None
) -> Mend | None:
    """The fixes of these findings that can be made together, and after which nothing is worse; None for none.

    again: verifies a script; all that it finds, consequences included. known: what that gives for the script as it
    is, if somebody has done it already.
    """
    together: list[Fix] = []
    left = 0
    for fix in dict.fromkeys(finding.fix for finding in findings if finding.fix is not None):
        if _apart(fix, together):
            together.append(fix)
        else:
            left += 1
    if not together:
        return None

    def verdict(fixes: Sequence[Fix]) -> _Verdict:
        if known is not None and not fixes:
            return _verdict(known)
        with _copy(path, applied(source, fixes)) as copy:
            return _verdict(again(copy))

    kept = _kept(findings, together, verdict)
    if not kept:
        return None
    fixed = tuple(next(finding for finding in findings if finding.fix == fix) for fix in kept)
    return Mend(before=source, after=applied(source, kept), fixed=fixed, left=left)


def _kept(
    findings: Sequence[Finding], together: Sequence[Fix], verdict: Callable[[Sequence[Fix]], _Verdict]
) -> list[Fix]:
    before, after = verdict(()), verdict(together)
    wanted = Counter(finding.code for finding in findings if finding.fix in together)
    if not before.worse(after) and wanted <= before.gone(after):
        return list(together)
    kept: list[Fix] = []
    for fix in together:  # one of them is to blame
        after = verdict([*kept, fix])
        if not before.worse(after) and before.gone(after):
            kept.append(fix)
            before = after
    return kept


def _apart(fix: Fix, others: Iterable[Fix]) -> bool:
    """Whether a fix touches nothing that one of the others changes; the very same edit is fine."""
    edits = {edit for other in others for edit in other.edits}
    return not any(_overlap(mine, edit) for mine in fix.edits for edit in edits if mine != edit)


def _overlap(one: Edit, other: Edit) -> bool:
    return one.start < other.end and other.start < one.end


def applied(source: bytes, fixes: Iterable[Fix]) -> bytes:
    """The script with these fixes, which must be apart from each other."""
    edits = sorted(dict.fromkeys(edit for fix in fixes for edit in fix.edits), key=lambda edit: edit[:2])
    for edit in reversed(edits):
        source = source[: edit.start] + edit.text.encode("utf-8", "surrogateescape") + source[edit.end :]
    return source


@contextmanager
def _copy(path: Path, source: bytes) -> Iterator[Path]:
    """A script with other contents, in a folder that looks like its own: what it sources from there is found."""
    real = path.absolute()
    with tempfile.TemporaryDirectory(prefix="rb-mend-") as root:
        folder = Path(root, real.parent.name or "root")
        folder.mkdir()
        for into, like in ((folder, real.parent), (Path(root), real.parent.parent)):
            with suppress(OSError):  # what can't be seen here can't be sourced either
                for name in os.listdir(like):
                    if name != real.name and not os.path.lexists(into / name):
                        os.symlink(like / name, into / name)
        copy = folder / real.name
        copy.write_bytes(source)
        copy.chmod(real.stat().st_mode & 0o777)
        yield copy


def write(path: Path, mend: Mend) -> Mend:
    """The mend, written to its script: at once or not at all, and only if the script is still what was verified."""
    try:
        if path.read_bytes() != mend.before:
            return mend._replace(refused="the file has changed meanwhile; verify it again")
        if not os.access(path, os.W_OK):
            return mend._replace(refused="the file may not be written")
        named, root = script_root(path)
        write_atomic(named, mend.after, root=root)
    except OSError as error:
        return mend._replace(refused=f"the file can't be written: {error.strerror}")
    return mend._replace(written=True)
