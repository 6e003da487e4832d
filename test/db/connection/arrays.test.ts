// Rows as array parameters, and bulk inserts of steps: every row once, each with its values.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { kindParams, lineParam, unnestRows } from '../../../src/db/connection/arrays.ts'
import { insertPhaseSteps } from '../../../src/db/state/steps.ts'
import type { StepDefinition } from '../../../src/domain/state/facts.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 10, minute))

describe('kindParams', () => {
  it('gives each row its kind and each kind its values once', () => {
    const rows = [
      { worker: 'w"1', at: at(0), count: null },
      { worker: 'w2', at: at(0), count: 3 },
      { worker: 'w"1', at: at(0), count: null },
      { worker: 'w"1', at: at(1), count: null },
    ]
    const found = kindParams(
      rows,
      (row) => row.worker,
      (row) => row.at,
      (row) => row.count,
    )
    assert.deepEqual(found, [
      '{1,2,1,3}',
      '{"w\\"1","w2","w\\"1"}',
      '{"2026-03-01T10:00:00.000Z","2026-03-01T10:00:00.000Z","2026-03-01T10:01:00.000Z"}',
      '{null,3,null}',
    ])
  })
})

const plan = (stepName: string, stepIndex: number): StepDefinition => ({
  runbookVersion: 1,
  stepName,
  stepIndex,
  workerId: 'w1',
  onFailure: null,
  pollIntervalSec: null,
  pollTimeoutSec: null,
  maxRetries: 0,
  retryIntervalSec: 0,
  retryBackoff: 'fixed',
  retryMaxIntervalSec: null,
  timeoutSec: 60,
})

for (const { kind, open } of DATABASES) {
  describe(`array parameters on ${kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await open()
    })
    after(() => test.close())

    it('unnests every row, also when the only text is null', async () => {
      const table = unnestRows({ id: '$1::int[]', text: `string_to_array($2, E'\\n', '')` })
      const rows = (texts: (string | null)[]) =>
        test.db.query(`select id, text from ${table} as t`, [
          texts.map((_, i) => i),
          lineParam(texts, (text) => text),
        ])
      assert.deepEqual(await rows([null]), [{ id: 0, text: null }])
      assert.deepEqual(await rows([null, '{}', null]), [
        { id: 0, text: null },
        { id: 1, text: '{}' },
        { id: 2, text: null },
      ])
    })

    it('inserts missing steps and none twice', async () => {
      const write = (memberIds: number[], ...plans: StepDefinition[]) =>
        test.db.transaction(async (tx) => {
          const { ids } = await insertPhaseSteps(tx, [{ batchId: 1, phaseId: 1, memberIds }], plans)
          return ids
        })
      assert.equal((await write([11, 12, 11], plan('create', 0))).length, 2)
      assert.equal((await write([11, 12, 13], plan('Create', 0), plan('tag', 1))).length, 4)
      assert.deepEqual(await write([11, 12, 13], plan('create', 0), plan('tag', 1)), [])
      const rows = await test.db.query(
        `select batch_member_id as member, string_agg(step_name, ' ' order by step_index) as steps
           from step_executions group by 1 order by 1`,
      )
      assert.deepEqual(rows, [
        { member: 11, steps: 'create tag' },
        { member: 12, steps: 'create tag' },
        { member: 13, steps: 'Create tag' },
      ])
    })
  })
}
