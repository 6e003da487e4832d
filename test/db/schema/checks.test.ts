// CHECKs and partial indexes repeat statuses and status sets of the table of transitions, and tie each status to its times; columns
// repeat the lists of counters. These tests compare both sides.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { batchCounters, PHASE_COUNTERS } from '../../../src/db/state/counters.ts'
import {
  BATCH_TRANSITIONS,
  ENDED_BATCH_STATUSES,
  type Entity,
  OPEN_PHASE_STATUSES,
  OPEN_STEP_STATUSES,
  PHASE_TRANSITIONS,
  SENT_STEP_STATUSES,
  STARTED_PHASE_STATUSES,
  STATUSES,
  TRANSITIONS,
  UNFINISHED_BATCH_STATUSES,
} from '../../../src/domain/state/transitions.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'

const TABLES: Record<Entity, string> = {
  step: 'step_executions',
  member: 'batch_members',
  phase: 'phase_executions',
  batch: 'batches',
}
const AT = `'2026-03-02T08:00:00Z'`

let test: TestDatabase

/** A row that is right in every column but those given. */
const BATCH = {
  runbook_id: 1,
  runbook_name: `'r'`,
  runbook_version: 1,
  is_manual: true,
  created_by: `'x'`,
  detected_at: AT,
}
const MEMBER = {
  batch_id: 1,
  member_key: `'k'`,
  key_folded: `'k'`,
  data_json: `'{}'`,
  data_hash: `'h'`,
  added_at: AT,
}
const PHASE = {
  batch_id: 1,
  phase_name: `'p'`,
  phase_index: 0,
  offset_minutes: 0,
  runbook_version: 1,
}
const STEP = {
  batch_id: 1,
  kind: `'phase'`,
  phase_execution_id: 1,
  batch_member_id: 1,
  runbook_version: 1,
  step_name: `'s'`,
  step_index: 0,
  worker_id: `'w1'`,
  is_poll_step: true,
  poll_interval_sec: 1,
  poll_timeout_sec: 2,
  max_retries: 0,
  retry_interval_sec: 0,
  retry_backoff: `'fixed'`,
  timeout_sec: 1,
}
const SENT = { job_id: `'step-1'`, function_name: `'F'`, dispatched_at: AT, deadline_at: AT }
const POLLED = { ...SENT, poll_started_at: AT, poll_timeout_at: AT }
const REMOVED = { removed_at: AT, removed_by: `'source'` }
const BEGUN = { dispatched_at: AT, expanded_at: AT }
const ENDED = { completed_at: AT }

type Row = Readonly<Record<string, string | number | boolean>>

/** The columns each status needs and refuses: one missing, or one too many, fails a CHECK. */
const TIED: Record<Entity, Record<string, { needs: Row; refuses: Row }>> = {
  step: {
    pending: { needs: {}, refuses: ENDED },
    dispatched: { needs: SENT, refuses: { ...ENDED, retry_after: AT } },
    polling: { needs: POLLED, refuses: { ...ENDED, retry_after: AT } },
    succeeded: { needs: ENDED, refuses: { retry_after: AT } },
    failed: { needs: ENDED, refuses: { retry_after: AT } },
    poll_timeout: { needs: ENDED, refuses: { retry_after: AT } },
    rolled_back: { needs: ENDED, refuses: { retry_after: AT } },
    undone: { needs: ENDED, refuses: { retry_after: AT } },
    cancelled: { needs: ENDED, refuses: { retry_after: AT } },
    skipped: { needs: ENDED, refuses: { retry_after: AT } },
  },
  member: {
    active: { needs: {}, refuses: { ...REMOVED, failed_at: AT } },
    failed: { needs: { failed_at: AT }, refuses: REMOVED },
    removed: { needs: REMOVED, refuses: {} },
  },
  phase: {
    pending: { needs: {}, refuses: { ...ENDED, expanded_at: AT, skipped_because: `'empty'` } },
    dispatched: { needs: { dispatched_at: AT }, refuses: { ...ENDED, skipped_because: `'empty'` } },
    completed: { needs: { ...BEGUN, ...ENDED }, refuses: { skipped_because: `'empty'` } },
    failed: { needs: { ...BEGUN, ...ENDED }, refuses: { skipped_because: `'empty'` } },
    skipped: { needs: { ...ENDED, skipped_because: `'overdue'` }, refuses: { expanded_at: AT } },
    superseded: { needs: ENDED, refuses: { skipped_because: `'empty'` } },
    cancelled: { needs: ENDED, refuses: { skipped_because: `'empty'` } },
  },
  batch: {
    detected: { needs: {}, refuses: { ended_at: AT, held_at: AT, failed_in_init: true } },
    init_dispatched: { needs: { init_dispatched_at: AT }, refuses: { ended_at: AT } },
    active: { needs: { activated_at: AT }, refuses: { ended_at: AT, failed_in_init: true } },
    completed: { needs: { activated_at: AT, ended_at: AT }, refuses: { failed_in_init: true } },
    failed: { needs: { ended_at: AT }, refuses: { held_by: `'x'` } },
    cancelled: { needs: { ended_at: AT }, refuses: { failed_in_init: true } },
  },
}
/** The sets that CHECKs and partial indexes repeat. */
const SETS: Record<Entity, readonly (readonly string[])[]> = {
  step: [OPEN_STEP_STATUSES, SENT_STEP_STATUSES],
  member: [],
  phase: [
    OPEN_PHASE_STATUSES,
    STARTED_PHASE_STATUSES,
    [PHASE_TRANSITIONS.complete.to, PHASE_TRANSITIONS.fail.to],
  ],
  batch: [
    UNFINISHED_BATCH_STATUSES,
    ENDED_BATCH_STATUSES,
    [BATCH_TRANSITIONS.activate.to, BATCH_TRANSITIONS.complete.to],
  ],
}
const ROWS: Record<Entity, Row> = { step: STEP, member: MEMBER, phase: PHASE, batch: BATCH }

