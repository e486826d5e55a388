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

if ! command -v openssl >/dev/null; then
  echo "openssl is missing. It creates the keys: install it, and run this again." >&2
  exit 1
fi

key() { openssl rand -base64 32; }
password() { openssl rand -hex 24; }

# A failure in an assignment ends the script; one inside of an echo would write an empty key.
sealing_key=$(key)
token_key=$(key)
payload_key=$(key)
postgres_password=$(password)
baton_password=$(password)
temporal_password=$(password)

{
  echo "BASE_URL=$base_url"
  echo "BATON_SEALING_KEYS=k1:$sealing_key"
  echo "BATON_TOKEN_KEYS=t1:$token_key"
  echo "BATON_PAYLOAD_KEYS=p1:$payload_key"
  echo "POSTGRES_PASSWORD=$postgres_password"
  echo "BATON_DATABASE_PASSWORD=$baton_password"
  echo "TEMPORAL_DATABASE_PASSWORD=$temporal_password"
} >"$file.new"
mv "$file.new" "$file"
echo "Wrote $file. Keep a copy outside of this machine."
