// A whole night, minute by minute: status, wall, batch, `stuck`, notifications and the exit code give the same answer to "who is needed?",
// and nothing is said about the other batch.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { EXIT } from '../../src/base/errors/errors.ts'
import { listOpenConditions } from '../../src/db/orders/notifications.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { KINDS, type NeedKind } from '../../src/domain/needs/kinds.ts'
import { readNotificationSettings } from '../../src/domain/notifications/read-settings.ts'
import { lookForConditions } from '../../src/engine/needs/notifications.ts'
import { holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { approveGate } from '../../src/engine/orders/gates.ts'
import { holdScope, resumeScope } from '../../src/engine/orders/holds.ts'
import { type Cli, openCli } from '../cli/against-api.ts'
import { order, runbook, step } from './looking.ts'
import { people, WORKER } from './world.ts'

const WAVE = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0 gate: { approvals: 1 }': [step('switch')],
})
const OTHER = runbook('other', { 'later T-0': [step('later')] })
const BATCH = 1
const OTHER_BATCH = 2

const read = readNotificationSettings(
  '{ channels: [{ name: all, type: webhook, url_file: /x, key_file: /y }], rules: [{ channels: [all] }] }',
)
assert.ok('settings' in read)
const { settings } = read

interface Need {
  readonly kind: NeedKind
  readonly key: string
  readonly text: string
  readonly batchIds: readonly number[] | null
  readonly page: { readonly path: string; readonly link: string }
}
interface Verdict {
  readonly isActionNeeded: boolean
  readonly severity: string | null
  readonly headline: string
  readonly needs: readonly Need[]
  readonly planned: readonly Need[]
}

const answerOf = ({ isActionNeeded, severity, headline, needs, planned }: Verdict) => ({
  isActionNeeded,
  severity,
  headline,
  needs: needs.map(({ key, text }) => `${key} ${text}`),
  planned: planned.map(({ key, text }) => `${key} ${text}`),
})

/** Asks everybody, and returns what they all say: `urgent gate_waiting, planned batch_held`. */
async function whoIsNeeded({ api, cli }: Cli): Promise<string> {
  const { world } = api
  const get = async <Body>(path: string) => (await api.call<Body>('GET', path)).body
  const all = await get<Verdict>('/api/needs')
  const said = answerOf(all)
  assert.deepEqual(answerOf(await get<Verdict>('/api/status')), said, 'status')
  assert.deepEqual(answerOf(await get<Verdict>('/api/now')), said, 'wall')
  const status = await cli('status')
  assert.equal(status.exit, all.isActionNeeded ? EXIT.needed : EXIT.ok, said.headline)
  assert.equal(status.out.startsWith('Action needed: '), all.isActionNeeded, status.out)
  for (const { text } of all.needs)
    assert.ok(status.out.includes(text.slice(0, text.indexOf('20'))), `${text} in ${status.out}`)

  await lookForConditions({ engine: world.engine, settings, newId: randomUUID })
  const told = (await listOpenConditions(world.db, 0, 100)).map(({ key }) => key)
  const tellable = [...all.needs, ...all.planned].filter(({ kind }) => KINDS[kind].isTold)
  assert.deepEqual(
    told.toSorted(),
    tellable.map(({ key }) => key).toSorted(),
    'people hear of the same',
  )

  for (const [batchId, otherId] of [
    [BATCH, OTHER_BATCH],
    [OTHER_BATCH, BATCH],
  ] as const) {
    const ofBatch = await get<Verdict>(`/api/needs?batchId=${batchId}`)
    const concerning = (needs: readonly Need[]) =>
      needs
        .filter(({ batchIds }) => batchIds === null || batchIds.includes(batchId))
        .map(({ key }) => key)
    assert.deepEqual(
      [ofBatch.needs, ofBatch.planned].map((needs) => needs.map(({ key }) => key)),
      [concerning(all.needs), concerning(all.planned)],
      `batch ${batchId}`,
    )
    assert.doesNotMatch(JSON.stringify(answerOf(ofBatch)), new RegExp(`batch ${otherId}`, 'i'))
    const { verdict } = await get<{ verdict: Verdict }>(`/api/batches/${batchId}/summary`)
    assert.deepEqual(answerOf(verdict), answerOf(ofBatch), 'the page of the batch')
  }
  const kinds = [
    ...all.needs.map(({ kind }) => kind),
    ...all.planned.map(({ kind }) => `(${kind})`),
  ]
  return [all.severity ?? 'nobody', ...kinds].join(' ')
}

