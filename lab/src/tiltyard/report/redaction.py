"""Findings without what tells who and where: names, addresses, paths, serial numbers, secrets.

This is the one place: every form of a report and every export is made of findings. What is taken
out is replaced by its kind and a number, the same wherever it stood, so that two paths are still
two. Kernel interfaces and programs of the distribution (``/proc``, ``/usr``, ``/dev/sda``) stay: a
reader needs them.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.verdict import Verdict
from tiltyard.units import listed

Model = TypeVar("Model", bound=BaseModel)
Kind = Literal["host", "address", "serial", "user", "path", "environment", "secret"]
KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "host": ("host name", "host names"),
    "address": ("address", "addresses"),
    "serial": ("serial number", "serial numbers"),
    "user": ("user", "users"),
    "path": ("path", "paths"),
    "environment": ("environment variable", "environment variables"),
    "secret": ("secret", "secrets"),
}
"""One and several of each, in the order in which they are listed."""

_FACTS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("serial", re.compile(r"serial|uuid|wwn|wwid|eui64|nguid|asset|machine.?id|service tag", re.I)),
    ("host", re.compile(r"^(host.?name|node(.?name)?|fqdn|far|host|server( name)?)$", re.I)),
    ("user", re.compile(r"^(user|user.?name|owner|login|operator)$", re.I)),
    ("secret", re.compile(r"password|passwd|passphrase|token|secret|api.?key|credential", re.I)),
)
"""Names of facts whose values are of a kind, whatever they look like."""
_ENVIRONMENT: Final = re.compile(r"^(env|environ|environment)( variables)?$", re.I)
_COMMANDS: Final = re.compile(r"command|argv|invocation", re.I)
_KEPT_FIELDS: Final = frozenset({"plan_hash", "seal", "tiltyard", "engine", "origin", "timing"})
_PLAIN: Final = frozenset(
    {"not available", "root", "localhost", "none", "unknown", "yes", "default", *get_args(Verdict)}
)
"""Values that tell nobody anything."""
_SHORTEST: Final = 3
"""Shorter values are no names that could be found again in running text."""

_WORD: Final = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|(?:api|access|private)[-_]?key|credentials?)"
)
_VALUE: Final = r"(?P<it>\[\w+ \d+\]|'[^']*'|\"[^\"]*\"|[^\s'\",;]+)"
_SECRETS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(--?[\w-]*(?:{_WORD}|\bauth\b|\bpass\b)[\w-]*(?:=|\s+)){_VALUE}",
        rf"(\b\w*{_WORD}\w*['\"]?\s*[=:]\s*){_VALUE}",
        r"(\b(?:bearer|basic)\s+)(?P<it>[\w.~+/=-]{8,})",
        r"(\w+://)(?P<it>[^\s/@]+)(?=@)",
        rf"(\b(?:sshpass\s+-p|redis-cli\b.*?\s-a|curl\b.*?\s-u|(?:mysql|mariadb)\b.*?\s-p)\s*){_VALUE}",
        r"()(?P<it>\b(?:gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|sk-[\w-]{20,}|xox[bp]-[\w-]+))",
    )
)
_VARIABLE: Final = re.compile(r'"?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})"?')
_USER_AT: Final = re.compile(r"(?<![\w./@])(?P<user>[A-Za-z_][\w.+-]*)@(?P<host>[\w][\w.-]*)")
_LOCATOR: Final = re.compile(r"(?<=://|.\]@)(?P<host>[^\s/:@\[\]]+)")
_MAC: Final = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_V4: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_V6: Final = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_UUID: Final = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_PATH: Final = re.compile(r"(?<![\w/.:~-])~?(?:/[\w.+@%~:\[\]-]+)+/?|\b[A-Z]:\\[^\s\"']+")
_CLIENT: Final = re.compile(r"\((?:(?P<user>[^@)]+)@)?(?P<host>[^)]+)\)$")
"""A client of several, with its host as ssh knows it."""
_HOME: Final = re.compile(r"/(?:home|Users)/(?P<user>[\w.-]+)")
_SET: Final = re.compile(
    r"(?:^|(?<=\s))(?P<name>[A-Za-z_]\w*)=(?P<it>[^\s'\"]+|'[^']*'|\"[^\"]*\")"
)
_PUBLIC: Final = frozenset(
    {"proc", "sys", "dev", "usr", "bin", "sbin", "lib", "lib64", "etc", "boot", "run"}
)
_PRIVATE: Final = ("/dev/disk/", "/dev/mapper/", "/run/user/", "/usr/local/", "/etc/ssh")
_UNITS: Final = frozenset({"s", "sec", "op", "min", "h", "d"})


@dataclass
class Redacted:
    """Findings that may be shown, and what was taken out of them."""

    findings: Findings
    replaced: Mapping[str, tuple[Kind, str]]
    """What stood there → its kind, and what stands there now."""
    clean: Callable[[object], object]
    """Takes the same out of what else is shown with them, and adds what it finds there."""

    @property
    def lines(self) -> list[str]:
        """``[path 1]  /srv/bench``: for its author only. Secrets are not printed."""
        return [
            f"{sign}  {'…' if kind == 'secret' else original}"
            for original, (kind, sign) in self.replaced.items()
        ]


def redacted(findings: Findings, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> Redacted:
    """The same findings without names, addresses, paths, serial numbers, environment, secrets.

    Args:
        findings: what is to be shown.
        hosts: names of hosts that are known to be private, whatever the findings call them.
        users: names of users.
    """
    taken = _Taken()
    for name in hosts:
        taken.know("host", name)
    for name in users:
        taken.know("user", name)
    taken.learn(findings.model_dump())
    cleaned = taken.model(findings)
    notice = Notice(severity="note", text=taken.sentence)
    # Their names have those of the systems, in other letters; who reads this has no trials.
    trials = tuple(trial.model_copy(update={"file": None}) for trial in cleaned.trials)
    changed = {"notices": (*cleaned.notices, notice), "trials": trials}
    found = cleaned.model_copy(update=changed)
    return Redacted(found, taken.replaced, taken.cleaned)


@dataclass
class _Taken:
    """What was taken out so far; names that are found in running text as well."""

    replaced: dict[str, tuple[Kind, str]] = field(default_factory=dict)
    names: dict[str, Kind] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """For the reader: ``Redacted: 1 host name, 3 paths.``."""
        counts: dict[Kind, int] = {}
        for kind, _ in self.replaced.values():
            counts[kind] = counts.get(kind, 0) + 1
        parts = [
            f"{counts[kind]} {one if counts[kind] == 1 else several}"
            for kind, (one, several) in KINDS.items()
            if kind in counts
        ]
        return f"Redacted: {listed(parts) if parts else 'nothing was found that had to be'}."

    def know(self, kind: Kind, name: str) -> None:
        """A name that is taken out wherever it stands."""
        plain = name.strip()
        if len(plain) >= _SHORTEST and plain.lower() not in _PLAIN:
            self.names.setdefault(plain, kind)

    def learn(self, part: object, fact: str = "") -> None:
        """Names from facts that say what they are, before anything is replaced."""
        match part:
            case dict():
                if fact == "other_hosts":
                    for name in part:
                        self.know("host", name)
                for name, value in part.items():
                    self.learn(value, str(name))
            case tuple() | list():
                for value in part:
                    self.learn(value, fact)
            case str():
                self._learn_text(part, fact)

    def _learn_text(self, text: str, fact: str) -> None:
        for kind, pattern in _FACTS:
            if pattern.search(fact) and "/" not in text:
                self.know(kind, text)
        if fact == "client" and (there := _CLIENT.search(text)):
            self.know("user", there["user"] or "")
            self.know("host", there["host"])
        for found in _HOME.finditer(text):
            self.know("user", found["user"])

    def model(self, found: Model) -> Model:
        """A part of the findings; words that only we choose stay."""
        changed = {
            name: self.cleaned(getattr(found, name), name)
            for name, known in type(found).model_fields.items()
            if name not in _KEPT_FIELDS and get_origin(known.annotation) is not Literal
        }
        return found.model_copy(update=changed)

    def cleaned(self, part: object, fact: str = "") -> object:
        """A value, its keys among it; ``fact`` is what it is called."""
        match part:
            case BaseModel():
                return self.model(part)
            case dict() if _ENVIRONMENT.match(fact):
                return {
                    name: self._sign("environment", f"{name}={value}")
                    for name, value in part.items()
                }
            case dict():
                return {
                    self._text(name) if isinstance(name, str) else name: self.cleaned(
                        value, str(name)
                    )
                    for name, value in part.items()
                }
            case tuple() | list():
                return type(part)(self.cleaned(value, fact) for value in part)
            case str():
                runs = _COMMANDS.search(fact) or _ENVIRONMENT.match(fact)
                return self._text(part, command=bool(runs))
        return part

    def _text(self, text: str, *, command: bool = False) -> str:
        for pattern in _SECRETS:
            text = pattern.sub(self._secret, text)
        if command:
            text = _SET.sub(self._set, text)
        text = _USER_AT.sub(self._user_at, text)
        text = _LOCATOR.sub(lambda m: self._sign("host", m["host"]), text)
        text = _UUID.sub(lambda m: self._sign("serial", m[0]), text)
        text = _MAC.sub(lambda m: self._sign("address", m[0]), text)
        for pattern in (_V4, _V6):
            text = pattern.sub(self._address, text)
        text = _PATH.sub(lambda m: self._path(m[0]), text)
        for name in sorted(self.names, key=len, reverse=True):
            if name in text:
                whole = rf"(?<![\w\[]){re.escape(name)}(?![\w\]])"
                text = re.sub(whole, lambda m: self._sign(self.names[m[0]], m[0]), text)
        return text

    def _secret(self, found: re.Match[str]) -> str:
        """Not the name of a variable, which holds one elsewhere."""
        if _VARIABLE.fullmatch(found["it"]):
            return found[0]
        return found[1] + self._sign("secret", found["it"])

    def _set(self, found: re.Match[str]) -> str:
        """``NAME=value`` before a program, or as an argument of env."""
        if found["it"].startswith("["):
            return found[0]
        return f"{found['name']}={self._sign('environment', found['it'])}"

    def _user_at(self, found: re.Match[str]) -> str:
        user = found["user"]
        known = user if user in _PLAIN else self._sign("user", user)
        return f"{known}@{self._sign('host', found['host'])}"

    def _address(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]
        plain = address.is_loopback or address.is_unspecified
        return found[0] if plain else self._sign("address", found[0])

    def _path(self, text: str) -> str:
        first = text.removeprefix("~").strip("/").partition("/")[0]
        public = first in _PUBLIC and not text.startswith(_PRIVATE)
        unit = text.count("/") == 1 and (first in _UNITS or len(first) < _SHORTEST)
        return text if public or unit else self._sign("path", text.rstrip("/:"))

    def _sign(self, kind: Kind, original: str) -> str:
        """What stands for it from now on."""
        if original.startswith("[") and original.endswith("]"):
            return original
        if original not in self.replaced:
            number = 1 + sum(own == kind for own, _ in self.replaced.values())
            self.replaced[original] = (kind, f"[{kind} {number}]")
        return self.replaced[original][1]
