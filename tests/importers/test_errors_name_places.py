"""A value that no tool writes is refused with the key or the line at which it stands."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.imported import data_of, imported
from support.imports import GENUINE, Genuine
from tiltyard.errors import UsageError

IN_JSON = [
    file for file in GENUINE if file.data.lstrip().startswith(b"{") and file.path.suffix != ".jsonl"
]


def refusal(path: str, data: bytes) -> str:
    """The error that a file gets."""
    with pytest.raises(UsageError) as caught:
        imported(path, data)
    return str(caught.value)


@pytest.mark.parametrize("file", IN_JSON, ids=lambda file: file.name)
@pytest.mark.parametrize("cut", [0.5, 0.99])
def test_cut_off_json_is_refused_with_its_line(file: Genuine, cut: float) -> None:
    error = refusal("x", file.data[: int(len(file.data.rstrip()) * cut)])
    assert "not JSON, or cut off" in error
    assert error.split(":")[1].isdigit()


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("fio/two-jobs.json", ("jobs", 0, "read", "bw_bytes")),
        ("fio/two-jobs.json", ("jobs", 1, "write", "clat_ns", "mean")),
        ("iperf3/bidir.json", ("end", "sum_received", "bits_per_second")),
        ("hyperfine/two-commands.json", ("results", 0, "times", 3)),
    ],
)
@pytest.mark.parametrize(
    "wrong", [float("nan"), float("inf"), -1, 1e300, "NaN", [], {}, True, "9" * 99]
)
def test_a_value_in_json_is_named_by_its_key(
    file: str, path: tuple[str | int, ...], wrong: object
) -> None:
    report = json.loads(data_of(file))
    place = report
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    named = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)[1:]
    assert f"x: {named}: " in refusal("x", json.dumps(report).encode())


@pytest.mark.parametrize(
    ("file", "old", "line"),
    [
        ("sockperf/ping-pong.txt", b"avg-latency=6.572", 12),
        ("sockperf/ping-pong.txt", b"percentile 99.000 =   12.990", 20),
        ("sysbench/fileio-rndrw.txt", b"reads/s:                      2463.11", 24),
    ],
)
@pytest.mark.parametrize("wrong", [b"nan", b"inf", b"-1", b"1e300", b"9" * 99, b"x"])
def test_a_number_in_text_is_named_by_its_line(
    file: str, old: bytes, line: int, wrong: bytes
) -> None:
    number = old.replace(b"=", b" ").split()[-1]
    data = data_of(file)
    assert old in data
    error = refusal("x", data.replace(old, old.removesuffix(number) + wrong))
    assert error.startswith(f"x:{line}: ")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(file=st.sampled_from(IN_JSON), data=st.data())
def test_any_other_value_in_json_is_read_or_refused(file: Genuine, data: st.DataObject) -> None:
    """A value somewhere in a genuine file is replaced by any other."""
    report = json.loads(file.data)
    place = report
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
    place[key] = data.draw(
        st.recursive(
            scalars,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=5), inner, max_size=3)
            ),
            max_leaves=5,
        )
    )
    lines = 1
    try:
        file.read(json.dumps(report).encode())
    except UsageError as error:
        lines = len(str(error).splitlines())
    assert lines == 1
