#!/bin/bash
# PostMark as the article runs it on Linux: mount the file system under test without barriers
# (ext4: barrier=0; btrfs: nobarrier), then, as root,
#
#   DIRECTORY=/mnt/test DISK=sda POSTMARK=/path/of/postmark bash runbook.sh
#
# PostMark was compiled with -O3. Other mount options stand in a picture; on Windows nothing but
# the eight commands is told. PostMark 1.51 answers "Eh?" to the first: its word is subdirectories,
# so all files lie in one directory; the engine's PostMark takes both words. The four settings and the scheduler stay as they are set here.
set -eu
postmark=${POSTMARK:-postmark}
cd "${DIRECTORY:?the directory of the file system under test}"
command -v "$postmark" > /dev/null || { echo "no $postmark. Fix: POSTMARK=/path" >&2; exit 3; }
if [ -n "${DISK:-}" ]; then
  echo deadline > "/sys/block/$DISK/queue/scheduler" ||
    echo mq-deadline > "/sys/block/$DISK/queue/scheduler"
  sysctl vm.vfs_cache_pressure=50
  sysctl vm.swappiness=20
  sysctl vm.dirty_background_ratio=10
  sysctl vm.dirty_ratio=30
fi
"$postmark" << 'COMMANDS'
set directories 5
set number 10000
set transactions 20000
set read 4096
set write 4096
set buffering false
set size 500 100000
run
quit
COMMANDS
