#!/bin/sh
# make-env.sh https://baton.example.com [FILE]: writes .env beside compose.yaml, or FILE, with fresh keys and passwords,
# readable by its owner alone. One that is there stays as it is: its keys open what is stored.
set -eu
umask 077
cd "$(dirname "$0")"

base_url=${1:-}
file=${2:-.env}
case $base_url in
  http://?* | https://?*) ;;
  *)
    echo "Say where the service will be reached, for example: ./make-env.sh https://baton.example.com" >&2
    exit 2
    ;;
esac
if [ -e "$file" ]; then
  echo "$file is there already; nothing was changed." >&2
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
echo "$file is written. Keep a copy where this machine's loss does not reach it."
