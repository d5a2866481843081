"""A second host that a test can crash: a QEMU guest with a kernel, a network and a disk of its own.

Its root is this machine's, read-only over virtiofs, below an overlay whose upper layer lies on
the guest's disk: so it has python, ssh, mkfs, losetup and all else that is installed here, and
what it writes is its own and outlives a boot. Its home, ``/tmp``, ``/run`` and the state of
Tiltyard are not this machine's. It runs sshd and nothing else; ssh reaches it as root with a key.

A power cut ends it between two instructions; what it had not synced may be lost
(:mod:`support.lossy_disk`). Without KVM it is emulated, boots in 7 s on an idle machine and
computes ten times as slowly: it is there for crashes, and not for times.
"""

import lzma
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from support.lossy_disk import LossyDisk
from support.patience import PATIENCE_S
from support.sshd import free_port, key_pair
from tiltyard.address import Address
from tiltyard.executors.engine import Engine
from tiltyard.host import kvm
from tiltyard.systems.vm.kernels import kernel_of_series, look_at, wanted_of

_SERIES: Final = "6.1"
"""Of the kernel: the newer one of Debian's clouds has no virtiofs."""
_MODULES: Final = ("virtio_pci", "virtio_blk", "virtio_net", "virtiofs", "overlay", "loop")
_VIRTIOFSD: Final = "/usr/lib/qemu/virtiofsd"
_DISK_BYTES: Final = 2**30
DISK: Final = Path("/mnt")
"""Where the guest's own ext4 is mounted there."""
HOME: Final = DISK / "home"
STATE: Final = DISK / "state"
"""Where Tiltyard's is by default, there."""
_ROOT: Final = Path(__file__).parents[2]
_PLUGINS: Final = Path("/run/plugins")
LAB: Final = Path("/run/lab")
LIBRARIES: Final = Path("/run/libraries")
_SOURCES: Final = [_PLUGINS / at.parent.name / "src" for at in _ROOT.glob("plugins/*/src")]
PYTHON_PATH: Final = ":".join(map(str, (LAB, *_SOURCES, LIBRARIES)))
ENGINE: Final = Path("/run/tiltyard-engine")
"""This lab, its plug-ins and what they import, wherever they are here."""
_FIRST: Final = f"""#!/bin/busybox sh
# Process 1 until the root is there.
B=/bin/busybox
$B mount -t devtmpfs dev /dev
$B mount -t proc proc /proc
for module in $($B cat /modules/order); do $B insmod $module || echo "no $module"; done
$B mount -t virtiofs -o ro host /lower
$B mount -t ext4 /dev/vda /disk
$B mkdir -p /disk/upper /disk/work /disk/home /disk/state
$B mount -t overlay -o lowerdir=/lower,upperdir=/disk/upper,workdir=/disk/work root /new
$B mkdir -p /new{DISK}
$B mount --move /disk /new{DISK}
$B mount --move /dev /new/dev
$B mount -t tmpfs -o mode=755 run /new/run
$B mkdir /new/run/second_host /new/run/sshd /new/run/lock
$B cp /second_host/* /new/run/second_host
$B umount /proc
exec $B switch_root /new /bin/sh /run/second_host/second
"""
_SECOND: Final = f"""
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mkdir -p {LAB} {_PLUGINS} {LIBRARIES}
mount --bind {_ROOT / "lab/src"} {LAB}
mount --bind {_ROOT / "plugins"} {_PLUGINS}
mount --bind {sysconfig.get_path("purelib")} {LIBRARIES}
touch {ENGINE}
mount --bind {Engine.find().path} {ENGINE}
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm /var/lib/tiltyard
mount -t devpts -o ptmxmode=666 pts /dev/pts
mount -t tmpfs shm /dev/shm
mount --bind {STATE} /var/lib/tiltyard
sed 's,^root:.*,root:x:0:0:root:{HOME}:/bin/sh,' /etc/passwd >/run/passwd
mount --bind /run/passwd /etc/passwd
hostname second
busybox ip link set lo up
busybox ip addr add 10.0.2.15/24 dev eth0
busybox ip link set eth0 up
exec sh /run/second_host/third
"""
_THIRD: Final = """
{sshd} -D -e -f /run/second_host/sshd_config &
wait $!
busybox poweroff -f
"""
_SYSTEMD: Final = """
units=/etc/systemd/system
if ! test -e $units/second.service; then
    rm -r $units/*.wants /lib/systemd/system/multi-user.target.wants
    mkdir $units/multi-user.target.wants
    cat >$units/second.service <<END
[Service]
ExecStart=/bin/sh -c "exec {sshd} -D -e -f /run/second_host/sshd_config 2>/dev/console"
END
    ln -s ../second.service $units/multi-user.target.wants
fi
exec /lib/systemd/systemd --unit=multi-user.target
"""
"""What is installed here and would be started is not."""
_SSHD_CONFIG: Final = f"""
ListenAddress 0.0.0.0
HostKey /run/second_host/host_key
AuthorizedKeysFile /run/second_host/key.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
KexAlgorithms curve25519-sha256
MaxSessions 100
PasswordAuthentication no
SetEnv PATH={sys.base_prefix}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""


_WORDS: Final = (
    "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off cryptomgr.notests tsc=reliable"
    " no_timer_check"
)
_LISTENS: Final = b"Server listening"
_KEEPS: Final = rf"""
seen=$(($(grep -c '{_LISTENS.decode()}' console) - 1))
while :; do
    while now=$(grep -c '{_LISTENS.decode()}' console); [ "$now" -le "$seen" ]; do sleep 0.2; done
    seen=$now
    "$@"
