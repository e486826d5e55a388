#!/bin/sh
# Migrates Temporal's two databases to the schema of this version; does nothing if they are current. SQL_PASSWORD is
# the password of the user `temporal`.
set -eu

renew() {
  database=$1
  folder=$2
  set -- --plugin postgres12 --ep postgres --port 5432 --user temporal --db "$database"
  temporal-sql-tool "$@" setup-schema --version 0.0
  temporal-sql-tool "$@" update-schema --schema-dir "/etc/temporal/schema/postgresql/v12/$folder/versioned"
}

renew temporal temporal
renew temporal_visibility visibility
