"""What of a study would be executed, kind by kind: named as data, without touching anything."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.catalogue import CATALOGUE
from support.marked import marked
from tiltyard.folder import StudyFolder
from tiltyard.host import sysctls
from tiltyard.run.trust import UntrustedInputs
from tiltyard.study.model import WorkloadSpec
from tiltyard.systems import KINDS, kind, untrusted_inputs

UML = "/usr/bin/linux.uml"
REMOTE = {"host": "me@there", "directory": "/srv"}
MOUNT = {"type": "nfs4", "source": "there:/export"}
LOOP = {"filesystem": "ext4"}
FAR = {"host": "me@there"}


def brings(name: str, root: Path, **settings: Any) -> list[str]:
    """What a system of a kind brings."""
    own = kind(name)
    return [f"{one.key}: {one.what}" for one in own.brings(own.Settings(**settings), root)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("remote", REMOTE | {"ssh_options": ["-4", "-p", "22", "-p22", "-l", "me", "-i", "~/key"]}),
        ("remote", REMOTE | {"ssh_options": ["-o", "Port=22", "-oServerAliveInterval 5"]}),
        ("hosts", {"server": "me@[::1]", "ssh_options": ["-F", "none"]}),
        ("mount", MOUNT | {"mount": ["vers=4.2", "hard"]}),
        ("mount", {"type": "fuse.sshfs", "source": "me@there:/srv", "mount": ["reconnect"]}),
        ("mount", {"type": "glusterfs", "source": "there:/volume"}),
        ("mount", {"type": "glusterfs", "source": "a:/b", "mount": ["log-file=/dev/null"]}),
        ("overlay", {"driver": "kernel", "mount": ["redirect_dir=on"]}),
        ("loop-image", LOOP | {"mkfs": ["-O", "^has_journal"], "mount": ["data=journal"]}),
        ("loop-image", LOOP | {"reboot_command": ["reboot"]}),
        ("vm", {"kernel": "6.12", "cmdline": ["mitigations=off"]}),
        ("vm", {"kernel": UML, "cmdline": ["mitigations=off"]}),
        ("vm", FAR | {"kernel": UML, "cmdline": ["mitigations=off"]}),
        ("vm", FAR | {"kernel": "/boot/vmlinuz-6.12", "cmdline": ["con1=x"], "modules": "/lib/a"}),
        ("vm", FAR | {"kernel": "6.12", "cmdline": ["con1=x"]}),
        ("pair", {"qdisc": "pfifo limit 1000"}),
        ("directory", {"directory": "/tmp", "tuning": "enterprise-storage"}),
        ("tmpfs", {"mount": ["huge=always"]}),
    ],
)
def test_what_starts_nothing_is_not_named(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    assert brings(name, tmp_path, **settings) == []


@pytest.mark.parametrize(
    ("name", "settings", "named"),
    [
        ("remote", REMOTE | {"ssh_options": ["-F", "./c"]}, 'option "-F ./c" of ssh'),
        ("remote", REMOTE | {"ssh_options": ["-o", "proxycommand x"]}, '"-o proxycommand x"'),
        ("remote", REMOTE | {"ssh_options": ["-o", "Port=1\nProxyCommand=x"]}, r"Port=1\nProxy"),
        ("remote", REMOTE | {"ssh_options": ["-oUserKnownHostsFile=/etc/x"]}, "KnownHosts"),
        ("remote", REMOTE | {"ssh_options": ["-p", "-oProxyCommand=x"]}, "ProxyCommand=x"),
        ("remote", REMOTE | {"host": "$(x)@there"}, 'host "$(x)@there"'),
        ("tmpfs", {"host": "a`b`"}, 'host: host "a`b`"'),
        ("loop-image", LOOP | {"host": "a", "ssh_options": ["-oProxyCommand=x"]}, "Proxy"),
        ("hosts", {"server": "a`b`", "ssh_options": []}, 'server: host "a`b`"'),
        ("hosts", {"server": "me", "ssh_options": ["-I./lib.so"]}, '"-I./lib.so" of ssh'),
        ("mount", {"type": "fuse.sh", "source": "./evil"}, 'program "sh ./evil"'),
        ("mount", {"type": "fuse3", "source": "./evil#x"}, 'program "./evil#x"'),
        ("mount", {"type": "fuseblk.sh", "source": "x"}, 'program "sh x"'),
        (
            "mount",
            {"type": "fuse.sshfs", "source": "a:/", "mount": ["ro,ssh_command=sh"]},
            '"ssh_command=sh" of sshfs',
        ),
        ("mount", {"type": "fuse.sshfs", "source": "[-oProxyCommand=x]:/"}, 'source "[-oPro'),
        ("mount", {"type": "fuse.bindfs", "source": "/", "mount": ["modules=x/y"]}, "modules=x/y"),
        ("mount", {"type": "glusterfs", "source": "/etc/passwd"}, 'source "/etc/passwd"'),
        ("mount", {"type": "glusterfs", "source": "a:/b", "mount": ["log-file=/x"]}, "log-file=/x"),
        ("overlay", {"driver": "fuse-overlayfs", "mount": ["plugins=./x"]}, "plugins=./x"),
        ("loop-image", LOOP | {"mkfs": ["-d", "/etc"]}, '"/etc" of mkfs, which names a path'),
        ("loop-image", LOOP | {"reboot_command": ["sh", "x"]}, '"sh x", executed by root'),
        ("pair", {"reboot_command": ["sh", "x"]}, '"sh x", executed by root'),
        ("loopback", {"reboot_command": ["sh", "x"]}, '"sh x", executed by root'),
        ("hosts", {"server": "me@a", "reboot_command": ["sh", "x"]}, '"sh x", executed by root'),
        (
            "hosts",
            {"server": "me@a", "server_tuning": {"sysctl": {"kernel.modprobe": "/x"}}},
            "server_tuning: command of the kernel parameter kernel.modprobe: /x",
        ),
        ("loop-image", {"filesystem": "fuse2fs", "mount": ["modules=x"]}, "of fuse2fs"),
        ("vm", {"kernel": "./marked"}, "kernel: program {root}/marked"),
        ("vm", {"kernel": UML, "cmdline": ["con1=xterm"]}, '"con1=xterm" of User-Mode Linux'),
        ("vm", {"kernel": "6.12", "modules": "here"}, "modules: modules {root}/here"),
        ("vm", {"disk": "here.img"}, "disk: disk image {root}/here.img"),
        ("vm", {"kernel": "./vmlinuz"}, "kernel: kernel {root}/vmlinuz"),
        ("vm", FAR | {"kernel": "env"}, "kernel: program env on me@there"),
        ("vm", FAR | {"kernel": "/usr/bin/env"}, "kernel: program /usr/bin/env on me@there"),
        ("vm", FAR | {"kernel": "./vmlinuz"}, "kernel: kernel vmlinuz on me@there"),
        ("vm", FAR | {"kernel": "/boot/../srv/vmlinuz"}, "kernel: kernel /boot/../srv/vmlinuz on"),
        (
            "vm",
            FAR | {"kernel": "6.12", "modules": "/srv/m"},
            "modules: modules /srv/m on me@there",
        ),
        ("vm", FAR | {"disk": "here.img"}, "disk: disk image here.img on me@there"),
        ("vm", FAR | {"kernel": UML, "cmdline": ["con1=x"]}, '"con1=x" of User-Mode Linux'),
        ("pair", {"qdisc": {"client": "netem delay 1ms distribution ../x"}}, '"../x" of tc'),
    ],
)
def test_what_would_be_executed_is_named(
    name: str, settings: dict[str, Any], named: str, tmp_path: Path
) -> None:
    (tmp_path / "vmlinuz").write_bytes(bytes(0x202) + b"HdrS")
    marked(Path("/usr/bin/env"), tmp_path / "marked")
    (told,) = brings(name, tmp_path, **settings)
    assert named.format(root=tmp_path) in told


def test_a_long_option_is_told_whole(tmp_path: Path) -> None:
    option = f"-oProxyCommand={'true ' * 50}; evil"
    (told,) = brings("remote", tmp_path, **REMOTE, ssh_options=[option])
    assert option in told


@pytest.mark.parametrize("key", ["kernel.core_pattern", "kernel.modprobe", "fs.binfmt_misc.x"])
def test_commands_of_the_kernel_in_a_profile(key: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'about = "x"\n[sysctl]\n"{key}" = "|/tmp/evil"\n')
    (told,) = brings("directory", tmp_path, directory="/tmp", tuning="./mine.toml")
    assert told == f"tuning: command of the kernel parameter {key}: |/tmp/evil"


def test_mount_options_of_a_profile_are_looked_at_as_well(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('about = "x"\n[mount]\nfuse2fs = ["modules=evil"]\n')
    (told,) = brings("loop-image", tmp_path, filesystem="fuse2fs", tuning="./mine.toml")
    assert "modules=evil" in told


def test_the_systems_own_is_roots_alone(tmp_path: Path) -> None:
    assert untrusted_inputs.of_the_system(Path("/usr/bin/env"), tmp_path)
    assert not untrusted_inputs.of_the_system(Path("/usr/bin/env"), Path("/usr"))
    assert not untrusted_inputs.of_the_system(Path("/usr/bin/no-such-program"), tmp_path)
    copy = shutil.copy("/usr/bin/env", tmp_path / "env")
    assert not untrusted_inputs.of_the_system(Path(copy), tmp_path / "other")
    link = tmp_path / "link"
    link.symlink_to("/usr/bin/env")
    assert untrusted_inputs.of_the_system(link, tmp_path)


def test_a_parameter_of_a_workload_that_is_a_command(tmp_path: Path) -> None:
    card = CATALOGUE.workloads[0]
    properties = card.parameters["properties"] | {"command": {"brings": "program"}}
    marked = card.model_copy(update={"parameters": card.parameters | {"properties": properties}})
    catalogue = CATALOGUE.model_copy(update={"workloads": [marked]})
    spec = WorkloadSpec(name="w", use=card.name, parameters={"command": ["./evil", "a b"]})
    found = UntrustedInputs.among("", [], [spec], catalogue, StudyFolder(tmp_path))
    assert [(one.key, one.what) for one in found.items] == [("command", "program ./evil 'a b'")]
    assert not found.is_trusted


def test_every_command_like_setting_of_a_kind_is_known_here() -> None:
    """A new kind or setting is looked at once, whether it can start anything."""
    looked_at = {
        "loop-image": {"mkfs", "mount", "reboot_command"},
        "block-device": {"mkfs", "mount", "device", "reboot_command"},
        "directory": {"directory"},
        "tmpfs": {"mount", "mpol"},
        "overlay": {"mount", "base", "lower"},
        "mount": {"mount", "type", "source", "servers"},
        "vm": {"kernel", "disk", "modules", "load", "cmdline", "mkfs", "mount", "filesystem"},
        "pair": {"rate", "delay", "loss", "qdisc", "congestion_control", "sysctl", "offloads"},
        "loopback": {"address", "sysctl", "congestion_control"},
        "hosts": {"server", "address", "data_ports"},
        "remote": {"directory"},
        "host": set(),
    }
    common = {"tuning", "server_tuning", "reboot_command", "scheduler", "filesystem", "sysctl"}
    common |= {"host", "ssh_options"}
    for own in KINDS:
        texts = {
            name
            for name, field in own.Settings.model_fields.items()
            if re.search(r"\bstr\b|Path", str(field.annotation))
            and "Literal" not in str(field.annotation)
        }
        assert texts - common <= looked_at[own.name], own.name


def test_a_kernel_parameter_names_no_file_outside_of_them() -> None:
    assert sysctls.path_of("net.ipv4.conf.eth0/100.forwarding") == Path(
        "/proc/sys/net/ipv4/conf/eth0.100/forwarding"
    )
    assert sysctls.is_key("vm.swappiness")
    for key in ("", "vm.", "/etc/passwd", "kernel./etc.passwd", "//.//.etc.passwd", "a..b"):
        assert not sysctls.is_key(key) or sysctls.path_of(key).is_relative_to("/proc/sys")
    assert not sysctls.is_key("net.//.kernel.core_pattern")
