"""``tiltyard workloads``: what can be run."""


def workloads(name: str | None = None, /, *, json: bool = False) -> None:
    """List the workloads, or explain one: what it does, its parameters, its metrics, its timing.

    ```
    tiltyard workloads
    tiltyard workloads iozone
    tiltyard workloads --json | jq .workloads[].name
    ```

    Args:
        name: The workload to explain.
        json: Print the engine's catalogue as JSON.
    """
    from tiltyard.cli.catalogue import catalogue_table, workload_page
    from tiltyard.cli.console import emit_json, show
    from tiltyard.errors import UsageError
    from tiltyard.executors.engine import Engine

    catalogue = Engine.find().describe()
    if json:
        emit_json(catalogue.model_dump_json(indent=2))
        return
    if name is None:
        show(catalogue_table(catalogue))
        return
    card = catalogue.workload(name)
    if card is None:
        names = ", ".join(card.name for card in catalogue.workloads)
        raise UsageError(f'"{name}" is not a workload. One of: {names}')
    show(workload_page(card))
