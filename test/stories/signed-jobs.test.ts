// Somebody can write to the tables of the bus and has no key. A worker with keys runs what the engine signed, and nothing else: no
// function is called and no secret is read for a job that was made up, changed or copied from another worker.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it } from 'node:test'
import { z } from 'zod'
import { JobKeys } from '../../src/base/keys/job-keys.ts'
import type { Json } from '../../src/base/text/json.ts'
import type { OutgoingMessage } from '../../src/bus/bus.ts'
import { enqueueNew } from '../../src/bus/outbox.ts'
import { SECRET_MARK } from '../../src/domain/runbook/template.ts'
import { SYSTEM } from '../../src/domain/state/holds.ts'
import { resumeScope } from '../../src/engine/orders/holds.ts'
import { beginEpoch } from '../../src/engine/orders/restores.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { NO_TENANT, type Tenant } from '../../src/worker/functions/tenant.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { attemptsOf, batchOf, because, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

const KEYS = new JobKeys([randomBytes(32)])
const OTHERS = new JobKeys([randomBytes(32)])
const STOLEN = { Password: { [SECRET_MARK]: [{ ref: 'matoolkit-admin-password' }] } }

interface Watched {
  readonly worker: Worker
  /** Parameters of every call. */
  readonly called: Json[]
  /** References of every secret that was asked for. */
  readonly read: string[]
  readonly refused: string[]
}

function workerOf({ bus, clock }: World, keys: JobKeys | null = KEYS): Watched {
  const called: Json[] = []
  const read: string[] = []
  const refused: string[] = []
  const secrets: Tenant['secrets'] = {
    put: async (name) => `matoolkit-${name}`,
    find: async () => null,
    get: async (reference) => {
      read.push(reference)
      return 'the value'
    },
  }
  const run = async ({ params, tenant }: { params: unknown; tenant: Tenant }) => {
    called.push(params as Json)
    const { Reference } = params as { Reference?: string }
    if (Reference !== undefined) await tenant.secrets.get(Reference)
    await tenant.secrets.get('matoolkit-of-somebody-else').catch(() => {})
    return true
  }
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    maxParallelism: 100,
    keys,
    tenant: Object.create(NO_TENANT, { secrets: { value: secrets } }) as Tenant,
    functions: [
      defineFunction({
        ...TOUCHES_NOTHING,
        name: 'create',
        description: 'Notes its call.',
        parameters: z.looseObject({}),
        run,
      }),
    ],
    onRefused: ({ reason }) => refused.push(reason),
    onError: (error) => assert.fail(String(error)),
  })
  return { worker, called, read, refused }
}

async function work(world: World, { worker }: Watched): Promise<void> {
  await world.orchestrate()
  while ((await worker.takeJobs()) > 0) {
    await worker.idle()
    await worker.sendResults()
  }
  await world.orchestrate()
}

async function begin(world: World, more = ''): Promise<number> {
  await world.publish(
    runbook(
      'wave',
      { 'prepare T-1h': [step('create', more)] },
      `rollbacks: { undo: [${step('delete')}] }`,
    ),
  )
  const batchId = await world.batch('wave', 1, { startsInMin: 60 })
  await world.orchestrate()
  return batchId
}

const jobFor = (workerId: string, parameters: { [key: string]: Json } = {}): OutgoingMessage => ({
  topic: 'worker-jobs',
  messageId: 'step-900',
  type: 'worker-job',
  workerId: 'w1',
  body: {
    jobId: 'step-900',
    batchId: 1,
    workerId,
    functionName: 'create',
    parameters,
    timeoutSec: 60,
    notAfter: '2030-01-01T00:00:00.000Z',
    correlationData: {
      stepExecutionId: 900,
      isInitStep: false,
      runbookName: 'wave',
      runbookVersion: 1,
    },
  },
})

const send = ({ db, clock }: World, message: OutgoingMessage, keys: JobKeys | null) =>
  db.transaction((tx) => enqueueNew(tx, [message], clock.now(), keys))

it('runs the jobs that the engine signed', () =>
  story({ jobKeys: KEYS }, async (world) => {
    const batchId = await begin(world)
    const watched = workerOf(world)
    await work(world, watched)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.equal(watched.called.length, 1)
    assert.deepEqual([watched.refused, watched.read], [[], []])
  }))

it('accepts the old key while keys rotate', () =>
  story({ jobKeys: KEYS }, async (world) => {
    const batchId = await begin(world)
    const secrets = [randomBytes(32), randomBytes(32)] as const
    const watched = workerOf(world, new JobKeys([secrets[1], secrets[0]]))
    Object.assign(world.engine, { jobKeys: new JobKeys([secrets[0]]) })
    await world.db.query('delete from bundles')
    await send(world, jobFor('w1'), world.engine.jobKeys!)
    await work(world, watched)
    assert.deepEqual([watched.called.length, watched.refused], [1, []])
    assert.equal((await batchOf(world, batchId)).status, 'active')
  }))

