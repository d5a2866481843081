"""Lists that installed packages may add to: an entry is loaded when it is asked for.

The core's stand by name in one place; all others are entry points of a group ``tiltyard.v1.NAME``
(:data:`GROUPS`): those of our own plug-ins, which count as ours, and those of other packages. The
number is in the group's name, so that what was written for another interface is told without
importing it. Nothing takes the place of ours. What a package of others adds is a stranger's: it may
fail, print, exit or hang, and harms nothing but what was asked of it.
"""

import contextlib
import copy
import dataclasses
import functools
import operator
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Final, Generic, TypeVar, get_origin, get_type_hints, overload

from tiltyard.errors import HostLacksError, TiltyardError, UsageError, WrittenWarning
from tiltyard.printable import one_line

T = TypeVar("T")

PREFIX: Final = "tiltyard.v1."
GROUPS: Final = {
    "kinds": "kind of system",
    "filesystems": "file system",
    "knobs": "knob",
    "sections": "section of the system record",
    "readers": "reader",
    "charts": "chart",
    "styles": "style",
    "formats": "format",
    "exporters": "exporter",
    "statements": "statement",
    "workloads": "folder of workloads",
    "verbs": "verb",
    "studies": "kind of study",
    "engines": "engine",
}
"""Group → what one of its entries is called."""
SWITCH: Final = "TILTYARD_PLUGINS"
"""In the environment: ``none``, or the packages of which plug-ins are used; unset: all. ``core``:
not even those that come with Tiltyard, for the tests of the core alone."""
LIMIT_S = 120.0
"""A plug-in that has not answered by then hangs."""
_OURS: Final = "tiltyard"
_CORE: Final = "core"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}", re.ASCII)
_VALUE: Final = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?", re.ASCII)
_TEXT_MAX: Final = 300


class PluginWarning(WrittenWarning):
    """A plug-in cannot be used; everything else goes on."""


class PluginError(HostLacksError):
    """A plug-in failed, and was asked for."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of an installed package."""

    package: str
    version: str
    group: str
    """Without the prefix: ``readers``."""
    name: str
    value: str
    """Where it is: ``module:object``."""
    wrong: str = ""
    """Why it cannot even be looked for; empty: it can."""

    def __str__(self) -> str:
        """``the reader "fio" of the package bench 1.2``."""
        named = f' "{self.name}"' if self.name else ""
        return f"the {GROUPS.get(self.group, 'plug-in')}{named} of {self.of}"

    @property
    def of(self) -> str:
        """The package with its version."""
        return f"the package {self.package} {self.version}".rstrip()

    @property
    def is_ours(self) -> bool:
        """Whether it comes with Tiltyard: a defect of it is one of ours."""
        return self.package == _OURS

    def failed(self, how: str) -> PluginError:
        """The error that names it."""
        text = how if len(how) <= _TEXT_MAX else f"{how[:_TEXT_MAX]}…"
        return PluginError(
            f"{self} {one_line(text)}. Fix: update or remove {self.package}, or {SWITCH}=none"
        )


@cache
def installed() -> tuple[Plugin, ...]:
    """What installed packages add, by package and name, without what is switched off.

    Raises:
        UsageError: if the environment names a package that adds nothing.
    """
    found = sorted(_entries(), key=lambda one: (one.package, one.group, one.name))
    switch = os.environ.get(SWITCH)
    if switch is None:
        return tuple(found)
    wanted = {_normal(word) for word in switch.split(",") if word.strip()} - {"none"}
    with_ours = _CORE not in wanted
    wanted -= {_CORE}
    known = {_normal(one.package) for one in found}
    if unknown := sorted(wanted - known):
        raise UsageError(
            f"{SWITCH}: {one_line(unknown[0])} is no package with plug-ins. Fix: none, or of: "
            f"{', '.join(sorted(known - {_OURS})) or 'there are no others'}"
        )
    return tuple(
        one for one in found if (with_ours if one.is_ours else _normal(one.package) in wanted)
    )


def _normal(package: str) -> str:
    """A package's name as names are compared."""
    return re.sub(r"[-_.]+", "-", package.strip()).lower()


def _entries() -> Iterator[Plugin]:
    """One package at a time, so that a damaged one hides no other."""
    from importlib.metadata import distributions  # half of what a short command costs

    seen = set[str]()
    for one in distributions():
        try:
            text = one.read_text("entry_points.txt") or ""
            if "tiltyard." not in text:
                continue
            package, version = str(one.metadata["Name"] or ""), str(one.version or "")
        except Exception:  # not even a name is told
            continue
        if not _NAME.fullmatch(package) or _normal(package) in seen:
            continue
        seen.add(_normal(package))
        about = package, one_line(version)[:64]
        try:
            points = [(each.group, each.name, each.value) for each in one.entry_points]
        except Exception as error:
            text = f"has entry points that cannot be read: {told(error)}"
            yield Plugin(*about, "", "", "", text)
            continue
        for group, name, value in points:
            if re.match(r"tiltyard\.", group):
                yield _entry(*about, group, name, value)


