// `matoolkit bus check` against the tests' namespace, by Microsoft's administration client: it says what is missing or differs, creates
// what is missing, and proves that a message travels.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { runBusCheck } from '../../../src/app/upkeep/bus-check.ts'
import { newCredentialId, newWorkerToken } from '../../../src/base/keys/worker-token.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { type OpenedApi, openPlainApi, tokenFor } from '../../bus/https/under-test.ts'
import { type Management, openManagement } from '../../kit/broker/atom.ts'
import { Broker } from '../../kit/broker/broker.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'
import { connectionStringOf } from '../../kit/namespace.ts'

interface Checked {
  readonly isOk: boolean
  readonly checks: readonly { readonly name: string; readonly state: string; about: string }[]
}

describe('bus check', () => {
  const broker = new Broker(realClock())
  const { namespace } = broker
  let management: Management
  let config: Config
  before(async () => {
    management = await openManagement(namespace)
    const read = readConfig({
      MATOOLKIT_TRANSPORT: 'servicebus',
      MATOOLKIT_SERVICEBUS_CONNECTION: connectionStringOf(await broker.open()),
      MATOOLKIT_SERVICEBUS_ADMIN_URL: management.url,
      MATOOLKIT_WORKER_ID: 'w1',
    })
    assert.ok('config' in read, JSON.stringify(read))
    config = read.config
  })
  after(async () => {
    await management.close()
    await broker.close()
  })

  async function check(flags: { create?: true; workers?: string[] } = {}) {
    const lines: string[] = []
    const io = { out: (line: string) => lines.push(line), err: () => {}, width: null, exitCode: 0 }
    await runBusCheck({ ...flags, output: 'json' }, io as never, config)
    const { isOk, checks }: Checked = JSON.parse(lines.join('\n'))
    const states = Object.groupBy(checks, ({ state }) => state)
    const failed = (states.failed ?? []).map(({ name, about }) => `${name}: ${about}`)
    return { isOk, failed, created: states.created?.length ?? 0, checks, exitCode: io.exitCode }
  }

  it('names everything that an empty namespace lacks, and creates nothing unasked', async () => {
    const { isOk, failed, exitCode } = await check()
    assert.deepEqual([isOk, exitCode], [false, 1])
    assert.equal(failed.length, 7)
    assert.match(failed[0]!, /^topic orchestrator-events: it is missing/)
    assert.deepEqual(namespace.topics, [])
  })

  it('creates what is missing, and then finds everything in order', async () => {
    const { isOk, created, failed } = await check({ create: true })
    assert.deepEqual(failed, [])
    assert.deepEqual([isOk, created], [true, 7])
    const again = await check()
    assert.deepEqual([again.failed, again.created, again.exitCode], [[], 0, 0])
    assert.equal(again.checks.at(-1)!.name, 'round trip')
    const jobs = namespace.subscription('worker-jobs', 'worker-w1')!
    assert.deepEqual([...jobs.rules.keys()], ['$Default'])
    assert.equal(jobs.queue.size, 0, 'the message of the check is no job')
  })

  it('adds a worker to a namespace that exists', async () => {
    const { isOk, created } = await check({ create: true, workers: ['w1', 'w2'] })
    assert.deepEqual([isOk, created], [true, 2])
  })

  it('tells wrong settings, a rule that lets everything in, and a name that is too long', async () => {
    const jobs = namespace.subscription('worker-jobs', 'worker-w1')!
    jobs.queue.settings = { ...jobs.queue.settings, maxDeliveries: 3 }
    jobs.setRule('everything', { always: true })
    const { failed } = await check({ create: true, workers: ['w1', 'x'.repeat(50)] })
    assert.match(failed[0]!, /worker-w1: maxDeliveries is 3, not 10; the rule everything lets/)
    assert.match(failed[1]!, /more than 50 characters/)
    assert.ok(jobs.rules.has('everything'), 'nothing that exists is changed')
    jobs.rules.delete('everything')
    jobs.queue.settings = { ...jobs.queue.settings, maxDeliveries: 10 }
  })

  it('says which right is missing', async () => {
    management.isAllowed = false
    const { failed, exitCode } = await check()
    assert.equal(exitCode, 1)
    assert.match(failed[0]!, /\(401\)/)
  })
})

describe('bus check of a worker that comes through the API', () => {
  const clock = realClock()
  let database: TestDatabase
  let api: OpenedApi
  before(async () => {
    database = await openTestPglite()
    const { db } = database
    const bus = openPostgresBus({ db, clock, newToken: randomUUID })
    api = await openPlainApi({ db, clock } as unknown as Engine, bus, clock)
  })
  after(async () => {
    await api.close()
    await database.close()
  })

  async function failures(env: Record<string, string>): Promise<string[]> {
    const read = readConfig({
      MATOOLKIT_TRANSPORT: 'https',
      MATOOLKIT_API_URL: api.url,
      MATOOLKIT_WORKER_ID: 'w1',
      ...env,
    })
    assert.ok('config' in read, JSON.stringify(read))
    const lines: string[] = []
    const io = { out: (line: string) => lines.push(line), err: () => {}, width: null, exitCode: 0 }
    await runBusCheck({ output: 'json' }, io as never, read.config)
    const { checks }: Checked = JSON.parse(lines.join('\n'))
    const failed = checks.filter(({ state }) => state === 'failed')
    assert.equal(io.exitCode, failed.length === 0 ? 0 : 1)
    return failed.map(({ name, about }) => `${name}: ${about}`)
  }

  it('finds everything in order, a credential of another worker, a refused one, and an API that is away', async () => {
    const { token } = await tokenFor({ db: database.db, clock }, 'w1')
    assert.deepEqual(await failures({ MATOOLKIT_WORKER_TOKEN: token }), [])
    const other = await failures({ MATOOLKIT_WORKER_TOKEN: token, MATOOLKIT_WORKER_ID: 'w2' })
    assert.deepEqual(other, ['worker: the credential is of "w1", not of "w2"'])
    const unknown = newWorkerToken(newCredentialId()).token
    const [refused] = await failures({ MATOOLKIT_WORKER_TOKEN: unknown })
    assert.match(refused!, /^API: .*refuses the credential/)
    const away = { MATOOLKIT_WORKER_TOKEN: token, MATOOLKIT_API_URL: 'http://127.0.0.1:1' }
    assert.match((await failures(away))[0]!, /^API: The API at http:\/\/127.0.0.1:1 did not/)
  })
})
