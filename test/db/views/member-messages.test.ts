// The messages to members of a large batch: every page is read along an index, whatever is asked for, and nobody is missed.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Db, Queryable } from '../../../src/db/connection/db.ts'
import {
  countByStep,
  countMemberMessages,
  listMemberMessages,
  type MessageFilter,
} from '../../../src/db/views/member-messages.ts'
import { openTestPostgres } from '../../kit/databases.ts'

const MEMBERS = 10_000
const SENT_START = new Date('2026-04-01T00:00:00Z')
const SENDING = [
  { phaseName: 'announce', stepName: 'tell', message: 'notice' },
  { phaseName: 'remind', stepName: 'remind', message: 'notice' },
]

/** All were told by the first step and reminded by the second, but the last ten; the last has failed. */
const fill = (db: Db) =>
  db.script(`do $$ begin
    set local session_replication_role = replica;
    insert into phase_executions (batch_id, phase_name, phase_index, offset_minutes, runbook_version, status, dispatched_at)
    select 1, name, 0, 0, 1, 'dispatched', '2026-03-01' from unnest(array['announce', 'remind']) as name;
    insert into batch_members (batch_id, member_key, key_folded, data_json, data_hash, status, added_at, failed_at)
    select 1, 'm' || i, 'm' || i, '{}', '', case when i < ${MEMBERS} then 'active' else 'failed' end, '2026-01-01',
           case when i = ${MEMBERS} then '2026-01-01'::timestamptz end
      from generate_series(1, ${MEMBERS}) as i;
    insert into step_executions (batch_id, kind, phase_execution_id, batch_member_id, runbook_version, step_name, step_index, worker_id,
      is_poll_step, max_retries, retry_interval_sec, retry_backoff, timeout_sec, status, completed_at, function_name)
    select 1, 'phase', phase, i, 1, case phase when 1 then 'tell' else 'remind' end, 0, 'w1', false, 0, 0, 'fixed', 60, 'succeeded',
           '2026-01-01', 'Send-Message'
      from generate_series(1, ${MEMBERS}) as i cross join generate_series(1, 2) as phase where phase = 1 or i <= ${MEMBERS - 10};
    insert into sent_messages (batch_id, batch_member_id, step_id, phase_name, step_name, attempt, message, language, recipient,
      start_time, is_current, sent_at)
    select 1, batch_member_id, id, case phase_execution_id when 1 then 'announce' else 'remind' end, step_name, 0, 'notice', 'en', '',
           '${SENT_START.toISOString()}', phase_execution_id = 2 or batch_member_id > ${MEMBERS - 10}, '2026-03-01'
      from step_executions;
  end $$`)

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Actual Rows': number
  readonly Plans?: readonly Node[]
}
const nodesOf = (node: Node): Node[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

it('reads a page along an index, and all lists together are complete', async () => {
  const test = await openTestPostgres()
  await fill(test.db)
  await test.db.script('vacuum analyze')
  const plans: { sql: string; nodes: Node[] }[] = []
  const db: Queryable = {
    query: async (sql, values) => {
      const [row] = await test.db.query(`explain (analyze, format json) ${sql}`, values)
      plans.push({ sql, nodes: nodesOf((Object.values(row!)[0] as { Plan: Node }[])[0]!.Plan) })
      return test.db.query(sql, values)
    },
  }
  const count = (filter: MessageFilter, correctTo = SENT_START) =>
    countMemberMessages(test.db, { id: 1, correctTo }, filter, SENDING, MEMBERS * 3)
  assert.equal(await count({}), 2 * MEMBERS - 10)
  assert.equal(await count({ state: 'not_sent' }), 9)
  assert.equal(await count({ state: 'correction_owed' }), 0)
  // The failed member was told, and is owed nothing.
  const later = new Date('2026-05-01T00:00:00Z')
  assert.equal(await count({ state: 'correction_owed' }, later), MEMBERS - 1)
  assert.equal(await count({ state: 'sent' }, later), MEMBERS - 9)
  assert.deepEqual(await countByStep(test.db, { id: 1, correctTo: SENT_START }, SENDING), [
    { place: 1, sent: MEMBERS - 1, failed: 0 },
    { place: 2, sent: MEMBERS - 10, failed: 0 },
  ])
  // By key, the messages of the batch are joined with its members: a tenth of a second for 100,000.
  for (const sort of ['id', 'id_latest'] as const)
    for (const state of [undefined, 'sent', 'correction_owed', 'failed'] as const) {
      const page = { sort, after: { value: 'm5', id: MEMBERS }, limit: 101 }
      await listMemberMessages(db, { id: 1, correctTo: SENT_START }, { state }, SENDING, page)
    }
  const page = { sort: 'id', after: null, limit: 101 } as const
  assert.equal(
    (await listMemberMessages(db, { id: 1, correctTo: SENT_START }, { memberId: 5 }, SENDING, page))
      .length,
    2,
  )
  for (const { sql, nodes } of plans) {
    const whole = nodes.filter(
      (node) => node['Node Type'] === 'Seq Scan' && LARGE.includes(node['Relation Name'] ?? ''),
    )
    assert.deepEqual(whole, [], sql)
  }
  // Nobody is left out, and nothing is looked up once for every other row.
  const coming = { ...page, sort: 'id_latest', limit: 5 } as const
  const found = await listMemberMessages(
    db,
    { id: 1, correctTo: SENT_START },
    { state: 'not_sent' },
    SENDING,
    coming,
  )
  assert.deepEqual(
    found.map(({ memberKey, stepName }) => `${memberKey} ${stepName}`),
    [1, 2, 3, 4, 5].map((n) => `m${MEMBERS - n} remind`),
  )
  const read = plans
    .slice(-2)
    .flatMap(({ nodes }) => nodes)
    .reduce((most, node) => Math.max(most, node['Actual Rows'] * node['Actual Loops']), 0)
  assert.ok(read <= 4 * MEMBERS, `${read} rows`)
  await test.close()
})

const LARGE = ['sent_messages', 'batch_members', 'step_executions']
