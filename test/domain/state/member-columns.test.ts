import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { memberColumns, SAMPLE_KEY, templateOf } from '../../../src/domain/state/member-columns.ts'

const YAML = `
name: columns
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: CutoverDate
  time_zone: UTC
  columns: [Upn, CutoverDate, Mail, Aliases, Action, Site, Office, OtherId, Nick, Groups]
  multi_valued_columns:
    - { name: Aliases, format: semicolon_delimited }
    - { name: Groups, format: json_array }
init: [{ name: setup, worker_id: w, function: F, output_params: { Share: share } }]
phases:
  - name: one
    offset: T-1d
    steps:
      - { name: a, worker_id: w, function: "{{Action}}", params: { A: "{{Upn}} of {{_batch_id}}", B: ["{{Mail}}", { C: "{{Share}}" }] }, output_params: { Id: id } }
      - { name: b, worker_id: w, function: F, params: { Id: "{{Id}}" }, on_failure: back }
on_member_removed: [{ name: c, worker_id: w, function: F, params: { S: "{{Site}}" } }]
rollbacks: { back: [{ name: d, worker_id: w, function: F, params: { O: "{{Office}}" } }] }
`
const { runbook } = readRunbook(YAML)

describe('the columns of a member file', () => {
  it('are needed when a step uses them and none sets them', () => {
    assert.ok(runbook)
    const { needed, known, primaryKey } = memberColumns(runbook)
    assert.equal(primaryKey, 'Upn')
    assert.deepEqual(needed, ['Upn', 'Action', 'Mail', 'Site', 'Office', 'Aliases', 'Groups'])
    for (const name of ['CutoverDate', 'OtherId', 'Nick']) assert.ok(known.includes(name), name)
  })

  it('appear in the template with a sample row', () => {
    const { header, sample } = templateOf(runbook!)
    const shown = Object.fromEntries(header.map((name, at) => [name, sample[at]]))
    assert.deepEqual(shown, {
      Upn: SAMPLE_KEY,
      CutoverDate: '2030-03-01T20:00:00Z',
      Mail: 'someone@example.com',
      Aliases: 'value1;value2;value3',
      Action: 'sample value',
      Site: 'sample value',
      Office: 'sample value',
      OtherId: 'sample-id-001',
      Nick: 'sample value',
      Groups: '["value1","value2","value3"]',
    })
  })
})
