#!/bin/sh
# What a recorded tick costs against mpstat, pidstat and find, as ratios of CPU time in one run. As root.
set -eu
command -v mpstat >/dev/null || { echo "tick: skipped, mpstat (package sysstat) is missing"; exit 0; }
exec python3 "$(dirname "$0")/bench_tick.py" "$1"
