#!/bin/sh
# make-env.sh https://baton.example.com [FILE]: writes .env next to compose.yaml, or FILE, with new keys and
# passwords, readable only by its owner. Does not change an existing file: its keys decrypt stored data.
set -eu
umask 077
cd "$(dirname "$0")"

base_url=${1:-}
file=${2:-.env}
case $base_url in
  http://?* | https://?*) ;;
  *)
    echo "Pass the public address of the service, for example: ./make-env.sh https://baton.example.com" >&2
    exit 2
    ;;
esac
if [ -e "$file" ]; then
  echo "$file already exists. Nothing was changed." >&2
  exit 1
fi

key() { openssl rand -base64 32; }
password() { openssl rand -hex 24; }

{
  echo "BASE_URL=$base_url"
  echo "BATON_SEALING_KEYS=k1:$(key)"
  echo "BATON_TOKEN_KEYS=t1:$(key)"
  echo "BATON_PAYLOAD_KEYS=p1:$(key)"
  echo "POSTGRES_PASSWORD=$(password)"
  echo "BATON_DATABASE_PASSWORD=$(password)"
  echo "TEMPORAL_DATABASE_PASSWORD=$(password)"
} >"$file"
echo "Wrote $file. Keep a copy outside of this machine."
