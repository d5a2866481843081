"""A study made smaller: the same question, systems, grid and order, with less work in each trial.

What is an amount of work is scaled (:mod:`tiltyard.study.amounts`), and a parameter whose JSON
Schema has the key ``within`` is kept no larger than the one that it names, as a record is no larger
than its file. Everything else, sizes of records, messages and small files among it, is what the
study asks about, and stays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pydantic import JsonValue

from tiltyard.errors import UsageError
from tiltyard.study.amounts import Schema, is_held, least_of, smaller, told, within
from tiltyard.study.kinds import Kind
from tiltyard.study.model import Scaled, ScaledValue, Study
from tiltyard.units import parse_part
from tiltyard.wire import Catalogue


def parse_scale(text: str) -> Fraction:
    """The fraction that ``--scale`` names.

    Raises:
        UsageError: if it is none.
    """
    try:
        return parse_part(text)
    except ValueError as error:
        raise UsageError(f"--scale: {error}") from None


def scaled(
    study: Study, asked: Fraction | None, catalogue: Catalogue, kinds: Sequence[Kind]
) -> Study:
    """The study with all of its amounts made smaller; itself at a scale of 1.

    Args:
        study: as it was written.
        asked: more than 0, at most 1; ``None``: as the study itself has it.
        catalogue: whose parameters say which of them are amounts.
        kinds: whose settings say the same.
    """
    fraction = Fraction(study.scale) if asked is None else asked
    if fraction == 1:
        return study
    models = {kind.name: kind.Settings.model_json_schema() for kind in kinds}
    changes: list[ScaledValue] = []
    workloads = []
    for workload in study.workloads:
        card = catalogue.workload(workload.use)
        assert card is not None
        scaler = _Scaler(fraction, card.parameters, workload.name)
        parameters = scaler.of({**scaler.left_out(workload.parameters), **workload.parameters})
        workloads.append(workload.model_copy(update={"parameters": parameters}))
        changes += scaler.changes
    systems = []
    for system in study.systems:
        scaler = _Scaler(fraction, models[system.kind], "systems")
        systems.append(system.model_copy(update={"settings": scaler.of(system.settings)}))
        changes += scaler.changes
    return study.model_copy(
        update={
            "question": f"{study.question} (scaled by {fraction})",
            "workloads": tuple(workloads),
            "systems": tuple(systems),
            "scaled": Scaled(by=str(fraction), changes=tuple(dict.fromkeys(changes))),
        }
    )


@dataclass
class _Scaler:
    """Scales what one schema describes, and notes what it changed."""

    fraction: Fraction
    schema: Schema
    where: str
    changes: list[ScaledValue] = field(default_factory=list)

    def of(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Values of the schema's object, with its amounts scaled."""
        return self._object(values, self.schema, "")

    def left_out(self, typed: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Defaults of the amounts that are not typed, so that they are scaled as well.

        An amount that is null by default stands in for others, as bytes do for seconds, and so
        does a table of amounts: where one is typed, nothing is added.
        """
        amounts = {
            name: each.get("default")
            for name, each in _properties(self.schema)
            if "amount" in each or any(_amounts(self._resolved(each)))
        }
        if any(default is None and name in typed for name, default in amounts.items()):
            return {}
        return {name: default for name, default in amounts.items() if default is not None}

    def _object(
        self, values: Mapping[str, JsonValue], schema: Schema, prefix: str
    ) -> dict[str, JsonValue]:
        found = dict(values)
        for name, each in _properties(schema):
            value = values.get(name)
            if isinstance(value, dict):
                found[name] = self._object(value, self._resolved(each), f"{prefix}{name}.")
            elif value is not None and "amount" in each:
                found[name] = smaller(value, each, self.fraction)
                held = least_of(each) if is_held(value, each, self.fraction) else None
                self._note(prefix + name, value, found[name], each["amount"], held)
        for name, each in _properties(schema):
            whole = found.get(each.get("within", ""))
            if name in values and whole is not None:
                found[name] = within(values[name], whole)
                self._note(prefix + name, values[name], found[name], "bytes")
        return found

    def _resolved(self, schema: Schema) -> Schema:
        """The object that a value may be, if it may be one."""
        for part in (schema, *schema.get("anyOf", ()), *schema.get("allOf", ())):
            name = part.get("$ref", "").rpartition("/")[2]
            resolved: Schema = self.schema["$defs"][name] if name else part
            if "properties" in resolved:
                return resolved
        return {}

    def _note(
        self, key: str, was: JsonValue, now: JsonValue, amount: str, held: float | None = None
    ) -> None:
        before, after = told(was, amount), told(now, amount)
        if held is None:
            least = ""
        else:
            least = told(int(held) if amount != "seconds" else held, amount)
        if least or before != after:
            self.changes.append(
                ScaledValue(where=self.where, key=key, was=before, now=after, least=least)
            )


def _properties(schema: Schema) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from schema.get("properties", {}).items()


def _amounts(schema: Schema) -> Iterator[str]:
    return (name for name, each in _properties(schema) if "amount" in each)