done
"""
"""A connection, and another one when the host has booted by itself."""


@dataclass
class SecondHost:
    """The guest, running or without power."""

    folder: Path
    port: int
    disk: LossyDisk
    cpus: int = 1
    has_power: bool = False
    _processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    """QEMU, what serves it its root, and the ssh that keeps a connection: an emulated processor
    needs a second or two for each new one."""

    far: str = "root@127.0.0.1"
    """As ``ssh`` takes it: user and host."""

    @property
    def options(self) -> list[str]:
        """What ``ssh`` needs to get in without a question, by the connection that is kept."""
        known, key = self.folder / "known_hosts", self.folder / "key"
        return ["-F", "none", "-p", str(self.port), "-i", str(key),
                "-o", f"UserKnownHostsFile={known}",
                "-o", f"ControlPath={self._connection}"]  # fmt: skip

    @property
    def address(self) -> Address:
        """How it is reached."""
        return Address(self.far, tuple(self.options))

    @property
    def _root(self) -> str:
        """Name of the socket of its root: by it virtiofsd locks a file that all of them share."""
        return f"root-{self.port}.socket"

    @property
    def _connection(self) -> Path:
        return self.folder / "connection"

    @property
    def log(self) -> Path:
        """What kernel and sshd have said, over all boots."""
        return self.folder / "console"

    def ask(self, line: str) -> str:
        """What a line of shell prints there."""
        argv = (*self.address.command, line)
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return done.stdout

    def cut_power(self, *, silent: bool) -> None:
        """Nothing is executed there from now on.

        Args:
            silent: whoever talks to it is not told until it boots again, as of a machine on another
                desk; else connections end at once, as of a machine behind a router that says so.
        """
        machine = self._processes[0]
        machine.send_signal(signal.SIGSTOP if silent else signal.SIGKILL)
        os.waitid(os.P_PID, machine.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.disk.cut()
        self.has_power = False

    def boot(self) -> None:
        """Start it, and wait until ssh answers; what was there before ends."""
        self.end()
        said = self.log.stat().st_size if self.log.exists() else 0
        with (self.folder / "virtiofsd").open("ab") as log:
            source = ("-o", "source=/", "-o", "cache=always", "-o", "sandbox=chroot")
            argv = (_VIRTIOFSD, f"--socket-path={self._root}", *source)
            root = subprocess.Popen(argv, cwd=self.folder, stdout=log, stderr=log)
        self._processes = [root]
        self._await((self.folder / self._root).exists, "no virtiofsd")
        with self.log.open("ab") as log, self.disk.connect() as end:
            self._processes = [
                subprocess.Popen(
                    self._command(end.fileno()), cwd=self.folder, pass_fds=[end.fileno()],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                ),
                root,
            ]  # fmt: skip
        # An earlier connection would wait for QEMU, which takes it before there is a guest.
        self._await(lambda: _LISTENS in self.log.read_bytes()[said:], "it does not boot")
        ssh = (*self.address.command[:-1], "-M", "-N", self.far)
        keeps = subprocess.Popen(
            ("sh", "-c", _KEEPS, "sh", *ssh), cwd=self.folder, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._processes.append(keeps)
        self._await(self._connection.exists, "ssh does not get in")
        self.has_power = True

    def end(self) -> None:
        """All its processes end."""
        if self._processes:
            # The one that begins again, and its child.
            os.killpg(self._processes[-1].pid, signal.SIGKILL)
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()
        for name in (self._root, "connection"):
            (self.folder / name).unlink(missing_ok=True)
        self.has_power = False

    def _await(self, come: Callable[[], bool], what: str) -> None:
        """Until something has come about; what was said so far is told if it never does."""
        give_up = time.monotonic() + PATIENCE_S
        while not come():
            is_late = time.monotonic() > give_up
            if is_late or any(process.poll() is not None for process in self._processes):
                said = self.log.read_text(errors="replace") if self.log.exists() else ""
                raise AssertionError(f"{what}: {said}")
            time.sleep(0.1)

    def _command(self, disk: int) -> tuple[str, ...]:
        forward = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"
        nbd = f"driver=nbd,server.type=fd,server.str={disk},node-name=disk,cache.direct=on"
        return (
            *(kvm.QEMU, "-nodefaults", "-no-user-config", "-display", "none"),
            *kvm.PROCESSORS["kvm" if kvm.prove().usable else "tcg"],
            *("-object", "memory-backend-memfd,id=ram,size=1G,share=on"),
            *("-machine", "pc,memory-backend=ram", "-m", "1G", "-smp", str(self.cpus)),
            *("-serial", "stdio", "-kernel", str(_kernel()), "-initrd", "initramfs"),
            *("-append", _WORDS),
            *("-blockdev", nbd, "-device", "virtio-blk-pci,drive=disk"),
            *("-netdev", forward, "-device", "virtio-net-pci,netdev=net,romfile="),
            *("-chardev", f"socket,id=root,path={self._root}"),
            *("-device", "vhost-user-fs-pci,chardev=root,tag=host"),
        )


@contextmanager
def second_host(seed: int = 1, *, systemd: bool = False, cpus: int = 1) -> Iterator[SecondHost]:
    """Boot one, and end it; its folder goes with it.

    Args:
        seed: of what power cuts lose.
        systemd: whether its process 1 is this machine's systemd.
        cpus: how many it has.
    """
    with tempfile.TemporaryDirectory(prefix="second-host-") as path:
        folder = Path(path)
        key_pair(folder / "host_key")
        key_pair(folder / "key")
        port = free_port()
        public = (folder / "host_key.pub").read_text()
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
        _make_initramfs(folder, _SYSTEMD if systemd else _THIRD)
        image = folder / "disk"
        with image.open("wb") as file:
            file.truncate(_DISK_BYTES)
        subprocess.run(("mkfs.ext4", "-q", "-F", image), check=True)
        host = SecondHost(folder, port, LossyDisk(image, Random(seed)), cpus)
        try:
            host.boot()
            yield host
        finally:
            host.end()
            host.disk.close()


def _kernel() -> Path:
    kernel = kernel_of_series(_SERIES)
    assert kernel is not None
    assert kernel.is_file(), "no kernel: make kernels"
    return kernel


def _make_initramfs(folder: Path, third: str) -> None:
    """What is executed before there is a root: busybox, modules, and the files of sshd."""
    tree = folder / "tree"
    for name in ("bin", "dev", "proc", "new", "lower", "disk", "modules", "second_host"):
        (tree / name).mkdir(parents=True)
    busybox, sshd = shutil.which("busybox"), shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    assert busybox is not None, "busybox is missing: make setup-dev"
    assert sshd is not None, "sshd is missing: make setup-dev"
    shutil.copy(busybox, tree / "bin/busybox")
    names = _lay_out_modules(tree / "modules")
    (tree / "modules/order").write_text("".join(f"/modules/{name}\n" for name in names))
    (tree / "init").write_text(_FIRST)
    (tree / "init").chmod(0o755)
    (tree / "second_host/second").write_text(_SECOND)
    (tree / "second_host/third").write_text(third.format(sshd=sshd))
    (tree / "second_host/sshd_config").write_text(_SSHD_CONFIG)
    for name in ("host_key", "key.pub"):
        shutil.copy(folder / name, tree / "second_host")
    files = subprocess.run(("find", "."), cwd=tree, capture_output=True, check=True).stdout
    with (folder / "initramfs").open("wb") as archive:
        argv = ("cpio", "--create", "--format=newc", "--owner=0:0", "--quiet")
        subprocess.run(argv, cwd=tree, input=files, stdout=archive, check=True)
    shutil.rmtree(tree)


def _lay_out_modules(into: Path) -> Sequence[str]:
    """Copy what the guest loads; names in order."""
    directory = look_at(_kernel()).modules
    assert directory is not None
    names = []
    for module in wanted_of(directory, _MODULES).files:
        names.append(module.path.name.partition(".ko")[0])
        packed = module.path.read_bytes()
        (into / names[-1]).write_bytes(
            lzma.decompress(packed) if module.path.suffix == ".xz" else packed
        )
    return names
