"""``tiltyard compare``: the whole job in one command."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def compare(
    *systems: str,
    workload: Annotated[tuple[str, ...], Parameter(name=["--workload", "-w"])] = (),
    blocks: int | None = None,
    budget: str | None = None,
    seed: int | None = None,
    disturbed: Annotated[
        Literal["replace", "keep"] | None, Parameter(name=["--disturbed", "--spoiled"])
    ] = None,
    folder: Path | None = None,
    scale: str | None = None,
) -> int:
    """Compare file systems, directories or network settings, without writing a study file first.

    ```
    tiltyard compare ext4 xfs btrfs --workload postmark
    tiltyard compare ext4 xfs -w iozone -w postmark --budget "20 min"
    tiltyard compare /mnt/old /mnt/new          # directories: no root needed
    tiltyard compare mtu=1500 mtu=9000 -w tcp_stream
    tiltyard compare ext4 ext4                  # A/A test: false differences?
    ```

    A study folder is written, named after the workloads and systems; the same command again goes
    on with it. What is typed here, such as a tuning profile, is trusted as it is typed.

    Args:
        systems: File systems (made on a fresh loop-backed image in each block; needs root),
            existing directories, or a setting of a pair of network namespaces with its value
            (made fresh in each block; needs root).
        workload: A workload to run (see `tiltyard workloads`); may be given again. By default
            postmark, and tcp_stream over a network.
        blocks: Exactly so many blocks; by default 7 to 20, until everything is decided.
        budget: Begin no further block after this time: "45 min".
        seed: Seed of the random order; by default drawn.
        disturbed: What becomes of a block in which other programs used the host: "replace" (the
            default) runs a replacement block for it, "keep" lets it count.
        folder: The study folder; by default named after the question.
        scale: Make sizes, counts and durations smaller by this fraction: more than 0, at most 1, as
            "1/8" or "0.125". Plan and report say what became of them.
    """
    from tiltyard.app.compare import typed_study
    from tiltyard.cli.console import remark
    from tiltyard.cli.run import carry_out
    from tiltyard.study.scaling import parse_scale

    fraction = None if scale is None else parse_scale(scale)
    target = typed_study(
        systems,
        workload,
        folder,
        fraction,
        blocks=blocks,
        budget=budget,
        seed=seed,
        disturbed=disturbed,
    )
    remark(f"Study    {target.root}/")
    return carry_out(target, scale=fraction)
