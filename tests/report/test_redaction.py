"""What must not leave the house is in no form of a report and in no export."""

import io
import json
import shlex
import zipfile

import pyarrow.parquet as parquet
import pypdf
import pytest

from support.synthetic import synthetic_study
from tiltyard.analysis.findings import analyse
from tiltyard.analysis.model import Findings, Notice
from tiltyard.collected.model import Origin, SourceFile
from tiltyard.exporters import EXPORTERS
from tiltyard.recipe import Recipe
from tiltyard.report.formats import FORMATS
from tiltyard.report.redaction import KINDS, Redacted, redacted
from tiltyard.report.styles import STYLES

HOME = "/home"
PLANTED = {
    "host": ("build07", "db4.corp.example", "artefacts.corp.example"),
    "address": ("10.1.2.3", "fd00:12::7", "52:54:00:ab:cd:ef"),
    "serial": ("S4EVNX0R123456", "0c5a6b1e-33c5-4f53-9d2e-0d7e1c6a2b11"),
    "user": ("annelise", "mallory"),
    "path": (f"{HOME}/annelise/bench/mail.fio", "/mnt/customers"),
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

CHANCE = "q7Zr0Lw2Xv9Tb4Nk8Ys1"
SECRET_WORDS = (
    *("prog -p hunter2", "prog -phunter2", "prog -a hunter2", "prog -u bob:hunter2 -n 3"),
    *("prog --pw=hunter2", "prog --psk=hunter2", "prog --psk hunter2", "prog --pin=hunter2"),
    *("prog --bearer=hunter2", "prog --otp=hunter2", "prog --community=hunter2"),
    *("prog --passcode=hunter2", "prog --encryption-key=hunter2", "prog --salt=hunter2"),
    "curl http://127.0.0.1/x?X-Amz-Date=1&X-Amz-Signature=hunter2&n=1",
    *("prog hunter_password hunter2", "redis-server --requirepass hunter2", "env A_PIN=hunter2 x"),
    *("sshpass -p hunter2 ssh x", "sh -c 'prog -p hunter2'", "memtier_benchmark -a hunter2"),
    *(f"prog --licence {CHANCE}", f"prog --licence={CHANCE}", f"prog -x {CHANCE}"),
)
PLAIN_WORDS = (
    *("mkdir -p data", "cp -a old new", "prog -p 8080", "prog -p 4k", "gcc -pthread -ansi a.c"),
    *("docker run -u 1000:1000 x", "nginx -p /usr/share", "perf stat -p 4711", "iozone -a -s 4m"),
    *("prog --pinned=3", "prog --ping 4", "prog --spin-limit=5", "tar -a -cf x.tar.gz y"),
    "prog --benchmark_filter=BM_LongFunctionNameWithNumbers16",
    "gcc --version-wanted gcc-12.2.0-14+deb12u1",
    "cc --target x86_64-unknown-linux-gnu2024",
)
LEAKS = (
    ("secret", "hunter2", "psql 'host=db4 user=svc password=hunter2'", "REDIS_PASS=hunter2 run"),
    ("secret", "hunter2", "mysqldump -phunter2 mail", "curl --user bob:hunter2 http://127.0.0.1"),
    ("secret", "ter2", "http://svc:hun/ter2@db4/", "Cookie: session=ter2", "sig=ter2&y=1"),
    ("secret", "eyJzdWIi", "got eyJhbGciOi.eyJzdWIiOi.sflKx", "glpat-eyJzdWIi0123456789ab"),
    ("secret", "MIIEab", "-----BEGIN RSA PRIVATE KEY-----\nMIIEab\n-----END RSA PRIVATE KEY-----"),
    ("host", "db4", "psql -h db4 x", "--host db4", "host=db4", '"hostname" : "db4",'),
    ("host", "db4", "rsync a db4:/srv/x", "netperf -H db4 -t UDP_RR", "iperf3 -c db4"),
    ("host", "db4", "Linux db4 6.1.0-18 #1 SMP", "read from db4.lan.", "log of db4.internal"),
    ("user", "svc", "psql -U svc x", "--username svc", "login=svc", '"user": "svc"'),
    ("address", "ab:cd", "fe80::ab:cd%eth0", "00:11:22:33:ab:cd:66:77", "52:54:00:12:ab:cd"),
    ("address", "ab.cd", "mac 5254.00ab.cdef"),
    ("address", "5400abcdef", "enx525400abcdef"),
    ("serial", "S4EVNX0R", "serial=S4EVNX0R", "Serial Number: S4EVNX0R", '"serial" : "S4EVNX0R"'),
    ("serial", "S4EVNX0R", "Samsung_SSD_S4EVNX0R123456 failed", "ID_SERIAL_SHORT=S4EVNX0R"),
    ("serial", "5000c500a1", "wwn-0x5000c500a1b2c3d4", "naa.5000c500a1b2c3d4"),
    ("serial", "0c5a6b1e", "PARTUUID=0c5a6b1e-01", "0c5a6b1e33c54f539d2e0d7e1c6a2b11"),
    ("path", "acme", "'/srv/x/old acme'", "/srv/x/old\\ acme", "~/acme/x", "$HOME/acme"),
    ("path", "acme", "file:///srv/x/acme", "cc -I/srv/acme", "/usr/bin:/srv/acme", "LABEL=acme"),
    ("path", "acme", "/dev/acme/data", "/run/media/x/acme", "//files/acme/x", r"\\files\acme"),
)  # fmt: skip
"""Kind, what must not stay, and texts that have it."""
UNTOUCHED = (
    "at 12:34:56 by ssh on another host, user: 0.5 s, 4 kB/s, I/O, 2.6.32-358, 6.1.0-18-amd64",
    "{server}:{port} --password {word} /dev/nvme0n1 /sys/block/sda/queue, and/or, 3.12/3.13",
)
DEVICES = {
    "/dev/disk/by-id/nvme-Samsung_SSD_980_S64DNX0R123456-part1": "nvme-Samsung_SSD_980_*-part1",
    "nvme-Samsung_SSD_980_S64DNX0R123456": "nvme-Samsung_SSD_980_*",
    "nvme-Samsung_SSD_980_S64DNX0R123456_1-part2": "nvme-Samsung_SSD_980_*_1-part2",
    "/dev/disk/by-id/ata-WDC_WD40EFRX-68WT0N0_WD-WCC4N1234567": "ata-WDC_WD40EFRX-68WT0N0_*",
    "ata-WDC_WD40EFRX-68WT0N0_WD-WCC4N1234567-part1": "ata-WDC_WD40EFRX-68WT0N0_*-part1",
    "/dev/disk/by-id/usb-SanDisk_Ultra_4C530001-0:0-part1": "usb-SanDisk_Ultra_*-0:0-part1",
    "usb-SanDisk_Ultra_4C530001-0:0": "usb-SanDisk_Ultra_*-0:0",
    "scsi-SATA_ST4000NM0033_Z1Z2ABCD99": "scsi-SATA_ST4000NM0033_*",
    "scsi-35000c500a1b2c3d4": "scsi-*",
    "/dev/disk/by-id/virtio-bench-disk-one": "virtio-*",
    "/dev/disk/by-id/nvme-eui.0025385b21404321": "nvme-*",
    "wwn-0x5000c500a1b2c3d4": "wwn-*",
    "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part3": "wwn-*-part3",
}
"""What stays of them."""
IN_COMMANDS = (
    ("host", "shelf9", "bench -n 3 -h shelf9.example.net", "x -h=shelf9.example.net:80"),
    ("host", "shelf9", "ls -h a.txt; bench -h shelf9.example.net", "env bench -h 9.shelf9.example"),
    ("host", "shelf9", "bench --host shelf9", "bench --host=shelf9", "bench -h build07 shelf9.lan"),
    ("path", "acme", "cp ../acme/data/x .", "work/acme/run --fast", "cc -Iinc/acme x.c"),
    ("path", "acme", "bench --dir=work/acme", "sh -c 'cd $WORK/acme/x'", "./src/acme/run"),
    ("path", "acme", "cat ../acme", "scp a:work/acme .", "{dir}/acme/data", "${WORK}/acme/data"),
    ("path", "acme", "cat 'acme corp/of 2026/x'", 'wc -l "of 2026/sons of acme"'),
)  # fmt: skip
"""As `LEAKS`, but only a command says it so."""
KEPT_IN_COMMANDS = (
    "modprobe nvme-tcp usb-storage virtio-net-pci", "qemu -device virtio-blk-pci,addr=0x12",
    "ls -h notes.txt", "df -h /proc", "sudo /usr/bin/du -h big.iso", "sort -h words.txt | bench",
    "bench -h 64", "bench -h 6.5k", "bench -h 1.5.2", "sh -c df -h big.iso", "bench -h seven",
    "./run words.txt", "rsync -a tree/ copy/", "{bin}/initdb --pgdata={dir}/data", "tar -C .. -x",
    "mount /dev/loop7 work/mnt", "git symbolic-ref HEAD refs/heads/master",
    "printf %s/%d 10.5/2 text/html MiB/s",
    "fio {job} jobs/mail.fio", "sed s/old/new/g words", "ab http://127.0.0.1:8080/index.html",
    "$BIN/run $DATA", "bench --read/write -a/b",
)  # fmt: skip
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
        paper = pypdf.PdfReader(io.BytesIO(data))
        text = "".join(page.extract_text() for page in paper.pages).replace("\n", "")
        return f"{paper.metadata} {text}"
    if name.endswith((".xlsx", ".pptx")):
        book = zipfile.ZipFile(io.BytesIO(data))
        return "".join(book.read(part).decode(errors="ignore") for part in book.namelist())
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
            assert not found_in(name + text_of(name, data)), (style.name, name)


@pytest.mark.parametrize("one", EXPORTERS, ids=[one.name for one in EXPORTERS])
def test_no_export_has_any(cleaned: Redacted, one) -> None:  # type: ignore[no-untyped-def]
    assert not found_in(text_of(one.file, one.render(cleaned.findings)))


def test_the_name_of_a_variable_is_no_secret_and_all_else_is(cleaned: Redacted) -> None:
    for kept in VARIABLES:
        assert cleaned.clean(kept) == kept
    for secret in SIGNED:
        assert "[secret" in str(cleaned.clean(f"--password={secret} x"))
        assert secret not in str(cleaned.clean(f"--password={secret} x"))


@pytest.mark.parametrize(
    ("kind", "private", "text"),
    [(kind, private, text) for kind, private, *texts in LEAKS for text in texts],
)
def test_what_a_text_says_of_itself_is_taken_out(
    cleaned: Redacted, kind: str, private: str, text: str
) -> None:
    """In a sentence, in output that was kept, and in JSON."""
    found = str(cleaned.clean(text))
    assert private not in found
    assert f"[{kind} " in found


@pytest.mark.parametrize("words", SECRET_WORDS)
def test_of_a_command_no_option_tells_a_secret(telling: Findings, words: str) -> None:
    """As one line, and word by word; what is unknown and looks like chance is a secret, too."""
    for command in (words, words.split()):
        found = str(redacted(telling).clean({"command": command}))
        assert "hunter2" not in found
        assert CHANCE not in found
        assert "[secret " in found or f"[{len(CHANCE)} characters]" in found


@pytest.mark.parametrize("words", PLAIN_WORDS)
def test_of_a_command_what_tells_no_secret_stays(telling: Findings, words: str) -> None:
    for command in (words, words.split()):
        assert redacted(telling).clean({"command": command}) == {"command": command}


@pytest.mark.parametrize(("device", "kept"), DEVICES.items())
def test_of_a_device_id_the_model_stays(telling: Findings, device: str, kept: str) -> None:
    """Its serial number is listed."""
    taken = redacted(telling)
    for found in (taken.clean(f"read {device}, 3 times"), taken.clean({"command": ["dd", device]})):
        before, serial, after = str(found).partition("[serial ")
        own = kept.partition("*")
        assert before.endswith(own[0]), found
        assert after.partition("]")[2].startswith(own[2] + ("," if "3 times" in after else "'"))
        assert serial
    number = device.removeprefix("/dev/disk/by-id/")[len(own[0]) :].removesuffix(own[2])
    assert number in taken.replaced


@pytest.mark.parametrize(
    ("kind", "private", "text"),
    [(kind, private, text) for kind, private, *texts in IN_COMMANDS for text in texts],
)
def test_what_a_command_is_told_is_taken_out(
    telling: Findings, kind: str, private: str, text: str
) -> None:
    """As a line, as words, and where its job repeats the words."""
    words = {"command": shlex.split(text)}
    taken = redacted(telling)
    for command in ({"commands": (text,)}, words):
        found = str(taken.clean(command))
        assert private not in found
        assert f"[{kind} " in found
    system = telling.systems[0].model_copy(
        update={"commands": (), "recipe": Recipe(jobs={"postmark": json.dumps(words)})}
    )
    workload = telling.workloads[0].model_copy(update={"effective": words})
    update = {"systems": (system,), "workloads": (workload,)}
    again = redacted(telling.model_copy(update=update))
    assert private not in again.findings.model_dump_json(include={"systems", "workloads"})
    assert private in "".join(taken.lines)


@pytest.mark.parametrize("text", KEPT_IN_COMMANDS)
def test_what_looks_like_no_name_of_a_person_stays_in_commands(
    cleaned: Redacted, text: str
) -> None:
    assert cleaned.clean({"commands": (text,)}) == {"commands": (text,)}
    assert cleaned.clean({"command": text.split()}) == {"command": text.split()}


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_tells_nobody_anything_stays(cleaned: Redacted, text: str) -> None:
    assert cleaned.clean(text) == text


def test_words_of_a_command_are_read_together(telling: Findings) -> None:
    """Also where its job repeats them, with its environment, and in output."""
    words = ["redis-cli", "-h", "cache31", "-a", "hunter-5", "ping"]
    job = {"parameters": {"command": words, "env": {"LICENCE": "seat-31"}}}
    recipe = Recipe(jobs={"postmark": json.dumps(job, indent=1)})
    system = telling.systems[0].model_copy(update={"recipe": recipe})
    workload = telling.workloads[0].model_copy(update={"effective": job["parameters"]})
    notice = Notice(severity="note", text="It said: AUTH hunter-5 at cache31.")
    found = redacted(
        telling.model_copy(
            update={
                "systems": (system, *telling.systems[1:]),
                "workloads": (workload, *telling.workloads[1:]),
                "notices": (notice,),
            }
        )
    ).findings
    text = found.model_dump_json()
    for private in ("cache31", "hunter-5", "seat-31"):
        assert private not in text
    assert found.systems[0].recipe
    kept = json.loads(found.systems[0].recipe.jobs["postmark"])["parameters"]
    assert kept["command"][0::5] == ["redis-cli", "ping"]
    assert kept["env"]["LICENCE"].startswith("[environment ")


def test_a_host_is_found_in_capitals_and_in_names_of_files(telling: Findings) -> None:
    """Files that were imported have their names from whoever kept them."""
    origin = Origin(
        title="2 result files of fio",
        files=(
            SourceFile(name="ext4_build07.json", sha256="0" * 64, importer="fio"),
            SourceFile(name="xfs-BUILD07.json", sha256="1" * 64, importer="fio"),
        ),
        author="A. Builder of build07",
    )
    found = redacted(telling.model_copy(update={"provenance": origin})).findings.provenance
    assert found
    assert [one.name for one in found.files] == ["ext4_[host 1].json", "xfs-[host 1].json"]
    assert [one.sha256 for one in found.files] == [one.sha256 for one in origin.files]
    assert found.author == origin.author


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


@pytest.mark.parametrize("host", ["bench@build07", "build07"])
def test_the_host_that_a_verdict_names_goes_out_of_its_sentence(host: str) -> None:
    plan, run = synthetic_study(effects={"xfs": 1.31})
    far = [one.model_copy(update={"settings": {"host": host}}) for one in plan.systems]
    plan = plan.model_copy(update={"systems": tuple(far)})
    found = analyse(plan, run.model_copy(update={"other_hosts": {host: {}}}))
    assert found.answer.endswith(f" on {host}.")
    answer = redacted(found).findings.answer
    assert answer.endswith("[host 1].")
    assert "build07" not in answer
