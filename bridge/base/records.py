"""Dataclasses that are made when the first instance of theirs is: a start pays for none that only trouble needs.

What `dataclasses.dataclass` writes for a class and compiles takes it half a millisecond, and a loop knows of a
hundred. So what is the same in all of them is here once, and it compiles their beginnings only. ``slots=True`` is
checked by type checkers alone, and a frozen one refuses what would change a field, not a further attribute.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import reprlib
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool):
        """As `dataclasses.dataclass`; whatever asks for the class's fields gets them, too.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        >>> Point(1)
        Point(x=1)
        """
        if cls is None:
            return lambda each: dataclass(each, **options)
        options.pop("slots", None)
        if options.keys() <= {"frozen", "kw_only"} and not vars(cls).keys() & {*_Unmade.NAMES, *_Unmade.ALIKE}:
            _Unmade(cls, options).install()
            return cls
        return dataclasses.dataclass(**options)(cls)


@functools.cache
def _compared(cls: type) -> operator.attrgetter[Any]:
    return operator.attrgetter("__class__", *(each.name for each in dataclasses.fields(cls) if each.compare))


def _values(self: Any) -> Any:
    """What an instance is compared by, and hashed."""
    return _compared(self.__class__)(self)


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> bool:
    return bool(_values(self) == _values(other)) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _set_once(self: Any, name: str, value: object) -> None:
    if name in vars(self):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


_making = threading.RLock()


class _Unmade:
    """Stands in a class for what a dataclass has, until somebody asks for any of it."""

    NAMES = ("__init__", "__setstate__", "__dataclass_fields__", "__dataclass_params__", "__match_args__")
    ALIKE = ("__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__")

    def __init__(self, cls: type, options: dict[str, bool]) -> None:
        self._cls = cls
        frozen = options.get("frozen", False)
        # Below another one it is frozen by the standard library, which allows no other way.
        self._first = frozen and not any("__dataclass_fields__" in vars(each) for each in cls.__mro__[1:])
        self._is = {"frozen": frozen, "repr": True, "eq": True}
        self._options: dict[str, Any] = {**options, "repr": False, "eq": False}
        if self._first:
            del self._options["frozen"]

    def install(self) -> None:
        hashed = _hash if self._is["frozen"] else None
        alike: dict[str, object] = {"__repr__": _repr, "__eq__": _eq, "__hash__": hashed}
        alike |= {"__setattr__": _set_once, "__delattr__": _delete} if self._first else {}
        parts = {name: _Part(self, name) for name in self.NAMES}
        for name, value in (alike | parts).items():
            setattr(self._cls, name, value)

    def make(self, name: str) -> Any:
        """Make the class what it is said to be; give what it then has by that name."""
        with _making:
            if isinstance(self._cls.__dict__.get("__init__"), _Part):
                if threading.active_count() == 1:
                    for each in self.NAMES:
                        delattr(self._cls, each)
                    dataclasses.dataclass(**self._options)(self._cls)
                else:
                    self._make_among_threads()
                for option, value in self._is.items():
                    setattr(self._cls.__dataclass_params__, option, value)  # type: ignore[attr-defined]
        return getattr(self._cls, name)

    def _make_among_threads(self) -> None:
        """The same in half as much time again, with `__init__` last and in one step.

        Where it was missing for a moment, another thread would call that of a base. It's one that is made for a
        class below.
        """
        cls, text = self._cls, self._cls.__doc__
        del cls.__match_args__  # type: ignore[attr-defined]
        cls.__doc__ = text or cls.__name__  # or the signature would be asked for
        dataclasses.dataclass(**{**self._options, "init": False})(cls)
        below = types.new_class(cls.__name__, (cls,))
        below.__module__, below.__qualname__ = cls.__module__, cls.__qualname__
        frozen = self._options.get("frozen", False)
        dataclasses.dataclass(frozen=frozen, repr=False, eq=False, match_args=False)(below)
        cls.__dataclass_params__.init = True  # type: ignore[attr-defined]
        cls.__doc__ = text or below.__doc__
        cls.__init__ = below.__init__  # type: ignore[misc]
        del cls.__setstate__  # type: ignore[attr-defined]


class _Part:
    def __init__(self, unmade: _Unmade, name: str) -> None:
        self._unmade, self._name = unmade, name

    def __get__(self, instance: object, owner: type) -> Any:
        found = self._unmade.make(self._name)
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found
