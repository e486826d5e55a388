#!/bin/sh
# Runs one process of the service: process.sh api | gateway | task-worker | delivery-worker | migrate | baton WORDS…
set -eu
cd "$(dirname "$0")/.."

process=${1:-}
[ $# -eq 0 ] || shift

# Removes the time limit of calls into the workflow sandbox; see the file.
service() {
  exec node --import ./src/runtime/sandbox-preload.ts "$@"
}

case $process in
  api) service src/api/server.ts ;;
  gateway) service src/gateway/server.ts ;;
  task-worker) service workers/task-worker.ts ;;
  delivery-worker) service workers/delivery-worker.ts ;;
  migrate) exec node cli/baton.mjs admin migrate ;;
  baton) exec node cli/baton.mjs "$@" ;;
  *)
    echo "Say which process: api, gateway, task-worker, delivery-worker, migrate, or baton with its words." >&2
    exit 2
    ;;
esac
