#!/usr/bin/env bash
# Makes or upgrades the tables and the database roles, and waits for it: migrate.sh [image]. Running it again changes nothing.
# RESOURCE_GROUP: where. NAME: how every resource begins. POLL_SEC, POLLS: how patiently it waits.
set -euo pipefail

: "${RESOURCE_GROUP:?set RESOURCE_GROUP}"
job=${NAME:-matoolkit}-migrate
ask() { az containerapp job "$@" --resource-group "$RESOURCE_GROUP" --name "$job" --output tsv; }

if [[ -n ${1:-} ]]; then ask update --image "$1" --query name >/dev/null; fi
execution=$(ask start --query name)
for ((left = ${POLLS:-120}; left > 0; left--)); do
  status=$(ask execution show --job-execution-name "$execution" --query properties.status)
  case $status in
    Succeeded) exit 0 ;;
    Failed | Stopped | Degraded) break ;;
  esac
  sleep "${POLL_SEC:-10}"
done
echo "The migration $execution is $status. Its log says why: az containerapp job logs show --resource-group $RESOURCE_GROUP --name $job --execution $execution --container migrate" >&2
exit 1
