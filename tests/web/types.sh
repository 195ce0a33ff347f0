#!/bin/sh
# The page's TypeScript passes the type checker.
set -eu
cd "$1/web"
node node_modules/typescript/bin/tsc --noEmit -p tsconfig.json
