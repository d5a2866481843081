"""The runbook: a study as one shell script, made of what its record says was executed.

Programs, systems, tuning, workloads and the way back, in the order of the run. A reader copies it,
reads it, and executes it on a host of his own; Tiltyard's engine is all of Tiltyard that it needs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tiltyard.analysis.model import Findings, SystemFindings
from tiltyard.recipe import ENGINE, Recipe

_SIGN: Final = re.compile(r"\[(host|address|serial|user|path|environment|secret) (\d+)\]")
"""What :mod:`tiltyard.report.redaction` puts in the place of what others must not read."""
_DIRECTORY: Final = re.compile(r'"directory": ("(?:[^"\\]|\\.)*")')
_END: Final = "JOB"
"""Ends a document for a command's standard input."""
_TOLD: Final = ("mkfs", "mount options", "tuning", "service program")
"""Facts of systems that a reader compares with those of his host; ``tuning vm.swappiness`` too."""
_HEAD: Final = """\
set -euo pipefail
work=${WORK:-$PWD/runbook-work}   # made here, removed at the end; without spaces in its path
study=${STUDY:-$PWD}              # where files of the study are
results=${1:-runbook-results}     # a file a trial: the engine's output
blocks=${BLOCKS:-1}               # how many blocks are carried out
engine=${ENGINE:-tiltyard-engine}
loopN= port=20011 secret= current= block=0
declare -A before=() pids=()
"""
FUNCTIONS: Final = {
    "keep": """\
keep() {  # FILE VALUE: set a file of the kernel, and remember what it was
  [ -n "${before[$1]:-}" ] || before[$1]=$(sed 's/.*\\[\\([^]]*\\)\\].*/\\1/' "$1")
  printf '%s\\n' "$2" > "$1"
}""",
    "back": """\
back() {  # FILE: set it to what it was
  [ -z "${before[$1]:-}" ] || printf '%s\\n' "${before[$1]}" > "$1"
  before[$1]=
}""",
    "zeros": """\
zeros() {  # FILE: write all of it, so that no block is allocated while others measure
  dd if=/dev/zero of="$1" bs=4M count="$(stat -c %s "$1")" \\
    iflag=count_bytes,fullblock conv=notrunc,fsync status=none
}""",
    "rewrite": """\
rewrite() {  # FILE: write what it holds over itself, as mkfs has left blocks that are not written
  dd if="$1" of="$1" bs=4M conv=notrunc,fsync status=none
}""",
    "start": """\
start() {  # NAME COMMAND…: start what stays
  local name=$1
  shift
  setsid "$@" < /dev/null > "$work/$name.log" 2>&1 &
  pids[$name]=$!
}""",
    "stop": """\
stop() {  # NAME: end it, and all that it has started
  kill -- "-${pids[$1]}" 2> /dev/null || true
  ended "$1"
}""",
    "ended": """\
ended() {  # NAME: wait for its end
  wait "${pids[$1]}" 2> /dev/null || true
}""",
    "mounted": """\
mounted() {  # DIRECTORY: wait until something is mounted there
  for _ in $(seq 200); do
    if mountpoint -q "$1"; then return; fi
    sleep 0.05
  done
  echo "$1: nothing is mounted there" >&2
  return 1
}""",
    "new_secret": """\
new_secret() {  # FILE: only the trials of a turn know it
  secret=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \\n')
  (umask 077 && printf %s "$secret" > "$1")
}""",
    "may_erase": """\
may_erase() {  # DEVICE: nothing is written to a device that was not named
  [ "${ERASE:-}" = "$1" ] && ! blkid -p "$1" > /dev/null && return
  echo "$1 would be erased. Fix: make it blank, then ERASE=$1 before the command" >&2
  return 1
}""",
    "need": """\
need() {  # PROGRAM PACKAGE
  if PATH=$PATH:/usr/sbin:/sbin command -v "$1" > /dev/null; then return; fi
  if command -v apt-get > /dev/null; then apt-get install -y --no-install-recommends "$2"
  elif command -v dnf > /dev/null; then dnf install -y "$2"
  elif command -v zypper > /dev/null; then zypper install -y "$2"
  else pacman -S --noconfirm "$2"; fi
}""",
}
"""Name → text; a script has those that its lines use."""
_RUN: Final = """\
turn() {  # SYSTEM WORKLOAD…: one turn, in its own order
  current=$1
  shift
  "up_$current"
  for workload; do "work_${current}_$workload"; done
  "down_$current"
  current=
}
clean() {  # also after an error or Ctrl-C: nothing is left behind
  status=$?
  trap - EXIT
  set +eu
  if [ -n "$current" ]; then "down_$current"; fi
  end
  rm -r -f --one-file-system "$work"
  exit "$status"
}
command -v "$engine" > /dev/null || { echo "no $engine. Fix: ENGINE=/path/of/it" >&2; exit 3; }
mkdir -p "$results"
mkdir "$work"
trap clean EXIT
begin
"""


def runbook(findings: Findings) -> tuple[str, ...]:
    """The lines of the script; none where the record has nothing to execute.

    The turns of a system stand in it as comments where no script can do them: on another host, in
    a virtual machine, with a service or a state that Tiltyard itself brings up.
    """
    if findings.provenance and findings.provenance.runbook:
        return findings.provenance.runbook
    recipes = [(system, system.recipe) for system in findings.systems if system.recipe]
    if not recipes:
        return ()
    body = "\n".join(_systems(findings, recipes))
    order = "\n".join(_order(findings, recipes))
    needs = dict(need for _, recipe in recipes for need in recipe.needs.items())
    text = "\n".join((*_about(findings, recipes), *_prelude(body, needs), body, _RUN + order))
    return tuple(_SIGN.sub(_unknown, text).splitlines())


