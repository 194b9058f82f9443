"""A ``jq`` command for machines that have none, on the libjq inside the PyPI binding ``jq``.

Run as a program, in a Python of its own that loads nothing else of ours (`provided_jq` in the package says how)::

    python -I -S -B jq_command.py LIBRARY [ARGUMENT]...

where LIBRARY is the binding's extension module. The binding's Python interface would not do: it stops at the first
error where the command goes on with the next value, has no ``input`` and ``inputs`` (which our own agents use),
turns 1.0 into 1, and knows no exit status. The C library in it has all of that, so it is called directly. What this
rests on: the module exports libjq's functions, as its wheels do, and a ``jv`` is sixteen bytes, passed by value.

Options, messages and exit statuses are those of jq 1.7 and 1.8 (but ``--indent 0`` is one line, as before 1.8):
2 usage or a file, 3 the program, 4 no output (-e), 5 an error.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint8, c_uint16, c_uint64, c_void_p

OK, NULL, NO_OUTPUT = 0, -1, -4
SYSTEM, COMPILE, UNKNOWN = 2, 3, 5
FALSE_KIND, NULL_KIND, NUMBER_KIND, STRING_KIND = 2, 1, 4, 5
PRETTY, ASCII, COLOR, SORTED, TAB, TERMINAL = 1, 2, 4, 8, 64, 128
MOST_KEPT = 1 << 16  # bytes of output, as a pipe of the command's own would keep

USAGE = """\
Usage:\tjq [OPTIONS] FILTER [FILE]...
\tjq [OPTIONS] -f PROGRAM_FILE [FILE]...
\tjq [OPTIONS] --args FILTER [STRING]...
\tjq [OPTIONS] --jsonargs FILTER [JSON]...

This jq comes with ralph-bridge, for machines that have none. It takes the options of jq 1.8:
  -n --null-input   -R --raw-input   -s --slurp   -r --raw-output   --raw-output0   -j --join-output
  -a --ascii-output -c --compact-output   -S --sort-keys   -C --color-output   -M --monochrome-output
  --tab   --indent N   --unbuffered   --stream   --stream-errors   --seq   -e --exit-status
  -f --from-file   -L --library-path DIR   --arg NAME VALUE   --argjson NAME JSON
  --slurpfile NAME FILE   --rawfile NAME FILE   --args   --jsonargs   -V --version   -h --help
"""
# fmt: off
SHORT = {
    "n": "null-input", "R": "raw-input", "s": "slurp", "r": "raw-output",
    "j": "join-output", "a": "ascii-output", "c": "compact-output", "S": "sort-keys",
    "C": "color-output", "M": "monochrome-output", "e": "exit-status", "f": "from-file",
    "L": "library-path", "b": "binary", "V": "version", "h": "help",
}
# fmt: on
FLAGS = {*SHORT.values(), "raw-output0", "tab", "unbuffered", "stream", "stream-errors", "seq", "args", "jsonargs"}
NAMED = {"arg": "value", "argjson": "text", "slurpfile": "filename", "rawfile": "filename"}


class Value(ctypes.Structure):
    """A ``jv``, which libjq passes by value."""

    _fields_ = (("kind", c_uint8), ("pad", c_uint8), ("offset", c_uint16), ("size", c_int), ("content", c_uint64))


class UsageError(Exception):
    """The command line can't be understood; `usage`: people need to be told about ``--help``."""

    def __init__(self, message: str, *, usage: bool = True) -> None:
        super().__init__(message)
        self.usage = usage


