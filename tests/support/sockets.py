"""The socket calls of a netperf and its netserver, as strace(1) sees them."""

import re
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from support.patience import PATIENCE_S, wait_until
from support.strace import Call, Execution, split_arguments

ADDRESS = "127.0.0.1"
_TRACED = (
    "socket,connect,bind,listen,accept,accept4,shutdown,close,setsockopt,read,write,sendfile,"
    "sendto,recvfrom,sendmsg,recvmsg,sendmmsg,recvmmsg"
)
_LINE = re.compile(r"(?P<when>[\d.]+) (?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>-?\w+)")
_CONTENT = re.compile(r'"(?:\\x[0-9a-f]{2})+"')
_SOCKET = re.compile(r"\d+<socket:\[(?P<inode>\d+)\]>")
_TRACER = ("strace", "-D", "-ff", "-ttt", "-y", "-x", "-s", "700", "-e", "signal=SIGTERM")
# What these change is not what is sent: both ignore SIGPIPE, and nobody calls exec(3).
_SILENT_FLAGS = {"MSG_NOSIGNAL", "SOCK_CLOEXEC"}
_CUT = re.compile(
    r"sendto data \d+ moved|recvfrom data \d+ MSG_DONTWAIT moved [1-9]"
    r"|(?:sendto|recvfrom) .* (?:EINTR|ERESTARTSYS)$"
)
"""Calls that the end of the time cuts short, in a test that ends with its time."""
_REQUESTS = {1, 2, 5, 10, 13, 16, 19, 34, 94, 97, 300}
_PORTS = {22, 27}
"""The words of an omni request that tell ports: they change."""
_MOVES = {"read", "write", "sendto", "recvfrom", "sendmsg", "recvmsg", "sendfile"}


