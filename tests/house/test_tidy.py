"""The house rules that a machine can check."""

import ast
import graphlib
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 70

IDENTIFIERS: Final = {
    "Laden": "FullHooks",
    "Conduct": "RecordHooks",
    "Standstill": "StallDetector",
    "Hands": "Executor",
    "OwnHands": "SyscallExecutor",
    "Lifeline": "Watchdog",
    "bear_floods": "set_tcp_user_timeout",
    "endure": "on_send_error",
    "Meeting": "Rendezvous",
    "Played": "TransferResult",
    "Specimen": "ConnectionInfo",
    "Teller": "ComparisonBuilder",
    "oddest": "max_outlier",
    "unmake": "undo_temporarily",
    "Said": "ImportOptions",
    "UntoldError": "a step's named output",
    "workshop": "scratch_dir",
    "Apart": "OutlyingGroup",
    "Bringing": "UntrustedInputs",
    "Hearing": "ClientCallbacks",
    "Withheld": "NoVerdict",
    "calibrates": "calibration_command",
    "kept_if_begun": "rollback_unless_started",
    "withhold": "suppress_verdicts",
    "serviceable": "with_service",
    "tunable": "with_tuning",
    "CanaryRun": "ReferenceRun",
    "Crew": "ThreadFiles",
    "Spoiled": "DisturbedBlocks",
}
"""Names of things in the code, and the field's."""
PHRASES: Final = {
    r"kept and told": "kept and reported",
    r"Mend:": "Fix:",
    r"spoiled blocks?": "disturbed block",
    r"the canary": "reference run",
    r"who is ahead": "ranking",
    r"[Ww]hat a sceptic would ask": "limitations",
    r"differences that count as none": "equivalence margin",
    r"files that live shortly": "short-lived files",
    r"equal heights are equal ratios": "log scale",
    r"[Dd]arker by day": "darker = higher",
    r"see ghosts": "A/A test",
    r"what else the data show": "further findings",
    r"intervals hold together": "simultaneous confidence intervals",
    r"[Dd]ifferences within \S+ \S* ?count as none": "equivalence margin",
    r"It cannot be decided: ": "not verifiable",
    r"Rank: what the verdicts leave possible": "range consistent with the verdicts",
    r"\bfile down, record across\b": "rows, columns",
    r"nothing would go wrong": "no problems found",
    r"who doubts it": "reviewers",
    r"blocks ahead": "blocks won",
    r"single printed (?:numbers|values)": "single published values, no CI",
    r"reaches most of the best": "highest mean relative performance",
    r"do not allow to be called": "not significant after correction",
    r"numbers do not show": "limitations",
    r"puts the host back": "restores the host",
    r"false winners?": "false positive",
    r"\bat\s*= \"(far|near)\"|^#? ?(far|near)\s+= \{|in (far|near) = \{": "server, client",
    r"\b[Ff]ar[ -]ends?\b|\bfar_cpus\b": "server, server_cpus",
    r"\b[Nn]ear[ -]ends?\b(?!: \")|\bnear_cpus\b": "client, client_cpus",
}
"""What a reader sees, and what it says instead."""


LAB: Final = ROOT / "lab/src/tiltyard"
KNOWS_SSH: Final = {
    "address.py": "starts it, and knows what it says",
    "systems/untrusted_inputs.py": "which of its options a study may have untrusted",
    "systems/hosts.py": "has the key for its options, beside server",
    "study/model.py": "the same, beside hosts",
    "cli/host_options.py": "has the option for its options",
}
SAYS_SSH: Final = {
    "cli/compare.py",
    "cli/record.py",
    "cli/restore.py",
    "report/redaction.py",
    "study/clients.py",
    "systems/directory.py",
}
"""In a sentence, or in a pattern of one: nothing there depends on it."""


