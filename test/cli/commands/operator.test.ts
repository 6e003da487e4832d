// Operator commands besides batches: reviews, dead letters, sources and doctor.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { type Programme, range, row, startProgramme, wave } from '../../stories/programme.ts'
import { people } from '../../stories/world.ts'
import { type Cli, nowhere, openCli, setEnv } from '../against-api.ts'
import type { RecordingOptions } from '../recording-io.ts'

const WHY = ['--reason', 'because']

/** Ten members in one wave, five of which then leave the source. */
async function openWave(): Promise<{ cli: Cli; world: Programme }> {
  const cli = await openCli()
  const world = await startProgramme(cli.api.world)
  await world.tick([...wave(40, ...range(1, 10)), row(90, 'no time')])
  await world.tick(wave(40, ...range(6, 10)))
  await world.tick()
  return { cli, world }
}

const reviewIdsOf = async (cli: Cli, ...list: string[]) =>
  (await cli.json<{ reviews: { id: number }[] }>(...list)).reviews.map(({ id }) => String(id))

describe('review', () => {
  let cli: Cli
  let world: Programme
  before(async () => {
    ;({ cli, world } = await openWave())
  })
  after(() => cli.close())
  const idsOf = (kind: string) => reviewIdsOf(cli, 'review', 'list', '--kind', kind)
  const review = (...args: string[]) => cli.cli('review', ...args)

  it('lists, tries, approves and dismisses removals', async () => {
    const [one, two, ...others] = await idsOf('removal')
    assert.equal(others.length, 3)
    assert.match(
      (await review('list', '--runbook', 'wave')).out,
      /^ID +KIND +RUNBOOK +BATCH.*\n *\d+ +removal +wave/,
    )
    const dry = await cli.json('review', 'approve', one!, two!, ...WHY, '--dry-run')
    assert.deepEqual([dry.isDryRun, dry.doneCount], [true, 2])
    const ids = [one!, two!]
    const unsure = await cli.person({ answers: ['n'] }, 'review', 'approve', ...ids, ...WHY)
    assert.match(unsure.err, /^Remove 2 people from batch 1: /)
    const asked = await cli.person(
      { answers: ['y'] },
      'review',
      'approve',
      ...ids,
      '--kind',
      'removal',
      ...WHY,
    )
    assert.match(
      asked.err,
      /^Remove 2 people from batch 1: user1@contoso\.example, user2@contoso\.example\?\n/,
    )
    assert.match(asked.out, /^Done: Remove 2 people from batch 1: /)
    for (const scope of [[], ['--runbook', 'wave']]) {
      const unsaid = await review('approve', '--all', ...scope, ...WHY)
      assert.deepEqual([unsaid.exit, /Name the ids.*--kind/.test(unsaid.err)], [EXIT.usage, true])
    }
    const unsaid = await review('dismiss', '--all', ...WHY)
    assert.deepEqual([unsaid.exit, /Name the ids/.test(unsaid.err)], [EXIT.usage, true])
    const rest = await review('dismiss', '--all', '--runbook', 'wave', ...WHY, '--yes')
    assert.match(rest.out, /^Done: Keep 3 people in batch 1: /)
    assert.match((await review('list')).out, /^Nothing needs a decision\./)
    assert.match((await review('list', '--kind', 'removal')).out, /^No removals need a decision\./)
    const gone = await review('approve', one!, ...WHY, '--yes')
    assert.deepEqual([gone.exit, /\(REVIEW_CHANGED\)/.test(gone.err)], [EXIT.conflict, true])
    assert.equal((await review('list', '--kind', 'join')).exit, EXIT.usage)
  })

  it('needs a choice when a whole wave has a new date', async () => {
    await world.tick(wave(64, ...range(1, 10)))
    const ids = await idsOf('move')
    assert.ok(ids.length > 0)
    const open = await review('approve', ...ids, ...WHY, '--yes')
    assert.deepEqual(
      [open.exit, /whole wave of batch 1 has a new date/.test(open.err)],
      [EXIT.conflict, true],
    )
    const wrong = await review('approve', ...ids, '--choice', 'perhaps', ...WHY, '--yes')
    assert.equal(wrong.exit, EXIT.usage)
    const moved = await cli.json(
      'review',
      'approve',
      ...ids,
      '--choice',
      'reschedule',
      ...WHY,
      '--yes',
    )
    assert.equal(moved.doneCount, ids.length)
  })

  it('admits latecomers or leaves them out', async () => {
    await world.tickUntil(66, 6)
    await world.tick(wave(64, ...range(1, 13)))
    const [first, second, ...others] = await idsOf('latecomer')
    assert.ok(others.length > 0)
    assert.equal((await cli.json('review', 'approve', first!, ...WHY, '--yes')).doneCount, 1)
    assert.equal((await cli.json('review', 'dismiss', second!, ...WHY, '--yes')).doneCount, 1)
    assert.deepEqual(await idsOf('latecomer'), others)
    const kind = ['--kind', 'removal']
    const other = await review('approve', others[0]!, ...kind, ...WHY, '--yes')
    assert.deepEqual(
      [other.exit, /is a join, not a removal/.test(other.err)],
      [EXIT.conflict, true],
    )
  })

  it('lists ticks and issues of a source', async () => {
    await world.tick([...wave(64, ...range(1, 13)), row(90, 'no time')])
    assert.match((await cli.cli('source', 'list', 'wave', '--issues')).out, /user90@.*no time/)
    assert.match(
      (await cli.cli('source', 'list', 'wave', '--ticks', '--limit', '1')).out,
      /\n *\d+ .* good +\d+/,
    )
    assert.equal((await cli.cli('source', 'list', 'nowhere', '--issues')).exit, EXIT.notFound)
    await world.tick(new Error('The source is away.'))
    const stale = await cli.cli('source', 'list', 'wave', '--issues')
    assert.match(stale.out, /user90@.*no time/)
    assert.match(stale.err, /^warning: the last tick failed: .*away/)
  })
})

