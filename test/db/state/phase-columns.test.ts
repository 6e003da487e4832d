// The described columns of phases are those of the table, with their types.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  CHANGED_PHASE_COLUMNS,
  PHASE_SELECT,
  UNCHANGED_PHASE_COLUMNS,
} from '../../../src/db/state/phase-columns.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'

const TYPES: Readonly<Record<string, string>> = {
  text: 'text',
  integer: 'int',
  bigint: 'bigint',
  'timestamp with time zone': 'timestamptz',
}

describe('the described columns of phases', () => {
  let test: TestDatabase
  before(async () => {
    test = await DATABASES[0]!.open()
  })
  after(() => test.close())

  it('are all columns of the table, each once', async () => {
    const found = await test.db.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = 'phase_executions'`,
    )
    const described = [
      ...UNCHANGED_PHASE_COLUMNS,
      ...CHANGED_PHASE_COLUMNS.map(({ column }) => column),
    ]
    assert.deepEqual(described.sort(), found.map(({ name }) => name).sort())
  })

  it('have the types of the table', async () => {
    const found = await test.db.query<{ name: string; type: string }>(
      `select column_name as name, data_type as type from information_schema.columns where table_name = 'phase_executions'`,
    )
    const types = new Map(found.map(({ name, type }) => [name, TYPES[type]]))
    for (const { column, type } of CHANGED_PHASE_COLUMNS)
      assert.equal(types.get(column), type, column)
  })

  it('are all selected', () => {
    const selected = PHASE_SELECT.replaceAll(/array\[|\]::bigint\[\] as counts/g, '')
      .split(', ')
      .map((item) => item.split(' as ')[0])
    for (const column of [
      ...UNCHANGED_PHASE_COLUMNS.filter((name) => name !== 'forecast_miss'),
      ...CHANGED_PHASE_COLUMNS.map((one) => one.column),
    ])
      assert.ok(
        selected.includes(column === 'ramp_percents' ? `to_json(${column})` : column),
        column,
      )
  })
})