def _entry(package: str, version: str, group: str, name: str, value: str) -> Plugin:
    """One entry point, and what is wrong with it already."""
    own, wrong = group.removeprefix(PREFIX), ""
    if not group.startswith(PREFIX):
        wrong = f"is for another interface: {group}, where this one is {PREFIX}*"
    elif own not in GROUPS:
        wrong = f"is in {group}, which there is not; one of {', '.join(GROUPS)}"
    elif not _NAME.fullmatch(name):
        wrong = "has a name that nobody could type"
    elif not _VALUE.fullmatch(value):
        wrong = f'names no object: "{value}"'
    return Plugin(package, version, own, one_line(name)[:64], value, wrong)


@contextlib.contextmanager
def contained(plugin: Plugin, doing: str = "failed") -> Iterator[None]:
    """Do something of a plug-in: whatever becomes of it is an error that names its package.

    What it prints goes to standard error. An error of ours that it raises is passed on.

    Raises:
        PluginError: if it fails, exits, or does not end in time.
    """
    if plugin.is_ours:
        yield
        return
    try:
        with _in_time(), contextlib.redirect_stdout(sys.stderr):
            yield
    except (KeyboardInterrupt, GeneratorExit, TiltyardError):
        raise
    except BaseException as error:  # SystemExit too
        raise plugin.failed(f"{doing}: {told(error)}") from error


def told(error: BaseException) -> str:
    """What an error says, if it says anything."""
    try:
        if isinstance(error, _LateError):
            return str(error)
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:
        return type(error).__name__


class _LateError(BaseException):
    """No exception of those that a plug-in may catch."""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Interrupt what takes too long, again and again; only possible in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise _LateError(f"it took longer than {LIMIT_S:g} s")

    handler = signal.signal(signal.SIGALRM, late)
    before = signal.setitimer(signal.ITIMER_REAL, LIMIT_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, handler)


