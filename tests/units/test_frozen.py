from functools import cached_property

from tiltyard.frozen import Frozen, lean


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


def test_lean_models_are_equal_to_others_and_can_be_changed_in_copies():
    one, other = (lean(Values(values=(n,))) for n in (1, 1))
    assert one.__pydantic_fields_set__ is other.__pydantic_fields_set__
    assert one == Values(values=(1,))
    assert one.model_copy(update={"values": (2,)}).model_dump_json() == '{"values":[2]}'
    assert other.model_dump() == {"values": (1,)}