SIGNATURES = {
    "jq_init": (c_void_p,),
    "jq_teardown": (None, c_void_p),
    "jq_compile_args": (c_int, c_void_p, c_char_p, Value),
    "jq_start": (None, c_void_p, Value, c_int),
    "jq_next jq_get_exit_code jq_get_error_message jq_util_input_next_input jq_util_input_get_position": (
        Value,
        c_void_p,
    ),
    "jq_halted jq_util_input_errors": (c_int, c_void_p),
    "jq_set_attr": (None, c_void_p, Value, Value),
    "jq_set_colors": (c_int, c_char_p),
    "jq_set_input_cb jq_set_debug_cb jq_set_stderr_cb": (None, c_void_p, c_void_p, c_void_p),
    "jq_util_input_init": (c_void_p, c_void_p, c_void_p),
    "jq_util_input_set_parser": (None, c_void_p, c_void_p, c_int),
    "jq_util_input_add_input": (None, c_void_p, c_char_p),
    "jv_parser_new": (c_void_p, c_int),
    "jv_null jv_array jv_object": (Value,),
    "jv_array_append": (Value, Value, Value),
    "jv_object_set": (Value, Value, Value, Value),
    "jv_object_has": (c_int, Value, Value),
    "jv_string_sized jv_load_file": (Value, c_char_p, c_int),
    "jv_string_value": (c_void_p, Value),
    "jv_string_length_bytes jv_get_kind jv_invalid_has_msg": (c_int, Value),
    "jv_parse": (Value, c_char_p),
    "jv_dump_string": (Value, Value, c_int),
    "jv_number_value": (ctypes.c_double, Value),
    "jv_copy jv_invalid_get_msg": (Value, Value),
    "jv_free": (None, Value),
}
"""libjq's functions that are called, with the types of what they give and take."""
ON_VALUE = CFUNCTYPE(None, c_void_p, Value)


class Library:
    """libjq, with the few helpers that hide who owns a value."""

    def __init__(self, path: str) -> None:
        self.c = ctypes.CDLL(path)
        for names, (result, *arguments) in SIGNATURES.items():
            for name in names.split():
                if function := getattr(self.c, name, None):
                    function.restype, function.argtypes = result, arguments

    def version(self) -> str:
        newest = hasattr(self.c, "jv_number_abs")
        return "jq-1.8" if newest else "jq-1.7" if hasattr(self.c, "jv_number_with_literal") else "jq-1.6"

    def string(self, data: bytes) -> Value:
        return self.c.jv_string_sized(data, len(data))  # type: ignore[no-any-return]

    def bytes_of(self, string: Value) -> bytes:
        """The bytes of a string, which is freed."""
        data = ctypes.string_at(
            self.c.jv_string_value(string), self.c.jv_string_length_bytes(self.c.jv_copy(string))
        )
        self.c.jv_free(string)
        return data

    def dumped(self, value: Value, flags: int) -> bytes:
        """A value as text; it is freed."""
        return self.bytes_of(self.c.jv_dump_string(value, flags))

    def shown(self, value: Value) -> bytes:
        """For messages: a string as it is, anything else as JSON; it is freed."""
        return self.bytes_of(value) if self.kind(value) == STRING_KIND else self.dumped(value, 0)

    def kind(self, value: Value) -> int:
        return self.c.jv_get_kind(value)  # type: ignore[no-any-return]

    def message(self, invalid: Value) -> Value | None:
        """The error that an invalid value carries, if any; the value is freed."""
        if not self.c.jv_invalid_has_msg(self.c.jv_copy(invalid)):
            self.c.jv_free(invalid)
            return None
        return self.c.jv_invalid_get_msg(invalid)  # type: ignore[no-any-return]


