// A worker of two slots in a sandbox tenant whose Exchange throttles: what continues meanwhile, when waiting jobs end, and that each job has
// one effect and one result.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, it } from 'node:test'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import { type VirtualClock, virtualClock } from '../../../src/base/run/clock.ts'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { type Bus, type OutgoingMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { ConnectedTenant } from '../../../src/m365/client/connect.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { drain } from '../../bus/under-test.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'
import { configFor, connect } from '../../m365/functions/setting.ts'
import { ADA, SEED } from '../../m365/functions/tenants.ts'
import { runThrottled } from './throttled-run.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const CLOSED_SEC = 300
/** Far more than any request takes. */
const TURNS_MAX = 1_000_000

const jobOf = (
  jobId: string,
  functionName: string,
  parameters: JsonObject,
  timeoutSec = 3_600,
): OutgoingMessage => ({
  topic: 'worker-jobs',
  messageId: jobId,
  type: 'worker-job',
  workerId: 'w1',
  body: {
    jobId,
    batchId: 7,
    workerId: 'w1',
    functionName,
    parameters,
    timeoutSec,
    correlationData: { stepExecutionId: 3, isInitStep: false, runbookName: 'a', runbookVersion: 2 },
    notAfter: new Date(+START + 7_200_000).toISOString(),
  },
})
const archive = (jobId: string, timeoutSec?: number) =>
  jobOf(jobId, 'Enable-ExchangeArchive', { Identity: 'box@contoso.example' }, timeoutSec)
const share = (jobId: string) =>
  jobOf(jobId, 'Convert-ExchangeMailboxToShared', { Identity: 'box@contoso.example' })
const setTitle = (jobId: string) =>
  jobOf(jobId, 'Set-EntraUserAttribute', {
    UserId: ADA,
    AttributeName: 'jobTitle',
    Value: `title of ${jobId}`,
  })

