#!/bin/bash
# IOzone on Red Hat Enterprise Linux 6.4, after appendix B of the white paper: one step an argument.
#
#   DISK=/dev/sdb SWAP=/dev/sdd bash runbook.sh prepare build make_ext4 inc run1 dio run1 otc run1
#   DISK=/dev/sdb SWAP=/dev/sdd bash runbook.sh optimize      # then make_xfs, inc, dio, otc again
#
# Before it, by hand: install the system on another disk (steps 1 to 22: defaults, English, static
# IPv4, SELinux as installed) and log in as root. Firmware: system profile "Performance Per Watt
# Optimized (DAPC)" out of the box, "(OS)" optimized. Each test was made three times.
#
# Written otherwise than in print: devices are named by whoever starts it; parameter NAME of a test
# names its directory and files, as the first argument of the printed scripts does; TEST is where
# the file system under test is mounted, in print /test. The Windows half (steps 1 to 33,
# CommandsNoPersonaManagement.bat, the .bat files) is not here.
set -eu

prepare() { # steps 23, 24, 27
  yum -y install xfsprogs
  parted -s "${DISK:?it is erased; in print /dev/sdb}" mklabel gpt
  parted -s "$DISK" mkpart primary "1 -1"
  parted -s "$DISK" name 1 Iozone
  parted -s "${SWAP:?it is erased; in print /dev/sdd}" mklabel gpt
  parted -s "$SWAP" mkpart primary linux-swap "1 -1"
  parted -s "$SWAP" name 1 Swap
  mkswap "${SWAP}1"
  swapoff -a
  swapon "${SWAP}1"
}

build() { # installing IOzone: 32 bits, so no file beyond 4 GB is mapped
  yum -y install gcc libc.i686 libgcc.i686 libstdc++.i686 glibc-devel.i686
  wget http://www.iozone.org/src/current/iozone3_414.tar
  tar xf iozone3_414.tar
  # Its patch as printed takes -m32 away; the text says that it is to be forced.
  sed -i 's/^CC\t= cc$/CC\t= cc -m32/' iozone3_414/src/current/makefile
  make -C iozone3_414/src/current linux
  ln -sf iozone3_414/src/current/iozone iozone
}

make_ext4() { # steps 25, 26
  unmount
  mkfs.ext4 "${DISK:?it is erased; in print /dev/sdb}1"
  mount "${DISK}1" "$test"
}

make_xfs() {
  unmount
  mkfs.xfs -f "${DISK:?it is erased; in print /dev/sdb}1"
  mount "${DISK}1" "$test"
}

unmount() { # what an earlier step has mounted
  mkdir -p "$test"
  ! mountpoint -q "$test" || umount "$test"
}

optimize() { # AdditionalLinuxFileSystemTuning.sh, DisableSomeDefaultServices.sh
  mountpoint -q "$test" || mount "$test" || true
  swapon "${SWAP:?in print /dev/sdd}1" || true
  tuned-adm profile default
  tuned-adm profile enterprise-storage
  mount -o remount,barrier=0 "$test"
  for i in abrt-ccpp abrt-oops abrt-d acpid atd auditd autofs avahi-daemon cgconfig crond cups \
    haldaemon irqbalance kdump libvirt-guests mcelogd mdmonitor messagebus portreserve postfix \
    rhnsd rhsmcertd rpcbind rpcgssd rpcidmapd certmonger netfs sysstat; do
    service "$i" stop || true
  done
  service lvm2-monitor force-stop || true
}

after() { # what each printed script ends with
  rm -f "$test/$1/t1"
  echo 3 > "$drop_caches"
  sync
}

inc() { # NAME: in the file system's cache
  mkdir -p "$test/$1"
  ./iozone -n 1024 -g 4096000 -y 8 -q 1024 -a -R -f "$test/$1/t1" > "incache_$1.txt"
  after "$1"
}

dio() { # NAME: past it
  mkdir -p "$test/$1"
  ./iozone -n 1024 -g 4096000 -y 8 -q 1024 -a -R -I -f "$test/$1/t1" > "directio_$1.txt"
  after "$1"
}

otc() { # NAME: a file of twice the memory
  mkdir -p "$test/$1"
  for r in 64k 1024k; do
    ./iozone -s 32g -r $r -C -c -e -w -x -f "$test/$1/t1" > "outcache_$1-$r.txt"
    after "$1"
  done
}

test=${TEST:-/test}
drop_caches=${DROP_CACHES:-/proc/sys/vm/drop_caches}
[ $# -gt 0 ] || { sed -n '2,/^set/p' "$0" | sed '$d'; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    prepare | build | make_ext4 | make_xfs | optimize) "$1"; shift ;;
    inc | dio | otc) "$1" "${2:?NAME of the run}"; shift 2 ;;
    *) echo "$1: no such step. One of: prepare build make_ext4 make_xfs optimize inc dio otc" >&2
       exit 2 ;;
  esac
done
