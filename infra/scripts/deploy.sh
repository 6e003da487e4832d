#!/usr/bin/env bash
# Shows or makes the changes of one stage: deploy.sh what-if|create, with RESOURCE_GROUP, STAGE (shared, automation) and PARAMETERS,
# a file. The outputs of stage 1 become parameters of stage 2, and stage 2 keeps the image that runs, unless IMAGE names another, and the
# size to which the disk of the database has grown. Its first deployment makes the tables before the apps.
# A new role assignment may take ten minutes to work. What was refused for that is tried again: TRIES times, after PAUSE_SEC.
set -euo pipefail

action=${1:-}
case $action in
  what-if | create) ;;
  *) echo "usage: deploy.sh what-if|create" >&2 && exit 2 ;;
esac
name=${NAME:-matoolkit}
: "${RESOURCE_GROUP:?set RESOURCE_GROUP}" "${STAGE:?set STAGE}" "${PARAMETERS:?set PARAMETERS}"
if [[ ! -f $PARAMETERS ]]; then
  echo "There is no $PARAMETERS. infra/$STAGE/production.bicepparam is an example: copy it and put in your values." >&2
  exit 2
fi

given=(--parameters "$PARAMETERS" --parameters "name=$name")
if [[ $STAGE == automation ]]; then
  stage1=(az deployment group show --resource-group "$RESOURCE_GROUP" --name shared --output tsv --query)
  outputs=$("${stage1[@]}" 'keys(properties.outputs)') || {
    echo "Stage 1 is not in $RESOURCE_GROUP: deploy it first, with STAGE=shared." >&2
    exit 1
  }
  for output in $outputs; do
    # Stage 1 says more than stage 2 needs.
    grep -q "^param $output " "$(dirname "$0")/../automation/main.bicep" || continue
    value=$("${stage1[@]}" "properties.outputs.$output.value")
    given+=(--parameters "$output=$value")
  done
  running=$(az containerapp list --resource-group "$RESOURCE_GROUP" \
    --query "[?name=='$name-api'].properties.template.containers[0].image" --output tsv)
  image=${IMAGE:-$running}
  if [[ -n $image ]]; then given+=(--parameters "image=$image"); fi
  grown=$(az postgres flexible-server list --resource-group "$RESOURCE_GROUP" --query '[].storage.storageSizeGb' --output tsv | sort -n | tail -1)
  if [[ -n $grown ]]; then given+=(--parameters "postgresGrownGb=$grown"); fi
  # Stage 1 replaces resource ids.
  example='[^/]00000000-0000-0000-0000-000000000000'
  if [[ -z $image ]]; then example+='|sha256:0{64}'; fi
  if [[ $action == create ]] && grep -nE "$example" "$PARAMETERS" >&2; then
    echo "These lines of $PARAMETERS are still the example's: put in your values." >&2
    exit 2
  fi
fi

command=(az deployment group "$action" --resource-group "$RESOURCE_GROUP" --name "$STAGE" "${given[@]}")
if [[ $action == what-if ]]; then
  # So the right to compare is enough, without the right to change.
  exec "${command[@]}" --validation-level ProviderNoRbac
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
deploy() {
  for ((left = ${TRIES:-5}; ; left--)); do
    "${command[@]}" "$@" 2> >(tee "$said" >&2) && return 0
    # As Key Vault, the registry and the directory refuse what they do not know yet.
    if ((left <= 1)) || ! grep -qE 'Forbidden|UNAUTHORIZED|PrincipalNotFound|Unable to get value using Managed identity' "$said"; then
      return 1
    fi
    echo "A role assignment may not work yet: trying again in ${PAUSE_SEC:-150} s." >&2
    sleep "${PAUSE_SEC:-150}"
  done
}
if [[ $STAGE == automation && -z $running ]]; then
  deploy --parameters withApps=false
  "$(dirname "$0")/migrate.sh"
fi
deploy
