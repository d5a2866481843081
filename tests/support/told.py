"""What a made-up server answers to the system record: two processors, two disks, two nodes."""

from typing import Final

from tiltyard.host.packages import Tool
from tiltyard.host.record.section import Seen

DMIDECODE: Final = """\
Processor Information
\tSocket Designation: CPU1
\tUpgrade: Socket LGA2011
\tExternal Clock: 100 MHz

Processor Information
\tSocket Designation: CPU2
\tUpgrade: Socket LGA2011
\tExternal Clock: 100 MHz

Memory Device
\tSize: 2 GB
\tType: DDR3
\tSpeed: 1333 MT/s
\tManufacturer: Qimonda
\tSerial Number: 0BADCAFE
\tPart Number: IMSH2GE13A1F1CT13H
\tRank: 2
\tConfigured Memory Speed: 1333 MT/s

Memory Device
\tSize: 2 GB
\tType: DDR3
\tSpeed: 1333 MT/s
\tManufacturer: Qimonda
\tSerial Number: 0BADCAFF
\tPart Number: IMSH2GE13A1F1CT13H
\tRank: 2
\tConfigured Memory Speed: 1333 MT/s

Memory Device
\tSize: No Module Installed
\tType: Unknown
\tSpeed: Unknown

System Power Supply
\tManufacturer: Dell
\tModel Part Number: E1100E-S0
\tMax Power Capacity: 1100 W
"""

_CPU = "/sys/devices/system/cpu"
_BLOCK = "/sys/class/block"
_PCI = "/sys/devices/pci0000:00"
_FIRMWARE = "/sys/class/firmware-attributes/dell-wmi-sysman/attributes"
_PCIE = "/sys/bus/pci/devices"
_SAS = f"{_PCI}/0000:02:00.0/host0/port-0:0/end_device-0:0/target0:0:0/0:0:0:0"

_LINKS: Final = {
    "/sys/firmware/dmi/tables/DMI": "/sys/firmware/dmi/tables/DMI",
    f"{_BLOCK}/sda": f"{_SAS}/block/sda",
    f"{_BLOCK}/sda1": f"{_SAS}/block/sda/sda1",
    f"{_BLOCK}/nvme0n1": f"{_PCI}/0000:03:00.0/nvme/nvme0/nvme0n1",
    f"{_BLOCK}/dm-0": "/sys/devices/virtual/block/dm-0",
    f"{_BLOCK}/dm-0/slaves/sda1": f"{_PCI}/0000:02:00.0/host0/block/sda/sda1",
    f"{_BLOCK}/dm-0/slaves/nvme0n1": f"{_PCI}/0000:03:00.0/nvme/nvme0/nvme0n1",
    f"{_BLOCK}/loop3": "/sys/devices/virtual/block/loop3",
    "/sys/bus/pci/devices/0000:02:00.0": f"{_PCI}/0000:02:00.0",
    "/sys/class/net/em1": f"{_PCI}/0000:01:00.0/net/em1",
    "/sys/class/net/em1/device": f"{_PCI}/0000:01:00.0",
    "/sys/class/net/lo": "/sys/devices/virtual/net/lo",
    "/sys/bus/pci/devices/0000:04:00.0": f"{_PCI}/0000:00:02.0/0000:03:08.0/0000:04:00.0",
    f"{_BLOCK}/sdb": f"{_PCI}/0000:00:1f.2/ata1/host2/target2:0:0/2:0:0:0/block/sdb",
    f"{_FIRMWARE}/ProcPwrPerf": f"{_FIRMWARE}/ProcPwrPerf",
}  # fmt: skip