it('is one answer on every screen at each minute of a night', async () => {
  const cli = await openCli()
  const { world } = cli.api
  const { engine, clock } = world
  let isWorkerAlive = true
  let isOrchestratorAlive = true
  /** Each minute the worker announces itself, does its jobs, and everybody is asked. */
  const pass = async (minutes: number, expected: string): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      await clock.advance(60_000)
      if (isWorkerAlive)
        await world.db.transaction((tx) =>
          recordWorker(
            tx,
            { workerId: WORKER, version: '1', slots: 1_000, functions: [] },
            clock.now(),
          ),
        )
      if (isOrchestratorAlive && isWorkerAlive) await world.settle()
      else if (isOrchestratorAlive) await world.orchestrate()
      assert.equal(await whoIsNeeded(cli), expected, `${clock.now().toISOString()}`)
    }
  }
  try {
    await world.publish(WAVE)
    await world.publish(OTHER)
    await world.batch('wave', people(5), { startsInMin: 64 })
    await world.batch('other', people(9).slice(5), { startsInMin: 48 * 60 })
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user3@') ? { fail: 'no licence' } : { ok: true }

    // The gate of the evening is known before anything runs, and urgent in its last hour.
    await pass(3, 'soon gate_waiting')
    await pass(2, 'urgent gate_waiting people_failed')

    // A person holds the batch, as planned; then everything, which never is.
    await holdBatch(engine, { ...order(BATCH), actor: 'ada' })
    await pass(2, 'urgent gate_waiting people_failed (batch_held)')
    const all = { scope: 'system', target: '', actor: 'ada', reason: 'mail is down' } as const
    await holdScope(engine, all)
    await pass(2, 'urgent everything_held gate_waiting people_failed (batch_held)')
    await resumeScope(engine, all)
    await resumeBatch(engine, order(BATCH))
    await pass(1, 'urgent gate_waiting people_failed')

    // An approval, and the person who failed is repaired.
    await approveGate(engine, { ...order(BATCH), actor: 'ben', phaseName: 'cutover' })
    await pass(1, 'urgent people_failed')
    world.answer = () => ({ ok: true })
    const { status } = await cli.api.call('POST', `/api/batches/${BATCH}/members/retry`, {
      body: { select: { failedStep: 'create' }, reason: 'a licence is free' },
    })
    assert.equal(status, 200)
    await pass(50, 'nobody')

    // The orchestrator dies over T-0: nobody may read "No action needed" a minute after it.
    isOrchestratorAlive = false
    await pass(4, 'nobody')
    await pass(2, 'urgent phase_late')
    // It is back, and the worker dies with the jobs of the cut-over.
    isOrchestratorAlive = true
    isWorkerAlive = false
    await pass(1, 'nobody')
    await pass(2, 'urgent worker_silent')
    const { needs } = (await cli.api.call<Verdict>('GET', '/api/needs')).body
    assert.deepEqual(needs[0]!.page, { path: `/workers/${WORKER}`, link: 'See the worker' })
    isWorkerAlive = true
    await pass(3, 'nobody')
    const { headline } = (await cli.api.call<Verdict>('GET', '/api/needs')).body
    assert.match(headline, /^No action needed: nothing is running; next is later of batch 2 at /)
    const failed = await world.db.query(
      `select 1 from batch_members where status = 'failed' union all select 1 from batches where id = $1 and status <> 'completed'`,
      [BATCH],
    )
    assert.deepEqual(failed, [], 'a perfect end')
    const ofOther = await world.db.query('select 1 from step_executions where batch_id = $1', [
      OTHER_BATCH,
    ])
    assert.deepEqual(ofOther, [], 'nothing happened in the other batch')
  } finally {
    await cli.close()
  }
})
