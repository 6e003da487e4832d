// Functions that act on many: the worker collects jobs without a slot, calls once and answers each; deadlines, failures, effects and
// leases stay each job's own. Time is virtual, and the bus a list.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { JobKeys } from '../../../src/base/keys/job-keys.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import type { Json } from '../../../src/base/text/json.ts'
import {
  type Bus,
  LEASE_MS,
  NO_CAPABILITIES,
  type OutgoingMessage,
  type ReceivedMessage,
} from '../../../src/bus/bus.ts'
import type { Body } from '../../../src/domain/messages/messages.ts'
import { SECRET_MARK } from '../../../src/domain/runbook/template.ts'
import { type M365Tenant, NO_M365_TENANT } from '../../../src/m365/client/tenant.ts'
import { defineM365Function, type M365Call } from '../../../src/m365/functions/define.ts'
import { type FunctionCall, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { ApiError, type RestRequest } from '../../../src/worker/http/api.ts'
import { Worker, type WorkerOptions } from '../../../src/worker/jobs/worker.ts'
import { UNUSED } from '../../bus/under-test.ts'

const START = new Date('2026-03-01T10:00:00Z')
const WAIT_MS = 1_000
const LIMIT = 100

const parameters = z.strictObject({ Room: z.json(), Person: z.string() })
type Params = z.infer<typeof parameters>

const refusal = (message: string, more: Partial<ApiError> = {}) =>
  new ApiError({ status: 400, code: 'Refused', message, ...more })

interface Message {
  readonly timeoutSec?: number
  readonly notAfter?: Date
  readonly function?: string
  readonly deliveryCount?: number
}

const sayIds = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ messageId }) => messageId).join(',')

/** A list of messages. Notes what became of them. */
function makeBus() {
  const waiting: ReceivedMessage[] = []
  const results = new Map<string, Body<'worker-result'>>()
  const events: string[] = []
  const lost = new Set<string>()
  const receiveLimits: number[] = []
  const bus: Bus = {
    ...UNUSED,
    capabilities: { ...NO_CAPABILITIES, takesBackDeliveries: true },
    leaseMs: LEASE_MS,
    publish: async (messages: readonly OutgoingMessage[]) => {
      for (const message of messages)
        if (message.type === 'worker-result') results.set(message.body.jobId, message.body)
    },
    receive: async (_subscription, limit) => {
      receiveLimits.push(limit)
      return waiting.splice(0, limit)
    },
    ack: async () => [],
    abandon: async (messages) => void events.push(`abandon ${sayIds(messages)}`),
    release: async (messages) => {
      events.push(`release ${sayIds(messages)}`)
      waiting.unshift(...messages)
    },
    renew: async (messages) => messages.filter(({ messageId }) => lost.has(messageId)),
    deadLetter: async (messages, reason) => void events.push(`${reason} ${sayIds(messages)}`),
    close: async () => {},
  }
  return { bus, waiting, results, events, lost, receiveLimits }
}

interface Meeting {
  /** What a joint call does about its people before it answers. */
  meet(people: readonly FunctionCall<Params>[]): Promise<void>
}

const join = async ({ tenant, signal }: Pick<M365Call<Params>, 'tenant' | 'signal'>) =>
  void (await tenant.graph.call({ method: 'POST', path: '/join', signal }))

const roomFunction = (state: Meeting, calls: string[][]) =>
  defineM365Function({
    ...TOUCHES_NOTHING,
    actsOnlyOnTenant: true,
    name: 'Join-Room',
    description: 'Joins a room.',
    parameters,
    run: async (call) => {
      calls.push([call.params.Person])
      if (call.params.Person.startsWith('bad')) throw refusal('nobody knows them')
      await join(call)
      return 'alone'
    },
    together: {
      key: ({ Room }) => (Room === 'own' ? null : JSON.stringify(Room)),
      limit: LIMIT,
      waitMs: WAIT_MS,
      run: async (jobs, onBehalfOf) => {
        calls.push(jobs.map(({ params }) => params.Person))
        const welcome = jobs.filter(({ params }) => params.Person !== 'stranger')
        await state.meet(jobs)
        await join(onBehalfOf(welcome))
        return jobs.map(({ params }) =>
          params.Person === 'stranger' ? new Error('not a member') : `with ${jobs.length}`,
        )
      },
    },
  })

const slow = defineM365Function({
  ...TOUCHES_NOTHING,
  name: 'Slow',
  description: 'Runs for a minute.',
  parameters: z.looseObject({}),
  run: async ({ clock: own, signal }) => {
    await own.wait(60_000, signal)
    return true
  },
})

const graph = {
  ...NO_M365_TENANT.graph,
  call: async ({ signal }: RestRequest) => {
    signal.throwIfAborted()
    return { status: 204, headers: new Headers(), body: null }
  },
}
const tenant: M365Tenant = Object.create(NO_M365_TENANT, { graph: { value: graph } })