_FILES: Final = {
    "/sys/class/dmi/id/sys_vendor": "Dell Inc.",
    "/sys/class/dmi/id/product_name": "PowerEdge R720xd",
    "/sys/class/dmi/id/board_vendor": "Dell Inc.",
    "/sys/class/dmi/id/board_name": "0M1GCR",
    "/sys/class/dmi/id/bios_vendor": "Dell Inc.",
    "/sys/class/dmi/id/bios_version": "1.5.1",
    "/sys/class/dmi/id/bios_date": "02/18/2013",
    "/proc/cpuinfo": (
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 45\n"
        "model name\t: Intel(R) Xeon(R) CPU E5-2660 0 @ 2.20GHz\nstepping\t: 6\n"
        "flags\t\t: constant_tsc nonstop_tsc aes vmx avx"
    ),
    f"{_CPU}/online": "0-3",
    f"{_CPU}/smt/control": "on",
    **{f"{_CPU}/cpu{n}/topology/physical_package_id": str(n % 2) for n in range(4)},
    **{f"{_CPU}/cpu{n}/topology/core_id": "0" for n in range(4)},
    f"{_CPU}/cpu0/topology/thread_siblings_list": "0,2",
    f"{_CPU}/cpu0/cpufreq/scaling_governor": "performance",
    f"{_CPU}/cpu1/cpufreq/scaling_governor": "powersave",
    f"{_CPU}/intel_pstate/no_turbo": "0",
    f"{_CPU}/cpu0/cache/index3/level": "3",
    f"{_CPU}/cpu0/cache/index3/type": "Unified",
    f"{_CPU}/cpu0/cache/index3/size": "20480K",
    f"{_CPU}/cpu0/cache/index3/shared_cpu_list": "0,2",
    "/proc/meminfo": "MemTotal:       16777216 kB\nHugePages_Total:       0\nHugepagesize: 2048 kB",
    "/proc/swaps": "Filename Type Size Used Priority\n/dev/sdb2 partition 4194300 0 -2",
    "/sys/devices/system/node/online": "0-1",
    "/sys/devices/system/node/node0/cpulist": "0,2",
    "/sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       8388608 kB",
    "/sys/devices/system/node/node0/distance": "10 20",
    "/sys/devices/system/node/node1/cpulist": "1,3",
    f"{_BLOCK}/sda/dev": "8:0",
    f"{_BLOCK}/sda/size": "1172123568",
    f"{_BLOCK}/sda/device/model": "MBF2600RC",
    f"{_BLOCK}/sda/device/vendor": "FUJITSU",
    f"{_BLOCK}/sda/device/rev": "D903",
    f"{_BLOCK}/sda/queue/scheduler": "none [mq-deadline] kyber",
    f"{_BLOCK}/sda/queue/rotational": "1",
    f"{_BLOCK}/sda1/dev": "8:1",
    f"{_BLOCK}/sda1/partition": "1",
    f"{_BLOCK}/sda1/size": "1172121600",
    f"{_BLOCK}/nvme0n1/dev": "259:0",
    f"{_BLOCK}/nvme0n1/size": "468862128",
    f"{_BLOCK}/nvme0n1/device/model": "INTEL SSDPEDMD",
    f"{_BLOCK}/dm-0/dev": "253:0",
    f"{_BLOCK}/dm-0/size": "100",
    f"{_BLOCK}/dm-0/dm/name": "vg-work",
    f"{_BLOCK}/loop3/dev": "7:3",
    f"{_BLOCK}/loop3/loop/backing_file": "/srv/image",
    "/proc/self/mountinfo": (
        "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro\n"
        "22 21 253:0 / /srv rw,noatime - xfs /dev/mapper/vg-work rw,attr2\n"
        "23 21 0:44 / /memory rw - tmpfs tmpfs rw"
    ),
    "/sys/bus/pci/devices/0000:02:00.0/class": "0x010400",
    "/sys/bus/pci/devices/0000:02:00.0/vendor": "0x1000",
    "/sys/bus/pci/devices/0000:02:00.0/device": "0x005b",
    f"{_PCIE}/0000:02:00.0/current_link_speed": "5.0 GT/s PCIe",
    f"{_PCIE}/0000:02:00.0/current_link_width": "8",
    f"{_PCIE}/0000:02:00.0/max_link_speed": "5.0 GT/s PCIe",
    f"{_PCIE}/0000:02:00.0/max_link_width": "8",
    f"{_PCIE}/0000:04:00.0/class": "0x010802",
    f"{_PCIE}/0000:04:00.0/vendor": "0x8086",
    f"{_PCIE}/0000:04:00.0/device": "0x0953",
    f"{_PCIE}/0000:04:00.0/current_link_speed": "8.0 GT/s PCIe",
    f"{_PCIE}/0000:04:00.0/current_link_width": "2",
    f"{_PCIE}/0000:04:00.0/max_link_speed": "8.0 GT/s PCIe",
    f"{_PCIE}/0000:04:00.0/max_link_width": "4",
    f"{_PCIE}/0000:03:08.0/current_link_speed": "2.5 GT/s PCIe",
    f"{_PCIE}/0000:03:08.0/current_link_width": "4",
    f"{_FIRMWARE}/ProcPwrPerf/current_value": "SysDbpm",
    f"{_FIRMWARE}/LogicalProc/current_value": "Enabled",
    f"{_FIRMWARE}/AssetTag/current_value": "0BADCAFE",
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\x06\0\0\0\x01",
    "/sys/fs/selinux/enforce": "0",
    "/proc/mdstat": "Personalities : [raid5]\nmd0 : active raid5 sdd[2] sdc[1] sde[0]",
    f"{_BLOCK}/md0/md/chunk_size": "524288",
    f"{_BLOCK}/md0/md/consistency_policy": "bitmap",
    f"{_BLOCK}/sdb/size": "1000",
    "/proc/interrupts": (
        "           CPU0       CPU1\n"
        "  0:         40          0   IO-APIC   2-edge      timer\n"
        " 45:          1          2   PCI-MSI 524288-edge      em1-TxRx-0\n"
        " 46:          1          2   PCI-MSI 524289-edge      em1-TxRx-1\n"
        " 50:          1          2   PCI-MSI 1572864-edge      nvme0q1\n"
        "NMI:          0          0   Non-maskable interrupts"
    ),
    "/proc/irq/default_smp_affinity": "f",
    "/proc/irq/45/smp_affinity_list": "0",
    "/proc/irq/45/effective_affinity_list": "0",
    "/proc/irq/46/smp_affinity_list": "1",
    "/proc/irq/46/effective_affinity_list": "1",
    "/proc/irq/50/smp_affinity_list": "0-3",
    "/proc/irq/50/effective_affinity_list": "0",
    "/sys/class/net/em1/queues/rx-0/rps_cpus": "00,0000000c",
    "/sys/class/net/em1/queues/rx-1/rps_cpus": "00,00000000",
    "/sys/class/net/em1/queues/tx-0/xps_cpus": "00,00000000",
    "/sys/class/net/em1/operstate": "up",
    "/sys/class/net/em1/speed": "1000",
    "/sys/class/net/em1/mtu": "1500",
    "/sys/class/net/lo/operstate": "unknown",
    "/etc/os-release": 'NAME="Red Hat"\nPRETTY_NAME="Red Hat Enterprise Linux 6.4"',
    "/proc/sys/kernel/osrelease": "6.1.0-1",
    "/proc/sys/kernel/tainted": "4097",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=123-456 mitigations=off rd.luks.uuid=9 quiet",
    "/proc/modules": "nvidia 1 0 - Live 0x0 (POE)\next4 1 0 - Live 0x0",
    "/proc/sys/vm/swappiness": "10",
    "/proc/sys/vm/dirty_ratio": "40",
    "/proc/sys/vm/min_free_kbytes": "16384",
    "/proc/sys/net/core/somaxconn": "4096",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
    "/proc/sys/net/ipv4/tcp_mem": "190000\t253000\t380000",
    "/usr/lib/sysctl.d/10-tune.conf": "vm.swappiness = 30",
    "/etc/sysctl.d/10-tune.conf": "# ours\nvm.swappiness = 10\n-net/ipv4/tcp_sack = 1",
    "/proc/self/cgroup": "0::/user.slice",
    "/sys/fs/cgroup/user.slice/memory.max": "2147483648",
    "/sys/fs/cgroup/user.slice/pids.max": "max",
    "/sys/fs/cgroup/user.slice/cpu.max": "150000 100000",
    "/proc/self/status": "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1",
    "/proc/self/limits": "Max open files            1024          4096          files",
    "/proc/stat": "cpu  50 0 20 20 0 0 0 10 0 0",
}