def guarded(
    call: Callable[..., Any], plugin: Plugin, check: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """The same function of a plug-in, contained; what it yields one by one is all taken at once.

    Args:
        call: the function.
        plugin: whose it is.
        check: what it gave → the same, or the error that it is something else.
    """

    @functools.wraps(call)
    def made(*args: Any, **kwargs: Any) -> Any:
        with contained(plugin):
            found = call(*args, **kwargs)
            found = list(found) if isinstance(found, Iterator) else found
            return check(found) if check else found

    return made


class Registry(Sequence[T], Generic[T]):
    """Entries by name, ours first and in their order, those of other packages after them."""

    def __init__(
        self,
        group: str,
        own: Mapping[str, str],
        base: type | tuple[type, ...] | None,
        *,
        within: str = "",
        unknown: str = "is not one of them",
        checks: Mapping[str, Callable[[Any], Any]] | None = None,
        sound: Callable[[Any, Plugin], Any] | None = None,
    ) -> None:
        """Nothing is loaded, or looked for, yet.

        Args:
            group: of the entry points, of :data:`GROUPS`.
            own: name → ``module:object``; ``""``: of a plug-in of ours, which stands there where it
                is installed. Those that are not named here stand after them.
            base: the class of the entries; ``None``: anything.
            within: the package that our modules are in, where they begin with a dot.
            unknown: what an error says of a name that there is not.
            checks: field of an entry → what looks at what that function gives.
            sound: what makes an entry of a package one that can be used, or raises.
        """
        self._group, self._listed, self._base = group, own, base
        self._within, self._unknown = within, unknown
        self._checks, self._sound = checks or {}, sound
        self._loaded: dict[str, T] = {}
        self._broken: dict[str, PluginError] = {}
        self._warned: set[str] = set()

    @cached_property
    def _own(self) -> dict[str, str]:
        """Name → where it is, of the core and of our plug-ins."""
        added = {one.name: one.value for one in self._added() if one.is_ours}
        found = {name: value or added.get(name, "") for name, value in self._listed.items()}
        found.update((name, value) for name, value in added.items() if name not in found)
        return {name: value for name, value in found.items() if value}

    @cached_property
    def _foreign(self) -> dict[str, list[Plugin]]:
        """Name → entries of packages; more than one, or of a name of ours: none is taken."""
        found: dict[str, list[Plugin]] = {}
        for one in self._added():
            if not one.is_ours:
                found.setdefault(one.name, []).append(one)
        return found

    def _added(self) -> Iterator[Plugin]:
        return (one for one in installed() if one.group == self._group and not one.wrong)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them; nothing is loaded for it."""
        return tuple(dict.fromkeys((*self._own, *self._foreign)))

    def plugin(self, name: str) -> Plugin | None:
        """Whose an entry is; ``None``: ours, or nobody's."""
        return self._foreign[name][0] if name in self._foreign and name not in self._own else None

    def named(self, name: str) -> T:
        """The entry that somebody asks for.

        Raises:
            UsageError: if there is none of that name, or more than one.
            PluginError: if it cannot be used.
        """
        self._require_one(name)
        if name not in self._own and name not in self._foreign:
            from tiltyard.study_path import perhaps  # which loads what finds near words

            near = perhaps(name, self.names)
            raise UsageError(f'"{name}" {self._unknown}. One of: {", ".join(self.names)}.{near}')
        return self._entry(name)

    def _require_one(self, name: str) -> None:
        """Refuse a name of several: none of them is silently another one."""
        holders = [str(one) for one in self._foreign.get(name, ())]
        holders += ["Tiltyard's own"] if name in self._own and holders else []
        if len(holders) > 1:
            packages = " and ".join(one.package for one in self._foreign[name])
            raise UsageError(
                f"{' and '.join(holders)} have one name. Fix: remove all but one of them, or "
                f"{SWITCH}=none, or the packages that you want without {packages}"
            )

    def _entry(self, name: str) -> T:
        if name in self._own:
            if name not in self._loaded:
                self._loaded[name] = object_of(self._own[name], self._within)
            return self._loaded[name]
        if name in self._broken:
            raise self._broken[name]
        if name not in self._loaded:
            try:
                self._loaded[name] = self._of(self._foreign[name][0])
            except PluginError as error:
                self._broken[name] = error
                raise
        return self._loaded[name]

    def _of(self, plugin: Plugin) -> T:
        """The entry of a package, contained."""
        try:
            with contained(plugin, "cannot be imported"):
                made = object_of(plugin.value)
            with contained(plugin, "is not what it says"):
                made = self._checked(made, plugin)
        except PluginError:
            raise
        except TiltyardError as error:
            raise plugin.failed(f"cannot be imported: {error}") from error
        return made  # type: ignore[no-any-return]

    def _checked(self, made: Any, plugin: Plugin) -> Any:
        """An entry whose functions are contained.

        Raises:
            Exception: if it is not of the class, has another name, or fields of other types.
        """
        if self._base is None:
            return self._sound(made, plugin) if self._sound else made
        bases = self._base if isinstance(self._base, tuple) else (self._base,)
        if not isinstance(made, bases):
            wanted = " or ".join(each.__name__ for each in bases)
            raise TypeError(f"{plugin.value} is {type(made).__name__}, not {wanted}")
        if getattr(made, "name", plugin.name) != plugin.name:
            raise ValueError(f'{plugin.value} calls itself "{getattr(made, "name", "")}"')
        if dataclasses.is_dataclass(made):
            _require_types(made)
            made = copy.copy(made)
            for name, hint in get_type_hints(type(made)).items():
                call = getattr(made, name)
                if callable(call) and get_origin(hint) is not type:
                    safe = guarded(call, plugin, self._checks.get(name))
                    object.__setattr__(made, name, safe)
        return self._sound(made, plugin) if self._sound else made

    def broken(self) -> dict[str, str]:
        """Name → why it cannot be used, of what packages add; loads all of that."""
        found = {}
        for name in self._foreign:
            try:
                self._require_one(name)
                self._entry(name)
            except (UsageError, PluginError) as error:
                found[name] = str(error)
        return found

    def __iter__(self) -> Iterator[T]:
        """As :meth:`items`."""
        return (entry for _, entry in self.items())

    def items(self, *, ours: bool = True) -> Iterator[tuple[str, T]]:
        """All that can be used, by name; one warning of each that cannot, or that has a name twice.

        Args:
            ours: whether with those of the core.
        """
        added = (one for one in self._own if one not in self._listed)
        for name in self.names if ours else dict.fromkeys((*added, *self._foreign)):
            try:
                self._require_one(name)
                entry = self._entry(name)
            except (PluginError, UsageError) as error:
                if name not in self._warned:
                    self._warned.add(name)
                    warnings.warn(PluginWarning(str(error)), stacklevel=2)
                if name not in self._own:
                    continue
                entry = self._entry(name)
            yield name, entry

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        """By place: of ours, that one alone is loaded."""
        if isinstance(place, int) and 0 <= place < len(self._own):
            return self.named([*self._own][place])
        return tuple(self)[place]

    def __len__(self) -> int:
        """How many can be used."""
        return sum(1 for _ in self)


def object_of(value: str, within: str = "") -> Any:
    """What is called ``module:object``; a module that begins with a dot is ``within`` a package."""
    module, _, name = value.partition(":")
    found = import_module(module, within or None)
    return operator.attrgetter(name)(found) if name else found


def _require_types(made: Any) -> None:
    """Fields of an entry hold what their types say.

    Raises:
        Exception: naming the first one that does not.
    """
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

    for name, hint in get_type_hints(type(made)).items():
        if not hasattr(made, name):
            raise TypeError(f"it has no {name}")
        try:
            adapter = TypeAdapter[Any](hint, config=ConfigDict(arbitrary_types_allowed=True))
        except PydanticUserError:  # a model has its own
            adapter = TypeAdapter(hint)
        try:
            adapter.validate_python(getattr(made, name), strict=True)
        except ValidationError as error:
            raise TypeError(f"{name}: {error.errors()[0]['msg']}") from None
