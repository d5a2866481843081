"""What is cut off, damaged or of another tool: read rightly, or refused in one line."""

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.imports import GENUINE, Genuine, collected
from tiltyard.errors import UsageError
from tiltyard.importers import IMPORTERS
from tiltyard.importers.importer import LARGEST_BYTES, Imported, Importer
from tiltyard.importers.sniff import HEAD_BYTES, importer_of, read_with

CUTS = 40
ONE_OF_EACH = list({file.importer.name: file for file in GENUINE}.values())
READERS = [file.importer for file in ONE_OF_EACH]
LINES = st.integers(min_value=0, max_value=10**6)
NASTY = [b"1e999", b"-5", b"nan", b"inf", b"9" * 400, b"\x00", b"\xff", b"+++++", b"0x10", b"1,2"]
DEEP = b"[" * 200_000
LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE PhoronixTestSuite [<!ENTITY a "ha">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<PhoronixTestSuite><Result><Title>&c;</Title></Result></PhoronixTestSuite>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<PhoronixTestSuite><System><Identifier>&x;</Identifier></System></PhoronixTestSuite>"""


def survives(importer: Importer, data: bytes) -> Imported | None:
    """What is read, if it makes a collection; ``None`` if it is refused as it should be."""
    refused = ""
    try:
        found = read_with(importer, data, "a.txt")
        readings = [r for one in collected(found).workloads for r in one.readings]
    except UsageError as error:
        refused = str(error)
    if refused:
        assert refused.isprintable()
        assert "a.txt" in refused or "cannot name a system" in refused
        assert len(refused) < 1000
        return None
    assert all(math.isfinite(value) and value >= 0 for r in readings for value in r.values)
    return found


def values(imported: Imported) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """Everything measured but where: fewer lines may know less of that."""
    for workload in imported.workloads:
        for one in workload.measured:
            yield workload.use, one.metric, one.values


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_what_is_cut_off_holds_no_number_that_was_not_there(file: Genuine) -> None:
    data, whole = file.data, set(values(file.read()))
    ends = {len(data) * part // CUTS for part in range(CUTS)}
    line_ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for end in sorted(ends | set(line_ends[:: max(1, len(line_ends) // CUTS)])):
        found = survives(file.importer, data[:end])
        if found is not None:
            assert set(values(found)) <= whole, f"cut off after {end} bytes"


@pytest.mark.parametrize("file", GENUINE, ids=lambda file: file.name)
def test_other_encodings_of_the_same_text_read_the_same(file: Genuine) -> None:
    text, whole = file.data.decode(), file.read()
    if text.startswith("<?xml"):
        text = text.replace('version="1.0"', 'version="1.0" encoding="utf-16"')
        assert file.read(text.encode("utf-16")) == whole
        return
    for encoding in ("utf-8-sig", "utf-16"):
        assert file.read(text.encode(encoding)) == whole, encoding
    assert file.read(text.replace("\n", "\r\n").encode()) == whole


@pytest.mark.parametrize("importer", READERS, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n \n",
        b"\x00" * 5000,
        b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 20,
        b"A" * 200_000 + b"\n",
        b"9" * 200_000 + b"\n",
        b"\xff\xfe\x00",
        b"\xfe\xff",
        DEEP,
        b'{"a":' * 100_000,
        LAUGHS,
        OUTSIDE,
        b"\xef\xbb\xbf",
    ],
    ids=lambda data: repr(data[:12]),
)
def test_what_is_no_result_is_refused(importer: Importer, data: bytes) -> None:
    assert survives(importer, data) is None


@pytest.mark.parametrize("importer", READERS, ids=lambda one: one.name)
def test_the_file_of_another_tool_is_refused(importer: Importer) -> None:
    for other in ONE_OF_EACH:
        if other.importer.name != importer.name:
            assert survives(importer, other.data) is None, other.name


@pytest.mark.parametrize("importer", READERS, ids=lambda one: one.name)
def test_a_huge_file_is_refused_unread(importer: Importer) -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return LARGEST_BYTES + 1

    with pytest.raises(UsageError, match=r"a\.txt: 64 MiB; result files of up to 64 MiB"):
        read_with(importer, Huge(), "a.txt")


def test_what_nobody_recognises_is_told_which_kinds_there_are() -> None:
    with pytest.raises(UsageError, match=r"notes\.txt: not recognised\. Name its kind.*iozone"):
        importer_of(b"Dear diary,\n", "notes.txt", IMPORTERS)


@pytest.mark.parametrize("data", [b"", b" \n\n", b"\x1f\x8b\x08\x00", b"\xfd7zXZ\x00\x00"])
def test_what_is_empty_or_packed_is_told_so(data: bytes) -> None:
    with pytest.raises(UsageError, match=r"^a\.txt: (empty|packed; unpack it first: \w+ -dk a)"):
        importer_of(data, "a.txt", IMPORTERS)
    with pytest.raises(UsageError, match=r"^a\.txt: (empty|packed)"):
        read_with(READERS[0], data, "a.txt")


def test_results_of_two_tools_in_a_file_are_neither_dropped_nor_guessed() -> None:
    """Also where the second begins far below the first."""
    files = {file.importer.name: file.data for file in ONE_OF_EACH}
    padding = b"\n" * HEAD_BYTES
    for first, second in (("iozone", "netperf"), ("fs_mark", "tiotest"), ("netperf", "bonnie")):
        data = files[first] + padding + files[second]
        with pytest.raises(UsageError, match=f"a.txt: holds results of {first} and of {second}"):
            importer_of(data, "a.txt", IMPORTERS)


def test_nothing_outside_an_xml_file_is_read() -> None:
    phoronix = next(one for one in IMPORTERS if one.name == "phoronix")
    for data in (LAUGHS, OUTSIDE):
        with pytest.raises(UsageError, match="no document type and no entities"):
            read_with(phoronix, data, "a.txt")


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "twice", "swap", "nasty", "flip", "word"]),
        LINES,
        LINES,
        st.sampled_from(NASTY),
    ),
    min_size=1,
    max_size=4,
)


def check_of(examples: int) -> Callable[[], None]:
    """Damages genuine files of every tool in so many ways."""

    @settings(max_examples=examples, derandomize=True, deadline=None)
    @given(file=st.sampled_from(GENUINE), edits=EDITS)
    def check(file: Genuine, edits: list[tuple[str, int, int, bytes]]) -> None:
        lines = file.data.splitlines(keepends=True)
        for kind, first, second, nasty in edits:
            edit(lines, kind, first, second, nasty)
        survives(file.importer, b"".join(lines))

    return check


def test_damage_is_read_or_refused_and_nothing_else() -> None:
    check_of(400)()


@pytest.mark.conformance
def test_damage_of_a_million_sorts_is_read_or_refused() -> None:
    check_of(10**6)()


def edit(lines: list[bytes], kind: str, first: int, second: int, nasty: bytes) -> None:
    """Damage of one sort, where two numbers say."""
    place, other = first % len(lines), second % len(lines)
    line = lines[place]
    words = line.split(b" ")
    if kind == "drop" and len(lines) > 1:
        del lines[place]
    elif kind == "twice":
        lines.insert(other, line)
    elif kind == "swap":
        lines[place], lines[other] = lines[other], line
    elif kind == "nasty":
        at = second % (len(line) + 1)
        lines[place] = line[:at] + nasty + line[at:]
    elif kind == "flip" and line:
        at = second % len(line)
        lines[place] = line[:at] + bytes([line[at] ^ (1 << second % 8)]) + line[at + 1 :]
    elif kind == "word":
        words[second % len(words)] = nasty
        lines[place] = b" ".join(words)
