"""What must not leave the house is in no form of a report and in no export."""

import io
import zipfile

import pyarrow.parquet as parquet
import pypdf
import pytest

from support.printed import slides
from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, Notice
from tiltyard.exporters import EXPORTERS
from tiltyard.report.formats import FORMATS
from tiltyard.report.redaction import KINDS, Redacted, redacted
from tiltyard.report.styles import STYLES

HOME = "/home"
PLANTED = {
    "host": ("build07", "db4.corp.example", "artefacts.corp.example"),
    "address": ("10.1.2.3", "fd00:12::7", "52:54:00:ab:cd:ef"),
    "serial": ("S4EVNX0R123456", "0c5a6b1e-33c5-4f53-9d2e-0d7e1c6a2b11"),
    "user": ("annelise", "mallory"),
    "path": (
        f"{HOME}/annelise/bench/mail.fio",
        "/mnt/customers",
        "/dev/disk/by-id/nvme-S4EVNX0R123456",
    ),
    "environment": ("LICENCE_SERVER_7",),
    "secret": ("hunter2-secret", "pw-Zq9", "ghp_0123456789abcdefghij", "tok-55-x"),
}
COMMANDS = (
    f"LICENCE=LICENCE_SERVER_7 fio {HOME}/annelise/bench/mail.fio --password=hunter2-secret",
    "psql postgres://svc:pw-Zq9@db4.corp.example/bench",
    'curl -H "Authorization: Bearer ghp_0123456789abcdefghij" https://artefacts.corp.example/x',
    "ssh mallory@build07 mount /dev/disk/by-id/nvme-S4EVNX0R123456 /mnt/customers",
)
PUBLIC = ("/proc/sys/vm/drop_caches", "/usr/bin/fio", "127.0.0.1", "/dev/sda")
RECORD = {
    "machine": {"host name": "build07", "machine-id": "0c5a6b1e-33c5-4f53-9d2e-0d7e1c6a2b11"},
    "disks": {"serial number": "S4EVNX0R123456", "reads": "/usr/bin/fio, /dev/sda"},
    "network": {"eth0": "10.1.2.3, fd00:12::7, 52:54:00:ab:cd:ef", "lo": "127.0.0.1"},
    "environment": {"API_TOKEN": "tok-55-x"},
}


SIGNED = ("$6$ab$cd", "'$ecret'")
VARIABLES = ('--password "$TOKEN" x', "--password=${TOKEN}")


@pytest.fixture(scope="module")
def telling() -> Findings:
    """A study that has one of each in places where they do stand."""
    findings = analyse(*synthetic_study(workloads=("postmark",), blocks=6))
    systems = tuple(one.model_copy(update={"commands": COMMANDS}) for one in findings.systems)
    notice = Notice(
        severity="warning",
        text="On build07 annelise read S4EVNX0R123456 by way of /proc/sys/vm/drop_caches.",
    )
    return findings.model_copy(
        update={
            "question": "Is /mnt/customers on build07 faster?",
            "systems": systems,
            "record": RECORD,
            "notices": (*findings.notices, notice),
        }
    )


@pytest.fixture(scope="module")
def cleaned(telling: Findings) -> Redacted:
    return redacted(telling)


def text_of(name: str, data: bytes) -> str:
    """What can be read in a file."""
    if name.endswith(".pdf"):
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return "".join(page.extract_text() for page in pages).replace("\n", "")
    if name.endswith(".xlsx"):
        book = zipfile.ZipFile(io.BytesIO(data))
        return "".join(book.read(part).decode() for part in book.namelist())
    if name.endswith(".pptx"):
        return slides({name: data})
    if name.endswith(".parquet"):
        return str(parquet.read_table(io.BytesIO(data)).to_pydict())
    return data.decode()


def found_in(text: str) -> set[str]:
    return {plant for plants in PLANTED.values() for plant in plants if plant in text}


FORMS = FORMATS


@pytest.mark.parametrize("form", FORMS, ids=[form.name for form in FORMS])
def test_no_form_of_a_report_has_any(cleaned: Redacted, form) -> None:  # type: ignore[no-untyped-def]
    styles = STYLES if form.name in ("html", "csv") else (STYLES[0],)
    for style in styles:
        document = style.compose(cleaned.findings)
        for name, data in form.render(document, cleaned.findings).items():
            assert not found_in(text_of(name, data)), (style.name, name)


@pytest.mark.parametrize("one", EXPORTERS, ids=[one.name for one in EXPORTERS])
def test_no_export_has_any(cleaned: Redacted, one) -> None:  # type: ignore[no-untyped-def]
    assert not found_in(text_of(one.file, one.render(cleaned.findings)))


def test_the_name_of_a_variable_is_no_secret_and_all_else_is(cleaned: Redacted) -> None:
    for kept in VARIABLES:
        assert cleaned.clean(kept) == kept
    for secret in SIGNED:
        assert "[secret" in str(cleaned.clean(f"--password={secret} x"))
        assert secret not in str(cleaned.clean(f"--password={secret} x"))


def test_without_redaction_all_are_there(telling: Findings) -> None:
    plain = FORMATS[0].render(STYLES[0].compose(telling), telling)["index.html"].decode()
    every = {plant for plants in PLANTED.values() for plant in plants}
    assert found_in(plain) == every


def test_what_was_taken_out_is_listed(cleaned: Redacted) -> None:
    taken = {kind for kind, _ in cleaned.replaced.values()}
    assert taken == set(KINDS)
    for kind in ("host", "address", "serial", "path"):
        assert set(PLANTED[kind]) <= set(cleaned.replaced), kind
    lines = "\n".join(cleaned.lines)
    assert "hunter2-secret" not in lines
    assert "/mnt/customers" in lines
    (notice,) = (n.text for n in cleaned.findings.notices if n.text.startswith("Redacted: "))
    for one, several in KINDS.values():
        assert one in notice or several in notice


def test_what_every_reader_has_stays(cleaned: Redacted) -> None:
    data = cleaned.findings.model_dump_json()
    for public in PUBLIC:
        assert public in data


def test_two_paths_stay_two_and_numbers_stay_as_they_are(
    telling: Findings, cleaned: Redacted
) -> None:
    signs = [sign for _, sign in cleaned.replaced.values()]
    assert len(set(signs)) == len(signs)
    assert cleaned.findings.workloads == telling.workloads
    assert cleaned.findings.plan_hash == telling.plan_hash


def test_a_host_called_like_a_verdict_changes_no_verdict(telling: Findings) -> None:
    found = redacted(telling, hosts=["faster"], users=["time", "study"]).findings
    assert found.workloads[0].tally == telling.workloads[0].tally
    assert found.clock == "time"
