"""A table along one dimension: a row a level, systems beside each other, their worth behind them.

Styles differ in which systems stand where and how they say what one is worth more than another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltyard.analysis.model import Average, Cell, Index, Summary
from tiltyard.charts.figures import with_unit
from tiltyard.report.document import Column, Entry, SheetChart, Table
from tiltyard.report.sections.printing import Printing, summary_of
from tiltyard.report.tables import CourseTable


@dataclass(frozen=True)
class Worth:
    """The columns behind the values."""

    columns: tuple[Column, ...]
    of: Callable[[Cell | Index], Iterable[Entry]]
    """What stands in them at a level, and for the geometric mean."""
    of_averages: Callable[[Mapping[str, Average]], Iterable[Entry]]
    """The same for the arithmetic means, by system: nothing was judged."""


@dataclass(frozen=True)
class Along:
    """What a table along a course is made of."""

    course: CourseTable
    systems: Sequence[str]
    """Whose values are shown, in this order."""
    heads: tuple[Column, ...]
    """Of those systems."""
    worth: Worth
    typical: Callable[[Summary], float]
    """Which value of a system at a level is meant."""
    means: Mapping[str, str]
    """Names of the closing rows: those of ``geometric`` and ``arithmetic`` that are wanted."""

    def table(self, id: str, title: str, caption: str) -> Table:
        """The whole of it, with a line chart of the values."""
        course, first = self.course, 1 + self.course.has_cases
        closing = tuple(self._closing())
        places = tuple(range(first, first + len(self.systems)))
        axis = with_unit(course.label, course.unit)
        return Table(
            id=id,
            title=title,
            columns=(
                Column(course.heading or "at", figures=course.is_numeric),
                *((Column("case", figures=False),) if course.has_cases else ()),
                *self.heads,
                *self.worth.columns,
            ),
            rows=(*self._rows(), *closing),
            caption=caption,
            closing=len(closing),
            charts=(SheetChart("line", 0, places, course.label, axis),) if places else (),
        )

    @property
    def _printed(self) -> Printing:
        return Printing(self.course.unit, self.course.factor, self.course.decimals, 4)

    def _rows(self) -> Iterator[tuple[Entry, ...]]:
        for row in self.course.rows:
            found = (summary_of(row.cell, name) for name in self.systems)
            yield (
                Entry(row.level, row.number, strong=True),
                *((Entry(row.case, quiet=True),) if self.course.has_cases else ()),
                *(self._printed.entry(self.typical(one) if one else None) for one in found),
                *self.worth.of(row.cell),
            )

    def _closing(self) -> Iterator[tuple[Entry, ...]]:
        index, averages = self.course.index, self.course.averages
        if "geometric" in self.means and index and index.standings:
            values = {standing.system: standing.value for standing in index.standings}
            yield self._mean("geometric", values, self.worth.of(index))
        if "arithmetic" in self.means and averages:
            known = {average.system: average for average in averages}
            values = {name: average.value for name, average in known.items()}
            yield self._mean("arithmetic", values, self.worth.of_averages(known))

    def _mean(
        self, kind: str, values: Mapping[str, float], worth: Iterable[Entry]
    ) -> tuple[Entry, ...]:
        return (
            Entry(self.means[kind], strong=True),
            *((Entry(""),) if self.course.has_cases else ()),
            *(self._printed.entry(values.get(name)) for name in self.systems),
            *worth,
        )
