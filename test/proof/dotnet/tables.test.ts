// An analyst reads the tables with .NET: Npgsql, which nobody here wrote, gets every value that PostgreSQL has.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestPostgres } from '../../kit/databases.ts'
import { runbook, step } from '../../stories/looking.ts'
import { openWorld, people, RETRY, type World } from '../../stories/world.ts'
import { openJudge } from './judge.ts'

interface TableSaid {
  readonly table: string
  readonly rows: number
  /** Of its columns, such as `timestamp with time zone DateTime`. */
  readonly types: readonly string[]
  readonly differs: readonly string[]
}

const ROWS_MIN = 50

/** Some succeed, some fail and are tried again, one has a name that is not Latin, and one is left waiting. */
async function migrate(world: World): Promise<void> {
  world.answer = ({ jobId, functionName }) => {
    if (functionName === 'create' && jobId.endsWith('3')) return { fail: 'busy “😀”' }
    return { ok: { Id: 9_007_199_254_740_991, Name: 'Zoë 李 😀', At: null, Is: [true, 0.1, '\\'] } }
  }
  const phases = { 'prepare T-1h': [step('create', RETRY)], 'cutover T-0': [step('move')] }
  await world.publish(runbook('wave', phases))
  const [first, ...others] = people(12)
  const named = { ...first!, data: { ...first!.data, Name: 'Zoë 李 "😀" \\ \u2028' } }
  await world.batch('wave', [named, ...others], { startsInMin: 60 })
  await world.settle()
  await world.pass(3_600)
  await world.batch('wave', 3, { startsInMin: 6_000 })
  await world.orchestrate()
}

describe('the tables of a migration', () => {
  it('are read by Npgsql: every table, every row, and each value as PostgreSQL has it', async (test) => {
    const judge = await openJudge('tables.cs')
    if ('leftOut' in judge) return test.skip(`left out: ${judge.leftOut}`)
    const database = await openTestPostgres()
    const world = await openWorld({ database })
    await using _ = { [Symbol.asyncDispose]: () => world.close() }
    await migrate(world)
    const { hostname, port, username, pathname } = new URL(database.url!)
    const said = await judge.ask<TableSaid>([
      `Host=${hostname};Port=${port};Username=${username};Database=${pathname.slice(1)}`,
    ])
    assert.deepEqual(
      said.flatMap(({ table, differs }) => differs.map((one) => `${table}.${one}`)),
      [],
    )
    const counts = await Promise.all(
      said.map(async ({ table }) => {
        const [row] = await world.db.query<{ count: number }>(
          `select count(*)::int as count from "${table}"`,
        )
        return [table, row!.count] as const
      }),
    )
    assert.deepEqual(
      said.map(({ table, rows }) => [table, rows]),
      counts,
    )
    assert.ok(counts.length > 30, `${counts.length} tables`)
    const rows = counts.reduce((sum, [, count]) => sum + count, 0)
    assert.ok(rows > ROWS_MIN, `${rows} rows`)
    const types = new Set(said.flatMap((one) => one.types))
    assert.deepEqual(
      [...types].filter((type) => / Object$/.test(type)),
      [],
    )
    assert.ok(types.has('timestamp with time zone DateTime'), [...types].join(', '))
  })
})
