"""``tiltyard schema``: the JSON Schema of study files, for editors."""


def schema() -> None:
    """Print the JSON Schema of study files, so that an editor can help to write them.

    ```
    tiltyard schema > study.schema.json
    ```
    """
    from json import dumps
    from pathlib import Path

    from tiltyard.cli.console import emit_json
    from tiltyard.executors.engine import Engine
    from tiltyard.folder import StudyFolder
    from tiltyard.study.schema import study_schema
    from tiltyard.systems import KINDS
    from tiltyard.workloads.catalogue import catalogue_of

    catalogue = catalogue_of(Engine.find(), StudyFolder(Path()))
    emit_json(dumps(study_schema(catalogue, KINDS), indent=2, ensure_ascii=False))
