// `matoolkit doctor bus` against the tests' namespace, by Microsoft's administration client: it says what is missing or differs, creates
// what is missing, and proves that a message travels.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { runBusCheck } from '../../../src/app/upkeep/bus-check.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { type Management, openManagement } from '../../kit/broker/atom.ts'
import { Broker } from '../../kit/broker/broker.ts'
import { connectionStringOf } from '../../kit/namespace.ts'

interface Checked {
  readonly isOk: boolean
  readonly checks: readonly { readonly name: string; readonly state: string; about: string }[]
}

describe('doctor bus', () => {
  const broker = new Broker(realClock())
  const { namespace } = broker
  let management: Management
  let config: Config
  before(async () => {
    management = await openManagement(namespace)
    const read = readConfig({
      MATOOLKIT_TRANSPORT: 'servicebus',
      MATOOLKIT_SERVICEBUS_CONNECTION: connectionStringOf(await broker.open()),
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
    await runBusCheck({ ...flags, output: 'json' }, io as never, config, management.url)
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

  it('takes the subscriptions of the earlier system as they are, and says what differs', async () => {
    const jobs = namespace.subscription('worker-jobs', 'worker-w1')!
    const settings = jobs.queue.settings
    jobs.queue.settings = { ...settings, timeToLiveMs: 14 * 86_400_000 }
    jobs.rules.delete('$Default')
    jobs.setRule('WorkerIdFilter', { sql: "WorkerId = 'w1'" })
    const { failed, checks, isOk } = await check()
    assert.deepEqual([failed, isOk], [[], true])
    const found = checks.find(({ name }) => name === 'subscription worker-jobs/worker-w1')
    assert.equal(found!.about, 'time to live 14d: works; the rule is called WorkerIdFilter: works')

    jobs.setRule('WorkerIdFilter', { sql: "WorkerId = 'w2'" })
    assert.match((await check()).failed[0]!, /the rule WorkerIdFilter is {"WorkerId":"w2"}, not/)
    jobs.rules.clear()
    jobs.setRule('$Default', { correlation: { properties: { WorkerId: 'w1' } } })
    jobs.queue.settings = settings
  })

  it('says which right is missing', async () => {
    management.isAllowed = false
    const { failed, exitCode } = await check()
    assert.equal(exitCode, 1)
    assert.match(failed[0]!, /\(401\)/)
  })
})
