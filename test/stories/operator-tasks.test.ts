// One night of an operator, with the commands that the operator types: tasks and questions in the order of the night, in one
// world. Each task also checks what must not have happened.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { batchOf, calls, runbook, step } from './looking.ts'
import { people, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-1h': [step('create', 'on_failure: undo'), step('licence'), step('archive')],
    'cutover T-0': [step('switch')],
  },
  `on_member_removed: [${step('clean')}]\nrollbacks: { undo: [${step('undo')}] }`,
)
const TONIGHT = '1'
const TOMORROW = '2'
const WHY = ['--reason', 'as agreed']
const YES = [...WHY, '--yes']
const HOUR = 3_600

const key = (number: number): string => `user${number}@contoso.example`

describe('an operator’s night', () => {
  let cli: Cli
  let world: World
  /** Members without a licence and without an archive. */
  const noLicence = new Set([2, 3])
  const noArchive = new Set([4, 5, 6])

  /** 08:00: 12 people move at 10:00, two tomorrow at 10:00. At 09:00 the first phase runs and five people fail. */
  before(async () => {
    cli = await openCli()
    world = cli.api.world
    world.answer = ({ functionName, parameters }) => {
      const number = Number(/\d+/.exec(String(parameters.Upn)))
      if (functionName === 'licence' && noLicence.has(number)) return { fail: 'no licence left' }
      if (functionName === 'archive' && noArchive.has(number)) return { fail: 'has no archive' }
      return { ok: {} }
    }
    await world.publish(YAML)
    await world.batch('wave', 12, { startsInMin: 120 })
    await world.batch('wave', people(14).slice(12), { startsInMin: 26 * 60 })
    await world.pass(HOUR)
  })
  after(() => cli.close())

  const run = async (...args: string[]): Promise<string> => {
    const { exit, out, err } = await cli.cli(...args)
    assert.equal(exit, EXIT.ok, `${args.join(' ')}: ${err}`)
    return out
  }
  /** The jobs of `act` and of everything that follows at once, sorted. */
  const jobsOf = async (act: () => Promise<unknown>): Promise<string[]> => {
    const before = world.jobs.length
    await act()
    await world.settle()
    return calls(world, before).sort()
  }
  const keysOf = async (batchId: string, status: string): Promise<string[]> => {
    const { members } = await cli.json<{ members: { memberKey: string }[] }>(
      'batch',
      'members',
      batchId,
      '--status',
      status,
    )
    return members.map(({ memberKey }) => memberKey).sort()
  }

  it('is somebody needed: status says so first, names the people and the next command', async () => {
    const { exit, out } = await cli.cli('status')
    assert.equal(exit, EXIT.needed)
    assert.match(out, /^Action needed: /)
    assert.match(out, /licence.*\n +user2@\S+, user3@\S+\n +matoolkit /)
    assert.doesNotMatch(out, /user1@|user7@/)
  })

  it('what comes next and when: each wave with its next phase, time and people', async () => {
    const { out } = await cli.cli('status')
    assert.match(out, /1 +wave +cutover +.*10:00 UTC +in 1h, 7 people/)
    assert.match(out, /2 +wave +prepare +.*09:00 UTC +in 1d, 2 people/)
    assert.doesNotMatch(out, /2 +wave +cutover/)
  })

  it('who is where now: every person with what it waits for', async () => {
    const out = await run('batch', 'members', TONIGHT)
    assert.match(out, /user1@\S+ +preparing +.*waits for phase cutover at .*10:00 UTC/)
    assert.match(out, /user4@\S+ +failed +prepare +archive/)
    assert.doesNotMatch(out, /done|cut over|user13@/)
  })

  it('what failed and why: groups by cause, and how to retry', async () => {
    const out = await run('failures', TONIGHT)
    assert.match(out, /\n *3 +user4@\S+ user5@\S+ user6@\S+ +prepare +archive .*has no archive/)
    assert.match(out, /\n *2 +user2@\S+ user3@\S+ +prepare +licence .*no licence left/)
    assert.doesNotMatch(out, /cutover|create/)
  })

  it('retry one kind: the licence failures run again, the archive failures do not', async () => {
    const retry = ['batch', 'retry', TONIGHT, '--failed-step', 'licence', '--error', 'no licence']
    assert.deepEqual(await jobsOf(() => run(...retry, '--dry-run')), [])
    noLicence.clear()
    const jobs = await jobsOf(async () => {
      assert.match(await run(...retry, ...YES), /^2 people were retried: user2@.*, user3@/)
    })
    assert.deepEqual(jobs, ['archive user2', 'archive user3', 'licence user2', 'licence user3'])
    assert.deepEqual(await keysOf(TONIGHT, 'failed'), [key(4), key(5), key(6)])
  })

  it('skip for three: the step is not sent again, and nobody else skips anything', async () => {
    const members = [4, 5, 6].map(key).join(',')
    const jobs = await jobsOf(() => run('batch', 'skip', TONIGHT, '--members', members, ...YES))
    assert.deepEqual(jobs, [])
    assert.deepEqual(await keysOf(TONIGHT, 'failed'), [])
    const { steps } = await cli.json<{ steps: { memberKey: string; stepName: string }[] }>(
      'batch',
      'steps',
      TONIGHT,
      '--status',
      'skipped',
    )
    assert.deepEqual(
      steps.map(({ memberKey, stepName }) => `${memberKey} ${stepName}`).sort(),
      [4, 5, 6].map((number) => `${key(number)} archive`),
    )
  })

  it('exclude two: their removal steps run, and nobody else leaves', async () => {
    const jobs = await jobsOf(() => run('batch', 'remove-member', TONIGHT, key(7), key(8), ...YES))
    assert.deepEqual(jobs, ['clean user7', 'clean user8'])
    assert.deepEqual(await keysOf(TONIGHT, 'removed'), [key(7), key(8)])
  })

  it('exclude two: one wrong name changes nobody', async () => {
    const jobs = await jobsOf(async () => {
      const wrong = await cli.cli('batch', 'remove-member', TONIGHT, key(1), key(99), ...YES)
      assert.notEqual(wrong.exit, EXIT.ok)
      assert.match(wrong.err, /user99@contoso\.example/)
    })
    assert.deepEqual([jobs, await keysOf(TONIGHT, 'removed')], [[], [key(7), key(8)]])
  })

  it('take one out of tonight: the person moves with passed steps, and nothing is cleaned up', async () => {
    const move = ['batch', 'move-member', TONIGHT, key(9), '--to', TOMORROW]
    assert.deepEqual(await jobsOf(() => run(...move, ...YES)), [])
    assert.deepEqual(await keysOf(TOMORROW, 'active'), [key(13), key(14), key(9)].sort())
    const shown = await run('member', 'show', TOMORROW, key(9))
    for (const name of ['create', 'licence', 'archive']) {
      assert.match(shown, new RegExp(` ${name} +succeeded`))
    }
  })

  it('where is this one person: found in both waves by key, nobody else is shown', async () => {
    const out = await run('member', 'find', key(9))
    assert.match(
      out,
      /user9@\S+ +User 9 +2 +wave .*scheduled .*waits for phase prepare at .*09:00 UTC/,
    )
    assert.match(out, /user9@\S+ +User 9 +1 +wave .*moved to batch 2/)
    assert.doesNotMatch(out, /user(?!9@)\d+@|removed/)
    assert.equal((await cli.cli('member', 'find', 'nobody@fabrikam.example')).exit, EXIT.notFound)
  })

  it('readd: the removed person starts over, the other one stays out', async () => {
    const jobs = await jobsOf(async () => {
      await run('batch', 'readd-member', TONIGHT, key(7), ...YES)
    })
    assert.deepEqual(jobs, ['archive user7', 'create user7', 'licence user7'])
    const removed = await keysOf(TONIGHT, 'removed')
    assert.ok(removed.includes(key(8)) && !removed.includes(key(7)))
  })

  it('move by two hours: nothing starts at the old time', async () => {
    const jobs = await jobsOf(async () => {
      await run('batch', 'reschedule', TONIGHT, '+2h', ...YES)
      const out = await run('batch', 'get', TONIGHT)
      assert.match(out, /cutover +Mon 02 Mar 2026 12:00 UTC +pending/)
      await world.pass(2 * HOUR)
    })
    assert.deepEqual(jobs, [])
    assert.match(await run('batch', 'get', TOMORROW), /start +Tue 03 Mar 2026 10:00 UTC/)
  })

  it('what if I publish: the impact is shown, and nothing is published', async () => {
    const file = cli.file('next.yaml', YAML.replace('offset: T-0', 'offset: T+30m'))
    const jobs = await jobsOf(async () => {
      const out = await run('runbook', 'publish', file, '--dry-run')
      assert.match(out, /2 running batches with 13 active members/)
      assert.match(out, /\nBatch \d+ \(\d+ people(?:, held)?\), from version 1:\n/)
      assert.match(out, /\n {2}cutover (?:runs|stays as it is)/)
      assert.match(out, /\n(?:Nothing starts|Starts) at once/)
    })
    assert.deepEqual(jobs, [])
    const { versions } = await cli.json<{ versions: unknown[] }>('runbook', 'versions', 'wave')
    assert.equal(versions.length, 1)
  })

  it('stop everything: the cut-over time passes, nothing is sent, and no batch changes', async () => {
    const jobs = await jobsOf(async () => {
      await run('hold', '--all', ...WHY)
      await world.pass(1.5 * HOUR)
    })
    assert.deepEqual(jobs, [])
    assert.match(await run('hold', 'list'), /as agreed/)
    const shown = await run('batch', 'get', TONIGHT)
    assert.match(shown, /cutover .* pending/)
    assert.match(shown, /\ncutover waits: the whole system is held by .*"matoolkit resume --all"/)
    assert.doesNotMatch(await run('batch', 'phases', TOMORROW), / waits?: /, 'its time is to come')
    assert.equal((await batchOf(world, Number(TONIGHT))).active, 10)
  })

  it('resume: everybody of tonight switches once, and nobody of tomorrow', async () => {
    const tried = await jobsOf(async () => {
      const { err } = await cli.cli('resume', '--all', ...WHY, '--dry-run')
      assert.match(
        err,
        /Batch 1: phase cutover \(overdue since .*\) starts at once for 10 people: switch\n/,
      )
      assert.doesNotMatch(err, /Batch 2/)
    })
    assert.deepEqual(tried, [])
    const jobs = await jobsOf(() => run('resume', '--all', ...YES))
    const tonight = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12]
    assert.deepEqual(jobs, tonight.map((number) => `switch user${number}`).sort())
    const { status, failed } = await batchOf(world, Number(TONIGHT))
    assert.deepEqual([status, failed], ['completed', 0])
  })

  it('roll back one who succeeded: the dry run lists the steps, and only this person is rolled back', async () => {
    const rollback = ['batch', 'rollback', TONIGHT, key(1)]
    const tried = await jobsOf(async () => {
      assert.match(await run(...rollback, '--dry-run'), /undo/)
    })
    assert.deepEqual(tried, [])
    assert.deepEqual(await jobsOf(() => run(...rollback, ...YES)), ['undo user1'])
    assert.deepEqual(await keysOf(TONIGHT, 'failed'), [key(1)])
  })

  it('what is stuck: a silent worker is named, and nothing of an ended batch', async () => {
    world.workers = []
    await world.pass(24 * HOUR)
    const out = await run('status', TOMORROW)
    assert.match(out, /worker w1 was last seen at/)
    assert.doesNotMatch(await run('status', TONIGHT), /worker w1/)
    for (const verb of ['get', 'phases']) {
      assert.match(
        await run('batch', verb, TOMORROW),
        /\nprepare, cutover wait: worker w1 was last seen at/,
      )
      assert.doesNotMatch(await run('batch', verb, TONIGHT), / waits?: /)
    }
    world.workers = ['w1']
    await world.settle()
    assert.equal((await batchOf(world, Number(TOMORROW))).status, 'completed')
  })

  it('what happened to this person: every step and decision, in order, and nobody else’s', async () => {
    const out = await run('events', TOMORROW, '--member', key(9), '--oldest')
    assert.match(out, /moved .*batch/)
    assert.doesNotMatch(out, /user(?!9@)\d+@/)
  })

  it('who did what: one audit row per change with its reason, none for what was only tried', async () => {
    const doneTo = async (subject: string) => {
      const { entries } = await cli.json<{ entries: { action: string; reason: string | null }[] }>(
        'audit',
        'list',
        '--subject',
        subject,
      )
      for (const { reason } of entries) assert.equal(reason, 'as agreed')
      return entries.map(({ action }) => action).reverse()
    }
    const changes = ['retry', 'skip', 'remove', 'move', 'readd'].map((verb) => `members.${verb}`)
    assert.deepEqual(await doneTo(`batch ${TONIGHT}`), [
      ...changes,
      'batch.reschedule',
      'members.rollback',
    ])
    assert.deepEqual(await doneTo('system'), ['hold.set', 'hold.end'])
    assert.deepEqual(await doneTo('runbook wave'), [])
  })

  it('export for the customer: one line per person, with state, and nobody of another wave', async () => {
    const csv = await run('batch', 'export', TONIGHT, '--format', 'csv', '--file', '-')
    const lines = csv.trim().split('\n').slice(1)
    assert.equal(lines.length, 12)
    assert.equal(lines.filter((line) => /,done,/.test(line)).length, 9)
    assert.match(csv, /user1@contoso\.example,.*,rolled back,.*rolled back by hand: as agreed/)
    assert.match(csv, /user8@contoso\.example,.*,removed,/)
    assert.match(csv, /user9@contoso\.example,.*,moved to batch 2,.*,2\n/)
    const { entries } = await cli.json<{ entries: { actorName: string }[] }>('audit', 'list')
    for (const { actorName } of entries)
      assert.ok(!csv.includes(`by ${actorName}`), 'who did it is internal')
    assert.doesNotMatch(csv, /user1[34]@/)
  })
})
