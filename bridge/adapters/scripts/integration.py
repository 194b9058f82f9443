"""What ralph-bridge loads into Python: announcements of prompts (OSC 633), each ending in a nonce.

Runs in the namespace that the user will work in, so it leaves one name there: ``_ripple_exec_file``, which files written
for another runtime call. Python 3.6 and newer.
"""


def _ripple_integration():
    import os
    import sys

    nonce = "{nonce}"
    state = {"status": 0, "hook": sys.excepthook}

    def sequence(payload):
        return "\033]633;" + payload + ";" + nonce + "\007"

    def excepthook(kind, value, trace):
        state["status"] = 1
        hook = state["hook"]
        frame = trace
        while frame is not None:
            if frame.tb_frame.f_code is run_file.__code__:
                trace = frame.tb_next  # what lies above is not the user's code
            frame = frame.tb_next
        if trace is value.__traceback__ or hook is not sys.__excepthook__:
            hook(kind, value, trace)
            return
        import traceback

        traceback.print_exception(kind, value, trace)

    class Primary:
        def __str__(self):
            try:
                cwd = os.getcwd()
            except OSError:
                cwd = ""
            status, state["status"] = state["status"], 0
            if sys.excepthook is not excepthook:  # replaced by the user: stay in front of it
                state["hook"], sys.excepthook = sys.excepthook, excepthook
            sys.stdout.flush()
            sys.stderr.flush()
            marks = sequence("D;%d" % status) + (sequence("P;Cwd=" + cwd) if cwd else "") + sequence("A")
            os.write(1, marks.encode("utf-8", "surrogateescape"))
            # Drawn by the line editor once the terminal is in its hands: only then may somebody type.
            return ">>> \001" + sequence("B") + "\002"

    class Continuation:
        def __str__(self):
            return "\001" + sequence("K") + "\002... "

    def run_file(path):
        """Run a file as if it had been typed: state stays, the value of its last expression is shown."""
        import ast
        import linecache

        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            source = file.read()
        try:
            os.unlink(path)
        except OSError:
            pass
        name = "<input>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        tree = ast.parse(source, name)
        main = sys.modules["__main__"].__dict__
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), main)
        if last is not None:
            exec(compile(ast.Interactive([last]), name, "single"), main)

    try:
        import readline

        # Tabs in code are tabs.
        readline.parse_and_bind("tab: tab-insert")
        if not os.environ.pop("RALPH_BRIDGE_HISTORY", ""):
            readline.set_history_length(0)
    except Exception:
        pass
    sys.excepthook = excepthook
    sys.ps1, sys.ps2 = Primary(), Continuation()
    return run_file


_ripple_exec_file = _ripple_integration()
del _ripple_integration
