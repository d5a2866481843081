#!/bin/bash
# The thirteen tests of the result page by the suite that it used: mount the file system under test
# where the suite keeps its tests, boot the kernel under test (3.12.0-031200 or 3.13.0-999), then
#
#   bash runbook.sh
#
# The suite asks for a name of the run and compares it with the published result. What the page tells
# of the systems: disk scheduler deadline; mount options XFS attr2,inode64,noquota,relatime,rw, ext4
# data=ordered,relatime,rw, btrfs relatime,rw,space_cache. Not told: mkfs options, the order of
# systems, whether a file system was made anew.
set -eu
command -v phoronix-test-suite > /dev/null || {
  echo "no phoronix-test-suite. Fix: install it from phoronix-test-suite.com" >&2
  exit 3
}
phoronix-test-suite benchmark 1312110-SO-LINUX313K26
