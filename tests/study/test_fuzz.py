"""Whatever is given for a study: a study, or one line that says what is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.catalogue import CATALOGUE
from tiltyard.printable import one_line
from tiltyard.study.bounds import SYSTEMS_MAX
from tiltyard.study.load import read_study
from tiltyard.study.problems import StudyFileError
from tiltyard.study.templates import new_study, template_names
from tiltyard.systems import KINDS

STUDIES = Path(__file__).resolve().parents[2] / "studies"
SOURCE = Path("study.toml")
REAL = [new_study(name) for name in template_names()]
REAL += [path.read_text() for path in sorted(STUDIES.glob("*.toml"))]
LINES_MAX = max(len(text.splitlines()) for text in REAL)
MESSAGE_MAX = 4000
EXAMPLES, MANY = 300, 10**6

NASTY = st.sampled_from(
    [
        "\x1b[31m", "\\u001b]0;x\\u001b\\\\", "\u202e", "\x00", "\ud7ff", "9" * 400, "-1", "nan",
        "inf", "1e999", "[[", "]]", "{", "}", '"""', "'''", "=", ".", "a.b.c.d = 1", "[a.b]",
        "2020-01-01", "true", '""', "[]", "{}", "\r", "\n", "🏇", "0x7fffffffffffffff", "\\",
        "[" * 40, "a." * 40, "kind = 'vm'", "tuning = './x'", "filesystem = ['a', 'b']", "#",
    ]
)  # fmt: skip
WORD = NASTY | st.text(max_size=20) | st.integers().map(str) | st.floats().map(str)
KEYS = [
    *sorted({name for kind in KINDS for name in kind.Settings.model_fields}),
    "question", "decide", "seed", "baseline", "factors", "systems", "workload", "precision", "use",
    "conditions", "noise_limits", "kind", "blocks", "budget", "trials", "name", "profile", "cpus",
]  # fmt: skip
KEY = st.sampled_from(KEYS) | st.text("abc_-", min_size=1, max_size=8)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["drop", "twice", "word", "value", "cut", "insert"]),
        st.integers(0, LINES_MAX),
        st.integers(0, 80),
        WORD,
    ),
    min_size=1,
    max_size=5,
)


def values(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(inner, max_size=5).map(lambda each: f"[{', '.join(each)}]")
    pairs = st.lists(st.tuples(KEY, inner), max_size=4)
    return lists | pairs.map(lambda each: f"{{ {', '.join(f'{k} = {v}' for k, v in each)} }}")


SCALAR = st.sampled_from(["true", "1", "-3", "2.5", '"ext4"', '"2%"', '"64k"', '"45 min"', "'/'"])
VALUE = st.recursive(SCALAR | WORD.map(lambda word: f"'{word}'"), values, max_leaves=12)
HEADER = KEY.map(lambda key: f"[{key}]") | KEY.map(lambda key: f"[[{key}]]")
LINE = HEADER | st.tuples(KEY, VALUE).map(" = ".join) | WORD
MADE = st.lists(LINE, max_size=25).map(lambda lines: 'question = "q"\n' + "\n".join(lines))
WIDE = st.tuples(KEY, st.integers(1, 5000), KEY, st.integers(1, 5000)).map(
    lambda each: (
        f'question = "q"\n[factors]\n{each[0]} = {list(range(each[1]))}\n'
        f"{each[2]} = {list(range(each[3]))}\n"
    )
)
DEEP = st.tuples(st.sampled_from(["[", "{a=", "a.", "[a.", "'''", '"""\\']), st.integers(1, 9000))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A template or a ready study, with a few lines not as they were."""
    lines = draw(st.sampled_from(REAL)).splitlines()
    for what, at, column, word in draw(EDITS):
        place = at % max(1, len(lines))
        line = lines[place] if lines else ""
        changed = {
            "drop": [],
            "twice": [line, line],
            "word": [line[:column] + word + line[column:]],
            "value": [f"{line.partition('=')[0]}= {word}"],
            "cut": [line[:column]],
            "insert": [line, word],
        }[what]
        lines[place : place + 1] = changed
    return "\n".join(lines)


TEXTS = mutated() | MADE | WIDE | DEEP.map(lambda each: f"a = 1\n{each[0] * each[1]}")


def reads_or_says_why(text: str) -> None:
    """A study that is bounded, or one error that is one line on any terminal."""
    try:
        study = read_study(text, SOURCE, CATALOGUE, KINDS)
    except StudyFileError as error:
        said = one_line(str(error))
        assert said.startswith("study.toml:")
        assert len(said) < MESSAGE_MAX
        assert "\n" not in said
        assert "\x1b" not in said
        said.encode()
    else:
        assert 2 <= len(study.systems) <= SYSTEMS_MAX


def check_of(examples: int) -> Callable[[], None]:
    @settings(max_examples=examples)
    @given(text=TEXTS)
    def check(text: str) -> None:
        reads_or_says_why(text)

    return check


def test_any_text_is_a_study_or_one_line() -> None:
    check_of(EXAMPLES)()


@pytest.mark.conformance
def test_a_million_texts_are_studies_or_one_line() -> None:
    check_of(MANY)()