describe('what waits for a person', () => {
  let cli: Cli
  let world: Programme
  before(async () => {
    cli = await openCli()
    world = await startProgramme(cli.api.world)
    await world.tick([...wave(40, ...range(1, 10)), ...wave(60, ...range(11, 20))])
  })
  after(() => cli.close())

  it('shows nothing while nothing waits', async () => {
    const { out } = await cli.cli('batch', 'list')
    assert.doesNotMatch(out, /matoolkit/)
    assert.match((await cli.cli('doctor')).out, /\ndecisions +ok +nothing waits for a person/)
  })

  it('shows removals, moves, rows left out and dead letters with commands that work', async () => {
    const moved = [...wave(70, ...range(11, 15)), ...wave(80, ...range(16, 20))]
    const rows = [...wave(40, ...range(6, 10)), ...moved, row(99, 'no time')]
    await world.tick(rows)
    await world.tick(rows)
    await world.result({ jobId: 'unknown' }, { ok: 1 })
    await world.bus.deadLetter(await world.bus.receive(WORKER_RESULTS, 10), 'Unreadable', 'odd')
    const { out } = await cli.cli('batch', 'list')
    assert.match(out, /^ID .* NEEDS *\n/)
    assert.match(out, /\n *1 .* 5 removals *\n/)
    assert.match(out, /\n *2 .* 10 moves *\n/)
    assert.match(
      out,
      /\n5 removals of batch 1 need your decision: matoolkit review list --kind removal --batch 1\n/,
    )
    assert.match(
      out,
      /\n5 of 10 people of batch 2 now have cut-over .* in the source, not .*: matoolkit review list --kind move --batch 2 --to \S+\n/,
    )
    assert.match(
      out,
      /\nThe last tick of wave left out 1 row: matoolkit source list wave --issues\n/,
    )
    assert.match(
      out,
      /\n1 message on worker-results could not be handled: matoolkit deadletters list\n/,
    )
    const { needs } = (
      await cli.api.call<{ needs: { kind: string; command: string; decide: string[] }[] }>(
        'GET',
        '/api/needs',
      )
    ).body
    const waiting = needs.filter(({ kind }) => kind !== 'batch_held')
    assert.equal(waiting.length, 5)
    const { out: checks } = await cli.cli('doctor')
    for (const { command, decide } of waiting) {
      for (const shown of [command, ...decide]) assert.ok(checks.includes(shown), shown)
      const listed = await cli.cli(...command.split(' ').slice(1))
      assert.equal(listed.exit, EXIT.ok, listed.err)
      for (const line of decide) {
        const tried = await cli.cli(...line.split(' ').slice(1), ...WHY, '--dry-run')
        assert.equal(tried.exit, EXIT.ok, tried.err)
        assert.match(tried.out, /^Would do: (?:Remove|Keep|Move) .*5 people/)
      }
    }
    const scoped = await cli.cli('batch', 'list', '--runbook', 'other')
    assert.doesNotMatch(scoped.out, /matoolkit/)
  })

  it('shows a failing source until a good tick', async () => {
    await world.tick(new Error('the server is away'))
    const failing =
      /\nThe source of wave fails: .*the server is away: matoolkit query preview wave\n/
    assert.match((await cli.cli('batch', 'list')).out, failing)
    await world.tick(wave(40, ...range(1, 10)))
    assert.doesNotMatch((await cli.cli('batch', 'list')).out, failing)
  })
})

