// The text that a person is writing, kept in this tab: a reload or a look at another screen loses nothing.
const keyOf = (name: string | null): string => `matoolkit.draft.${name?.toLowerCase() ?? ''}`

interface Draft {
  /** The version that it started from; null for a new runbook. */
  readonly base: number | null
  readonly text: string
}

export function draftOf(name: string | null): Draft | null {
  const found = sessionStorage.getItem(keyOf(name))
  return found === null ? null : (JSON.parse(found) as Draft)
}
export const keepDraft = (name: string | null, draft: Draft): void =>
  sessionStorage.setItem(keyOf(name), JSON.stringify(draft))
export const dropDraft = (name: string | null): void => sessionStorage.removeItem(keyOf(name))

export const FIRST_TEXT = `name: my-migration
description: What this runbook does, for whom
data_source:
  type: csv
  path: people.csv
  primary_key: UserPrincipalName
  batch_time_column: CutoverTime
  time_zone: UTC
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: find-account
        worker_id: target-worker
        function: Get-EntraUser
        params:
          UserId: "{{UserPrincipalName}}"
`