function setUp(options: Partial<WorkerOptions> = {}) {
  const clock = virtualClock(START)
  const made = makeBus()
  const calls: string[][] = []
  const errors: unknown[] = []
  const state: Meeting = { meet: async () => {} }
  const room = roomFunction(state, calls)
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    clock,
    tenant,
    maxParallelism: 1,
    drainMs: 5_000,
    bus: made.bus,
    functions: [room, { ...room, name: 'Join-Once', isIdempotent: false }, slow],
    onError: (error) => errors.push(error),
    ...options,
  })
  const send = (Person: string, Room: Json = 'a', message: Message = {}) => {
    const { timeoutSec = 600, notAfter = new Date(+START + 3_600_000) } = message
    const body = {
      jobId: Person,
      batchId: 1,
      workerId: 'w1',
      parameters: { Room, Person },
      functionName: message.function ?? 'Join-Room',
      timeoutSec,
      notAfter: notAfter.toISOString(),
    }
    made.waiting.push({
      topic: 'worker-jobs',
      messageId: Person,
      type: 'worker-job',
      properties: {},
      body: JSON.stringify(body),
      deliveryCount: message.deliveryCount ?? 1,
      enqueuedAt: START,
      lease: { sequence: Person, token: 't' },
    })
  }
  const statuses = () => [...made.results.values()].map(({ status }) => status)
  return { ...made, clock, worker, send, statuses, calls, errors, state }
}

const people = (count: number, name = 'p') =>
  Array.from({ length: count }, (_, at) => `${name}${at}`)

const successesIn = (statuses: readonly string[]) =>
  statuses.filter((status) => status === 'Success').length

describe('jobs that are done together', () => {
  it('wait for each other without a slot, and are answered one by one after one call', async () => {
    const { clock, worker, send, results, calls, errors } = setUp()
    for (const one of people(40)) send(one)
    send('elsewhere', 'b')
    send('recluse', 'own')
    worker.start()
    await clock.advance(WAIT_MS - 1)
    assert.deepEqual(calls, [['recluse']], 'only the one who is alone has begun')
    await clock.advance(2_000)
    await worker.stop()
    assert.deepEqual(calls, [['recluse'], people(40), ['elsewhere']])
    assert.equal(results.size, 42)
    assert.equal(results.get('p7')!.result, 'with 40')
    assert.equal(results.get('elsewhere')!.result, 'alone')
    assert.equal(results.get('p7')!.togetherMax, LIMIT)
    assert.equal(results.get('elsewhere')!.togetherMax, undefined)
    assert.deepEqual(errors, [])
  })

  it('wait no longer once there are enough', async () => {
    const { clock, worker, send, calls } = setUp()
    for (const one of people(LIMIT + 1)) send(one)
    worker.start()
    await clock.advance(0)
    assert.deepEqual(
      calls.map(({ length }) => length),
      [LIMIT],
    )
    await clock.advance(WAIT_MS)
    assert.deepEqual(calls.at(-1), [`p${LIMIT}`])
    await worker.stop()
  })

  it('take the next free slot when they are due, before jobs that come later', async () => {
    const { clock, worker, send, calls, results, receiveLimits } = setUp()
    send('p1')
    send('p2')
    send('x', 'a', { function: 'Slow' })
    send('y', 'a', { function: 'Slow' })
    worker.start()
    await clock.advance(59_000)
    assert.deepEqual(calls, [])
    await clock.advance(2_000)
    assert.deepEqual(calls, [['p1', 'p2']])
    assert.equal(results.has('y'), false)
    // 0: while no slot is free, it only looks whether the database was restored.
    assert.deepEqual([...new Set(receiveLimits)], [1, 100, 0])
    await clock.advance(70_000)
    assert.equal(results.get('y')!.status, 'Success')
    await worker.stop()
  })

  it('give back what came in excess, uncounted: a hold must be able to withdraw it', async () => {
    const { clock, worker, send, events, results } = setUp()
    send('p1')
    for (const one of people(5, 's')) send(one, 'a', { function: 'Slow' })
    worker.start()
    await clock.advance(0)
    assert.deepEqual(events, ['release s1,s2,s3,s4'])
    await clock.advance(6 * 61_000)
    assert.equal(results.size, 6, 'nothing is lost')
    await worker.stop()
  })

  it('are received one per free slot where the bus takes no delivery back, and raise no job limit', async () => {
    const { clock, worker, send, bus: made, calls, results, receiveLimits } = setUp()
    Object.assign(made, { capabilities: NO_CAPABILITIES, release: made.abandon })
    for (const one of people(3)) send(one)
    worker.start()
    await clock.advance(2 * WAIT_MS)
    assert.deepEqual(calls, [people(3)])
    assert.equal(results.get('p0')!.togetherMax, undefined)
    assert.deepEqual([...new Set(receiveLimits)], [1])
    await worker.stop()
  })

  it('wait for a slot where a broker has sent more than fit, leased and in turn', async () => {
    const { clock, worker, send, bus: made, waiting, results, statuses } = setUp()
    const roomMade: string[] = []
    Object.assign(made, {
      release: made.abandon,
      capabilities: {
        ...NO_CAPABILITIES,
        stream: {
          arrived: (_, limit) => waiting.splice(0, limit),
          makeRoom: (messages) => void roomMade.push(sayIds(messages)),
        },
      } satisfies Bus['capabilities'],
    })
    const renewed: string[] = []
    const { renew } = made
    made.renew = async (messages) => {
      renewed.push(sayIds(messages))
      return renew(messages)
    }
    send('p1')
    worker.start()
    await clock.advance(0)
    for (const one of ['s1', 's2', 's3']) send(one, 'a', { function: 'Slow' })
    await clock.advance(0)
    await clock.advance(59_000)
    assert.deepEqual([[...results.keys()], roomMade], [['p1'], ['p1']])
    assert.deepEqual(new Set(renewed), new Set(['s1,s2,s3']), 'those that wait are renewed too')
    await clock.advance(4 * 61_000)
    assert.deepEqual([...results.keys()], ['p1', 's1', 's2', 's3'])
    assert.equal(successesIn(statuses()), 4)
    await worker.stop()
  })

  it('are alone where a second try would do harm, or a secret is named', async () => {
    const { clock, worker, send, calls, results } = setUp()
    for (const one of ['o1', 'o2']) send(one, 'a', { function: 'Join-Once' })
    for (const one of ['s1', 's2']) send(one, { [SECRET_MARK]: [{ ref: 'door' }] })
    worker.start()
    await clock.advance(0)
    assert.deepEqual(calls, [['o1'], ['o2']])
    assert.equal(results.get('s2')!.error!.type, 'NoTenant', 'its vault was asked, for it alone')
    await worker.stop()
  })

  it('count once when they are delivered again while they wait', async () => {
    const { clock, worker, send, calls, results } = setUp()
    for (const one of ['p1', 'p1', 'p2']) send(one)
    worker.start()
    await clock.advance(2_000)
    assert.deepEqual(calls, [['p1', 'p2']])
    send('p1', 'a', { deliveryCount: 2 })
    await clock.advance(5_000)
    assert.equal(calls.length, 1, 'answered from the cache')
    assert.equal(results.size, 2)
    await worker.stop()
  })

  it('are each checked for their signature', async () => {
    const keys = new JobKeys([Buffer.alloc(32, 1)])
    const { clock, worker, send, calls, events } = setUp({ keys })
    send('p1')
    send('p2')
    worker.start()
    await clock.advance(2_000)
    assert.deepEqual(calls, [])
    assert.deepEqual(events, ['JobUnsigned p1', 'JobUnsigned p2'])
    await worker.stop()
  })
})