describe('a wave with a wrong date', () => {
  let cli: Cli
  let world: Programme
  before(async () => {
    cli = await openCli()
    world = await startProgramme(cli.api.world)
    await world.tick(wave(40, ...range(1, 6)))
    await world.tick(wave(-4, ...range(1, 6)))
  })
  after(() => cli.close())
  const all = ['review', 'approve', '--all', '--kind', 'move', '--batch', '1']
  const reschedule = [...all, '--choice', 'reschedule', ...WHY]

  it('is listed with both dates and starts nothing, however it is approved', async () => {
    assert.match((await cli.cli('review', 'list')).out, /^ID .* FROM +TO .*\n.* 04 Mar .* 02 Mar /)
    for (const choice of ['reschedule', 'move']) {
      const refused = await cli.person({ answers: [] }, ...all, '--choice', choice, ...WHY)
      assert.deepEqual([refused.exit, refused.out, refused.asked], [EXIT.conflict, '', []])
      assert.match(
        refused.err,
        /phase cutover \(overdue since .*\) starts at once for 6 people: switch\n/,
      )
      assert.match(refused.err, /Correct the time, or allow it: --allow-overdue .*OVERDUE\)\n$/)
    }
    await world.tick()
    assert.equal(world.jobs.length, 0)
  })

  it('is moved when that is allowed and confirmed, or when the source is corrected', async () => {
    const unsure = await cli.person({ answers: ['n'] }, ...reschedule, '--allow-overdue')
    assert.match(
      unsure.err,
      /\nMove batch 1 \(6 people\) from Wed 04 Mar 2026 00:00 UTC to Mon 02 Mar 2026 04:00 UTC\?\n/,
    )
    await world.tick()
    assert.equal(world.jobs.length, 0)
    await world.tick(wave(64, ...range(1, 6)))
    const done = await cli.person({ answers: ['y'] }, ...reschedule)
    assert.match(
      done.out,
      /^Done: Move batch 1 \(6 people\) from .* to Thu 05 Mar 2026 00:00 UTC\.\n/,
    )
    assert.equal(done.err.includes('at once'), false)
    await world.tick()
    assert.equal(world.jobs.length, 0)
  })
})

describe('members with numeric keys', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    await cli.api.world.publish(plain())
    // Their ids are 1, 2 and 3.
    const file = cli.file('people.csv', plainCsv('2', '9', '3000'))
    await cli.json('batch', 'create', 'plain', file)
  })
  after(() => cli.close())
  const keyOf = async (who: string) =>
    (await cli.json<{ member: { memberKey: string } }>('member', 'show', '1', who)).member.memberKey

  it('are found by key or id, and refused when ambiguous', async () => {
    assert.equal(await keyOf('1'), '2')
    assert.equal(await keyOf('9'), '9')
    assert.equal(await keyOf('3000'), '3000')
    const both = await cli.cli('batch', 'remove-member', '1', '2', ...WHY, '--yes')
    assert.equal(both.exit, EXIT.usage)
    assert.match(both.err, /2 is the id of one member of batch 1 and the key of another: use id:2/)
    assert.equal(await keyOf('id:2'), '9')
    assert.equal(await keyOf('key:2'), '2')
    assert.equal((await cli.cli('member', 'show', '1', '4711')).exit, EXIT.notFound)
    assert.equal((await cli.cli('member', 'show', '1', 'key:1')).exit, EXIT.notFound)
    const asked = await cli.person({ answers: ['left', 'n'] }, 'batch', 'remove-member', '1', '1')
    assert.match(asked.err, /^1 person will be removed: 2\.\nTheir open steps are cancelled/)
  })

  it('get no variable that hides a built-in one or their key', async () => {
    for (const set of ['_batch_id=7', 'UserPrincipalName=9']) {
      const tried = ['batch', 'set-variable', '1', '--member', '3000', '--set', set]
      const refused = await cli.cli(...tried, ...WHY, '--yes')
      assert.equal(refused.exit, EXIT.usage)
      const name = set.split('=')[0]!
      assert.match(
        refused.err,
        new RegExp(`The variable "${name}" cannot be set: .*Choose another`),
      )
    }
  })
})