const FORGED: [what: string, message: OutgoingMessage, keys: JobKeys | null, reason: string][] = [
  ['an unsigned job', jobFor('w1', STOLEN), null, 'JobUnsigned'],
  ['a job signed with another key', jobFor('w1', STOLEN), OTHERS, 'JobKeyUnknown'],
  ["another worker's job", jobFor('w2', STOLEN), KEYS, 'WrongWorker'],
]
for (const [what, message, keys, reason] of FORGED) {
  it(`refuses ${what}: nothing is called and no secret is read`, () =>
    story({ jobKeys: KEYS }, async (world) => {
      await send(world, message, keys)
      const watched = workerOf(world)
      await work(world, watched)
      assert.deepEqual([watched.called, watched.read, watched.refused], [[], [], [reason]])
      const letters = await world.db.query('select reason, description from dead_letters')
      assert.equal(letters.length, 1)
      assert.equal(letters[0]!.reason, reason)
    }))
}

it('runs the same unsigned job without keys, which is what the keys are for', () =>
  story({}, async (world) => {
    await send(world, jobFor('w1', STOLEN), null)
    const watched = workerOf(world, null)
    await work(world, watched)
    assert.deepEqual(watched.read, ['matoolkit-admin-password'])
  }))

const CHANGES: [what: string, from: string, to: string][] = [
  ['a changed parameter', 'user1@contoso.example', 'boss1@contoso.example'],
  [
    'a secret put into its parameters',
    '"parameters":{',
    `"parameters":{"X":${JSON.stringify(STOLEN.Password)},`,
  ],
  ['a later limit', '"notAfter":"2026', '"notAfter":"2036'],
  ['another function', '"functionName":"create"', '"functionName":"delete"'],
  ['another job id', '"jobId":"step-1"', '"jobId":"step-2"'],
  ['an epoch put into its id', '"jobId":"step-1"', '"jobId":"step-1~k3f2qz"'],
]
for (const [what, from, to] of CHANGES) {
  it(`refuses a job with ${what}; its step fails as never started, without a rollback`, () =>
    story({ jobKeys: KEYS }, async (world) => {
      const batchId = await begin(world, 'on_failure: undo')
      const changed = await world.db.query(
        'update bundles set bodies = replace(bodies, $1, $2) where position($1 in bodies) > 0 returning id',
        [from, to],
      )
      assert.equal(changed.length, 1)
      const watched = workerOf(world)
      await work(world, watched)
      assert.deepEqual([watched.called, watched.read, watched.refused], [[], [], ['JobForged']])
      assert.deepEqual(await attemptsOf(world), ['step-1 refused'])
      const sent = await world.db.query(`select from bundles where topic = 'worker-jobs'`)
      assert.equal(sent.length, 0)
      assert.match((await because(world, 'fail'))[0]!, /^the worker refused the job: JobForged: /)
      assert.equal((await batchOf(world, batchId)).status, 'failed')
    }))
}

for (const [what, to] of [
  ['taken out of its id', ''],
  ['replaced in its id', '~aaaaaa'],
] as const) {
  it(`refuses a job of a restored database with the epoch ${what}`, () =>
    story({ jobKeys: KEYS }, async (world) => {
      await begin(world)
      const restored = await beginEpoch(world.engine, {
        actor: 'ann',
        because: 'the disk was lost',
      })
      await world.orchestrate()
      await resumeScope(world.engine, { ...SYSTEM, scope: 'system', actor: 'ann', reason: 'ok' })
      await world.orchestrate()
      const changed = await world.db.query(
        `update bundles set bodies = replace(bodies, $1, $2) where message_type = 'worker-job' and position($1 in bodies) > 0 returning id`,
        [`~${restored!.epoch}"`, `${to}"`],
      )
      assert.equal(changed.length, 1)
      const watched = workerOf(world)
      await work(world, watched)
      assert.deepEqual([watched.called, watched.read, watched.refused], [[], [], ['JobForged']])
    }))
}

it('reads only the secrets that the signed parameters name', () =>
  story({ jobKeys: KEYS }, async (world) => {
    await send(world, jobFor('w1', { Reference: 'matoolkit-mine' }), KEYS)
    const watched = workerOf(world)
    await work(world, watched)
    assert.equal(watched.called.length, 1)
    assert.deepEqual(watched.read, ['matoolkit-mine'])
  }))

it('says what to set when the engine has no key and the worker has one', () =>
  story({}, async (world) => {
    await begin(world)
    const watched = workerOf(world)
    await work(world, watched)
    assert.deepEqual(watched.called, [])
    assert.match((await because(world, 'fail'))[0]!, /set MATOOLKIT_JOB_KEY_FILE for every process/)
  }))

it('does not start a copy of an old signed job after its limit', () =>
  story({ jobKeys: KEYS }, async (world) => {
    await begin(world)
    const [copy] = await world.db.query<{ bodies: string }>('select bodies from bundles')
    await work(world, workerOf(world))
    await world.clock.advance(8 * 3_600_000)
    await send(world, jobFor('w1'), null)
    await world.db.query('update bundles set bodies = $1', [copy!.bodies])
    const later = workerOf(world)
    await work(world, later)
    assert.deepEqual([later.called, later.refused], [[], []])
  }))