class Line:
    def __init__(self, jq: Library, arguments: list[bytes]) -> None:
        self.jq = jq
        self.flags: set[str] = set()
        self.program: bytes | None = None
        self.files: list[bytes] = []
        self.folders: list[bytes] = []
        self.indent = 2
        self.named: Value = jq.c.jv_object()
        self.positional = jq.c.jv_array()
        self.rest = "files"
        self.left = arguments
        only_operands = False
        while self.left:
            text = self.left.pop(0)
            if only_operands or text[:1] != b"-" or not (text[1:2] == b"-" or text[1:2].isalpha()):
                self.operand(text)
            elif text == b"--":
                only_operands = True
            elif text.startswith(b"--"):
                self.option(os.fsdecode(text[2:]))
            else:
                self.shorts(text)

    def operand(self, text: bytes) -> None:
        if self.program is None:
            self.program = text
        elif self.rest == "files":
            self.files.append(text)
        else:
            value = self.jq.string(text) if self.rest == "args" else self.json(text, "--jsonargs")
            self.positional = self.jq.c.jv_array_append(self.positional, value)

    def shorts(self, text: bytes) -> None:
        for at in range(1, len(text)):
            letter = chr(text[at])
            if letter == "L":
                folder = text[at + 1 :] or self.next(
                    "-L takes a parameter: (e.g. -L /search/path or -L/search/path)"
                )
                self.folders.append(folder)
                return
            if letter not in SHORT:
                raise UsageError(f"Unknown option: {os.fsdecode(text)}")
            self.flags.add(SHORT[letter])

    def option(self, name: str) -> None:
        if name in NAMED:
            takes = f"--{name} takes two parameters (e.g. --{name} varname {NAMED[name]})"
            self.name(name, self.next(takes), self.next(takes))
        elif name == "indent":
            self.indent = self.number(self.next("--indent takes one parameter"))
            self.flags.discard("tab")
        elif name == "library-path":
            self.folders.append(self.next("-L takes a parameter: (e.g. -L /search/path or -L/search/path)"))
        elif name == "build-configuration":
            sys.exit(0)
        elif name not in FLAGS:
            raise UsageError(f"Unknown option: --{name}")
        else:
            self.flags.add(name)
            if name in ("args", "jsonargs"):
                self.rest = name

    def next(self, otherwise: str) -> bytes:
        if not self.left:
            raise UsageError(otherwise)
        return self.left.pop(0)

    def number(self, text: bytes) -> int:
        try:
            indent = int(text)
        except ValueError:
            indent = 0
        if indent < -1:
            raise UsageError("Cannot indent less than -1")
        if indent > 7:
            raise UsageError("Cannot indent more than 7 characters")
        return indent

    def json(self, text: bytes, option: str) -> Value:
        value = self.jq.c.jv_parse(text)
        if not self.jq.kind(value):
            raise UsageError(f"Invalid JSON text passed to {option}")
        return value  # type: ignore[no-any-return]

    def name(self, option: str, name: bytes, text: bytes) -> None:
        """Define a variable; the first definition counts."""
        jq = self.jq
        if option == "arg":
            value = jq.string(text)
        elif option == "argjson":
            value = self.json(text, "--argjson")
        else:
            value = jq.c.jv_load_file(text, int(option == "rawfile"))
            if not jq.kind(value):
                why = jq.message(value)
                message = os.fsdecode(jq.shown(why)) if why else ""
                raise UsageError(f"Bad JSON in --{option} {os.fsdecode(name)} {os.fsdecode(text)}: {message}")
        if not jq.c.jv_object_has(jq.c.jv_copy(self.named), jq.string(name)):
            self.named = jq.c.jv_object_set(self.named, jq.string(name), value)

    def arguments(self) -> Value:
        """What the program sees as variables, ``$ARGS`` among them."""
        jq = self.jq
        both = jq.c.jv_object_set(jq.c.jv_object(), jq.string(b"positional"), self.positional)
        both = jq.c.jv_object_set(both, jq.string(b"named"), jq.c.jv_copy(self.named))
        if not jq.c.jv_object_has(jq.c.jv_copy(self.named), jq.string(b"ARGS")):
            self.named = jq.c.jv_object_set(self.named, jq.string(b"ARGS"), both)
        return self.named

    def dump_flags(self) -> int:
        if "tab" in self.flags or not 0 <= self.indent <= 7:
            flags = TAB | PRETTY
        else:
            flags = self.indent << 8 | PRETTY if self.indent else 0
        if "compact-output" in self.flags:
            flags = 0
        if "ascii-output" in self.flags:
            flags |= ASCII
        if "sort-keys" in self.flags:
            flags |= SORTED
        terminal = os.isatty(1)
        coloured = terminal and not os.environ.get("NO_COLOR")
        if "color-output" in self.flags or (coloured and "monochrome-output" not in self.flags):
            flags |= COLOR
        return flags


def complain(text: bytes) -> None:
    """Write to stderr, past every buffer; who has closed it wants to hear nothing."""
    try:  # noqa: SIM105 - contextlib takes a millisecond to import
        os.write(2, text)
    except OSError:
        pass


