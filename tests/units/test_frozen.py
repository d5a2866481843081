import tracemalloc
from functools import cached_property

from pydantic import ConfigDict

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


class Nested(Frozen):
    model_config = ConfigDict(extra="allow")

    one: Values
    by_name: dict[str, tuple[Values, ...]]
    plain: dict[str, int]


def test_lean_models_are_equal_at_every_depth_and_much_smaller():
    text = '{"one":{"values":[1]},"by_name":{"a":[{"values":[2]}]},"plain":{"n":7},"more":8}'
    read = Nested.of_json(text)
    small = lean(read)
    assert small == read
    assert small.model_dump_json() == read.model_dump_json()
    assert small.model_fields_set == read.model_fields_set
    assert small.model_extra == {"more": 8}
    assert small.one.total == 1
    assert small.plain is read.plain


def test_what_is_lean_stays_the_same_one_where_several_have_it():
    shared = lean(Values(values=(1,)))
    one, other = (lean(Nested(one=shared, by_name={}, plain={})) for _ in range(2))
    assert one.one is other.one is shared


def memory_bytes(make):
    tracemalloc.start()
    kept = [make() for _ in range(200)]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / len(kept)


def test_a_lean_model_takes_less_than_half_of_one_that_was_read():
    read = memory_bytes(lambda: Values.of_json('{"values":[1,2]}'))
    assert memory_bytes(lambda: lean(Values.of_json('{"values":[1,2]}'))) < read / 2
