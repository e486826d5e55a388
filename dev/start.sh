#!/bin/sh
# The second step of `npm start`, after `node dev/run.mjs prepare start`. It replaces npm's shell with the launcher, so that no process
# stays between the two: that takes memory, and has to pass on signals. npm puts the installed Node first in PATH.
checkout=$(cd "$(dirname "$0")/.." && pwd)
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$checkout/.local/cache/node}"
export BATON_CODE_CACHE="${BATON_CODE_CACHE:-$checkout/.local/cache/code}"
exec node --disable-warning=ExperimentalWarning --import "$checkout/src/runtime/load-code.mjs" \
  "$checkout/dev/launcher/start.ts" "$@"
