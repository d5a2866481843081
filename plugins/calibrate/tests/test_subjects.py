"""What a calibration may be asked to examine."""

import pytest

from support.catalogue import CATALOGUE
from tiltyard.errors import UsageError
from tiltyard_calibrate.subjects import SUBJECTS, check_kinds, subjects


def test_what_is_not_asked_for_is_all_that_is_usual() -> None:
    assert subjects((), CATALOGUE) == SUBJECTS


def test_any_workload_can_be_compared_with_itself() -> None:
    read, postmark = subjects(("random_read", "postmark"), CATALOGUE)
    assert (read.use, read.call) == ("random", "read")
    assert (postmark.use, postmark.call) == ("postmark", None)


def test_names_that_are_none_are_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r'"postmrk" is not a workload.*Did you mean "postmark"'):
        subjects(("postmrk",), CATALOGUE)
    with pytest.raises(UsageError, match=r'"pairr" cannot be.*Did you mean "pair"'):
        check_kinds(("pairr",))