/** False when a CHECK refuses the row. It is never kept. */
async function isTaken(entity: Entity, status: string, more: Row): Promise<boolean> {
  const row: Row = { ...ROWS[entity], ...more, status: `'${status}'` }
  const insert = `insert into ${TABLES[entity]} (${Object.keys(row)}) values (${Object.values(row)})`
  try {
    await test.db.transaction(async (tx) => {
      await tx.script(insert)
      throw new Error('taken')
    })
  } catch (error) {
    if (error instanceof Error && error.message === 'taken') return true
    assert.equal((error as { code?: string }).code, '23514', `${insert}: ${String(error)}`)
  }
  return false
}

const without = (row: Row, key: string): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => name !== key))

describe('checks', () => {
  before(async () => {
    test = await openTestPglite()
    // Foreign keys are not under test.
    await test.db.script('set session_replication_role = replica')
  })
  after(() => test.close())

  for (const entity of Object.keys(TRANSITIONS) as Entity[]) {
    it(`a ${entity} has exactly the statuses of the table of transitions`, async () => {
      const [check] = await test.db.query<{ definition: string }>(
        `select pg_get_constraintdef(oid) as definition from pg_constraint
          where conrelid = $1::regclass and contype = 'c' and conname = $2`,
        [TABLES[entity], `${TABLES[entity]}_status_check`],
      )
      const listed = [...check!.definition.matchAll(/'(\w+)'::text/g)].map(([, name]) => name!)
      assert.deepEqual(listed.sort(), STATUSES[entity].toSorted())
      assert.deepEqual(Object.keys(TIED[entity]).sort(), STATUSES[entity].toSorted())
    })

    it(`sets of ${entity} statuses are those of the table of transitions`, async () => {
      const rows = await test.db.query<{ sql: string }>(
        `select pg_get_constraintdef(oid) as sql from pg_constraint where conrelid = $1::regclass and contype = 'c'
         union all
         select pg_get_expr(indpred, indrelid) from pg_index where indrelid = $1::regclass and indpred is not null`,
        [TABLES[entity]],
      )
      const repeated = rows.flatMap(({ sql }) =>
        [...sql.matchAll(/\(status (?:= ANY|<> ALL) \(ARRAY\[([^\]]*)\]/g)].map(([, list]) =>
          [...list!.matchAll(/'(\w+)'/g)].map(([, status]) => status!),
        ),
      )
      const sorted = (sets: readonly (readonly string[])[]) =>
        [...new Set(sets.map((set) => set.toSorted().join(' ')))].sort()
      assert.deepEqual(sorted(repeated), sorted([STATUSES[entity], ...SETS[entity]]))
    })

    for (const [status, { needs, refuses }] of Object.entries(TIED[entity])) {
      it(`a ${entity} that is ${status} has exactly its times`, async () => {
        assert.ok(await isTaken(entity, status, needs), 'refused with all it needs')
        for (const key of Object.keys(needs)) {
          assert.ok(!(await isTaken(entity, status, without(needs, key))), `taken without ${key}`)
        }
        for (const [key, value] of Object.entries(refuses)) {
          assert.ok(
            !(await isTaken(entity, status, { ...needs, [key]: value })),
            `taken with ${key}`,
          )
        }
      })
    }
  }

  it('phases and batches have a column for every counter', async () => {
    const countersIn = async (table: string) => {
      const rows = await test.db.query<{ name: string }>(
        `select column_name as name from information_schema.columns
          where table_name = $1 and column_name ~ '^(steps|members)_|_open$'`,
        [table],
      )
      return rows.map(({ name }) => name).sort()
    }
    assert.deepEqual(await countersIn('phase_executions'), [...PHASE_COUNTERS].sort())
    assert.deepEqual(await countersIn('batches'), batchCounters.map(([, name]) => name).sort())
  })

  it('a poll step has both intervals, and a step of each kind its owners', async () => {
    const wrong: Row[] = [
      { is_poll_step: false },
      { poll_timeout_sec: 'null' },
      { poll_interval_sec: 3 },
      { poll_started_at: AT },
      { retry_count: 1 },
      { kind: `'init'` },
      { kind: `'rollback'` },
      { kind: `'removal'` },
      { batch_member_id: 'null' },
      { phase_execution_id: 'null' },
      { origin_step_id: 1 },
      { removal_number: 1 },
    ]
    assert.ok(await isTaken('step', 'pending', {}))
    for (const row of wrong)
      assert.ok(!(await isTaken('step', 'pending', row)), JSON.stringify(row))
  })
})
