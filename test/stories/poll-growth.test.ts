// Growth: polls that say the same again and again cost no rows, for as long as they are polled. Rows grow with what changes.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { runbook, step } from './looking.ts'
import { historyOf } from './timeline.ts'
import { type Answer, type Job, story, type World } from './world.ts'

const MEMBERS = 2
const INTERVAL_SEC = 900
/** The 20th says something new, the 40th is complete. The benchmark `growth` measures 10,000 members. */
const CHANGE = 20
const POLLS = 40

const pollOf = ({ jobId }: Job): number => Number(/-poll-(\d+)/.exec(jobId)?.[1] ?? 0)
const says = (Status: string, more: Record<string, number> = {}): Answer => ({
  ok: { complete: false, data: { Status, ...more } },
})

/** Rows of every table, after what is remembered for minutes only is gone. */
async function rowsByTable({ db, clock, bus }: World): Promise<Record<string, number>> {
  await bus.sweep()
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables
      where table_schema = current_schema() and table_type = 'BASE TABLE' order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const where = name === 'message_ids' ? `where seen_at < '${clock.now().toISOString()}'` : ''
    const rows = await db.query<{ count: number }>(
      `select count(*)::int as count from "${name}" ${where}`,
    )
    counts[name] = rows[0]!.count
  }
  return counts
}

async function begin(world: World, answer: (job: Job) => Answer): Promise<void> {
  world.answer = (job) => {
    // A story keeps its jobs: these are not needed.
    world.jobs.length = 0
    return answer(job)
  }
  const poll = `poll: { interval: ${INTERVAL_SEC}s, timeout: 14d }`
  await world.publish(runbook('wave', { 'cutover T-0': [step('move', poll)] }))
  await world.batch('wave', MEMBERS)
  await world.settle()
}

async function poll(world: World, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await world.pass(INTERVAL_SEC)
}

it('grows by what changes, not by polls', () =>
  story({}, async (world) => {
    // The percentage differs at every poll and is no news.
    await begin(world, (job) => {
      const number = pollOf(job)
      if (number === POLLS) return { ok: { complete: true, data: { Status: 'Completed' } } }
      return says(number < CHANGE ? 'Syncing' : 'Synced', { PercentComplete: number })
    })
    await poll(world, 1)
    const before = await rowsByTable(world)
    await poll(world, CHANGE - 2)
    assert.deepEqual(await rowsByTable(world), before, 'polls that say the same')
    await poll(world, 1)
    const changed = {
      ...before,
      attempts: before.attempts! + MEMBERS,
      events: before.events! + MEMBERS,
    }
    assert.deepEqual(await rowsByTable(world), changed, 'one that says something else')
    await poll(world, POLLS - CHANGE - 1)
    assert.deepEqual(await rowsByTable(world), changed)
    const [row] = await world.db.query(
      `select status, poll_count as polls, poll_changes as changes, poll_said as said, last_polled_at = $1 as is_now
         from step_executions where id = 1`,
      [world.clock.now()],
    )
    assert.deepEqual(row, {
      status: 'polling',
      polls: POLLS - 1,
      changes: 2,
      isNow: true,
      said: `Status: Synced, PercentComplete: ${POLLS - 1}`,
    })
    await poll(world, 1)
    assert.deepEqual(await historyOf(world, 1), [
      "dispatch: the member's next step in phase cutover, sent to w1",
      'incomplete: the worker reported "not complete"',
      'incomplete: the worker reported "not complete"',
      'succeed: the worker reported success',
    ])
    const attempts = await world.db.query<{ poll: number; outcome: string }>(
      'select poll, outcome from attempts where step_id = 1 order by id',
    )
    assert.deepEqual(
      attempts.map(({ poll, outcome }) => `${poll} ${outcome}`),
      ['0 incomplete', `${CHANGE} incomplete`, `${POLLS} succeeded`],
    )
  }))