def tracked(*suffixes: str) -> list[Path]:
    """Files that git knows or would add, with one of these suffixes."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    files = [ROOT / line for line in done.stdout.splitlines()]
    return [path for path in files if path.suffix in suffixes and path.is_file()]


def test_a_file_can_be_read_at_one_sitting() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in tracked(".py", ".rs")
        if (lines := len(path.read_text().splitlines())) > FILE_LINES_MAX
    }
    assert not long, f"files over {FILE_LINES_MAX} lines want a new room: {long}"


def test_a_function_does_one_thing() -> None:
    """Those of Rust clippy holds to the same limit."""
    assert (
        f"too-many-lines-threshold = {FUNCTION_LINES_MAX}\n" == (ROOT / "clippy.toml").read_text()
    )
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in tracked(".py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.body[0].lineno > FUNCTION_LINES_MAX
    ]
    assert not long, f"functions over {FUNCTION_LINES_MAX} lines: {long}"


def test_no_path_or_address_of_a_build_machine() -> None:
    home = re.compile(r"(?<![\w.)])/(?:root|home)/[\w.]")
    hosts = r"pypi|pythonhosted|npmjs|crates\.io|golang|deb\.debian"
    registry = re.compile(rf"https?://[\w.-]*(?:{hosts})", re.I)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked(".py", ".rs", ".md", ".toml", ".lock", ".txt", "")
        if path.name != "Cargo.lock" and path != Path(__file__)
        for pattern in (home, registry)
        for match in pattern.finditer(path.read_text(errors="replace"))
    ]
    assert not found


def test_imports_go_one_way() -> None:
    done = subprocess.run(
        [str(ROOT / ".venv/bin/lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("crate", "may_use"),
    [
        ("wire", set()),
        ("kit", {"wire"}),
        ("testing", {"wire", "kit"}),
        ("storage", {"wire", "kit"}),
        ("network", {"wire", "kit"}),
        ("program", {"wire", "kit"}),
        ("agent", {"wire", "kit", "program"}),
        ("guest", {"wire", "kit"}),
        (
            "engine",
            {
                "wire",
                "kit",
                "storage",
                "network",
                "program",
                "agent",
                "guest",
            },
        ),
    ],
)
def test_crates_of_the_core_depend_one_way(crate: str, may_use: set[str]) -> None:
    assert of_workspace(f"engine/{crate}") <= may_use


def of_workspace(crate: str) -> set[str]:
    """The crates of ours that one needs, as it calls them, but for its tests."""
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    own = {name for name, where in ours.items() if "path" in where}
    manifest = tomllib.loads((ROOT / crate / "Cargo.toml").read_text())
    return set(manifest.get("dependencies", {})) & own


def test_the_core_knows_no_plug_in() -> None:
    """Its tests neither, so that they pass with the core alone."""
    ours = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    plugins = {name for name, where in ours.items() if "plugins/" in str(where)}
    assert len(plugins) > 2
    for path in (ROOT / "engine").glob("*/Cargo.toml"):
        manifest = tomllib.loads(path.read_text())
        needs = {*manifest.get("dependencies", {}), *manifest.get("dev-dependencies", {})}
        assert not needs & plugins, path


@pytest.mark.parametrize(
    ("crate", "may_use"),
    [
        ("classics/workloads", {"wire", "kit", "storage"}),
        ("classics/netperf", {"wire", "kit", "network"}),
        ("classics/lines", {"wire", "kit", "engine", "classic_workloads", "netperf"}),
        ("engine", {"engine", "classic_workloads", "classic"}),
    ],
)
def test_crates_of_plug_ins_depend_one_way(crate: str, may_use: set[str]) -> None:
    assert of_workspace(f"plugins/{crate}") <= may_use


def used_paths(own: tuple[str, ...], text: str) -> set[tuple[str, ...]]:
    """What a module of Rust names, from the root of its crate; of what is inside it, the names."""
    text = re.sub("//.*", "", text).split("#[cfg(test)]")[0]
    named = re.finditer(r"(?:\bcrate|^(?:pub )?use (super(?:::super)*))((?:::\w+)*)::(\w+|{[^;]*})",
                        text, re.M)  # fmt: skip
    paths = {
        (*(own[: -one[1].count("super")] if one[1] else ()), *one[2].split("::")[1:], name)
        for one in named
        for name in re.findall(r"(?:^|[{,]\s*)(\w+)", one[3])
    }
    return paths | {(*own, one) for one in re.findall(r"(?<![:\w])(\w+)::", text)}


RUST = sorted(
    path.with_name("src")
    for top in ("engine", "plugins")
    for path in (ROOT / top).rglob("Cargo.toml")
)


@pytest.mark.parametrize("source", RUST, ids=str)
def test_files_of_a_crate_make_no_circles(source: Path) -> None:
    """What a module inside another one takes from it does not count."""
    files = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        files[parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts] = path.read_text()
    graph = {
        own: {
            used
            for path in used_paths(own, text)
            for used in [
                next(path[:end] for end in range(len(path), -1, -1) if path[:end] in files)
            ]
            if used != own[: len(used)]
        }
        for own, text in files.items()
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_few_know_how_another_host_is_reached() -> None:
    """By a name in the code, or a text that is a command or a key; others say it to people."""
    code = re.compile(r"ssh|\w*ssh_\w*|\w*_ssh|(--)?ssh-options", re.IGNORECASE)
    knows, says = set(), set()
    for path in sorted(LAB.rglob("*.py")):
        name, text = str(path.relative_to(LAB)), path.read_text()
        names = [
            word
            for node in ast.walk(ast.parse(text))
            for word in map(vars(node).get, ("id", "attr", "arg", "name", "value"))
            if isinstance(word, str)
        ]
        if any(map(code.fullmatch, names)):
            knows.add(name)
        elif re.search(r"(?<![\w.])ssh(?!\w)", text):
            says.add(name)
    assert knows == KNOWS_SSH.keys()
    assert len(knows) <= 5
    assert says == SAYS_SSH


def test_only_the_command_line_prints() -> None:
    printing = [
        str(path.relative_to(ROOT))
        for source in (LAB, *ROOT.glob("plugins/*/src"))
        for path in source.rglob("*.py")
        if "cli" not in path.parts and re.search(r"^\s*print\(", path.read_text(), re.M)
    ]
    assert not printing


def test_every_room_has_an_entry_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rooms = [path.name for path in (ROOT / "lab/src/tiltyard").iterdir() if path.is_dir()]
    crates = [path.name for path in (ROOT / "engine").iterdir() if path.is_dir()]
    plugins = [path.name for path in (ROOT / "plugins").iterdir()]
    missing = [
        room
        for room in rooms + crates + plugins
        if room != "__pycache__" and f"{room}/" not in text
    ]
    assert not missing


@pytest.mark.parametrize("word", IDENTIFIERS)
def test_a_thing_has_the_name_of_the_field(word: str) -> None:
    defined = re.compile(
        rf"\b(?:def|class|fn|struct|enum|trait|mod|type|const|static) _?{word}\b|^_?{word}\s*[:=]",
        re.M,
    )
    found = [
        str(path.relative_to(ROOT))
        for path in tracked(".py", ".rs")
        if defined.search(path.read_text())
    ]
    assert not found, f"{word} is {IDENTIFIERS[word]}: {found}"


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_reader_meets_the_words_of_the_field(phrase: str) -> None:
    """Decisions and the changelog say what was; everything else says what is."""
    said = re.compile(phrase)
    found = [
        str(path.relative_to(ROOT))
        for path in tracked(".py", ".rs", ".md", ".toml", ".j2")
        if path != Path(__file__)
        and not {"decisions", "fixtures", "published", "recorded"}.intersection(path.parts)
        and path.name != "CHANGELOG.md"
        and said.search(path.read_text())
    ]
    assert not found, f'"{phrase}" is "{PHRASES[phrase]}": {found}'
