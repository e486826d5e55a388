#!/bin/sh
# Runs one process of the service: process.sh api | gateway | task-worker | delivery-worker | migrate | baton WORDS…
set -eu
cd "$(dirname "$0")/.."

process=${1:-}
[ $# -eq 0 ] || shift

# Programs of agents run as the same user and write to HOME. SIGUSR1 would open Node's debugger to them, and a package in
# HOME/.node_modules would be loaded instead of one that is not installed. Both would give them the secrets of the process.
protected() {
  exec node --disable-sigusr1 --no-global-search-paths "$@"
}

# As in dev/launcher/node-service.ts. The first file loads code so that it needs little memory. The second removes the time limit of calls
# into the workflow sandbox.
service() {
  export BATON_CODE_CACHE="$PWD/.local/cache/code"
  protected --max-semi-space-size=6 --disable-warning=ExperimentalWarning \
    --import ./src/runtime/load-code.mjs --import ./src/runtime/sandbox-preload.ts "$@"
}

case $process in
  api) service src/api/server.ts ;;
  gateway) service src/gateway/server.ts ;;
  task-worker) service workers/task-worker.ts ;;
  delivery-worker) service workers/delivery-worker.ts ;;
  migrate) protected cli/baton.mjs admin migrate ;;
  baton) protected cli/baton.mjs "$@" ;;
  *)
    echo "Name a process: api, gateway, task-worker, delivery-worker, migrate, or baton with its arguments." >&2
    exit 2
    ;;
esac
