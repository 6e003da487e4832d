// Runbooks, member files and forms sent by the contract tests.
import type { Worker } from '../../stories/world.ts'

/** Two phases, an init step, a removal step and a rollback; templates in each use columns. */
export const wave = (name = 'wave', more = ''): string => `
name: ${name}
description: A wave for the tests of the API
data_source:
  type: csv
  path: people.csv
  primary_key: UserPrincipalName
  batch_time_column: When
  time_zone: UTC
  multi_valued_columns: [{ name: Aliases, format: semicolon_delimited }]
${more}
init: [{ name: setup, worker_id: w1, function: New-Wave }]
phases:
  - name: cutover
    offset: T-0
    steps:
      - { name: switch, worker_id: w1, function: "{{Action}}", params: { Id: "{{ThingId}}" }, on_failure: back }
  - name: prepare
    offset: T-1d
    steps:
      - { name: create, worker_id: w1, function: New-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}", All: "{{Aliases}}" }, output_params: { ThingId: id } }
on_member_removed: [{ name: clean, worker_id: w1, function: Remove-Thing, params: { Site: "{{Site}}" } }]
rollbacks: { back: [{ name: undo, worker_id: w1, function: Undo-Thing, params: { Office: "{{Office}}" } }] }
`

/** Without init, so a batch starts with its first phase. */
export const plain = (name = 'plain', step = 'create'): string => `
name: ${name}
data_source: { type: csv, path: people.csv, primary_key: UserPrincipalName, batch_time_column: When, time_zone: UTC }
phases:
  - name: prepare
    offset: T-1d
    steps: [{ name: ${step}, worker_id: w1, function: New-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}" } }]
  - name: cutover
    offset: T-0
    steps: [{ name: switch, worker_id: w1, function: Switch-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}" } }]
`

export const WAVE_HEADER = 'UserPrincipalName,Aliases,Action,Site,Office'

export const csvOf = (header: string, ...rows: readonly string[]): string =>
  [header, ...rows, ''].join('\r\n')

export const plainCsv = (...keys: readonly string[]): string => csvOf('UserPrincipalName', ...keys)

export function formOf(
  file: string | Uint8Array<ArrayBuffer> | null,
  fields: Readonly<Record<string, string>> = {},
): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  if (file !== null) form.append('file', new Blob([file], { type: 'text/csv' }), 'people.csv')
  return form
}

/** Each function tells how to take back what it changed. */
export const answerWithInverse: Worker = ({ functionName }) => {
  const undo = { functionName: `Undo-${functionName}`, parameters: { IfStill: { Id: 7 } } }
  const effect = { changed: true, target: 'ada', before: { exists: false }, undo }
  return { ok: {}, effect: functionName.startsWith('Undo-') ? { changed: false } : effect }
}
