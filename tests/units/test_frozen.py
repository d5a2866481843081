from functools import cached_property

from tiltyard.frozen import Frozen


class Values(Frozen):
    values: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        return sum(self.values)


def test_what_was_worked_out_of_a_model_is_not_in_a_copy_with_other_values():
    one = Values(values=(1, 2))
    assert one.total == 3
    assert one.model_copy(update={"values": (5,)}).total == 5
    assert one == Values(values=(1, 2))
    assert one.model_dump() == {"values": (1, 2)}
