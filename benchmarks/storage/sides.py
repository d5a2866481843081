"""What stands on either side of a pair: the engine, and other people's programs."""

import json
from pathlib import Path
from typing import Any

from tiltyard.executors.engine import ConditionsWanted, Job
from tiltyard.wire import EndEvent, Sample, SampleEvent, read_events

from ..engine import engine
from ..harness import Times
from ..processes import timed

FIO_BYTES = 64 << 20


class Trial:
    """One job, executed by the engine without pinning, as its peers are."""

    def __init__(self, directory: Path, workload: str, parameters: dict[str, Any]) -> None:
        """Run it to its end."""
        unpinned = ConditionsWanted(unpinned=True)
        job = Job(workload=workload, parameters=parameters, target=directory, conditions=unpinned)
        self.spent, answer = timed([engine(), "run"], directory, job.message())
        self.events = list(read_events(answer.splitlines()))

    def sample(self, metric: str) -> Sample:
        """The one sample of a metric."""
        samples = [event.data for event in self.events if isinstance(event, SampleEvent)]
        (sample,) = [sample for sample in samples if sample.metric == metric]
        return sample

    def operation_s(self, metric: str) -> float:
        """Time per operation of the one sample of a metric."""
        sample = self.sample(metric)
        return sample.elapsed_s / sample.operations

    def times(self, what: str, metric: str) -> dict[str, float]:
        """The whole process, and what the engine itself has measured."""
        return {**self.spent, what: self.operation_s(metric)}

    @property
    def peak_memory_bytes(self) -> int:
        """Peak resident memory of the engine."""
        (end,) = [event.data for event in self.events if isinstance(event, EndEvent)]
        return end.usage.peak_memory_bytes


def fio(directory: Path, *options: str) -> Times:
    """Cached reads by fio's plain system calls, by fio's own figure.

    The file is written here: what fio lays out itself, it first reads from the device.
    """
    (directory / "peer.tmp").write_bytes(bytes(FIO_BYTES))
    where = [f"--directory={directory}", "--filename=peer.tmp", f"--size={FIO_BYTES}"]
    how = ["--ioengine=psync", "--invalidate=0", "--loops=8", "--output-format=json"]
    _, answer = timed(["fio", "--name=peer", *where, *how, *options], directory)
    read = json.loads(answer)["jobs"][0]["read"]
    return {"per operation": read["runtime"] / 1e3 / read["total_ios"]}