def _unknown(found: re.Match[str]) -> str:
    """What was taken out is asked for when it is needed."""
    return f"${{{found[1]}_{found[2]}:?{found[1]} {found[2]} of the report was taken out}}"


_Recipes = Sequence[tuple[SystemFindings, Recipe]]


def _about(findings: Findings, recipes: _Recipes) -> Iterator[str]:
    yield "#!/bin/bash"
    yield f"# {_plain(findings.question)}"
    yield "#"
    yield f"# Made by Tiltyard from the record of the plan {findings.plan_hash}."
    yield "# By default it carries out the first block, as root:"
    yield "#"
    yield "#   BLOCKS=7 ENGINE=/usr/bin/tiltyard-engine bash runbook.sh RESULTS"
    yield "#"
    yield "# Lines behind # are what no command does. It judges nothing, waits for no quiet host"
    yield "# and repeats no disturbed block: tiltyard run does."
    whole = [system.name for system, recipe in recipes if recipe.engine]
    absent = [system.name for system in findings.systems if system.name not in whole]
    if absent:
        yield f"# Left to tiltyard run, which no script stands in for: {_plain(', '.join(absent))}"
    for system, _ in recipes:
        for name, fact in system.facts.items():
            if name.startswith(_TOLD):
                yield f"# {_plain(system.name)}: {name}: {_plain(fact)}"


def _prelude(body: str, needs: Mapping[str, str]) -> Iterator[str]:
    """Head, functions and programs, as far as the systems need them."""
    words = set(re.findall(r"[\w.-]+", body))
    used = words | ({"need"} if needs else set()) | ({"ended"} if "stop" in words else set())
    yield _HEAD.rstrip()
    yield from (text for name, text in FUNCTIONS.items() if name in used)
    yield from (f"need {program} {package}" for program, package in needs.items())


def _systems(findings: Findings, recipes: _Recipes) -> Iterator[str]:
    yield from _function("begin", "as long as all systems", _shared(recipes, "once"))
    numbers = {workload.name: number for number, workload in enumerate(findings.workloads, 1)}
    for number, (system, recipe) in enumerate(recipes, 1):
        told = not recipe.engine
        yield from _function(f"up_{number}", system.name, recipe.up, told=told)
        for workload, job in recipe.jobs.items():
            lines = _work(system.name, workload, recipe, job)
            title = f"{system.name}: {workload}"
            yield from _function(f"work_{number}_{numbers[workload]}", title, lines, told=told)
        yield from _function(f"down_{number}", system.name, recipe.down, told=told)
    yield from _function("end", "what begin has made", _shared(recipes, "end"))


def _shared(recipes: _Recipes, part: str) -> list[str]:
    """What systems share, each line once."""
    return list(dict.fromkeys(line for _, recipe in recipes for line in getattr(recipe, part)))


def _function(name: str, title: str, lines: Sequence[str], *, told: bool = False) -> Iterator[str]:
    """A function of the script; ``told``: its lines are only shown."""
    if told:
        parts = [part for line in lines for part in line.splitlines()]
        lines = [part if part.startswith("#") else f"# {part}" for part in parts]
    yield f"{name}() {{  # {_plain(title)}"
    is_document = False
    for line in lines:
        is_document &= line != _END
        yield line if is_document or line == _END else f"  {line}"
        is_document |= line.endswith(f"<< {_END}")
    if all(line.startswith("#") for line in lines):
        yield "  :"
    yield "}"


def _work(system: str, workload: str, recipe: Recipe, job: str) -> list[str]:
    """One trial: a directory for it, and the engine's job on its standard input."""
    directory = _DIRECTORY.search(job)
    slug = re.sub(r"[^\w.-]+", "_", f"{system}-{workload}")
    return [
        *([f"mkdir -p {directory[1]}"] if directory else []),
        f'{recipe.engine or ENGINE} run > "$results/b$block-{slug}.jsonl" << {_END}',
        *job.splitlines(),
        _END,
    ]


def _order(findings: Findings, recipes: _Recipes) -> Iterator[str]:
    """Each block of the record in its order, as far as the reader wants them."""
    systems = [system.name for system, _ in recipes]
    whole = [system.name for system, recipe in recipes if recipe.engine]
    numbers = {workload.name: number for number, workload in enumerate(findings.workloads, 1)}
    blocks: dict[int, dict[str, list[int]]] = {}
    for trial in findings.trials:
        if trial.system in systems and trial.repeat == 1:
            turns = blocks.setdefault(trial.block, {})
            turns.setdefault(trial.system, []).append(numbers[trial.workload])
    for place, (block, turns) in enumerate(blocks.items(), 1):
        yield f'if [ "$blocks" -ge {place} ]; then'
        yield f"  block={block}"
        for system, workloads in turns.items():
            words = " ".join(map(str, (systems.index(system) + 1, *workloads)))
            yield f"  turn {words}" if system in whole else f"  # turn {words}"
        yield "fi"


def _plain(text: str) -> str:
    """On one line of a comment."""
    return " ".join(text.split())


def script(findings: Findings) -> str:
    """The whole script; where nothing can be executed, a comment that says so."""
    lines = runbook(findings) or (
        f"# {_plain(findings.question)}",
        "# The record of this study has no steps to execute.",
        *(f"# {_plain(line)}" for one in findings.systems for line in one.commands),
    )
    return "\n".join((*lines, ""))
