// Kept query plans must be right for tables of any size, so they are checked as of when they are first kept: every statement of such a
// transaction is explained with the tables that small, and all others empty.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Db, Tx } from '../../../src/db/connection/db.ts'
import { keepQueryPlans, LEAST_BYTES } from '../../../src/db/connection/query-plans.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { runbook, step } from '../../stories/looking.ts'
import { openWorld, people } from '../../stories/world.ts'

/** The database, and the statements that it ran with kept plans. */
function watching(db: Db): { db: Db; statements: Set<string> } {
  const statements = new Set<string>()
  const transaction: Db['transaction'] = (work) =>
    db.transaction((tx) => {
      let isKept = false
      const note = (sql: string) => {
        if (isKept) statements.add(sql)
        isKept ||= sql.includes('force_generic_plan')
      }
      return work({
        ...tx,
        query: (sql, values) => {
          note(sql)
          return tx.query(sql, values)
        },
        change: (sql, values) => {
          note(sql)
          return tx.change(sql, values)
        },
      })
    })
  return { db: { ...db, transaction }, statements }
}

interface Node {
  readonly 'Node Type': string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Node[]
}

/** True if it reads all of a table or an index. */
const isWholeScan = (node: Node): boolean =>
  node['Node Type'] === 'Seq Scan' ||
  (/^(Bitmap )?Index( Only)? Scan$/.test(node['Node Type']) && node['Index Cond'] === undefined)

const isWideJoin = (node: Node): boolean => /^(Hash|Merge) Join$/.test(node['Node Type'])

/** Parts of the plan whose cost grows with the tables. */
const wideNodes = (node: Node): Node[] => [
  ...(isWholeScan(node) || isWideJoin(node) ? [node] : []),
  ...(node.Plans ?? []).flatMap(wideNodes),
]

/** PostgreSQL plans no command that only locks. */
const isPlanned = (sql: string): boolean => !/^lock table /i.test(sql.trim())

async function planOf(tx: Tx, sql: string): Promise<Node> {
  const count = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place)))
  const nulls = count > 0 ? `(${Array(count).fill('null').join(', ')})` : ''
  await tx.script(`prepare kept as ${sql}`)
  const [row] = await tx.query(`explain (format json) execute kept${nulls}`)
  await tx.script('deallocate kept')
  const [explained] = Object.values(row!) as [{ Plan: Node }[]]
  return explained![0]!.Plan
}

async function planMode(tx: Tx): Promise<string> {
  const [row] = await tx.query<{ mode: string }>(
    `select current_setting('plan_cache_mode') as mode`,
  )
  return row!.mode
}

/** As few rows as when plans are first kept, all known to the planner. Every other table is empty. */
async function grow(db: Db): Promise<void> {
  const { batch_members, step_executions } = LEAST_BYTES
  await db.script(`do $$ begin
    set local session_replication_role = replica;
    while pg_relation_size('batch_members') < ${batch_members} loop
      insert into batch_members (batch_id, member_key, key_folded, data_json, data_hash, status, added_at)
      select 1, key, key, '{}', '', 'active', '2026-01-01'
        from (select 'm' || i + (select count(*) from batch_members) as key from generate_series(1, 50) as i) as m;
    end loop;
    while pg_relation_size('step_executions') < ${step_executions} loop
      insert into step_executions (batch_id, kind, phase_execution_id, batch_member_id, runbook_version, step_name, step_index,
        worker_id, is_poll_step, max_retries, retry_interval_sec, retry_backoff, timeout_sec)
      select 1, 'phase', 1, i + (select count(*) from step_executions), 1, 'create', 0, 'w1', false, 0, 0, 'fixed', 60
        from generate_series(1, 50) as i;
    end loop;
  end $$`)
  await db.script('vacuum analyze')
}

it('a chunk looks up single rows with plans made as soon as they are kept', async () => {
  const database = await openTestPostgres()
  const { db, statements } = watching(database.db)
  const world = await openWorld({ database: { ...database, db }, maxOutstanding: 3 })
  const [create, tag, go] = [step('create'), step('tag'), step('go')]
  await world.publish(runbook('wave', { 'prepare T-1h': [create, tag], 'move T-0': [go] }))
  await world.batch('wave', people(5), { startsInMin: 60 })
  await world.settle()
  await world.clock.advance(3_600_000)
  await world.settle()
  await world.close()
  assert.ok(statements.size > 15, `${statements.size} statements`)
  const small = await openTestPostgres()
  await grow(small.db)
  await small.db.transaction(async (tx) => {
    await keepQueryPlans(tx)
    assert.equal(await planMode(tx), 'force_generic_plan')
    for (const sql of [...statements].filter(isPlanned))
      assert.deepEqual(wideNodes(await planOf(tx, sql)), [], sql)
  })
  await small.close()
})

it('plans every statement again while the growing tables are small', async () => {
  const empty = await openTestPostgres()
  await empty.db.transaction(async (tx) => {
    await keepQueryPlans(tx)
    assert.equal(await planMode(tx), 'force_custom_plan')
  })
  await empty.close()
})
