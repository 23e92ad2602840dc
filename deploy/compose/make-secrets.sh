#!/bin/sh
# Creates the secrets of compose.yaml in the folder secrets next to this file, or in the given folder. Existing secrets stay.
# All users can read the files, because each container reads them as its own user; only the owner can open the folder.
set -eu
umask 022
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
chmod 700 "$folder"

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
put() { # name text
  [ -e "$folder/$1" ] || printf '%s' "$2" >"$folder/$1"
  chmod 444 "$folder/$1"
}

put postgres_password "$(random)"
put storage_url "postgres://tollgate:$(cat "$folder/postgres_password")@postgres:5432/tollgate"
[ -e "$folder/counters_url" ] || put counters_url "redis://tollgate:$(random)@redis:6379"
password=$(sed 's|^redis://tollgate:\(.*\)@.*$|\1|' "$folder/counters_url")
# Redis gets only the hash. The user `default`, which needs no password, is off.
put redis_acl "user default off
user tollgate on #$(printf '%s' "$password" | sha256sum | cut -d' ' -f1) ~* &* +@all -@dangerous +info
"
put alpha_api_key "put-the-key-of-alpha-here"
put text_api_key "put-the-key-of-text-here"
echo "secrets are in $folder; put the upstreams' keys into alpha_api_key and text_api_key"
