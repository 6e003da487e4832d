// The https transport keeps the contract of a transport: all that is received comes by HTTP, from the API that the load balancer chooses. Two
// workers of the test stand for the orchestrator's subscriptions, which no real worker can reach, so that the whole suite goes over the wire.
import { randomUUID } from 'node:crypto'
import type { ApiBus } from '../../../src/api/route.ts'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import {
  addressOf,
  type Bus,
  type MessageLease,
  ORCHESTRATOR_EVENTS,
  type ReceivedMessage,
  type Subscription,
  WORKER_RESULTS,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { openPostgresBus, type PostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { JobEnd, WorkerGateway } from '../../../src/bus/worker-gateway.ts'
import { openWorld } from '../../stories/world.ts'
import { busContract } from '../contract.ts'
import type { BusUnderTest } from '../under-test.ts'
import { clientOf, openBalancer, openPlainApi, tokenFor } from './under-test.ts'

const STAND_INS: Readonly<Record<string, Subscription>> = {
  'stands-for-events': ORCHESTRATOR_EVENTS,
  'stands-for-results': WORKER_RESULTS,
}
const WORKERS = [...Object.keys(STAND_INS), 'w1', 'w2', 'zoe', 'abe']

function workerOf({ topic, name }: Subscription): string {
  const found = Object.entries(STAND_INS).find(
    ([, one]) => addressOf(one) === addressOf({ topic, name }),
  )
  return found?.[0] ?? name.slice('worker-'.length)
}

/** A gateway at which the stand-ins get the orchestrator's messages. For workers it is the real one. */
function gatewayWithStandIns(bus: PostgresBus): WorkerGateway {
  const { gateway } = bus.capabilities
  const held = (lease: MessageLease) => ({ lease }) as ReceivedMessage
  const places = (lost: readonly ReceivedMessage[], leases: readonly MessageLease[]) =>
    lost.map(({ lease }) => leases.indexOf(lease))
  async function end(leases: readonly MessageLease[], how: JobEnd): Promise<number[]> {
    const messages = leases.map(held)
    if (how.as === 'done') return places(await bus.ack(messages), leases)
    if (how.as === 'dead') await bus.deadLetter(messages, how.reason, how.description)
    else if (how.isCounted) await bus.abandon(messages, how.delayMs)
    else await bus.release(messages, how.delayMs)
    return []
  }
  return {
    ...gateway,
    take: (id, limit) =>
      STAND_INS[id] ? bus.receive(STAND_INS[id], limit) : gateway.take(id, limit),
    renew: async (id, leases) =>
      STAND_INS[id] ? places(await bus.renew(leases.map(held)), leases) : gateway.renew(id, leases),
    end: (id, leases, how) => (STAND_INS[id] ? end(leases, how) : gateway.end(id, leases, how)),
  }
}

const from = new WeakMap<ReceivedMessage, { bus: Bus; message: ReceivedMessage }>()
const shown = new WeakMap<ReceivedMessage, ReceivedMessage>()

/** One side of the system: what it stores goes to the database, what it receives comes by HTTP. */
function sideOf(stored: PostgresBus, clients: ReadonlyMap<string, Bus>): Bus {
  const each = async (
    messages: readonly ReceivedMessage[],
    run: (bus: Bus, own: ReceivedMessage[]) => Promise<unknown>,
  ): Promise<ReceivedMessage[]> => {
    const gone: ReceivedMessage[] = []
    for (const [bus, own] of Map.groupBy(messages, (message) => from.get(message)!.bus)) {
      const lost = await run(
        bus,
        own.map((message) => from.get(message)!.message),
      )
      gone.push(...((lost ?? []) as ReceivedMessage[]).map((message) => shown.get(message)!))
    }
    return gone
  }
  return {
    ...stored,
    receive: async (subscription, limit) => {
      const workerId = workerOf(subscription)
      const bus = clients.get(workerId)!
      return (await bus.receive(workerJobs(workerId), limit)).map((message) => {
        const { WorkerId, ...properties } = message.properties
        const given = STAND_INS[workerId]
          ? { ...message, topic: subscription.topic, properties }
          : { ...message }
        from.set(given, { bus, message })
        shown.set(message, given)
        return given
      })
    },
    ack: (messages) => each(messages, (bus, own) => bus.ack(own)),
    renew: (messages) => each(messages, (bus, own) => bus.renew(own)),
    abandon: async (messages, delayMs) =>
      void (await each(messages, (bus, own) => bus.abandon(own, delayMs))),
    release: async (messages, delayMs) =>
      void (await each(messages, (bus, own) => bus.release(own, delayMs))),
    deadLetter: async (messages, reason, description) =>
      void (await each(messages, (bus, own) => bus.deadLetter(own, reason, description))),
    isReady: () => clients.get('w1')!.isReady(),
    listen: (subscription, heard) =>
      STAND_INS[workerOf(subscription)]
        ? stored.listen(subscription, heard)
        : clients.get(workerOf(subscription))!.listen(subscription, heard),
  }
}

async function openBusUnderTest(): Promise<BusUnderTest> {
  const world = await openWorld()
  const { clock: virtual, engine } = world
  const stored = openPostgresBus({ db: engine.db, clock: virtual, newToken: randomUUID })
  // The minutes of the suite are not those of the API's own loops.
  const clock: Clock = { ...virtual, wait: realClock().wait }
  const bus: ApiBus = {
    ...stored,
    capabilities: { ...stored.capabilities, gateway: gatewayWithStandIns(stored) },
  }
  const apis = [await openPlainApi(engine, bus, clock), await openPlainApi(engine, bus, clock)]
  const balancer = await openBalancer(apis.map(({ url }) => url))
  const tokens = new Map<string, string>()
  for (const id of WORKERS) tokens.set(id, (await tokenFor(engine, id)).token)
  const open = () =>
    new Map(WORKERS.map((id) => [id, clientOf(id, balancer.url, tokens.get(id)!, clock)]))
  const [clients, others] = [open(), open()]
  return {
    bus: sideOf(stored, clients),
    other: sideOf(stored, others),
    now: clock.now,
    advance: (ms) => virtual.advance(ms),
    inTransaction: (work) => engine.db.transaction(work),
    close: async () => {
      for (const client of [...clients.values(), ...others.values()]) await client.close()
      balancer.server.close()
      balancer.server.closeAllConnections()
      for (const api of apis) await api.close()
      await stored.close()
      await world.close()
    },
  }
}

busContract('https transport', openBusUnderTest)
