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
from functools import partial
from itertools import pairwise
from typing import Final, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from tiltyard.analysis.model import Findings, Notice
from tiltyard.analysis.verdict import Verdict
from tiltyard.collected.model import Origin
from tiltyard.report.private_paths import RELATIVE, WORDS, is_in_a_key, is_telling
from tiltyard.units import count_of, listed

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
_ONE_COMMAND: Final = re.compile(r"^(command|argv|setup|cleanup|prepare|conclude|start)$")
"""Lists of words, not of lines."""
_KEPT_FIELDS: Final = frozenset({"plan_hash", "seal", "tiltyard", "engine", "timing", "sha256"})
_PRINTED: Final = frozenset({"author", "published", "address", "runbook"})
"""Of an origin: only what is in print has them."""
_PLAIN: Final = frozenset(
    {"not available", "root", "localhost", "none", "unknown", "yes", "default", *get_args(Verdict)}
)
"""Values that tell nobody anything."""
_SHORTEST: Final = 3
"""Shorter values are no names that could be found again in running text."""

_WORD: Final = (
    r"(?:passw(?:or)?d|pass(?:phrase|code)|requirepass|pwd|secret|token|cookie"
    r"|(?:api|access|account|private|encryption)[-_]?key|credentials?)"
)
_WHOLE_WORD: Final = (
    r"(?<![^\W_])(?:auth|pass|pw|psk|pin|otp|salt|bearer|community|sig(?:nature)?)(?![^\W_])"
)
"""As a part of others it means other things."""
_VALUE: Final = r"(?P<it>\[\w+ \d+\]|'[^']*'|\"[^\"]*\"|[^\s'\",;]+)"
_NAME: Final = r"(?P<it>[A-Za-z_][\w.-]*)"
_QUOTE: Final = r"['\"]"
_DATABASE: Final = r"\b(?:psql|pg\w+|redis-\w+|mysql\w*|mariadb[\w-]*|memtier\w*|mongo\w*)\b"
_SECRETS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(-----BEGIN [A-Z ]+-----)(?P<it>[\s\S]*?)(?=-----END|\Z)",
        r"()(?P<it>\b(?:gh[pousr]_\w{20,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}"
        r"|sk-[\w-]{20,}|xox[bp]-[\w-]+))",
        r"()(?P<it>\beyJ[\w-]+\.[\w-]+\.[\w-]*)",
        r"(\w+://)(?P<it>[^\s/@]+|[^\s/@:]*:[^\s@]+)(?=@)",
        rf"(--?[\w-]*(?:{_WORD}|{_WHOLE_WORD})[\w-]*(?:=|\s+)|--key(?:=|\s+)){_VALUE}",
        rf"(\b(?:\w*{_WORD}\w*|\w*_?pass|sig){_QUOTE}?\s*[=:]\s*){_VALUE}",
        rf"(\b[\w-]*{_WHOLE_WORD}=){_VALUE}",
        r"(\b(?:bearer|basic)\s+)(?P<it>[\w.~+/=-]{8,})",
        rf"(\b(?:sshpass\s+-p|redis-cli\b.*?\s-a|curl\b.*?\s(?:-u|--user(?=[\s=]))=?"
        rf"|(?:mysql|mariadb)[\w-]*\b.*?\s-p)\s*){_VALUE}",
    )
)
_NO_SECRET: Final = r"(?!-|[\d.,:-]+[a-z]{0,3}(?!\S)|\S*/|\[)"
"""A number, a size, a path."""
_TAKES_NONE: Final = (
    r"(?:mkdir|rmdir|cp|ls|tar|rsync|install|unzip|ssh|scp|sftp|nc|ncat|docker|podman|perf|ps|ss|tail"
    r"|touch|dd|taskset|chrt|ionice|netperf|iperf3?|sockperf|psql|pg\w+|useradd|patch|bash|sh)"
)
"""Programs whose ``-p`` or ``-a`` is no secret, or one that is known above."""
_SECRETS_OF_COMMANDS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"((?<!\S)-u[=\s]*[\w.@+-]+:)(?P<it>(?!\d+(?!\S)|\S*/)[^\s'\"]+)",
        rf"((?:\A|[|;&\n])\s*(?!(?:\S*/)?{_TAKES_NONE}\s)[^|;&\n]*?\s-p(?:=|\s+)){_NO_SECRET}{_VALUE}",
        r"((?<!\S)-[pa](?:=|\s+)?)(?P<it>(?=[^\s\d/.]*\d)(?=[^\sA-Za-z/.]*[A-Za-z]{2})[^\s/.,:'\"=]{6,})",
        rf"(?i:((?<![\w\[-])[\w-]*(?:{_WORD}|{_WHOLE_WORD})\s+)){_VALUE}",
    )
)
"""Not in a sentence."""
_OPTION: Final = re.compile(r"((?<!\S)--?[A-Za-z][\w-]*(?:=|\s+))(?P<it>[\w+/=.~-]{20,})(?!\S)")
_VARIABLE: Final = re.compile(r'"?\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})"?|\{\w+\}')
_ENV_OF_JOB: Final = re.compile(r'(?<="env": \{)[^{}]*(?=\})')
_MEMBER: Final = re.compile(r'"(?P<name>\w+)": "(?P<it>(?:[^"\\]|\\.)*)"')
_USER_AT: Final = re.compile(r"(?<![\w./@])(?P<user>[A-Za-z_][\w.+-]*)@(?P<host>\w(?:[\w.-]*\w)?)")
_BUS: Final = r"(?:nvme|ata|scsi|usb|virtio|mmc)"
_ID_ENDS: Final = r"(?=(?:_\d\d?)?(?:-part\d+|-\d+:\d+)*(?![\w:-]|\.\w))"
"""What follows a serial number there: a namespace, an interface, a partition."""
_SAID: Final[dict[Kind, tuple[str, ...]]] = {
    "host": (
        r"((?<=://)|(?<=\]@))(?P<it>[^\s/:@\[\]]+)",
        rf"((?:--host(?:name)?(?:=|\s+)|\bhost(?:name)?=)){_NAME}",
        rf"((?i:{_QUOTE}(?:host|node)_?name{_QUOTE}|\bhostname)\s*:\s*{_QUOTE}?){_NAME}",
        rf"({_DATABASE}[^|;&]*?\s-h\s*|\b(?:netperf|sockperf)\b[^|;&]*?\s-[Hi]\s*){_NAME}",
        rf"(\biperf3?\b[^|;&]*?\s(?:-c|--client)[\s=]*){_NAME}",
        r"((?<![\w./:~\\-]))(?P<it>(?!file:)[A-Za-z][\w.-]+)(?=:/(?!/))",
        r"(\bLinux )(?P<it>[\w.-]+)(?= \d+\.\d+\S* #\d)",
        r"(\b)(?P<it>(?i:[\w-]+\.)+"
        r"(?:internal|intranet|intra|corp|lan|local|localdomain)(?:\.[\w-]+)*)",
    ),
    "user": (
        rf"((?:--user(?:name)?(?:=|\s+)|\b(?:user(?:name)?|login)=)){_NAME}",
        rf"({_QUOTE}user_?(?:name)?{_QUOTE}\s*:\s*{_QUOTE}){_NAME}",
        rf"({_DATABASE}[^|;&]*?\s-[Uu]\s*){_NAME}",
    ),
    "serial": (
        rf"((?<![^\W_])(?i:serial(?:[ _]?(?:number|no\.?|short))?|S/N|SN|(?:service|asset) tag)"
        rf"{_QUOTE}?\s*[:=]\s*{_QUOTE}?)(?P<it>[\w-]{{4,}})",
        r"(\b(?:PART)?UUID=\"?)(?P<it>[\w-]+)",
        rf"(/by-id/{_BUS}-(?:[\w.+-]*_)?)(?!\d\d?(?![\w.])|part\d)(?P<it>[\w.-]+?){_ID_ENDS}",
        rf"(\b{_BUS}-(?:[\w.+-]*_)?)(?P<it>(?:[A-Z]+-)?(?=(?:[^\W\d_]*\d){{3}})[^\W_]{{6,}}){_ID_ENDS}",
        r"(\bwwn-)(?P<it>0x[0-9a-f]+)",
    ),
    "path": (r"(\b(?:PART)?LABEL=\"?)(?P<it>[\w.-]+)",),
}
_NAMED: Final = tuple(
    (kind, re.compile(pattern)) for kind, patterns in _SAID.items() for pattern in patterns
)
"""What is said to be of a kind where it stands."""
_READABLE: Final = r"(?:l[sl]|df|du|sort|free|tree|lsblk|[efz]?grep|ch(?:own|mod|grp|con)|touch)"
"""Programs whose ``-h`` takes no value; what follows it is a file."""
_DOTTED: Final = r"(?P<it>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.[A-Za-z][\w-]+)"
_IN_COMMANDS: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    ("host", re.compile(rf"(\bssh\s+(?:-\w+\s+)*){_NAME}")),
    (
        "host",
        re.compile(
            rf"((?:\A|[|;&\n])\s*(?:(?:sudo|env|time|(?:ba|da)?sh)\s+(?:-\w+\s+)*)*+"
            rf"(?!(?:\S*/)?{_READABLE}\s)[^|;&\n]*?\s-h(?:=|\s+)){_DOTTED}"
        ),
    ),
)
"""In a sentence it is a word that follows; without a dot it may be any word of a program's own."""
_MAC: Final = re.compile(
    r"\b(?:[0-9A-Fa-f]{2}[:-]){5,19}[0-9A-Fa-f]{2}\b|\b(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\b"
    r"|(?<=\benx)[0-9a-f]{12}\b"
)
_V4: Final = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)")
_V6: Final = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\w:])")
_IDS: Final = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?:wwn-|naa\.|eui\.|uuid\.|iqn\.)[\w.:-]+|\b0x[0-9a-f]{16}\b|\b[0-9a-f]{32}\b"
)
_PART: Final = r"(?:[\w.+@%~-]|:(?!/)|\\ |\[\w+ \d+\]|\[[^\]\s]*\])+"
_PATH: Final = re.compile(
    r"(?<=['\"])/[^'\"\s]+(?: (?![-/|&<>;{$])[^'\"\s]+)+(?=['\"])"
    rf"|(?:(?<![\w/.~-])|(?<=\s-\w)|(?<=^-\w)|(?<=file://))"
    rf"(?:~[\w.-]*|\$HOME|\$\{{HOME\}})?(?:/{_PART})+/?"
    r"|\b[A-Z]:\\[^\s\"']+|\\\\[\w.-]+\\[^\s\"']+|(?<![\w/.:~-])//[\w.-]+(?:/[\w.$-]+)+"
)
_CLIENT: Final = re.compile(r"\((?:(?P<user>[^@)]+)@)?(?P<host>[^)]+)\)$")
"""A client of several, with its host as ssh knows it."""
_HOME: Final = re.compile(r"/(?:home|Users)/(?P<user>[\w.-]+)")
_SET: Final = re.compile(
    r"(?:^|(?<=\s))(?P<name>[A-Za-z_]\w*)=(?P<it>(?:\[\w+ \d+\]|[^\s'\"])+|'[^']*'|\"[^\"]*\")"
)
_PUBLIC: Final = frozenset(
    {"proc", "sys", "dev", "usr", "bin", "sbin", "lib", "lib64", "etc", "boot", "run"}
)
_PRIVATE: Final = re.compile(
    r"/(?:dev/(?!block/|char/|cpu/|net/|pts/|fd/)[^/]+/|run/(?:user|media|secrets)/|usr/(?:local|home)/"
    r"|etc/(?:ssh|ssl/private|pki|letsencrypt))"
)
"""Below public directories, what a person has named."""
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
            count_of(counts[kind], one, several)
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
                if _ONE_COMMAND.match(fact):
                    self._learn_command(part)
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

    def _learn_command(self, words: Iterable[object]) -> None:
        """What one command is told: a job repeats it word by word, and its output may, too."""
        line = WORDS.join(word for word in words if isinstance(word, str))
        patterns = (*_SECRETS, *_SECRETS_OF_COMMANDS)
        secrets: list[tuple[Kind, re.Pattern[str]]] = [("secret", one) for one in patterns]
        for kind, pattern in (*secrets, *_NAMED, *_IN_COMMANDS):
            for found in pattern.finditer(line):
                if kind in ("secret", "host", "user") and not _VARIABLE.fullmatch(found["it"]):
                    self.know(kind, found["it"].strip("'\""))
        for found in RELATIVE.finditer(line):
            if is_telling(found[0]):
                self.know("path", found[0])

    def model(self, found: Model) -> Model:
        """A part of the findings; words that only we choose stay."""
        kept = _KEPT_FIELDS | _PRINTED if isinstance(found, Origin) else _KEPT_FIELDS
        changed = {
            name: self.cleaned(getattr(found, name), name)
            for name, known in type(found).model_fields.items()
            if name not in kept and get_origin(known.annotation) is not Literal
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
                return self._words(part, fact) or type(part)(
                    self.cleaned(value, fact) for value in part
                )
            case str():
                runs = _COMMANDS.search(fact) or _ENVIRONMENT.match(fact)
                return self._text(part, command=bool(runs))
        return part

    def _words(self, part: tuple[object, ...] | list[object], fact: str) -> object:
        """The words of one command, each read after those before it; ``None``: it is none."""
        words = [word for word in part if isinstance(word, str)]
        if not words or len(words) < len(part) or not _ONE_COMMAND.match(fact):
            return None
        found = self._text(WORDS.join(words), command=True).split(WORDS)
        return type(part)(found) if len(found) == len(words) else None

    def _text(self, text: str, *, command: bool = False) -> str:
        text = _ENV_OF_JOB.sub(lambda m: _MEMBER.sub(self._member, m[0]), text)
        for pattern in (*_SECRETS, *_SECRETS_OF_COMMANDS) if command else _SECRETS:
            text = pattern.sub(self._secret, text)
        if command:
            text = _OPTION.sub(self._long, text)
            text = _SET.sub(self._set, text)
        text = _USER_AT.sub(self._user_at, text)
        for kind, pattern in (*_NAMED, *_IN_COMMANDS) if command else _NAMED:
            text = pattern.sub(partial(self._named, kind), text)
        text = _PATH.sub(self._path, text)
        if command:
            text = RELATIVE.sub(self._relative, text)
        text = _IDS.sub(lambda m: self._sign("serial", m[0]), text)
        text = _MAC.sub(lambda m: self._sign("address", m[0]), text)
        for pattern in (_V4, _V6):
            text = pattern.sub(self._address, text)
        for name in sorted(self.names, key=len, reverse=True):
            if name.casefold() in text.casefold():
                text = self._name_pattern(name).sub(partial(self._known, name), text)
        return text

    def _secret(self, found: re.Match[str]) -> str:
        """Not the name of a variable, which holds one elsewhere."""
        value = found["it"]
        if _VARIABLE.fullmatch(value):
            return found[0]
        quote = value[0] if value[0] in "'\"" and value[-1] == value[0] else ""
        return f"{found[1]}{quote}{self._sign('secret', value.strip(quote) or value)}{quote}"

    def _long(self, found: re.Match[str]) -> str:
        """An option that we do not know: what looks like chance may be a secret."""
        if not _is_random(value := found["it"]):
            return found[0]
        self.replaced.setdefault(value, ("secret", f"[{len(value)} characters]"))
        return found[1] + self.replaced[value][1]

    def _named(self, kind: Kind, found: re.Match[str]) -> str:
        """Not what everybody has, an address, which is told as one, or what a path begins with."""
        name = found["it"]
        if name.casefold() in _PLAIN or name.startswith("[") or _V4.fullmatch(name):
            return found[0]
        return found[1] + self._sign(kind, name)

    def _name_pattern(self, name: str) -> re.Pattern[str]:
        """Of hosts and devices: the same in capitals, and in names of files. ``-I`` has others."""
        if self.names[name] in ("host", "serial"):
            return re.compile(rf"(?<![^\W_])(?<!\[){re.escape(name)}(?![^\W_]|\])", re.I)
        return re.compile(rf"(?:(?<![\w\[])|(?<=\W-\w)){re.escape(name)}(?![\w\]])")

    def _known(self, name: str, _: re.Match[str]) -> str:
        return self._sign(self.names[name], name)

    def _set(self, found: re.Match[str]) -> str:
        """``NAME=value`` before a program, or as an argument of env."""
        if found["it"].startswith("["):
            return found[0]
        return f"{found['name']}={self._sign('environment', found['it'])}"

    def _member(self, found: re.Match[str]) -> str:
        """A variable of the environment in the JSON of a job."""
        sign = self._sign("environment", f"{found['name']}={found['it']}")
        return f'"{found["name"]}": "{sign}"'

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

    def _path(self, found: re.Match[str]) -> str:
        text = found[0]
        id_without_serial = "/by-id/" in text and "[serial " in text
        if id_without_serial or is_in_a_key(text, found.string[: found.start()]):
            return text
        first = text.removeprefix("~").strip("/").partition("/")[0]
        public = first in _PUBLIC and not _PRIVATE.match(text)
        unit = text.count("/") == 1 and (first in _UNITS or len(first) < _SHORTEST)
        return text if public or unit else self._sign("path", text.rstrip("/:"))

    def _relative(self, found: re.Match[str]) -> str:
        return self._sign("path", found[0]) if is_telling(found[0]) else found[0]

    def _sign(self, kind: Kind, original: str) -> str:
        """What stands for it from now on."""
        if original.startswith("[") and original.endswith("]"):
            return original
        if original not in self.replaced:
            number = 1 + sum(own == kind for own, _ in self.replaced.values())
            self.replaced[original] = (kind, f"[{kind} {number}]")
        return self.replaced[original][1]


def _is_random(text: str) -> bool:
    """Whether small letters, capitals and digits change places as often as by chance.

    In words written together they do at less than a third of the places.
    """
    classes = [(sign.isdigit(), sign.isupper(), sign.islower()) for sign in text]
    changes = [pair for pair in pairwise(classes) if pair[0] != pair[1] and all(map(any, pair))]
    return 3 * len(changes) > len(text) and any(map(str.isdigit, text))
