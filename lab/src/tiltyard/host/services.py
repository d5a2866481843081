"""Services of a host, as systemd(1) or the scripts of System V know them."""

from typing import Final, Literal

from tiltyard.host.place import Place

FIRST: Final = "/proc/1/comm"
State = Literal["running", "stopped", "absent"]

# Scripts of System V leave their standard output to the daemons that they start; a pipe would
# then never end.
_SCRIPT = {
    "state": 'test -x "/etc/init.d/$1" || { echo absent; exit 0; }; '
    'service "$1" status >/dev/null 2>&1 && echo running || echo stopped',
    "stop": 'service "$1" stop </dev/null >/dev/null 2>&1',
    "start": 'service "$1" start </dev/null >/dev/null 2>&1',
}
_UNIT = {
    "state": 'systemctl cat -- "$1" >/dev/null 2>&1 || { echo absent; exit 0; }; '
    'systemctl is-active --quiet -- "$1" && echo running || echo stopped',
    "stop": 'systemctl stop -- "$1"',
    "start": 'systemctl start -- "$1"',
}


def state(place: Place, name: str) -> State:
    """Whether a service runs; ``absent`` if this host has none of that name."""
    script = f"/etc/init.d/{name}"
    found = place.ask(lambda host: host.read(files=[FIRST], links=[script]))
    if found.files.get(FIRST, "").strip() != "systemd" and script not in found.links:
        return "absent"  # Most are, and that takes no command.
    said = place.run(command("state", name)).stdout
    return "running" if said == "running" else "stopped" if said == "stopped" else "absent"


def command(what: Literal["state", "stop", "start"], name: str) -> tuple[str, ...]:
    """What asks the manager of services that is there: systemd if it is process 1."""
    is_systemd = 'test "$(cat /proc/1/comm)" = systemd'
    line = f"if {is_systemd}; then {_UNIT[what]}; else {_SCRIPT[what]}; fi"
    return ("sh", "-c", line, "sh", name)