class JqRun:
    def __init__(self, jq: Library, line: Line) -> None:
        self.jq = jq
        self.flags = line.flags
        self.line = line
        self.dump = line.dump_flags()
        self.raw = not self.flags.isdisjoint(("raw-output", "raw-output0", "join-output"))
        self.end = b"" if "join-output" in self.flags else b"\0" if "raw-output0" in self.flags else b"\n"
        self.at_once = "unbuffered" in self.flags or os.isatty(1)
        self.out = bytearray()
        self.state = jq.c.jq_init()
        # The library keeps the addresses: these must live as long as it is used.
        self.on_debug = ON_VALUE(self.debug)
        self.on_stderr = ON_VALUE(self.stderr)

    def debug(self, _data: int, value: Value) -> None:
        both = self.jq.c.jv_array_append(self.jq.c.jv_array(), self.jq.string(b"DEBUG:"))
        compact = self.dump & ~(PRETTY | TAB | 0x700)
        complain(self.jq.dumped(self.jq.c.jv_array_append(both, value), compact) + b"\n")

    def stderr(self, _data: int, value: Value) -> None:
        """``stderr``: strings as they are (jq 1.6 had quotes round them)."""
        complain(self.jq.shown(value))

    def write(self, data: bytes) -> None:
        self.out += data
        if self.at_once or len(self.out) >= MOST_KEPT:
            self.flush()

    def flush(self) -> None:
        """Raises OSError when nobody takes it."""
        data, self.out = memoryview(bytes(self.out)), bytearray()
        while data:
            data = data[os.write(1, data) :]

    def compiled(self) -> bool:
        """Prepare the program; False, with the library's own words on stderr, when it is none."""
        jq, line = self.jq, self.line
        program = line.program or b"."
        if "from-file" in self.flags:
            text = jq.c.jv_load_file(program, 1)
            if not jq.kind(text):
                why = jq.message(text)
                raise UsageError(os.fsdecode(jq.shown(why)) if why else "no program", usage=False)
            origin = os.path.dirname(os.path.realpath(program))
            program = jq.bytes_of(text)
        else:
            origin = os.getcwdb()
        folders = line.folders or [b"~/.jq", b"$ORIGIN/../lib/jq", b"$ORIGIN/../lib"]
        paths = jq.c.jv_array()
        for folder in folders:
            paths = jq.c.jv_array_append(paths, jq.string(folder))
        for name, value in (
            (b"JQ_ORIGIN", jq.string(os.path.dirname(os.fsencode(__file__)))),
            (b"PROGRAM_ORIGIN", jq.string(origin)),
            (b"JQ_LIBRARY_PATH", paths),
        ):
            jq.c.jq_set_attr(self.state, jq.string(name), value)
        return bool(jq.c.jq_compile_args(self.state, program, line.arguments()))

    def run(self) -> int:
        jq, flags = self.jq, self.flags
        inputs = jq.c.jq_util_input_init(None, None)
        if not self.compiled():
            return COMPILE
        for file in self.line.files or [b"-"]:
            jq.c.jq_util_input_add_input(inputs, file)
        parsing = ("seq" in flags) | ("stream" in flags) << 1 | ("stream-errors" in flags) << 2
        parser = None if "raw-input" in flags else jq.c.jv_parser_new(parsing | (parsing & 4) >> 1)
        jq.c.jq_util_input_set_parser(inputs, parser, int("slurp" in flags))
        jq.c.jq_set_input_cb(self.state, ctypes.cast(jq.c.jq_util_input_next_input_cb, c_void_p), inputs)
        jq.c.jq_set_debug_cb(self.state, ctypes.cast(self.on_debug, c_void_p), None)
        if hasattr(jq.c, "jq_set_stderr_cb"):
            jq.c.jq_set_stderr_cb(self.state, ctypes.cast(self.on_stderr, c_void_p), None)
        if self.dump & COLOR and "JQ_COLORS" in os.environ:
            jq.c.jq_set_colors(os.fsencode(os.environ["JQ_COLORS"]))
        status, last = NO_OUTPUT, -1
        if "null-input" in flags:
            status = self.process(jq.c.jv_null())
        else:
            status, last = self.each(inputs)
        if jq.c.jq_util_input_errors(inputs):
            status = SYSTEM
        try:
            self.flush()
        except OSError as error:
            complain(b"jq: error: writing output failed: %s\n" % os.fsencode(os.strerror(error.errno or 0)))
            return SYSTEM
        if "exit-status" not in flags:
            return max(status, 0)
        if status == NO_OUTPUT:
            status = {-1: NO_OUTPUT, 0: NULL}.get(last, OK)
        return abs(status)

    def each(self, inputs: int) -> tuple[int, int]:
        jq = self.jq
        status, last = NO_OUTPUT, -1
        while not jq.c.jq_util_input_errors(inputs):
            value = jq.c.jq_util_input_next_input(inputs)
            if jq.kind(value):
                status = self.process(value)
                if status <= 0 and status != NO_OUTPUT:
                    last = int(status != NULL)
                if jq.c.jq_halted(self.state):
                    break
                continue
            why = jq.message(value)
            if why is None:
                break
            if "seq" not in self.flags:
                complain(b"jq: parse error: %s\n" % jq.shown(why))
                return UNKNOWN, last
            complain(b"jq: ignoring parse error: %s\n" % jq.shown(why))
        return status, last

    def process(self, value: Value) -> int:
        jq = self.jq
        status = NO_OUTPUT
        jq.c.jq_start(self.state, value, 0)
        while kind := jq.kind(result := jq.c.jq_next(self.state)):
            if self.raw and kind == STRING_KIND:
                printed = jq.dumped(result, ASCII) if "ascii-output" in self.flags else jq.bytes_of(result)
                if self.end == b"\0" and b"\0" in printed:
                    complain(
                        b"jq: error (at %s): Cannot dump a string containing NUL with --raw-output0 option\n"
                        % jq.bytes_of(jq.c.jq_util_input_get_position(self.state))
                    )
                    return UNKNOWN
                status = OK
            else:
                status = NULL if kind in (FALSE_KIND, NULL_KIND) else OK
                printed = jq.dumped(result, self.dump)
                if "seq" in self.flags:
                    printed = b"\x1e" + printed
            self.write(printed + self.end)
        if jq.c.jq_halted(self.state):
            return self.halted()
        why = jq.message(result)
        if why is None:
            return status
        note = b"" if jq.kind(why) == STRING_KIND else b" (not a string)"
        where = jq.bytes_of(jq.c.jq_util_input_get_position(self.state))
        complain(b"jq: error (at %s)%s: %s\n" % (where, note, jq.shown(why)))
        return UNKNOWN

    def halted(self) -> int:
        jq = self.jq
        code = jq.c.jq_get_exit_code(self.state)
        if not jq.kind(code):
            status = OK
        else:
            status = int(jq.c.jv_number_value(code)) if jq.kind(code) == NUMBER_KIND else UNKNOWN
        message = jq.c.jq_get_error_message(self.state)
        kind = jq.kind(message)
        if kind == STRING_KIND:
            complain(jq.bytes_of(message))
        elif kind > NULL_KIND:
            complain(jq.dumped(message, 0) + b"\n")
        return status


def main(library: str, arguments: list[bytes]) -> int:
    try:
        jq = Library(library)
    except OSError as error:
        complain(b"jq: %s has no libjq in it: %s\n" % (os.fsencode(library), os.fsencode(str(error))))
        return SYSTEM
    try:
        line = Line(jq, arguments)
        if "version" in line.flags or "help" in line.flags:
            os.write(1, USAGE.encode() if "help" in line.flags else jq.version().encode() + b"\n")
            return 0
        if line.program is None and os.isatty(0) and os.isatty(1):
            complain(USAGE.encode())
            return SYSTEM
        return JqRun(jq, line).run()
    except UsageError as refused:
        complain(b"jq: %s\n" % os.fsencode(str(refused)))
        if refused.usage:
            complain(b"Use jq --help for help with command-line options.\n")
        return SYSTEM


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Past the interpreter's own clean-up: there is nothing to clean up, and it takes milliseconds.
    os._exit(main(sys.argv[1], [os.fsencode(argument) for argument in sys.argv[2:]]))
