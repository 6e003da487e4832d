#!/usr/bin/env bash
# Lints the runbooks that match FILES and writes SARIF. Fails when one of them is invalid, after the report is written.
# FILES: patterns, one per line. COMMAND: a matoolkit that is there, or empty for VERSION of npm. SARIF: the report.
set -euo pipefail
shopt -s globstar nullglob

files=()
while IFS= read -r pattern; do
  [[ -z $pattern ]] && continue
  # A pattern is expanded as such, and nothing else of it is: no command, no variable.
  IFS= matches=($pattern)
  for file in "${matches[@]}"; do [[ -f $file ]] && files+=("$file"); done
done <<<"$FILES"

if [[ ${#files[@]} -eq 0 ]]; then
  echo "No file matches $FILES. Name your runbooks *.runbook.yaml, or set the input files." >&2
  exit 1
fi

if [[ -n ${COMMAND:-} ]]; then
  matoolkit=("$COMMAND")
elif [[ ${VERSION:-latest} =~ ^[0-9A-Za-z.-]+$ ]]; then
  matoolkit=(npx --yes "matoolkit@${VERSION:-latest}")
else
  echo "\"$VERSION\" is no version of a package." >&2
  exit 1
fi

echo "${#files[@]} runbooks"
code=0
"${matoolkit[@]}" runbook validate "${files[@]}" --output sarif >"$SARIF" || code=$?
# 1: problems, which the report names. Anything else left no report.
if [[ $code -gt 1 ]]; then exit "$code"; fi
echo "sarif=$SARIF" >>"$GITHUB_OUTPUT"
# For people, in the log.
"${matoolkit[@]}" runbook validate "${files[@]}" --output table || exit 1
