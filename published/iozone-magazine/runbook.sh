#!/bin/bash
# IOzone on three file systems, after the article: mount one of them, go to its directory, then
#
#   IOZONE=/path/of/iozone RUNS=10 bash runbook.sh
#
# It runs the article's four command lines, ten times, with a directory for each run. Not in print:
# mkfs and mount options, the version of IOzone, whether a file system was made anew for each run.
# The file of 16 GB is twice the memory of the article's machine: on another one say SIZE=.
set -eu
iozone=${IOZONE:-./iozone}
size=${SIZE:-16G}
command -v "$iozone" > /dev/null || { echo "no $iozone. Fix: IOZONE=/path/of/iozone" >&2; exit 3; }
for run in $(seq "${RUNS:-10}"); do
  mkdir "run-$run"
  for r in 1M 4M 8M 16M; do
    out="run-$run/spreadsheet_output_$r.wks"
    "$iozone" -Rb "$out" -s "$size" -r "$r" > "run-$run/output_$r.txt"
  done
done
