// Every dead end has a way out: for each kind, every command that is shown is run, tried first, and ends it; what is not shown is
// refused. The members of a wave share one state, so that each command has a member of its own.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { type ActionName, type Candidate, shownAction } from '../../../src/domain/decide/actions.ts'
import { listCandidates } from '../../../src/engine/orders/actions.ts'
import { cancelBatch, holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import { holdScope } from '../../../src/engine/orders/holds.ts'
import { removeMembers } from '../../../src/engine/orders/member-actions.ts'
import { memberId, order } from '../../stories/looking.ts'
import { people, type World } from '../../stories/world.ts'
import { type Cli, openCli } from '../against-api.ts'

/** Two steps share a rollback, so that after the second one's failure a retry must start with the first. */
const YAML = `
name: wave
data_source: { type: csv, path: people.csv, primary_key: UserPrincipalName, batch_time_column: When, time_zone: UTC }
phases:
  - name: prepare
    offset: T-1h
    steps:
      - { name: create, worker_id: w1, function: create, on_failure: undo }
      - { name: tag, worker_id: w1, function: tag, on_failure: undo }
  - name: cutover
    offset: T-0
    steps: [{ name: switch, worker_id: w1, function: switch, timeout: 10m }]
on_member_removed: [{ name: clean, worker_id: w1, function: clean }]
rollbacks: { undo: [{ name: undo-create, worker_id: w1, function: undo-create }] }
`
const MEMBERS = 9

interface DeadEnd {
  readonly name: string
  /** Functions that fail. */
  readonly failing?: readonly string[]
  /** Minutes until the cut-over; the story runs to its end. */
  readonly startsInMin?: number
  readonly afterwards?: (world: World, batchId: number, ids: readonly number[]) => Promise<void>
  /** The actions that must be shown, in this order. */
  readonly shows: readonly string[]
  /** Those that would help at another time. */
  readonly refuses?: readonly string[]
}

const removeAll =
  (by?: string) =>
  async ({ engine }: World, batchId: number, ids: readonly number[]): Promise<void> => {
    await removeMembers(engine, { ...order(batchId), memberIds: ids, ...(by && { by }) })
  }

const DEAD_ENDS: readonly DeadEnd[] = [
  {
    name: 'a failed step without a rollback',
    failing: ['switch'],
    shows: ['retry', 'skip', 'mark_done', 'roll_back', 'remove'],
  },
  {
    name: 'a failed step whose rollback ran',
    failing: ['tag'],
    shows: ['retry', 'skip', 'mark_done', 'remove'],
  },
  {
    name: 'a failed rollback step',
    failing: ['tag', 'undo-create'],
    shows: ['retry_step', 'skip', 'mark_done', 'retry', 'skip', 'mark_done', 'remove'],
  },
  {
    name: 'a failed removal step',
    failing: ['clean'],
    afterwards: removeAll(),
    shows: ['retry_step', 'skip', 'mark_done', 'readd'],
  },
  {
    name: 'a success that must be rolled back',
    shows: ['roll_back', 'remove'],
    refuses: ['move'],
  },
  { name: 'a person removed by hand', afterwards: removeAll(), shows: ['readd'] },
  { name: 'a person removed by the source', afterwards: removeAll('source'), shows: ['readd'] },
  { name: 'a person in tonight’s wave', startsInMin: 120, shows: ['move', 'remove'] },
  {
    name: 'a failed removal step in a cancelled batch',
    failing: ['clean'],
    startsInMin: 120,
    afterwards: async (world, batchId, ids) => {
      await removeAll()(world, batchId, ids)
      await world.settle()
      await cancelBatch(world.engine, order(batchId))
    },
    shows: ['retry_step', 'skip', 'mark_done'],
    refuses: ['readd'],
  },
  {
    name: 'a failed step in a held batch',
    failing: ['create'],
    startsInMin: 30,
    afterwards: async ({ engine }, batchId) => {
      await holdBatch(engine, order(batchId))
    },
    shows: ['resume', 'retry', 'skip', 'mark_done', 'remove'],
  },
  {
    name: 'a failed step under holds of system, runbook, worker and member',
    failing: ['create'],
    startsInMin: 30,
    afterwards: async ({ engine }, batchId, ids) => {
      const held = { actor: 'operator', reason: 'stop' }
      await holdScope(engine, { scope: 'system', target: '', ...held })
      await holdScope(engine, { scope: 'runbook', target: 'wave', ...held })
      await holdScope(engine, { scope: 'worker', target: 'w1', ...held })
      for (const id of ids) {
        await holdScope(engine, { scope: 'member', target: `${id}`, batchId, ...held })
      }
    },
    shows: [...Array(4).fill('resume'), 'retry', 'skip', 'mark_done', 'remove'],
  },
  {
    name: 'a late success of a failed step',
    failing: ['switch'],
    afterwards: async (world) => {
      const late = world.jobs.filter(({ functionName }) => functionName === 'switch')
      for (const job of late) await world.result(job, { ok: true })
    },
    shows: ['retry', 'skip', 'mark_done', 'accept_late', 'roll_back', 'remove'],
  },
]

/** The status that an action promises. */
const LEADS_TO: Partial<Record<ActionName, string>> = {
  retry: 'active',
  accept_late: 'active',
  readd: 'active',
  remove: 'removed',
  move: 'removed',
  roll_back: 'failed',
}

async function openDeadEnd({ failing = [], startsInMin = 60, afterwards }: DeadEnd) {
  const cli = await openCli()
  const { world } = cli.api
  world.answer = ({ functionName }) =>
    failing.includes(functionName!) ? { fail: 'no licence' } : { ok: true }
  await world.publish(YAML)
  const batchId = await world.batch('wave', MEMBERS, { startsInMin })
  await world.batch('wave', people(MEMBERS + 1).slice(MEMBERS), { startsInMin: 9_000 })
  await world.settle()
  if (startsInMin === 60) await world.pass(3_600)
  const ids = await Promise.all(
    Array.from({ length: MEMBERS }, (_, index) => memberId(world, batchId, index + 1)),
  )
  await afterwards?.(world, batchId, ids)
  await world.settle()
  world.answer = () => ({ ok: true })
  return { cli, world, batchId, ids }
}

const candidatesOf = async ({ engine }: World, batchId: number, member: number) =>
  (await listCandidates(engine, batchId, [member])).get(member)!

const possible = ({ refusal }: Candidate): boolean => refusal === null

const stateOf = async ({ db }: World, batchId: number, member: number): Promise<string> => {
  const rows = await db.query(
    `select m.status, m.moved_to_batch_id as moved, b.held_at is not null as held,
            (select count(*) from holds) as holds,
            (select string_agg(s.step_name || ' ' || s.status, ',' order by s.id)
               from step_executions s where s.batch_member_id = m.id) as steps
       from batch_members m join batches b on b.id = m.batch_id where m.id = $2 and b.id = $1`,
    [batchId, member],
  )
  return JSON.stringify(rows)
}

const run = (cli: Cli, command: string, ...more: string[]) =>
  cli.cli(...command.split(' '), '--reason', 'fixed', ...more)

/** Tries the command and runs it; then the dead end is gone, and the command with it. */
async function leave(
  { cli, world, batchId }: Awaited<ReturnType<typeof openDeadEnd>>,
  member: number,
  { action, command }: Candidate,
): Promise<void> {
  const before = await stateOf(world, batchId, member)
  const tried = await run(cli, command, '--dry-run')
  assert.equal(tried.exit, EXIT.ok, `${command} --dry-run: ${tried.err}`)
  assert.equal(
    await stateOf(world, batchId, member),
    before,
    `${command} --dry-run changes nothing`,
  )
  const yes = command.startsWith('batch resume') ? [] : ['--yes']
  const done = await run(cli, command, ...yes)
  assert.equal(done.exit, EXIT.ok, `${command}: ${done.err}`)
  await world.settle()
  const after = await stateOf(world, batchId, member)
  assert.notEqual(after, before, `${command} leads out`)
  const status = LEADS_TO[action]
  if (status) assert.match(after, new RegExp(`"status":"${status}"`), command)
  const left = (await candidatesOf(world, batchId, member)).filter(possible)
  assert.ok(!left.some((one) => one.command === command), `${command} is no longer needed`)
}

/** What is not shown is refused. */
async function insist(
  { cli, world, batchId }: Awaited<ReturnType<typeof openDeadEnd>>,
  member: number,
): Promise<string[]> {
  const refused = (await candidatesOf(world, batchId, member)).filter((one) => !possible(one))
  for (const { command } of refused) {
    const said = await run(cli, command, '--yes')
    assert.equal(said.exit, EXIT.conflict, `${command}: ${said.err}`)
    assert.match(said.err, /\(REFUSED\)/)
  }
  return refused.map(({ action }) => action)
}

describe('every dead end has a way out:', () => {
  for (const deadEnd of DEAD_ENDS) {
    it(deadEnd.name, async () => {
      const opened = await openDeadEnd(deadEnd)
      const { cli, world, batchId, ids } = opened
      try {
        const shown = (await candidatesOf(world, batchId, ids[0]!)).filter(possible)
        assert.deepEqual(
          shown.map(({ action }) => action),
          deadEnd.shows,
        )
        const { actions } = await cli.json<{ actions: object[] }>(
          'member',
          'show',
          String(batchId),
          `id:${ids[0]}`,
        )
        assert.deepEqual(actions, shown.map(shownAction))
        assert.deepEqual(await insist(opened, ids.at(-1)!), deadEnd.refuses ?? [])
        // The last first: a resume changes the state of all.
        for (const at of shown.keys()) {
          const candidates = await candidatesOf(world, batchId, ids[at]!)
          await leave(opened, ids[at]!, candidates.filter(possible)[shown.length - 1 - at]!)
        }
      } finally {
        await cli.close()
      }
    })
  }
})
