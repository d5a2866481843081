"""How large a study may be: beyond it, one line, before anything takes time or memory."""

from pathlib import Path

import pytest

from support.catalogue import CATALOGUE
from tiltyard.app.freeze import open_study
from tiltyard.errors import UsageError
from tiltyard.study import bounds
from tiltyard.study.load import load_study, read_study
from tiltyard.study.problems import StudyFileError
from tiltyard.systems import KINDS

SOURCE = Path("study.toml")
HEAD = 'question = "q"\n[factors]\nfilesystem = ["ext4", "xfs"]\n'
VARIED = 'question = "q"\nsystems.filesystem = "ext4"\n[factors]\n'


def levels(key: str, number: int) -> str:
    return f"{key} = [{', '.join(str(1024 * (each + 1)) for each in range(number))}]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".".join("a" * 20_000) + " = 1", ":1: more than 16 parts of one key"),
        (f"{HEAD}[{'.'.join('a' * 5_000)}]", ":4: more than 16 parts of one key"),
        ("a = " + "[" * 17 + "]" * 17, ":1: more than 16 brackets in each other"),
        ("a = " + "{b=" * 17 + "1" + "}" * 17, ":1: more than 16 brackets in each other"),
        ("".join(f"k{each} = 1\n" for each in range(5_000)), ":4001: more than 4000 keys"),
        ("[[a]]\n" * 5_000, ":2001: more than 4000 keys"),
        (VARIED + levels("inject_ns", 1001), ":3: factors: the levels combine to 1001 systems"),
        (
            VARIED
            + "".join(levels(key, 1000) for key in ("inject_ns", "inject_every", "read_ahead")),
            ":3: factors: the levels combine to 1000000000 systems, and no more than 1000",
        ),
        (
            VARIED + levels("inject_ns", 1000) + "[precision]\nblocks = 201\n",
            ":6: precision.blocks: 201 blocks of 1000 trials are 201000, and no more than 200000",
        ),
    ],
)
def test_what_is_beyond_a_limit_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        read_study(text, SOURCE, CATALOGUE, KINDS)
    assert f"study.toml{said}" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "text",
    [
        'decide = """' + "a.b." * 50 + '"""\n' + HEAD,
        "decide = '" + "[{" * 50 + "'\n" + HEAD,
        f"# {'[' * 50} {'a.' * 50}\n{HEAD}",
        VARIED + levels("inject_ns", 1000),
    ],
)
def test_what_stands_in_texts_and_comments_is_no_depth(text: str) -> None:
    assert read_study(text, SOURCE, CATALOGUE, KINDS).question == "q"


def test_a_file_that_is_too_large_is_not_read_and_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text(HEAD + "#\n" * (bounds.BYTES_MAX // 2))
    for reads in (lambda: load_study(path, CATALOGUE, KINDS), lambda: open_study(path, None)):
        with pytest.raises(UsageError, match=r"large\.toml: larger than 1 MiB: .* Fix:"):
            reads()
    assert list(tmp_path.iterdir()) == [path]


def test_no_more_flaws_are_looked_for_than_anybody_reads() -> None:
    unknown = "".join(f"key{each} = 1\n" for each in range(2_900))
    text = f"{VARIED.replace('systems.', '')}{levels('inject_ns', 1000)}[systems]\n{unknown}"
    with pytest.raises(StudyFileError) as caught:
        read_study(text.replace('filesystem = "ext4"\n', ""), SOURCE, CATALOGUE, KINDS)
    assert len(caught.value.problems) <= 2 * 100