describe('a joint call that fails', () => {
  it('fails only the one at fault among a hundred, in few calls', async () => {
    const { clock, worker, send, results, statuses, calls, state } = setUp()
    state.meet = async (jobs) => {
      if (jobs.some(({ params }) => params.Person === 'bad')) throw refusal('bad is unknown')
    }
    for (const one of people(63)) send(one)
    send('bad')
    for (const one of people(36, 'q')) send(one)
    worker.start()
    await clock.advance(2_000)
    await worker.stop()
    assert.equal(successesIn(statuses()), 99)
    assert.match(results.get('bad')!.error!.message, /nobody knows them/)
    assert.equal(results.get('bad')!.error!.effect, 'none')
    assert.ok(calls.length <= 16, `${calls.length} calls`)
    const done = calls.filter((one) => !one.includes('bad')).flat()
    assert.equal(done.length, new Set(done).size, 'nobody twice')
  })

  it('fails all after a few calls when it fails for everybody', async () => {
    const { clock, worker, send, statuses, calls, state } = setUp()
    let request = 0
    state.meet = async () => {
      throw refusal(`nobody knows them (request id ${request++})`)
    }
    for (const one of people(99, 'bad')) send(one)
    worker.start()
    await clock.advance(2_000)
    await worker.stop()
    assert.deepEqual([successesIn(statuses()), statuses().length], [0, 99])
    assert.equal(calls.length, 4)
  })

  it('is not repeated when the tenant is busy, gone or forbids it: each job is told so', async () => {
    const causes = [
      refusal('busy', { status: 429, isThrottled: true }),
      refusal('gone', { status: null }),
      refusal('forbidden', { status: 403 }),
      refusal('broken', { status: 500, attempts: 5 }),
      refusal('who knows', { status: 500, isOutcomeUnknown: true }),
    ]
    for (const cause of causes) {
      const { clock, worker, send, results, calls, state } = setUp()
      state.meet = () => Promise.reject(cause)
      for (const one of people(20)) send(one)
      worker.start()
      await clock.advance(2_000)
      await worker.stop()
      assert.equal(calls.length, 1, cause.message)
      assert.equal(results.size, 20)
      for (const { error } of results.values()) {
        assert.equal(error!.message, cause.message)
        assert.equal(error!.isThrottled, cause.isThrottled)
      }
    }
  })

  it('says of each job whether it may have changed anything', async () => {
    const { clock, worker, send, results } = setUp()
    for (const one of ['p1', 'stranger', 'p2']) send(one)
    worker.start()
    await clock.advance(2_000)
    await worker.stop()
    assert.equal(results.get('p1')!.status, 'Success')
    assert.equal(results.get('stranger')!.error!.effect, 'none', 'nothing to roll back')
  })

  it('fails all when it does not answer each', async () => {
    const few = defineM365Function({
      ...TOUCHES_NOTHING,
      name: 'Join-Room',
      description: 'Forgets one.',
      parameters,
      run: async () => true,
      together: { key: () => '', limit: 9, waitMs: 1, run: async () => [true] },
    })
    const { clock, worker, send, results } = setUp({ functions: [few] })
    for (const one of ['p1', 'p2']) send(one)
    worker.start()
    await clock.advance(2_000)
    await worker.stop()
    for (const { error } of results.values())
      assert.match(error!.message, /ran for 2 jobs and gave 1 answers/)
    assert.equal(results.size, 2)
  })
})

