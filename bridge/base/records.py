"""Dataclasses that are made when the first instance of theirs is: a start pays for none that only trouble needs.

What `dataclasses.dataclass` writes for a class and compiles takes it half a millisecond, and a loop knows of a
hundred. ``slots=True`` is checked by type checkers alone.
"""

from __future__ import annotations

import dataclasses
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
        if options.get("init", True) and not vars(cls).keys() & set(_Unmade.NAMES):
            _Unmade(cls, options).install()
            return cls
        return dataclasses.dataclass(**options)(cls)


_making = threading.RLock()


class _Unmade:
    """Stands in a class for what a dataclass has, until somebody asks for any of it."""

    NAMES = ("__init__", "__setstate__", "__dataclass_fields__", "__dataclass_params__", "__match_args__")

    def __init__(self, cls: type, options: dict[str, bool]) -> None:
        self._cls = cls
        self._options: dict[str, Any] = options

    def install(self) -> None:
        for name in self.NAMES:
            setattr(self._cls, name, _Part(self, name))

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
