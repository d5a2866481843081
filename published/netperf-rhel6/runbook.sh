#!/bin/bash
# netperf between two hosts, after appendix B of the white paper: one step, on one of the hosts.
#
#   bash runbook.sh build                                   # on both
#   PROFILE=latency-performance bash runbook.sh optimize    # generator always, server if optimized
#   ADDRESS=192.168.41.234 bash runbook.sh server           # on the server under test
#   ADDRESS=192.168.41.234 bash runbook.sh rr               # on the traffic generator; or: stream
#
# Before it, by hand: install Red Hat Enterprise Linux 6.4 on both (steps 1 to 22); of an optimized
# host set SELINUX=disabled in /etc/selinux/config, install kernel 2.6.32-358.1.1.el6, irqbalance
# 0.55-34 and tuned 0.2.19-12, turn hyperthreads off and choose "Performance per Watt Optimized (OS)"
# in the firmware. Each test was made three times, with a reboot of both hosts between; the median run
# is printed.
#
# Written otherwise than in print: adapters are named by whoever starts it (IRQS, in print p6p1 and
# p4p2; MANAGEMENT, em1). As in print, the size of requests is set by -m, which request/response tests
# of netperf do not use: theirs is -r. The Windows half is not here.
set -eu
folder=${NP:-/root/np24}

build() {
  yum -y install gcc make
  wget ftp://ftp.netperf.org/netperf/archive/netperf-2.4.5.tar.bz2
  tar jxf netperf-2.4.5.tar.bz2
  (cd netperf-2.4.5 && ./configure && make all)
  mkdir -p "$folder"
  cp netperf-2.4.5/src/netperf netperf-2.4.5/src/netserver "$folder"
}

optimize() { # steps 4 to 6
  tuned-adm profile "${PROFILE:?throughput-performance, or latency-performance for rr}"
  grep -q netdev_max_backlog /etc/sysctl.conf ||
    echo net.core.netdev_max_backlog=250000 >> /etc/sysctl.conf
  sysctl -p
  for i in abrt-ccpp abrt-oops abrtd acpid atd auditd autofs avahi-daemon cgconfig crond cups \
    haldaemon irqbalance kdump libvirt-guests mcelogd mdmonitor messagebus portreserve postfix \
    rhnsd rhsmcertd rpcbind rpcgssd rpcidmapd certmonger netfs sysstat; do
    service "$i" stop || true
  done
  service lvm2-monitor force-stop || true
}

server() { # run_netserver_server1.sh
  tuna --socket 0 --include
  tuna --irq "${IRQS:-p6p1}*" --cpus 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 --spread
  tuna --irq "${MANAGEMENT:-em1}*" --socket 1 --spread
  tuna --show irqs
  tuna --cpu 0 --include
  numactl -l -N 0 nice -n -10 "$folder/netserver" -4 -L "${ADDRESS:?of this host}"
  tuna --cpu 0 --isolate -t netserver --move
}

place() { # what both scripts of the generator begin with
  tuna --socket 1 --isolate
  tuna --irq "${IRQS:-p4p2}*" --cpus 3,5,7,9,11,13,15 --spread
  tuna --irq "${MANAGEMENT:-em1}*" --socket 0 --spread
  tuna --show irqs --show threads
  tuna --cpu 1 --include
}

measure() { # SECONDS "TESTS" "SIZES"
  for big in $3; do
    for test in $2; do
      numactl -l -N 1 nice -n -10 "$folder/netperf" -P0 -l "$1" -H "${ADDRESS:?of the server}" \
        -t "$test" -B "running $test to $ADDRESS -- -m $big" -- -m "$big" &
      tuna --cpu 1 --isolate -t netperf --move
      wait $!
      sleep "${QUIET:-15}"
    done
  done
}

stream() { # run_netperf_STREAM_server2.sh
  place
  measure 120 "TCP_STREAM UDP_STREAM" "32 64 128 256 512 1024 2048 4096 8192 16384 32768 65507"
}

rr() { # run_netperf_RR_server2.sh
  place
  measure 10 "TCP_RR UDP_RR" "1 2 4 8 16 32 64 128 256 512 1024"
}

case ${1:-} in
  build | optimize | server | stream | rr) "$1" ;;
  *) sed -n '2,/^set/p' "$0" | sed '$d'; exit 2 ;;
esac
