#!/bin/sh
# Creates TEMPORAL_NAMESPACE at TEMPORAL_ADDRESS with the search attributes of runs; does not change existing ones.
# RETENTION: how long Temporal keeps the histories of ended workflows.
set -eu

# A server that has just started, or a new namespace, may take some seconds to be available everywhere.
patiently() {
  for _ in $(seq 60); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 1
  done
  "$@"
}

patiently temporal operator cluster health
if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "${RETENTION:-30d}"
fi
for name in BatonWorkspace BatonProject BatonTaskType BatonState; do
  patiently temporal operator search-attribute create --name "$name" --type Keyword
done