def trace_pair(
    client: Sequence[str | Path], server: Sequence[str | Path], directory: Path
) -> Execution:
    """One test between the two over loopback, executed in a directory."""
    port = _free_port()
    address = ["-4", "-H", ADDRESS, "-p", f"{port}"]
    at = list(client).index("--") if "--" in client else len(client)
    with TemporaryDirectory(prefix="tiltyard-oracle-") as logs:
        place = Path(logs)
        with _listening([*server, "-D", "-N", "-4", "-L", ADDRESS, "-p", f"{port}"], port, place):
            done = subprocess.run(
                [*_tracer(place, "client"), *client[:at], *address, *client[at:]],
                cwd=directory,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        ended = re.compile(r"^[\d.]+ \+\+\+ (?:exited|killed)", re.M)
        wait_until(
            lambda: all(ended.search(path.read_text()) for path in place.iterdir()),
            "strace does not end",
        )
        calls, served = (
            _read([path.read_text() for path in sorted(place.glob(f"{side}.*"))], port)
            for side in ("client", "server")
        )
    return Execution(calls, done.returncode, done.stdout, done.stderr, served)


def is_merged(call: Call) -> bool:
    """Whether how often it stands there, and what it moved, is left to chance."""
    is_last = call.name == "sendto" and call.detail == "0"
    return call.name in ("recvfrom", "bind") or is_last or bool(_CUT.match(str(call)))


def exchanged(calls: Sequence[Call], *, is_timed: bool) -> list[str]:
    """The normal form: what a stream receives at a time is left to chance, and is one call.

    Of a test that ends with its time each call is there once, in the order of first appearance.
    """
    words: list[str] = []
    in_use = False
    for call in calls:
        if in_use and (call.name, call.path) == ("close", "data"):
            # Another connection still has the port: ours tries the next one with a new socket.
            del words[max(at for at, word in enumerate(words) if word.startswith("socket ")) :]
            in_use = False
            continue
        in_use = call.name == "bind" and call.failed == "EADDRINUSE"
        received = re.fullmatch(r"(\d+)(?: moved [1-9]\d*)?", call.detail)
        if call.name == "recvfrom" and call.path == "data" and received and call.failed == "":
            word = f"recvfrom data {received[1]}"
        elif call.name == "sendto" and call.detail == "0":
            # The empty datagrams that end a test; the last ones may find nobody.
            word = "sendto data 0"
        elif in_use:
            word = f"bind {call.path}"
        else:
            word = str(call)
            words += [] if is_timed and _CUT.match(word) else [word]
            continue
        if words[-1] != word:
            words.append(word)
    return list(dict.fromkeys(words)) if is_timed else words


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port


def _tracer(place: Path, side: str) -> list[str]:
    return [*_TRACER, "-e", f"trace={_TRACED}", "-o", f"{place / side}", "--"]


@contextmanager
def _listening(server: Sequence[str | Path], port: int, place: Path) -> Iterator[None]:
    with subprocess.Popen(
        [*_tracer(place, "server"), *server], cwd=place, stdout=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: _is_listening(port), f"{server} does not listen")
            yield
            time.sleep(0.05)
        finally:
            process.terminate()


def _is_listening(port: int) -> bool:
    """Without a connection, which would be served."""
    listening = f"{socket.inet_aton(ADDRESS)[::-1].hex().upper()}:{port:04X} 00000000:0000 0A"
    return listening in Path("/proc/net/tcp").read_text()


def _read(tasks: Sequence[str], port: int) -> list[Call]:
    lines = sorted(line for task in tasks for line in task.splitlines())
    roles: dict[str, str] = {}
    calls = []
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        arguments = split_arguments(_CONTENT.sub('""', match["arguments"]))
        name, result = match["name"], match["result"]
        if name == "socket":
            created = _SOCKET.search(line)
            if created is None or arguments[0] != "AF_INET":
                continue
            roles[created["inode"]] = "data"
            calls.append((created["inode"], name, _flags(arguments[1]), "", match))
            continue
        on = _SOCKET.fullmatch(arguments[0])
        if on is None or on["inode"] not in roles:
            continue
        inode = on["inode"]
        if name in ("connect", "bind") and f"htons({port})" in line:
            roles[inode] = "control" if name == "connect" else "listener"
        if name in ("accept", "accept4") and (new := _SOCKET.search(line.rpartition(") = ")[2])):
            roles[new["inode"]] = "control" if roles[inode] == "listener" else "data"
        failed = line.rpartition("= -1 ")[2].split()[0] if result == "-1" else ""
        calls.append((inode, name, _detail(name, arguments, result), failed, match))
    return [
        Call(name, "data", detail, failed=failed)
        if roles[inode] == "data"
        else Call(name, "control", _message(match["arguments"]))
        for inode, name, detail, failed, match in calls
        if roles[inode] == "data" or (roles[inode] == "control" and name in _MOVES)
    ]


def _detail(name: str, arguments: Sequence[str], result: str) -> str:
    if name in ("connect", "bind", "accept", "accept4", "close"):
        return ""
    if name == "setsockopt":
        return " ".join(word for word in arguments[1:4] if "x" not in word)
    if name in _MOVES:
        size = arguments[2] if name != "sendfile" else arguments[3]
        flags = _flags(arguments[3]) if name in ("sendto", "recvfrom") else ""
        short = f"moved {result}" if result not in (size, "-1") else ""
        return " ".join(filter(None, (size, flags, short)))
    return " ".join(arguments[1:])


def _flags(flags: str) -> str:
    kept = set(flags.split("|")) - _SILENT_FLAGS - {"0"}
    return "|".join(sorted(kept))


def _message(arguments: str) -> str:
    """A message of netperf's control connection: the words of a request that are not zero.

    What a server answers depends on the port that it got, the time that passed and its CPUs.
    """
    text = re.search(r'"((?:\\x[0-9a-f]{2})*)"', arguments)
    content = bytes.fromhex(text[1].replace("\\x", "")) if text else b""
    words = struct.unpack_from(f">{len(content) // 4}I", content)
    if not words or words[0] not in _REQUESTS:
        return f"{len(content)}"
    kept = [f"{i}={w:x}" for i, w in enumerate(words) if w and i not in _PORTS]
    return " ".join([f"{len(content)}:", *kept])