_ANSWERS: Final = {
    ("ethtool", "-x", "em1"): (
        "RX flow hash indirection table for em1 with 2 RX ring(s):\n"
        "    0:      0     1     0     1\n    4:      0     1     0     0\n"
        "RSS hash key:\nOperation not supported\nRSS hash function:\n    toeplitz: on"
    ),
    ("storcli64", "/call/vall", "show", "J"): (
        '{"Controllers": [{"Command Status": {"Status": "Success"}, "Response Data": '
        '{"Virtual Drives": [{"DG/VD": "0/0", "TYPE": "RAID1", "State": "Optl", "Access": "RW", '
        '"Consist": "Yes", "Cache": "RWBD", "Size": "558.406 GB", "Name": ""}]}}]}'
    ),
    ("sdparm", "--get=WCE", "/dev/sda"): (
        "    /dev/sda: FUJITSU   MBF2600RC   D903\nWCE           0  [cha: y, def:  0, sav:  0]"
    ),
    ("nvme", "get-feature", "--feature-id=6", "/dev/nvme0n1"): (
        "get-feature:0x06 (Volatile Write Cache), Current value:0x00000001"
    ),
    ("hdparm", "-I", "/dev/sdb"): (
        "/dev/sdb:\n\tcache/buffer size  = 65536 KBytes (type=DualPortCache)\n"
        "Commands/features:\n\tEnabled\tSupported:\n\t   *\tSMART feature set\n"
        "\t    \tWrite cache\n"
    ),
    ("dmidecode", "-q", "-t", "4,17,39"): DMIDECODE,
    ("lspci", "-vmm"): (
        "Slot:\t02:00.0\nClass:\tRAID bus controller\nVendor:\tLSI Logic\n"
        "Device:\tMegaRAID SAS 2208\nSVendor:\tDell\nRev:\t05"
    ),
    ("smartctl", "--info", "--json", "--nocheck=standby", "/dev/sda"): '{"rotation_rate": 10520}',
    ("ethtool", "-i", "em1"): "driver: igb\nversion: 5.0\nfirmware-version: 1.63, 0x800009fa",
    (
        "ethtool",
        "-k",
        "em1",
    ): "Features for em1:\nrx-checksumming: on\ntcp-segmentation-offload: on",
    ("ethtool", "-g", "em1"): (
        "Pre-set maximums:\nRX:\t4096\nTX:\t4096\nCurrent hardware settings:\nRX:\t256\nTX:\t256"
    ),
    ("mkfs.xfs", "-V"): "mkfs.xfs version 6.1.0",
}

SERVER: Final = Seen(_FILES, _LINKS, _ANSWERS)
MKFS: Final = Tool("mkfs.xfs", "xfsprogs", ("-V",))
