#!/bin/sh
# PostgreSQL runs this once, when its data folder is new: creates two users, each with rights only on its own
# databases.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --username postgres \
  --set baton_password="$BATON_DATABASE_PASSWORD" \
  --set temporal_password="$TEMPORAL_DATABASE_PASSWORD" <<'SQL'
create role baton login password :'baton_password';
create database baton owner baton;
create role temporal login password :'temporal_password';
create database temporal owner temporal;
create database temporal_visibility owner temporal;
revoke connect on database baton, temporal, temporal_visibility from public;
SQL
