#!/usr/bin/env bash
# Replaces the key that signs jobs, without a job that is refused: rotate-job-key.sh begin | use | end, with KEY_VAULT. Run it inside the
# network. `begin` adds a key that everybody accepts, `use` signs with it, `end` takes the former away. Between two of them, wait
# until every app has read the secret: half an hour (docs/azure.md). A step out of order is refused.
set -euo pipefail

: "${KEY_VAULT:?set KEY_VAULT}"
secret=(--vault-name "$KEY_VAULT" --name job-key)
now=$(az keyvault secret show "${secret[@]}" --query value --output tsv)
# Apps get them as MATOOLKIT_JOB_KEY: a list with commas, of which the first one signs and all are accepted.
IFS=, read -ra keys <<< "$now"
step=$(az keyvault secret show "${secret[@]}" --query tags.rotation --output tsv)

case "${1:-}:${#keys[@]}:${step:-none}" in
  begin:1:*) keys+=("$(openssl rand -base64 32)") ;;
  use:2:begin) keys=("${keys[1]}" "${keys[0]}") ;;
  end:2:use) keys=("${keys[0]}") ;;
  begin:* | use:* | end:*)
    echo "\"$1\" does not come now: there are ${#keys[@]} keys, and the last step was \"${step:-none}\"." >&2
    exit 2
    ;;
  *) echo "usage: rotate-job-key.sh begin|use|end" >&2 && exit 2 ;;
esac

# Not on the command line, where others of the machine could read it.
file=$(mktemp)
trap 'rm -f "$file"' EXIT
printf '%s' "$(IFS=, && echo "${keys[*]}")" > "$file"
az keyvault secret set "${secret[@]}" --file "$file" --tags "rotation=$1" --query id --output tsv
case $1 in
  begin) echo "Next, in half an hour: use" ;;
  use) echo "Next, when the oldest job is done (7 days at most): end" ;;
  end) echo "Done: only the new key is accepted." ;;
esac
