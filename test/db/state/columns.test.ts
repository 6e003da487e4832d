// The described columns are those of the table, with their types, and all of them are selected.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  BATCH_SELECT,
  CHANGED_BATCH_COLUMNS,
  UNCHANGED_BATCH_COLUMNS,
} from '../../../src/db/state/batch-columns.ts'
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
  boolean: 'bool',
  jsonb: 'jsonb',
  'timestamp with time zone': 'timestamptz',
}

const TABLES = [
  {
    table: 'phase_executions',
    changed: CHANGED_PHASE_COLUMNS,
    unchanged: UNCHANGED_PHASE_COLUMNS,
    select: PHASE_SELECT,
    // Written by the forecast, not by a decision.
    ofOthers: ['forecast_miss'],
  },
  {
    table: 'batches',
    changed: CHANGED_BATCH_COLUMNS,
    unchanged: UNCHANGED_BATCH_COLUMNS,
    select: BATCH_SELECT,
    // Follows from the version, is for lists alone, is raised by itself, or belongs to the purge.
    ofOthers: [
      'runbook_id',
      'source_time',
      'created_by',
      'detected_at',
      'failure_revision',
      'purged_at',
      'pack_file',
      'pack_event_id',
      'rows_purged_at',
    ],
  },
] as const

for (const { table, changed, unchanged, select, ofOthers } of TABLES)
  describe(`the described columns of ${table}`, () => {
    let test: TestDatabase
    let types: ReadonlyMap<string, string | undefined>
    before(async () => {
      test = await DATABASES[0]!.open()
      const found = await test.db.query<{ name: string; type: string }>(
        `select column_name as name, data_type as type from information_schema.columns where table_name = '${table}'`,
      )
      types = new Map(found.map(({ name, type }) => [name, TYPES[type]]))
    })
    after(() => test.close())

    it('are all columns of the table, each once', () => {
      const described = [...unchanged, ...ofOthers, ...changed.map(({ column }) => column)]
      assert.deepEqual(described.sort(), [...types.keys()].sort())
    })

    it('have the types of the table', () => {
      for (const { column, type } of changed) assert.equal(types.get(column), type, column)
    })

    it('are all selected', () => {
      const names = select
        .replaceAll(/array\[|\]::bigint\[\] as counts|to_json\(|\)/g, '')
        .split(', ')
        .map((item) => item.split(' as ')[0])
      const wanted = [...unchanged, ...changed.map(({ column }) => column)]
      assert.deepEqual([...new Set(names)].sort(), wanted.sort())
    })
  })