describe('batch reschedule', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    await cli.api.world.publish(plain())
    const members = people(2)
    await cli.api.world.batch('plain', members, { startsInMin: 6_000 })
  })
  after(() => cli.close())
  const reschedule = (...args: string[]) => cli.cli('batch', 'reschedule', '1', ...args, ...WHY)

  it('tries and sets a start, and refuses when phases would start at once', async () => {
    const later = '2026-03-20T08:00:00Z'
    assert.match((await reschedule(later, '--dry-run')).out, /Dry run: nothing was changed/)
    assert.doesNotMatch((await cli.cli('batch', 'get', '1')).out, /2026-03-20/)
    assert.match(
      (await reschedule(later)).out,
      /start +Fri 20 Mar 2026 08:00 UTC\n[\s\S]*prepare +Thu 19 Mar 2026 08:00 UTC/,
    )
    const soon = '2026-03-02T09:00:00Z'
    const refused = await reschedule(soon)
    assert.deepEqual(
      [refused.exit, /\(WOULD_BE_OVERDUE\)/.test(refused.err)],
      [EXIT.conflict, true],
    )
    assert.match(refused.err, /^warning: Batch 1: phase prepare \(overdue since /)
    const meant = await reschedule(soon, '--allow-overdue')
    assert.match(
      meant.err,
      /^warning: Batch 1: phase prepare \(overdue since Sun 01 Mar 2026 09:00 UTC\) starts at once for 2 people: create\n$/,
    )
    const unread = await reschedule('tomorrow')
    assert.deepEqual([unread.exit, unread.out], [EXIT.usage, ''])
    assert.match(unread.err, /^matoolkit: Invalid time "tomorrow"\. Use \+2h, -30m, 22:30, /)
  })

  it('takes times as people type them, says them back and asks', async () => {
    const startOf = async () =>
      (await cli.json<{ batch: { batchStartTime: string } }>('batch', 'get', '1')).batch
        .batchStartTime
    const asked = async (answer: string, ...args: string[]) =>
      cli.person(
        { answers: [answer], zone: 'Europe/Berlin', now: new Date('2026-03-02T07:00:00Z') },
        'batch',
        'reschedule',
        '1',
        ...args,
        ...WHY,
      )
    await cli.api.world.orchestrate()
    const unsure = await asked('n', '+2h')
    assert.notEqual(unsure.exit, EXIT.ok)
    assert.match(unsure.err, /Move batch 1 \(2 people\) from 10:00 CET to 12:00 CET\?\n/)
    assert.equal(await startOf(), '2026-03-02T09:00:00.000Z')
    assert.equal((await asked('y', '+2h')).exit, EXIT.ok)
    assert.equal(await startOf(), '2026-03-02T11:00:00.000Z')
    assert.equal((await asked('y', '-30m')).exit, EXIT.ok)
    assert.equal(await startOf(), '2026-03-02T10:30:00.000Z')
    assert.equal((await asked('y', '22:30')).exit, EXIT.ok)
    assert.equal(await startOf(), '2026-03-02T21:30:00.000Z')
    assert.equal((await asked('y', '2026-03-20 08:00', '--zone', 'America/New_York')).exit, EXIT.ok)
    assert.equal(await startOf(), '2026-03-20T12:00:00.000Z')
    assert.equal((await asked('y', '2026-03-20 08:00', '--zone', 'runbook')).exit, EXIT.ok)
    assert.equal(await startOf(), '2026-03-20T08:00:00.000Z')
    const twice = await asked('y', '2026-10-25 02:30')
    assert.deepEqual([twice.exit, twice.asked], [EXIT.usage, []])
    assert.match(twice.err, /exists twice in Europe\/Berlin.* Say 2026-10-25T02:30:00\+02:00/)
    assert.equal(await startOf(), '2026-03-20T08:00:00.000Z')
    await reschedule('2026-03-02T09:00:00Z', '--allow-overdue')
  })

  it('shows times in the zone of the viewer, of the runbook or a named one, and UTC in JSON', async () => {
    const get = (zone: string | null, more: RecordingOptions = {}) =>
      cli.person(more, 'batch', 'get', '1', ...(zone ? ['--zone', zone] : []))
    const start = async (zone: string | null, more: RecordingOptions = {}) =>
      /start +(.*)/.exec((await get(zone, more)).out)?.[1]
    const here = { zone: 'Europe/Berlin', now: new Date('2026-03-02T01:00:00Z') }
    assert.equal(await start(null, here), '10:00 CET')
    assert.equal(await start('local', here), '10:00 CET')
    assert.equal(await start('utc', here), '09:00 UTC')
    assert.equal(await start('America/New_York', here), 'Mon 02 Mar 04:00 EST')
    assert.equal(await start('runbook', here), '09:00 UTC')
    setEnv({ MATOOLKIT_ZONE: 'runbook' })
    assert.equal(await start(null, here), '09:00 UTC')
    assert.equal((await cli.cli('batch', 'list')).exit, EXIT.ok)
    setEnv({ MATOOLKIT_ZONE: undefined })
    const { batch } = await cli.json<{ batch: { batchStartTime: string } }>('batch', 'get', '1')
    assert.equal(batch.batchStartTime, '2026-03-02T09:00:00.000Z')
    const unknown = await get('Mars/Olympus')
    assert.deepEqual([unknown.exit, unknown.out], [EXIT.usage, ''])
    assert.match(unknown.err, /"Mars\/Olympus" is not a time zone\. Use local, utc, runbook or/)
    const without = await cli.cli('batch', 'list', '--zone', 'runbook')
    assert.deepEqual([without.exit, without.out], [EXIT.usage, ''])
  })
})