describe('while Exchange is closed for five minutes', () => {
  let test: TestDatabase
  let bus: Bus
  let clock: VirtualClock
  let sandbox: Sandbox
  let tenant: ConnectedTenant
  let worker: Worker
  const errors: unknown[] = []

  before(async () => {
    test = await DATABASES[0]!.open()
  })
  after(() => test.close())
  afterEach(async () => {
    await bus.close()
    await sandbox.close()
    assert.deepEqual(errors, [])
  })

  async function begin(jobs: readonly OutgoingMessage[]): Promise<void> {
    clock = virtualClock(START)
    bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID })
    sandbox = await openSandbox({ clock, seed: SEED })
    tenant = connect(configFor(sandbox.url, sandbox.state().tenants[0]!.id), clock)
    await tenant.signIn()
    const fault = { kind: 'throttle', retryAfterSec: CLOSED_SEC } as const
    sandbox.setFaults({ script: [{ on: 'Get-Mailbox', fault }] })
    worker = new Worker({
      workerId: 'w1',
      version: '1',
      bus,
      clock,
      tenant,
      maxParallelism: 2,
      functions: STANDARD_FUNCTIONS,
      throttles: () => tenant.throttles(),
      onError: (error) => errors.push(error),
    })
    await bus.publish(jobs)
  }

  /** As the worker's loop does it, leases are renewed meanwhile. */
  async function pass(sec: number): Promise<void> {
    for (let left = sec; left > 0; left -= 20) {
      await clock.advance(Math.min(left, 20) * 1_000)
      await worker.renewLeases()
    }
  }

  const exchange = () => tenant.throttles().find(({ name }) => name === 'Exchange Online')!

  /** Requests take real time, the clock stands still. */
  async function until(isSo: () => boolean): Promise<void> {
    for (let turns = 0; !isSo(); turns++) {
      assert.ok(turns < TURNS_MAX, 'it does not happen')
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }

  async function results(): Promise<JobResult[]> {
    await worker.sendResults()
    const got = await drain(bus, WORKER_RESULTS)
    await bus.ack(got)
    return got.map(({ body }) => JSON.parse(body) as JobResult)
  }

  const cmdlets = () => sandbox.journal.requests.filter(({ cmdlet }) => cmdlet !== null)
  const effects = (what: string) => sandbox.journal.effects.filter((one) => one.what === what)

  it('Graph continues in the slots of waiting jobs, and Exchange is not called', async () => {
    const titles = ['g1', 'g2', 'g3', 'g4']
    await begin([archive('e1'), share('e2'), ...titles.map(setTitle)])
    assert.equal(await worker.takeJobs(), 2)
    await until(() => exchange().queued === 2)
    const calledBefore = cmdlets().length
    assert.equal(await worker.takeJobs(), 0)
    await clock.advance(2_000)
    const done: string[] = []
    for (let rounds = 0; done.length < titles.length; rounds++) {
      assert.ok(rounds < 1_000, `only these are done: ${done}`)
      await worker.takeJobs()
      await until(() => tenant.throttles().every(({ calls }) => calls === 0))
      for (const { jobId, status } of await results()) done.push(`${jobId} ${status}`)
    }
    assert.deepEqual(
      done.toSorted(),
      titles.map((id) => `${id} Success`),
    )
    await pass(CLOSED_SEC - 3)
    assert.equal(cmdlets().length, calledBefore)
    assert.equal(exchange().queued, 2)
    await clock.advance(1_000)
    await worker.idle()
    const ended = await results()
    assert.deepEqual(ended.map(({ jobId, status }) => `${jobId} ${status}`).toSorted(), [
      'e1 Success',
      'e2 Success',
    ])
    assert.equal(effects('user changed').length, titles.length)
    assert.equal(effects('archive enabled').length, 1)
    assert.equal(effects('mailbox changed').length, 1)
    assert.equal(await worker.takeJobs(), 0)
  })

  it('each job keeps its own deadline: one times out without effect, the other waits and succeeds', async () => {
    await begin([archive('short', 60), archive('long')])
    await worker.takeJobs()
    await until(() => exchange().queued === 2)
    await pass(60)
    const [timedOut] = await results()
    assert.deepEqual(
      [timedOut?.jobId, timedOut?.error?.type, timedOut?.error?.effect],
      ['short', 'TimedOut', 'none'],
    )
    assert.equal(exchange().queued, 1)
    await pass(CLOSED_SEC)
    await worker.idle()
    const rest = await results()
    assert.deepEqual(
      rest.map(({ jobId, status }) => `${jobId} ${status}`),
      ['long Success'],
    )
    assert.equal(effects('archive enabled').length, 1)
    assert.deepEqual([exchange().calls, exchange().queued], [0, 0])
  })

  it('a job whose lease ends at the gate comes again and still runs once', async () => {
    await begin([archive('again')])
    await worker.takeJobs()
    await until(() => exchange().queued === 1)
    await clock.advance(bus.leaseMs + 1_000)
    assert.equal(await worker.takeJobs(), 1)
    assert.equal(exchange().queued, 1)
    await pass(CLOSED_SEC)
    await worker.idle()
    assert.deepEqual(
      (await results()).map(({ jobId, status }) => `${jobId} ${status}`),
      ['again Success'],
    )
    assert.equal(effects('archive enabled').length, 1)
    await clock.advance(bus.leaseMs + 1_000)
    assert.equal(await worker.takeJobs(), 0)
  })
})

it('people are done sooner with the governor than with 4 or 32 calls at once, and nobody fails', async () => {
  const run = (concurrency: 'fixed 4' | 'fixed 32' | 'governor') =>
    runThrottled(80, { bears: 12, concurrency })
  const four = await run('fixed 4')
  const many = await run('fixed 32')
  const governed = await run('governor')
  assert.equal(governed.failed, 0)
  assert.ok(governed.sec < four.sec, `${governed.sec} s, fixed 4: ${four.sec} s`)
  assert.ok(governed.sec < many.sec, `${governed.sec} s, fixed 32: ${many.sec} s`)
  assert.ok(governed.throttled * 4 < many.throttled)
})
