#!/usr/bin/env bash
# Rolls an image out: upgrades the tables, updates one app after another, tries the API. If anything fails, every app that was updated
# goes back to the image it had. Tables stay upgraded: the program before works with them (docs/operating.md, Upgrade).
# A worker with PowerShell gets PWSH_IMAGE; one with an image of its own keeps it. API_URL: where the API is tried; none: it is not.
# RESOURCE_GROUP: where. NAME: how every resource begins. POLL_SEC, POLLS: how patiently it waits for each of them.
set -Eeuo pipefail

image=${1:-}
if [[ ! $image =~ @sha256:[0-9a-f]{64}$ ]]; then
  echo "usage: roll-out.sh <registry>/matoolkit@sha256:<digest>; a tag may be another image tomorrow" >&2
  exit 2
fi
: "${RESOURCE_GROUP:?set RESOURCE_GROUP}"
name=${NAME:-matoolkit}
here=$(dirname "$0")

ask() { az "$@" --resource-group "$RESOURCE_GROUP" --output tsv; }
image_of() { ask containerapp show --name "$1" --query 'properties.template.containers[0].image'; }

# A revision is there when it is provisioned and healthy, or when it has no replica because there are no jobs.
update() {
  local revision state
  ask containerapp update --name "$1" --image "$2" --query name >/dev/null
  revision=$(ask containerapp show --name "$1" --query properties.latestRevisionName)
  for ((left = ${POLLS:-120}; left > 0; left--)); do
    state=$(ask containerapp revision show --name "$1" --revision "$revision" \
      --query "join(' ', [properties.provisioningState, properties.healthState, to_string(properties.replicas)])")
    case $state in
      'Provisioned Healthy '* | 'Provisioned None 0') echo "$1 $2" && return 0 ;;
      Failed*) break ;;
    esac
    sleep "${POLL_SEC:-10}"
  done
  echo "$1: revision $revision is \"$state\"." >&2
  return 1
}

declare -A before
updated=()
go_back() {
  trap - ERR
  for ((at = ${#updated[@]} - 1; at >= 0; at--)); do
    app=${updated[at]}
    echo "Back to ${before[$app]}: $app" >&2
    update "$app" "${before[$app]}" || echo "$app did not come back: look at it now." >&2
  done
  exit 1
}

workers=$(ask containerapp list --query "[?starts_with(name, '$name-')].name" | grep -vxE "$name-(orchestrator|scheduler|api)" || true)
# The order of docs/operating.md, Upgrade.
apps=()
for worker in $workers; do apps+=("$worker"); done
apps+=("$name-orchestrator" "$name-scheduler" "$name-api")
for app in "${apps[@]}"; do before[$app]=$(image_of "$app"); done

# The new image of an app; nothing if it keeps its own.
repository() { sed -E 's|.*/||; s|@.*||' <<< "$1"; }
next_of() {
  case $(repository "${before[$1]}") in
    "$(repository "$image")") echo "$image" ;;
    "$(repository "${PWSH_IMAGE:-none}")") echo "$PWSH_IMAGE" ;;
  esac
}

trap go_back ERR
"$here/migrate.sh" "$image" || { echo 'Nothing was rolled out.' >&2 && exit 1; }
for app in "${apps[@]}"; do
  next=$(next_of "$app")
  if [[ -z $next ]]; then
    echo "$app keeps its own image ${before[$app]}: build it again on the new one."
    continue
  fi
  updated+=("$app")
  update "$app" "$next"
done
if [[ ${API_URL:-} == none ]]; then
  echo "The API was not tried: run smoke-test.mjs inside its network."
  exit 0
fi
host=$(ask containerapp show --name "$name-api" --query properties.configuration.ingress.fqdn)
node "$here/smoke-test.mjs" "${API_URL:-https://$host}"
