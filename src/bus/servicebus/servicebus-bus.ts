// The transport `servicebus`: Azure Service Bus carries the messages. State and messages still commit together in the outbox, from where a
// relay forwards them; dead letters are read into the database. A process that is only a worker needs no database.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { inLanes } from '../../base/run/soon.ts'
import type { Db } from '../../db/connection/db.ts'
import { listWorkerIds } from '../../db/state/workers.ts'
import {
  addressOf,
  type Bus,
  type DeadLetters,
  LEASE_MS,
  NO_CAPABILITIES,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  RECEIVE_MAX,
  type ReceivedMessage,
  type Subscription,
  WORKER_RESULTS,
  workerJobs,
} from '../bus.ts'
import { storedDeadLetters } from '../dead-letters.ts'
import { openHints } from '../hints.ts'
import { forgetMessageIds } from '../message-ids.ts'
import { rowOf } from '../outbox.ts'
import { type ConnectionOptions, loadSdk, ServiceBusConnection } from './connection.ts'
import { readControl } from './control.ts'
import { readDeadLetters } from './dead-letter-reader.ts'
import { ASKED_AT_ONCE, countMessages, countOutbox } from './depth.ts'
import { Intake } from './intake.ts'
import { abandonLeased, complete, deadLetterLeased, makeRoom, renew } from './leases.ts'
import { forward } from './relay.ts'
import { send } from './sending.ts'

export interface ServiceBusOptions extends ConnectionOptions {
  /** The state's database; null in a process that is only a worker. */
  readonly db: Db | null
  readonly clock: Clock
  readonly newToken: () => string
  /** Workers that get their jobs in PascalCase. */
  readonly pascalWorkers?: ReadonlySet<string>
}

/** Dead letters that nobody here made are looked for this often. */
const READ_INTERVAL_MS = 5_000
/** A delayed message stays locked here, so the delay ends before the lock does. */
const DELAY_MAX_MS = LEASE_MS - 10_000

export async function openServiceBus(options: ServiceBusOptions): Promise<Bus> {
  return new ServiceBusTransport(options, new ServiceBusConnection(await loadSdk(), options)).bus()
}