describe('dead letters and doctor', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
    const { bus } = cli.api.world
    for (const body of ['first', 'second']) {
      await cli.api.world.result({ jobId: `job-${body}` }, { ok: body })
    }
    const taken = await bus.receive(WORKER_RESULTS, 10)
    await bus.deadLetter(taken, 'Unreadable', 'nobody knows what it says')
  })
  after(() => cli.close())

  it('are listed, shown, replayed and discarded', async () => {
    const { out } = await cli.cli('deadletters', 'list')
    assert.match(out, /worker-results +orchestrator .*nobody knows what it says/)
    const { deadLetters } = await cli.json<{ deadLetters: { id: string }[] }>(
      'deadletters',
      'list',
      '--topic',
      'worker-results',
    )
    const [first, second] = deadLetters.map(({ id }) => id)
    assert.match((await cli.cli('deadletters', 'list', first!)).out, /body +\{.*job-first/)
    assert.match(
      (await cli.cli('deadletters', 'replay', first!, ...WHY, '--yes')).out,
      /sent as +\S/,
    )
    assert.equal((await cli.cli('deadletters', 'discard', second!, ...WHY, '--yes')).exit, EXIT.ok)
    const twice = await cli.cli('deadletters', 'discard', second!, ...WHY, '--yes')
    assert.equal(twice.exit, EXIT.conflict, twice.err)
    assert.match((await cli.cli('deadletters', 'list')).out, /^No dead letters\./)
    assert.equal((await cli.cli('deadletters', 'list', '--worker', 'w1')).exit, EXIT.ok)
  })

  it('doctor passes, or says what to do', async () => {
    const well = await cli.cli('doctor')
    assert.equal(well.exit, EXIT.ok, well.out)
    assert.match(well.out, /\ndatabase +ok[\s\S]*\nsign-in +ok[\s\S]*\nworker w1 +ok/)
    const away = await cli.cli('doctor', '--api-url', await nowhere())
    assert.equal(away.exit, EXIT.failed)
    assert.match(away.out, /\nAPI +failed .*\n\nAPI: .*\n {2}Start it with "matoolkit up"/)
    process.env.MATOOLKIT_TOKEN = 'nobody'
    const nobody = await cli.cli('doctor', '--output', 'json')
    process.env.MATOOLKIT_TOKEN = cli.api.token
    const { isOk, checks } = JSON.parse(nobody.out) as {
      isOk: boolean
      checks: { name: string; state: string }[]
    }
    assert.deepEqual(
      [isOk, checks.find(({ name }) => name === 'sign-in')?.state],
      [false, 'failed'],
    )
  })
})
