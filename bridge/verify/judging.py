"""One script, judged: its checks, the lines that they are about, the mends of what they find, what was reached."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bridge.base.records import dataclass
from bridge.errors import BridgeError, HookTimeout
from bridge.verify.findings import Aspect, CheckOutcome, CheckResult, ScriptFinished
from bridge.verify.folding import folded
from bridge.verify.intake import not_admitted, nothing_verified
from bridge.verify.registry import CannotTell, NotApplicable, Problem, chosen, load
from bridge.verify.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bridge.verify.coverage import TracedCommand
    from bridge.verify.facts import CommandFact
    from bridge.verify.findings import Coverage, Finding, Mend
    from bridge.verify.intake import GivenScript
    from bridge.verify.registry import Check

Mending = Literal["no", "show", "write"]
"""Whether mends are looked for, and whether they are written to the scripts."""

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    Aspect.OPTIONS: ("set", "shopt"),
    Aspect.FOLDER: ("cd", "pushd", "popd"),
    Aspect.ARGUMENTS: ("set", "shift"),
    Aspect.TRAPS: ("trap",),
    Aspect.UMASK: ("umask",),
    Aspect.DESCRIPTORS: ("exec",),
    Aspect.ENDS: ("exit", "exec"),
    Aspect.STDOUT: ("echo", "printf", "cat"),
}
"""The commands that do what a finding is about, where they run in the shell itself."""
_STDERR = re.compile(r"2>|&>|>&")


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What holds for every script of a run. current: what is looked at now, so that an interrupt can end it."""

    scripts: tuple[GivenScript, ...]
    select: Sequence[str]
    ignore: Sequence[str]
    static_only: bool
    bash: str | None
    timeout: float
    longest: float
    mending: Mending = "no"
    coverage: bool = False
    current: set[Subject] = field(default_factory=set)

    def checks(self, kind: str) -> tuple[Check, ...]:
        return chosen(self.select, self.ignore, kind, static_only=self.static_only)

    def subject(self, path: Path, *, named: bool = False, trace: Path | None = None) -> Subject:
        return Subject(path, bash=self.bash, timeout=self.timeout, longest=self.longest, named=named, trace=trace)

    def finished(self, subject: Subject, began: float) -> ScriptFinished:
        """The last event of a script; what can be mended is written where that was asked for."""
        finished = self.checked(subject, began)
        if finished.mend is not None and self.mending == "write":
            from bridge.verify.mends.trial import write

            mend = write(subject.path, finished.mend)
            if mend.written:
                finished = replace(self, mending="no").checked(self.subject(subject.path), began)
            finished = finished._replace(mend=mend)
        if self.coverage and finished.kind != "out-of-scope":
            finished = finished._replace(coverage=self._coverage(subject.path))
        return finished

    def checked(self, subject: Subject, began: float) -> ScriptFinished:
        results: list[CheckResult] = []
        mend: Mend | None = None
        if subject.kind == "out-of-scope":
            if (refused := not_admitted(subject, (given.path for given in self.scripts))) is not None:
                results = [refused]
        else:
            checks = self.checks(subject.kind)
            results = self._results(subject, checks, mending=self.mending != "no")
            mend = self._mended(subject, results)
            results = self._located(subject, folded([_with_fixes(result, mend) for result in results]))
            # Nobody may miss that nothing else can be determined.
            gates = (check for check in load(subject.kind).values() if check.gate and check not in checks)
            at_the_gate = [_result(subject, gate) for gate in gates]
            results[:0] = [result for result in at_the_gate if result.outcome is not CheckOutcome.PASSED]
        finished = ScriptFinished(
            path=subject.path,
            kind=subject.kind,
            results=tuple(results),
            matrix=subject.matrix if subject.kind != "out-of-scope" else {},
            name=subject.name,
            seconds=time.monotonic() - began,
            reason=subject.reason,
            mend=mend,
        )
        lost = all(result.outcome is CheckOutcome.UNKNOWN and not result.findings for result in results)
        return nothing_verified(finished) if results and lost else finished

    def _results(self, subject: Subject, checks: Iterable[Check], *, mending: bool = False) -> list[CheckResult]:
        self.current.add(subject)
        try:
            with subject:
                return [_result(subject, check, mending=mending) for check in checks]
        finally:
            self.current.discard(subject)

    def _mended(self, subject: Subject, results: list[CheckResult]) -> Mend | None:
        """What can be mended of these findings; all checks of the run's phases say whether anything is worse."""
        findings = [finding for result in results for finding in result.findings]
        if not any(finding.fix for finding in findings):
            return None
        from bridge.verify.mends.trial import offered

        checks = self.checks(subject.kind)
        every = chosen((), (), subject.kind, static_only=all(check.phase == "static" for check in checks))

        def again(path: Path) -> list[CheckResult]:
            copy = self.subject(path)
            return self._results(copy, [check for check in every if copy.kind in check.applies])

        return offered(subject.path, subject.source, findings, again, results if checks == every else None)

    def _coverage(self, path: Path) -> Coverage:
        """What the observations of these checks reach, made once more with an eye on every command."""
        from bridge.verify.coverage import coverage_of

        subject = self.subject(path)
        return coverage_of(subject.reading, self._traced(path, self.checks(subject.kind)))

    def _traced(self, path: Path, checks: Iterable[Check]) -> Mapping[TracedCommand, int]:
        """What of a script these checks run, in its order: made once more, with an eye on every command."""
        from bridge.verify.coverage import noted

        with tempfile.TemporaryDirectory(prefix="rb-coverage-") as folder:
            file = Path(folder, "ran")
            subject = self.subject(path, trace=file)
            self._results(subject, [check for check in checks if check.phase == "behaviour"])
            return noted(file)

    def _located(self, subject: Subject, results: Iterable[CheckResult]) -> list[CheckResult]:
        """The results, each finding at the line at fault where a trace tells it."""
        results = [*results]
        if not any(result.findings for result in results):
            return results

        checks = {check.code: check for check in self.checks(subject.kind) if check.phase == "behaviour"}
        vague = {
            finding: lines
            for result in results
            for finding in result.findings
            if finding.code in checks and (lines := candidates(subject, finding))
        }
        if not (vague and subject.budget.remaining):
            return results
        ran = self._traced(subject.path, {checks[finding.code]: None for finding in vague})
        return [
            result._replace(findings=tuple(located(each, vague.get(each, set()), ran) for each in result.findings))
            for result in results
        ]