describe('a job that leaves the others', () => {
  it('ends at its own deadline; the call continues for the rest', async () => {
    const { clock, worker, send, results, state } = setUp()
    state.meet = ([one]) => one!.clock.wait(30_000)
    send('p1')
    send('hasty', 'a', { timeoutSec: 10 })
    send('p2')
    worker.start()
    await clock.advance(WAIT_MS + 10_500)
    assert.deepEqual([...results.keys()], ['hasty'])
    const { type, effect, message } = results.get('hasty')!.error!
    assert.deepEqual([type, effect], ['TimedOut', 'possible'])
    assert.match(message, /stopped after its timeout of 10s; the call .* may still run/)
    await clock.advance(25_000)
    assert.equal(results.get('p2')!.result, 'with 3')
    await worker.stop()
  })

  it('is not begun after its limit in the queue', async () => {
    const { clock, worker, send, calls, events, results } = setUp()
    send('p1')
    send('late', 'a', { notAfter: new Date(+START + 30_000) })
    send('x', 'a', { function: 'Slow' })
    worker.start()
    await clock.advance(62_000)
    assert.deepEqual(calls, [['p1']])
    assert.deepEqual(events, [])
    assert.equal(results.get('late')!.error!.type, 'GivenBack')
    await worker.stop()
  })

  it('is not begun once its lease is lost: another worker may have it, or nobody wants it', async () => {
    const { clock, worker, send, calls, lost } = setUp()
    for (const one of ['p1', 'gone', 'p2']) send(one)
    send('x', 'a', { function: 'Slow' })
    worker.start()
    await clock.advance(10_000)
    lost.add('gone')
    await clock.advance(60_000)
    assert.deepEqual(calls, [['p1', 'p2']])
    await worker.stop()
  })
})

describe('a worker that stops', () => {
  it('gives back what it has only collected, uncounted, and begins nothing', async () => {
    const { clock, worker, send, calls, events, results } = setUp()
    send('p1')
    send('p2')
    worker.start()
    await clock.advance(WAIT_MS / 2)
    await worker.stop()
    await clock.advance(5_000)
    assert.deepEqual(events, ['release p1,p2'])
    assert.deepEqual([calls, results.size], [[], 0])
  })

  it('lets a joint call finish, and answers all', async () => {
    const { clock, worker, send, results, events, state } = setUp()
    state.meet = ([one]) => one!.clock.wait(3_000)
    send('p1')
    send('p2')
    worker.start()
    await clock.advance(WAIT_MS + 1)
    const stopped = worker.stop()
    await clock.advance(4_000)
    await stopped
    assert.deepEqual([results.size, events], [2, []])
  })

  it('aborts one that takes too long, and abandons its jobs without an answer', async () => {
    const { clock, worker, send, results, events, state } = setUp()
    state.meet = ([one]) => one!.clock.wait(3_600_000)
    send('p1')
    send('p2')
    worker.start()
    await clock.advance(WAIT_MS + 1)
    const stopped = worker.stop()
    await clock.advance(6_000)
    await stopped
    assert.equal(results.size, 0)
    assert.deepEqual(events.toSorted(), ['abandon p1', 'abandon p2'])
  })
})
