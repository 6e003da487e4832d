// Publishing: versions and numbers, the same text again, dry runs, impact, deactivation; and the automation switch.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { listRunbookVersions } from '../../../src/db/state/runbooks.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { findAutomation, setAutomation } from '../../../src/engine/orders/automation.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import {
  deactivateRunbook,
  publishRunbook,
  requireVersion,
} from '../../../src/engine/orders/publish.ts'
import { RunbookCache } from '../../../src/engine/transactions/runbook-cache.ts'
import { order, runbook, step } from '../../stories/looking.ts'
import { people, START, story, type World } from '../../stories/world.ts'

const PHASES = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
const YAML = runbook('wave', PHASES)

async function versions(world: World): Promise<string[]> {
  const all = await listRunbookVersions(world.db, 'WAVE', { limit: 10 })
  return all.map(({ name, version, isActive, publishedBy }) =>
    [name, version, publishedBy, isActive && 'active'].filter(Boolean).join(' '),
  )
}

async function events({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select actor || ' ' || event || ': ' || because as said from events where entity = 'runbook' order by id`,
  )
  return rows.map(({ said }) => said)
}

it('numbers versions, activates the newest and ignores case in names', () =>
  story({}, async (world) => {
    assert.equal((await world.publish(YAML)).version, 1)
    const second = await world.publish(YAML.replace('name: wave', 'name: WAVE'))
    assert.deepEqual([second.name, second.version, second.isNew], ['WAVE', 2, true])
    assert.deepEqual(await versions(world), ['WAVE 2 author active', 'wave 1 author'])
    assert.deepEqual(await events(world), [
      'author published: version 1 of wave was published with 0 unfinished batches',
      'author published: version 2 of WAVE was published with 0 unfinished batches',
    ])
    const older = await listRunbookVersions(world.db, 'wave', { limit: 5, before: 2 })
    assert.deepEqual(
      older.map(({ version }) => version),
      [1],
    )
  }))

it('makes no new version of the same text, unless options differ or none is active', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const same = await world.publish(YAML)
    assert.deepEqual([same.version, same.isNew, same.impact.batches], [1, false, 0])
    assert.equal((await world.publish(YAML, { overdueBehavior: 'rerun' })).version, 2)
    assert.equal(
      (await world.publish(YAML, { overdueBehavior: 'rerun', rerunInit: true })).version,
      3,
    )
    const wish = { name: 'wave', version: 3, actor: 'ada', reason: 'a mistake' }
    await deactivateRunbook(world.engine, wish)
    const last = await world.publish(YAML, { overdueBehavior: 'rerun', rerunInit: true })
    assert.deepEqual([last.version, last.isNew], [4, true])
    assert.deepEqual((await events(world)).slice(-2), [
      'ada deactivated: version 3 of wave was deactivated: a mistake',
      'author published: version 4 of wave was published with 0 unfinished batches',
    ])
  }))

it('reuses the parsed text for its version, and not for another text with that number', () =>
  story({}, async ({ engine }) => {
    const parsed = { runbook: readRunbook(YAML).runbook!, warnings: [] }
    await publishRunbook(engine, { yaml: YAML, parsed, publishedBy: 'author' })
    assert.equal(await engine.runbooks.get(engine.db, 'wave', 1), parsed.runbook)
    // As after a publishing that was rolled back: another process publishes its own version 2.
    engine.runbooks.expect('wave', 2, { yaml: YAML, runbook: parsed.runbook })
    const elsewhere = { ...engine, runbooks: new RunbookCache() }
    const yaml = YAML.replace('function: switch', 'function: Switch-2')
    await publishRunbook(elsewhere, { yaml, publishedBy: 'author' })
    const second = await engine.runbooks.get(engine.db, 'wave', 2)
    assert.equal(second.phases[1]!.steps[0]!.function, 'Switch-2')
  }))

it('refuses a text with errors and changes nothing', () =>
  story({}, async (world) => {
    await assert.rejects(world.publish('name: wave\nphases: []\n'), { code: 'RUNBOOK_INVALID' })
    assert.deepEqual(await versions(world), [])
  }))

it('a dry run returns the same answer and changes nothing', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    await world.batch('wave', 2, { startsInMin: 600 })
    await world.settle()
    const next = YAML.replace('function: switch', 'function: Switch-2')
    const dry = await world.publish(next, { dryRun: true })
    await world.settle()
    assert.deepEqual(await versions(world), ['wave 1 author active'])
    assert.equal((await events(world)).length, 1)
    assert.deepEqual(await world.publish(next), dry)
    assert.equal(dry.version, 2)
  }))

it('reports the impact on every unfinished batch, phase by phase, with totals', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const running = await world.batch('wave', 2, { startsInMin: 60 })
    world.answer = () => 'silent'
    await world.settle()
    const late = await world.batch('wave', people(5).slice(4), { startsInMin: 90 })
    await holdBatch(world.engine, order(late))
    const manual = await world.batch('wave', people(4).slice(2), { manual: true })
    await world.clock.advance(45 * 60_000)
    const { impact } = await world.publish(
      runbook('wave', { 'cutover T-0': [step('switch')], 'after T+1d': [step('check')] }),
      { dryRun: true },
    )
    const cut = { name: 'cutover', outcome: 'pending', from: 'pending', window: null }
    assert.deepEqual(
      { batches: impact.batches, members: impact.membersActive, phases: impact.phases },
      {
        batches: 3,
        members: 5,
        phases: { pending: 6, skipped: 0, carried_over: 1, rerun: 0, dropped: 2 },
      },
    )
    assert.deepEqual(impact.inits, { none: 1, new: 0, carried_over: 2, rerun: 0 })
    assert.deepEqual(impact.listed[0], {
      batchId: running,
      status: 'active',
      fromVersion: 1,
      isManual: false,
      isHeld: false,
      membersActive: 2,
      init: 'carried_over',
      phases: [
        { ...cut, dueAt: new Date(+START + 3600_000), because: 'due at 2026-03-02T09:00:00.000Z' },
        {
          name: 'after',
          outcome: 'pending',
          from: null,
          window: null,
          dueAt: new Date(+START + 90_000_000),
          because: 'due at 2026-03-03T09:00:00.000Z',
        },
        {
          name: 'prepare',
          outcome: 'carried_over',
          from: 'dispatched',
          dueAt: START,
          window: null,
          because: 'version 2 no longer has it; it is dispatched and is kept',
        },
      ],
      lacking: [],
    })
    assert.deepEqual(
      impact.listed.map(({ batchId, isHeld, isManual }) => [batchId, isHeld, isManual]),
      [
        [running, false, false],
        [late, true, false],
        [manual, false, true],
      ],
    )
    assert.deepEqual(impact.listed[2]!.phases[0], {
      ...cut,
      dueAt: null,
      because: 'advanced by hand',
    })
  }))

it('lists skipped phases with batch and time', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const held = await world.batch('wave', 1, { startsInMin: 120 })
    await holdBatch(world.engine, order(held))
    await world.clock.advance(3 * 3600_000)
    const next = YAML.replace('T-0', 'T+0h')
    const { impact } = await world.publish(next.replace('T+0h', 'T+6h'), { dryRun: true })
    assert.deepEqual(impact.skipped, {
      total: 1,
      listed: [{ batchId: held, phase: 'prepare', dueAt: new Date(+START + 3600_000) }],
    })
  }))

it('lists variables that members lack, and workers that never announced themselves', () =>
  story({}, async (world) => {
    const output = 'output_params: { ThingId: id }'
    await world.publish(YAML)
    world.answer = () => ({ ok: { id: 1 } })
    const some = [{ key: 'ann', data: { UserPrincipalName: 'ann', Mail: 'x' } }, ...people(2)]
    const prepared = await world.batch('wave', some, { startsInMin: 60 })
    await world.settle()
    const fresh = await world.batch('wave', people(4).slice(3), { startsInMin: 600 })
    await world.db.transaction((tx) =>
      recordWorker(
        tx,
        {
          workerId: 'w1',
          version: '1',
          slots: 1,
          functions: [{ name: 'CREATE' }, { name: 'mail' }],
        },
        START,
      ),
    )
    const { impact } = await world.publish(
      runbook('wave', {
        'prepare T-1h': [step('create', output)],
        'cutover T-0': [
          '{ name: mail, worker_id: w1, function: mail, params: { To: "{{Mail}} {{_batch_id}}", Id: ["{{ThingId}}"] } }',
          '{ name: go, worker_id: w9, function: "{{Action}}" }',
          step('switch'),
        ],
      }),
    )
    assert.deepEqual(
      impact.listed.map(({ batchId, lacking }) => [batchId, lacking]),
      [
        [
          prepared,
          [
            { variable: 'Action', members: 3 },
            { variable: 'Mail', members: 2 },
            { variable: 'ThingId', members: 3 },
          ],
        ],
        [
          fresh,
          [
            { variable: 'Action', members: 1 },
            { variable: 'Mail', members: 1 },
          ],
        ],
      ],
    )
    assert.deepEqual(impact.warnings, ['Worker "w9" of step "go" has never announced itself.'])
  }))

it('refuses unknown names and versions', () =>
  story({}, async (world) => {
    const wish = { name: 'wave', version: 1, actor: 'ada', reason: 'x' }
    await assert.rejects(deactivateRunbook(world.engine, wish), { code: 'RUNBOOK_UNKNOWN' })
    await world.publish(YAML)
    await assert.rejects(requireVersion(world.db, 'wave', 7), { code: 'RUNBOOK_VERSION_NOT_FOUND' })
  }))

it('keeps automation off until a person turns it on, records who and when, and ignores a repeat', () =>
  story({}, async (world) => {
    const turn = (isEnabled: boolean, actor: string, runbookName = 'Wave') =>
      setAutomation(world.engine, { runbookName, isEnabled, actor })
    await assert.rejects(turn(true, 'ada'), { code: 'RUNBOOK_UNKNOWN' })
    await assert.rejects(findAutomation(world.db, 'wave'), { code: 'RUNBOOK_UNKNOWN' })
    await world.publish(YAML)
    assert.equal((await turn(false, 'ada')).isChanged, false)
    assert.equal((await findAutomation(world.db, 'wave')).isEnabled, false)
    assert.equal((await turn(true, 'ada')).isChanged, true)
    await world.clock.advance(1000)
    const on = { enabledAt: START, enabledBy: 'ada', disabledAt: null, disabledBy: null }
    assert.deepEqual(await turn(true, 'bob', 'WAVE'), {
      runbookName: 'wave',
      isEnabled: true,
      ...on,
      isChanged: false,
    })
    const off = { ...on, disabledAt: world.clock.now(), disabledBy: 'bob' }
    assert.equal((await turn(false, 'bob')).isChanged, true)
    assert.deepEqual(await findAutomation(world.db, 'wave'), {
      runbookName: 'wave',
      isEnabled: false,
      ...off,
    })
    assert.deepEqual((await events(world)).slice(1), [
      'ada automation_enabled: automation of wave was turned on',
      'bob automation_disabled: automation of wave was turned off',
    ])
  }))

it('the database refuses an automation row without a person', () =>
  story({}, async (world) => {
    const at = `'${START.toISOString()}'`
    const rows = [
      `('a', true, null, null, null, null)`,
      `('a', false, null, null, null, null)`,
      `('a', true, ${at}, null, null, null)`,
      `('a', true, ${at}, 'ada', ${at}, null)`,
    ]
    for (const row of rows) {
      const insert = world.db.query(`insert into runbook_automation_settings values ${row}`)
      await assert.rejects(insert, { code: '23514' }, row)
    }
  }))