def _with_fixes(result: CheckResult, mend: Mend | None) -> CheckResult:
    """A result whose findings have the fixes that are offered, and no others."""
    kept = {finding.fix for finding in mend.fixed} if mend is not None else set()
    findings = (each if each.fix in kept else each._replace(fix=None) for each in result.findings)
    return result._replace(findings=tuple(findings))


def _result(subject: Subject, check: Check, *, mending: bool = False) -> CheckResult:
    """One check on one script, with the mends of what it finds; nothing that goes wrong in it is raised."""
    began = time.monotonic()
    findings: list[Finding] = []
    outcome, reason = CheckOutcome.PASSED, ""
    try:
        _precondition(subject, check)
        subject.unseen.clear()
        findings.extend(map(partial(_with_fix, subject), check.run(subject)) if mending else check.run(subject))
        if subject.unseen and not findings:  # what a hook does that fails can't be judged by what it has not done
            raise CannotTell(subject.unseen[0])
    except CannotTell as why:
        outcome, reason = CheckOutcome.UNKNOWN, str(why)
    except NotApplicable as why:
        outcome, reason = CheckOutcome.SKIPPED, str(why)
    except HookTimeout as error:
        hook = error.hook if error.hook in subject.facts.names else None
        findings.append(replace(check, hook=None).finding(subject, Problem(error.what, hook=hook)))
    except BridgeError as error:  # such as a script that can't be loaded: other checks say what is wrong with it
        outcome, reason = CheckOutcome.UNKNOWN, str(error)
    except Exception as error:  # noqa: BLE001 - a check of ours, or what it runs on, is broken: the others go on
        outcome, reason = CheckOutcome.UNKNOWN, f"{type(error).__name__}: {error}"
    if findings:
        outcome = CheckOutcome.FAILED
    return CheckResult(
        code=check.code,
        title=check.title,
        outcome=outcome,
        findings=tuple(findings),
        reason=reason,
        seconds=time.monotonic() - began,
    )


def _with_fix(subject: Subject, finding: Finding) -> Finding:
    from bridge.verify.mends import fix_of

    return finding._replace(fix=fix_of(subject, finding))


def _precondition(subject: Subject, check: Check) -> None:
    if not check.gate and subject.syntax is not None:
        raise CannotTell(f"not valid bash: line {subject.syntax[0][0]}: {subject.syntax[0][1]}")
    if check.phase == "static":
        return
    if subject.refused:
        raise CannotTell(subject.refused)
    subject.budget.start()
    if not check.after_timeout and not subject.budget.remaining:
        raise CannotTell(subject.budget.used_up)


# -- where a finding stands that was made by running: the first line run that does what it is about ------------


def candidates(subject: Subject, finding: Finding) -> set[int]:
    """The lines that may do what a finding is about; none where it has a line of its own already."""
    facts = subject.facts
    if finding.line not in (None, facts.line(finding.hook) if finding.hook else None):
        return set()
    there = subject.effects(finding.hook) if finding.hook in facts.names else facts.top
    names = {"IFS" if each == Aspect.IFS else each for each in finding.about}
    lines = {write.line for write in there.writes if write.name in names}
    return lines | {command.line for command in there.commands if _does(command, finding.about)}


def _does(command: CommandFact, about: Iterable[str]) -> bool:
    if Aspect.STDERR in about and any(map(_STDERR.match, (*command.redirects, *command.around))):
        return True
    return not command.subshell and any(command.name in _COMMANDS.get(each, ()) for each in about)


def located(finding: Finding, lines: set[int], ran: Iterable[TracedCommand]) -> Finding:
    """The finding, at the first of these lines that was run; as it was where none of them was."""
    return finding._replace(line=next((each.line for each in ran if each.line in lines), finding.line))
