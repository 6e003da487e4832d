// A wave through its night, as it is said on the command line and given to the dashboard: scheduled, preparing, cutting over, cut over,
// done. Then the nights that do not go well. Another wave is there all the time, and nothing is said about it.
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { type StateCounts, statesText } from '../../src/domain/state/person-state.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { assertStatesAgree } from '../kit/person-states.ts'
import { runbook, step } from './looking.ts'
import { people, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-1h': [step('create')],
    'cutover T-0': [step('switch', 'on_failure: back'), step('notify')],
    'aftercare T+1d': [step('check')],
  },
  `rollbacks: { back: [${step('switch-back')}] }`,
)
const TONIGHT = '1'
const HOUR = 3_600
const DAY = 24 * HOUR
const person = (number: number): string => `user${number}@contoso.example`
const key = ({ parameters }: { parameters: unknown }): string => JSON.stringify(parameters)
const isOf = (numbers: readonly number[], job: { parameters: unknown }): boolean =>
  numbers.some((number) => key(job).includes(person(number)))

interface Wall {
  batches: { batch: { id: number; state: string; members: StateCounts & { total: number } } }[]
}

describe('a wave of twelve', () => {
  let cli: Cli
  let world: World
  const begin = async () => {
    cli = await openCli()
    world = cli.api.world
    await world.publish(YAML)
    await world.batch('wave', people(12), { startsInMin: 120 })
    const next = people(20).slice(12)
    await world.batch('wave', next, { startsInMin: 7 * 24 * 60 })
  }
  const end = async () => {
    await assertStatesAgree(world.db)
    // Nothing was said or done about the wave of next week.
    const { members } = (await batchOf('2'))!
    assert.deepEqual([members.scheduled, members.total], [8, 8])
    assert.ok(world.jobs.every((job) => !/user(1[3-9]|20)@/.test(key(job))))
    await cli.close()
  }
  const batchOf = async (id: string) => {
    // Walls within one second share an answer.
    await world.clock.advance(1_500)
    const wall = await cli.api.call<Wall>('GET', '/api/now')
    return wall.body.batches.find(({ batch }) => String(batch.id) === id)?.batch
  }
  /** The same sentence in the list and on the page of the command line, and in what the dashboard shows. */
  const says = async (headline: string, state: string) => {
    const batch = (await batchOf(TONIGHT))!
    assert.equal(statesText(batch.members), headline)
    assert.equal(batch.state, state)
    const page = await cli.cli('batch', 'get', TONIGHT)
    assert.ok(page.out.includes(`  ${headline}\n`), page.out)
    const list = await cli.cli('batch', 'list')
    assert.ok(list.out.includes(headline), list.out)
    await assertStatesAgree(world.db)
  }

  describe('in a perfect night', () => {
    before(begin)
    after(end)

    it('is scheduled before its first phase', () => says('12 scheduled', 'scheduled'))

    it('prepares, and waits for T-0 prepared', async () => {
      await world.clock.advance(HOUR * 1_000)
      await world.orchestrate()
      await says('12 preparing', 'preparing')
      await world.settle()
      await says('12 preparing', 'preparing')
      assert.doesNotMatch((await cli.cli('batch', 'list')).out, /cut over|done/)
    })

    it('cuts over person by person', async () => {
      await world.clock.advance(HOUR * 1_000)
      await world.orchestrate()
      await says('0 of 12 cut over, 12 cutting over', 'cutting_over')
      world.answer = (job) =>
        job.functionName === 'notify' && isOf([10, 11, 12], job) ? 'silent' : { ok: true }
      await world.settle()
      await says('9 of 12 cut over, 3 cutting over', 'cutting_over')
      const out = (await cli.cli('batch', 'members', TONIGHT, '--state', 'cutting-over')).out
      assert.match(out, /user12@/)
      assert.doesNotMatch(out, /user1@/)
    })

    it('is cut over, days before its aftercare: nobody calls that 0 migrated', async () => {
      world.answer = () => ({ ok: true })
      for (const job of world.jobs
        .filter(({ functionName }) => functionName === 'notify')
        .slice(-3))
        await world.result(job, { ok: true })
      await world.settle()
      await says('12 cut over', 'cut_over')
      const { out } = await cli.cli('batch', 'members', TONIGHT)
      assert.match(out, /user1@\S+ +cut over +.*waits for phase aftercare/)
      const report = await cli.cli('batch', 'export', TONIGHT, '--format', 'html', '--file', '-')
      assert.match(report.out, /12 cut over\. The batch is active\./)
    })

    it('is done after its last phase', async () => {
      await world.pass(DAY)
      await says('12 done', 'done')
      assert.doesNotMatch((await cli.cli('batch', 'get', TONIGHT)).out, /cut over|failed/)
    })
  })

  describe('in a night with trouble', () => {
    before(begin)
    after(end)
    afterEach(() => assertStatesAgree(world.db))
    const YES = ['--reason', 'as agreed', '--yes'] as const

    it('counts who failed in preparing, and the others continue', async () => {
      world.answer = (job) =>
        job.functionName === 'create' && isOf([4, 5], job) ? { fail: 'no licence' } : { ok: true }
      await world.pass(HOUR)
      await says('10 preparing, 2 failed', 'preparing')
    })

    it('lets somebody go, and does not count them', async () => {
      assert.equal((await cli.cli('batch', 'remove-member', TONIGHT, person(6), ...YES)).exit, 0)
      await world.settle()
      await says('9 preparing, 2 failed, 1 removed', 'preparing')
    })

    it('tells who was rolled back from who failed', async () => {
      world.answer = (job) => {
        if (job.functionName === 'switch' && isOf([7, 8], job)) return { fail: 'on hold' }
        return job.functionName === 'switch-back' && isOf([8], job) ? { fail: 'no' } : { ok: true }
      }
      await world.pass(HOUR)
      await says('7 of 11 cut over, 3 failed, 1 rolled back, 1 removed', 'cut_over')
      const { out } = await cli.cli('batch', 'members', TONIGHT, '--state', 'rolled-back')
      assert.match(out, /user7@\S+ +rolled back +.*failed in cutover \/ switch, rolled back/)
      assert.doesNotMatch(out, /user8@|user4@/)
    })

    it('lists who has still to be cut over in all waves, and makes a file of them', async () => {
      const left = await cli.cli('member', 'find', '--not-moved')
      assert.match(left.out, /user4@\S+ +User 4 +1 .* failed /)
      assert.match(left.out, /user20@\S+ +User 20 +2 .* scheduled /)
      assert.equal(left.out.match(/@contoso/g)!.length, 4 + 8)
      assert.doesNotMatch(left.out, /user(1|2|3|6|9|10|11|12)@/)
      const csv = await cli.cli(
        'member',
        'find',
        '--not-moved',
        '--runbook',
        'wave',
        '--output',
        'csv',
      )
      assert.match(csv.out, /^MEMBER,NAME,DEPARTMENT,BATCH,RUNBOOK,CUT-OVER,STATE,/)
      assert.equal(csv.out.trimEnd().split('\n').length, 1 + 12)
      const done = await cli.cli('member', 'find', '--state', 'done,stopped')
      assert.equal(done.out, 'No one matches.\n')
    })

    it('a late joiner is not cut over with the others', async () => {
      world.answer = () => 'silent'
      await addMembers(world.engine, 1, people(21).slice(20), 'operator')
      await world.orchestrate()
      const batch = (await batchOf(TONIGHT))!
      assert.equal(batch.members.cut_over, 7)
      assert.equal(batch.members.total, 13)
    })

    it('a retry leads through the same states', async () => {
      world.answer = () => ({ ok: true })
      const { exit, err } = await cli.cli('batch', 'retry', TONIGHT, '--members', person(4), ...YES)
      assert.equal(exit, 0, err)
      await world.settle()
      assert.ok((await batchOf(TONIGHT))!.members.cut_over >= 8)
    })

    it('cancelled, it stops nobody who is cut over', async () => {
      const before = (await batchOf(TONIGHT))!.members
      assert.equal((await cli.cli('batch', 'cancel', TONIGHT, ...YES)).exit, 0)
      await world.settle()
      const { members, state } = (await batchOf(TONIGHT))!
      assert.deepEqual([state, members.cut_over], ['stopped', before.cut_over])
      assert.equal(members.stopped, before.cutting_over + before.preparing)
    })
  })
})