class ServiceBusTransport {
  readonly #options: ServiceBusOptions
  readonly #connection: ServiceBusConnection
  readonly #intakes = new Map<string, Intake>()
  /** Workers of this process's messages; those in the database may be fewer, or not readable here. */
  readonly #workerIds = new Set<string>()
  readonly #delayed = new Set<Promise<void>>()
  readonly #closing = new AbortController()
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ServiceBusOptions, connection: ServiceBusConnection) {
    this.#options = options
    this.#connection = connection
  }

  bus(): Bus {
    const { db } = this.#options
    const connection = this.#connection
    const hints = db && openHints(db)
    return {
      leaseMs: LEASE_MS,
      publish: (messages) => this.#publish(messages),
      receive: (subscription, limit) => this.#receive(subscription, limit),
      ack: (messages) => complete(connection, messages),
      abandon: (messages, delayMs = 0) => this.#abandon(messages, delayMs),
      release: (messages, delayMs) => this.#abandon(messages, delayMs),
      renew: (messages) => renew(connection, messages),
      deadLetter: (messages, reason, description) => {
        this.#readAtMs = Number.NEGATIVE_INFINITY
        return deadLetterLeased(connection, messages, reason, description)
      },
      deadLetters: this.#deadLetters(),
      // The broker does not say who has a message.
      locate: async (_topic, ids) => ids.map(() => ({ is: 'unknown' })),
      isReady: () => this.#isReady(),
      depth: async () => {
        await this.#readAll()
        return countMessages(
          connection,
          this.#database(),
          await this.#subscriptions(),
          this.#options.clock.now(),
        )
      },
      sweep: () => this.#sweep(),
      listen: async (subscription, heard) => {
        const stop = this.#intake(subscription).listen(heard)
        const stopHints = await hints?.listen(subscription, heard)
        return async () => {
          await stopHints?.()
          await stop()
        }
      },
      storedJobs: null,
      capabilities: {
        ...NO_CAPABILITIES,
        stream: {
          arrived: (subscription, limit) => this.#intake(subscription).arrived(limit),
          makeRoom,
        },
        control: { read: (workerId, after) => readControl(connection, workerId, after) },
        relay: hints && {
          forward: () => this.#forward(),
          waiting: () => countOutbox(this.#database(), this.#options.clock.now()),
          listen: hints.listenToAll,
        },
      },
      close: async () => {
        this.#closing.abort()
        await Promise.allSettled(this.#delayed)
        await Promise.allSettled([...this.#intakes.values()].map((intake) => intake.close()))
        await hints?.close()
        await connection.close()
      },
    }
  }

  #database(): Db {
    if (this.#options.db) return this.#options.db
    throw new MatoolkitError('INTERNAL', { reason: 'this process has no database' })
  }

  #intake(subscription: Subscription): Intake {
    const address = addressOf(subscription)
    const known = this.#intakes.get(address)
    if (known) return known
    const intake = new Intake(this.#connection, subscription, this.#options.clock)
    this.#intakes.set(address, intake)
    return intake
  }

  async #publish(messages: readonly OutgoingMessage[]): Promise<void> {
    const now = this.#options.clock.now()
    const rows = messages.map((message) => rowOf(message, now))
    for (const { topic, workerId } of rows)
      if (topic === 'worker-jobs') this.#workerIds.add(workerId!)
    await send(this.#connection, rows, now, this.#options.pascalWorkers)
  }

  async #receive(subscription: Subscription, limit: number): Promise<ReceivedMessage[]> {
    return this.#intake(subscription).receive(Math.min(limit, RECEIVE_MAX))
  }

  /** A lock can be given back at once only: a message that waits stays locked here meanwhile. */
  async #abandon(messages: readonly ReceivedMessage[], delayMs: number): Promise<void> {
    if (delayMs <= 0) return abandonLeased(this.#connection, messages)
    const { clock } = this.#options
    const waited = clock
      .wait(Math.min(delayMs, DELAY_MAX_MS), this.#closing.signal)
      .then(() => abandonLeased(this.#connection, messages))
      // Its lock ends, which is the same.
      .catch(() => {})
      .finally(() => this.#delayed.delete(waited))
    this.#delayed.add(waited)
  }

  /** By opening a link to send: every process may send to one of the two, and most may receive nothing. */
  async #isReady(): Promise<boolean> {
    const topic = this.#options.db ? 'orchestrator-events' : 'worker-results'
    const sender = this.#connection.sender(topic)
    await this.#connection.call('looking at Service Bus', () => sender.createMessageBatch())
    return true
  }

  async #forward(): Promise<number> {
    const { clock, newToken } = this.#options
    const db = this.#database()
    return forward({
      db,
      clock,
      newToken,
      send: (rows, now) => send(this.#connection, rows, now, this.#options.pascalWorkers),
    })
  }

  async #sweep(): Promise<void> {
    const { db, clock } = this.#options
    if (!db) return
    await this.#forward()
    await this.#readAll()
    await forgetMessageIds(db, clock.now())
  }

  /** An API or a scheduler has no right to receive; it shows what an orchestrator has read. */
  #mayReceive(): boolean {
    return this.#intakes.has(addressOf(WORKER_RESULTS))
  }

  async #subscriptions(): Promise<Subscription[]> {
    if (!this.#mayReceive()) return []
    const known = await listWorkerIds(this.#database())
    const ids = [...new Set([...known, ...this.#workerIds])]
    return [ORCHESTRATOR_EVENTS, WORKER_RESULTS, ...ids.map(workerJobs)]
  }

  async #read(subscription: Subscription): Promise<void> {
    if (!this.#mayReceive()) return
    const { clock } = this.#options
    await readDeadLetters(this.#connection, this.#database(), subscription, clock.now()).catch(
      (error: unknown) => {
        // A worker that was configured and never set up has no dead letters either.
        if (!(error instanceof MatoolkitError) || error.code !== 'BUS_ENTITY_MISSING') throw error
      },
    )
  }

  async #readAll(): Promise<void> {
    const nowMs = +this.#options.clock.now()
    if (nowMs < this.#readAtMs + READ_INTERVAL_MS) return
    this.#readAtMs = nowMs
    try {
      await inLanes(await this.#subscriptions(), ASKED_AT_ONCE, (one) => this.#read(one))
    } catch (error) {
      this.#readAtMs = Number.NEGATIVE_INFINITY
      throw error
    }
  }

  #deadLetters(): DeadLetters {
    const { db, clock } = this.#options
    const stored = () => storedDeadLetters(db ?? this.#database(), clock)
    return {
      list: async (subscription, limit, after) => {
        await this.#read(subscription)
        return stored().list(subscription, limit, after)
      },
      show: (id) => stored().show(id),
      replay: async (id, by) => {
        const messageId = await stored().replay(id, by)
        await this.#forward()
        return messageId
      },
      discard: (id, by) => stored().discard(id, by),
      replayExhausted: (by, limit) => stored().replayExhausted(by, limit),
      listWorkers: async () => {
        await this.#readAll()
        return stored().listWorkers()
      },
      listUnnoticedJobs: async (limit) => {
        await this.#readAll()
        return stored().listUnnoticedJobs(limit)
      },
      markNoticed: (ids, decidedBy, tx) => stored().markNoticed(ids, decidedBy, tx),
    }
  }
}
