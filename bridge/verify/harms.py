"""What comes of a violation, and so how severe it is: each check names its harm, and nothing else decides.

An error breaks a loop, or loses work, or gives a wrong text or session. A warning will hurt later, or elsewhere.
Info is good to know.
"""

from __future__ import annotations

from typing import NamedTuple

from bridge.verify.model import ERROR, INFO, WARNING, Severity


class Harm(NamedTuple):
    """How severe, and why: what happens to whom."""

    severity: Severity
    why: str


ENDS_THE_LOOP = Harm(ERROR, "the loop ends, hangs, or doesn't begin")
TAKEN_FOR_ANOTHER = Harm(ERROR, "the loop doesn't find it, or takes it for something else")
NO_EFFECT = Harm(ERROR, "it has no effect: nobody calls or reads it, and nothing says so")
CHANGES_THE_LOOP = Harm(ERROR, "everything that the loop does afterwards is done differently")
WRONG_COMMAND = Harm(ERROR, "the CLI refuses the command, or does something else")
WRONG_PROMPT = Harm(ERROR, "the agent works on another text than it was given")
WRONG_PERMISSIONS = Harm(ERROR, "the agent may do more, or less, than was allowed")
WRONG_SESSION = Harm(ERROR, "the session is lost, or another one goes on")
WRONG_RESPONSE = Harm(ERROR, "the loop reads another answer than the agent gave: it ends too early, or never")
WRONG_STATUS = Harm(ERROR, "the loop takes a failure for a success, or a success for a failure")
WRONG_DISPLAY = Harm(ERROR, "people see nothing, or something else, of a run that takes hours")
RUNS_CODE = Harm(ERROR, "what a model has written is executed")
LOSES_WORK = Harm(ERROR, "files, or the input, of others are changed or lost")
UNEXPLAINED = Harm(ERROR, "it fails again and again, and nobody learns why")
LEAKS = Harm(WARNING, "one day it is a variable of the loop")
LITTERS = Harm(WARNING, "files stay behind, more with each turn")
NOISE = Harm(WARNING, "it stands among what the loop prints or hands on")
COSTS = Harm(WARNING, "it takes time, a network or a login at moments when nobody expects it")
OLD_BASH = Harm(WARNING, "it fails on macOS, whose bash is 3.2")
FRAGILE = Harm(WARNING, "it works here and now, and not with other hosts, CLIs or inputs")
GOOD_TO_KNOW = Harm(INFO, "nothing breaks; people may want to know")
