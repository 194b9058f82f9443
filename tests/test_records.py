"""Dataclasses that are made when the first instance is: nobody can tell them from others."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
import threading
from dataclasses import InitVar, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import bridge
from bridge.base.records import _Part, dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    names: tuple[str, ...] = ()
    count: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Named(Point):
    name: str = ""
    others: list[int] = field(default_factory=list)


@dataclass
class Plain:
    value: int = 1

    def __post_init__(self) -> None:
        self.value += 1


class Below(Plain):
    def __init__(self) -> None:
        super().__init__(5)


def test_they_are_dataclasses() -> None:
    assert [each.name for each in dataclasses.fields(Named)] == ["x", "names", "name", "others"]
    assert repr(Named(1, name="a")) == "Named(x=1, names=(), name='a', others=[])"
    assert Point(1) == Point(1) != Point(2)
    assert {Point(1), Point(1, ())} == {Point(1)}
    assert dataclasses.replace(Point(1), x=2) == Point(2)
    assert dataclasses.asdict(Named(1)) == {"x": 1, "names": (), "name": "", "others": []}
    assert Named(1).others is not Named(1).others
    with pytest.raises(dataclasses.FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del Point(1).x
    with pytest.raises(dataclasses.FrozenInstanceError):
        Named(1).name = "b"  # type: ignore[misc]
    assert Point(1) != Named(1)
    assert Plain.__hash__ is None
    with pytest.raises(TypeError, match="unexpected keyword"):
        Point(1, y=2)
    match Point(7):
        case Point(x):
            assert x == 7


def test_those_of_the_standard_library_can_stand_below_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Frozen(Point):
        y: int = 2

    assert repr(Frozen(1)).endswith("Frozen(x=1, names=(), y=2)")
    assert Frozen(1) == Frozen(1, y=2) != Frozen(1, y=3)
    assert hash(Frozen(1)) == hash(Frozen(1, y=2))
    with pytest.raises(TypeError, match="non-frozen"):

        @dataclasses.dataclass
        class Thawed(Point):  # type: ignore[misc]
            y: int = 2


def test_one_that_holds_itself_can_be_shown() -> None:
    @dataclass
    class Knot:
        others: list[object] = field(default_factory=list)

    knot = Knot()
    knot.others.append(knot)
    assert repr(knot).endswith("Knot(others=[...])")


def test_below_one_its_own_beginning_is_called() -> None:
    assert Below().value == 6
    assert repr(Below()) == "Below(value=6)"


@pytest.mark.parametrize("ask", [dataclasses.fields, dataclasses.is_dataclass, inspect.signature])
def test_who_asks_for_the_class_gets_it_before_there_is_an_instance(ask: Any) -> None:
    @dataclass(frozen=True)
    class Asked:
        x: int = 3

    assert isinstance(vars(Asked)["__init__"], _Part)
    assert ask(Asked)
    assert Asked.__match_args__ == ("x",)
    assert not any(isinstance(each, _Part) for each in vars(Asked).values())


def test_one_that_comes_from_another_process_is_whole() -> None:
    code = (
        "import pickle, sys; one, two = (pickle.loads(sys.stdin.buffer.read(%d)) for _ in '12');"
        "print(one == two, repr(one), hash(one) == hash(two))"
    )
    data = pickle.dumps(Point(1, ("a",)))
    words = [sys.executable, "-c", code % len(data)]
    done = subprocess.run(words, input=data * 2, capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.decode() == "True Point(x=1, names=('a',)) True\n"


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that take turns as often as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty")
def test_many_threads_make_one_class() -> None:
    for _ in range(30):

        @dataclass(frozen=True)
        class Shared(Point):
            x: int = 3
            more: int = 4
            others: tuple[int, ...] = ()

        start = threading.Barrier(4)
        seen: list[Any] = []

        def make(kind: type = Shared, start: threading.Barrier = start, seen: list[Any] = seen) -> None:
            start.wait()
            seen.extend(kind(more=5) for _ in range(20))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert seen == [Shared(more=5)] * 80


def test_one_that_is_made_beside_other_threads_is_the_same() -> None:
    def shape(decorate: Any) -> list[object]:
        @decorate(frozen=True, kw_only=True)
        class Shape(Point):
            y: int
            count: ClassVar[int] = 3
            given: InitVar[int] = 4  # type: ignore[assignment]
            lines: list[int] = field(default_factory=list)

            def __post_init__(self, given: int) -> None:
                self.lines.append(given)

        kind: Any = Shape
        one = kind(x=1, y=2)
        assert one == kind(1, y=2) != kind(1, y=2, given=5)
        words = [repr(one), kind.__doc__, str(inspect.signature(kind)), kind.__init__.__qualname__]
        return [*words, repr(kind.__dataclass_params__), kind.__match_args__, sorted(vars(kind))]

    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        beside = shape(dataclass)
    finally:
        stop.set()
        other.join()
    assert beside == shape(dataclasses.dataclass) == shape(dataclass)


def test_what_a_class_has_of_its_own_stays() -> None:
    @dataclass
    class Own:
        x: int = 1

        def __init__(self, twice: int) -> None:
            self.x = 2 * twice

    @dataclass(init=False)
    class Without:
        x: int = 1

    assert repr(Own(2)).endswith("Own(x=4)")
    assert repr(Without()).endswith("Without(x=1)")


def test_all_of_ours_can_be_made() -> None:
    """What is wrong with one would be seen late; so each is made here."""
    found = 0
    for module in pkgutil.walk_packages(bridge.__path__, "bridge."):
        if module.name == "bridge.__main__":
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except ImportError:
            continue  # of a package that is optional
        for each in [each for each in names.values() if isinstance(each, type)]:
            found += each.__module__ == module.name and dataclasses.is_dataclass(each)
    assert found > 200
