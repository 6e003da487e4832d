#!/usr/bin/env bash
# Shows or makes the changes of one stage: deploy.sh what-if|create, with RESOURCE_GROUP, STAGE (shared, automation) and PARAMETERS,
# a file. The outputs of stage 1 become parameters of stage 2, and stage 2 keeps the image that runs, unless IMAGE names another.
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
  for output in $("${stage1[@]}" 'keys(properties.outputs)'); do
    # Stage 1 says more than stage 2 needs.
    grep -q "^param $output " "$(dirname "$0")/../automation/main.bicep" || continue
    value=$("${stage1[@]}" "properties.outputs.$output.value")
    given+=(--parameters "$output=$value")
  done
  image=${IMAGE:-$(az containerapp list --resource-group "$RESOURCE_GROUP" \
    --query "[?name=='$name-api'].properties.template.containers[0].image" --output tsv)}
  if [[ -n $image ]]; then given+=(--parameters "image=$image"); fi
fi

command=(az deployment group "$action" --resource-group "$RESOURCE_GROUP" --name "$STAGE" "${given[@]}")
if [[ $action == what-if ]]; then
  # So the right to compare is enough, without the right to change.
  exec "${command[@]}" --validation-level ProviderNoRbac
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for ((left = ${TRIES:-5}; ; left--)); do
  "${command[@]}" 2> >(tee "$said" >&2) && exit 0
  # As Key Vault, the registry and the directory refuse what they do not know yet.
  if ((left <= 1)) || ! grep -qE 'Forbidden|UNAUTHORIZED|PrincipalNotFound|Unable to get value using Managed identity' "$said"; then
    exit 1
  fi
  echo "A role assignment may not work yet: trying again in ${PAUSE_SEC:-150} s." >&2
  sleep "${PAUSE_SEC:-150}"
done
