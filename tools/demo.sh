#!/bin/sh
# make demo: the main job on this very machine.
set -eu
exec "$1/zscope" version
