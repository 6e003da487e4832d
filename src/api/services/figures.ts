// How much work there is, for `/metrics` and collectors: read from counters and small tables when somebody asks, so it costs nothing in between and
// is the same from every process with the database.

import type { Clock } from '../../base/run/clock.ts'
import { SoonAnswer } from '../../base/run/soon.ts'
import { gauge, type MetricFamily } from '../../base/telemetry/metric-family.ts'
import { familyLines } from '../../base/telemetry/prometheus.ts'
import type { Bus, TopicDepth } from '../../bus/bus.ts'
import { countDeadLetters } from '../../bus/dead-letters.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { type Figure, loadWorkFigures, type WorkFigures } from '../../db/views/metrics.ts'
import { listWorkers } from '../../db/views/workers.ts'
import { isSilent } from '../../domain/needs/stuck.ts'

export interface FiguresContext {
  readonly db: Queryable
  readonly bus: Pick<Bus, 'depth' | 'isReady' | 'capabilities'>
  readonly clock: Clock
}

/** A scraper waits a second; the database and the bus are asked side by side. */
const LIMIT_MS = 700
/** Longer than two scrapes; older figures mislead more than they tell. */
const KEPT_MS = 120_000

/** The figures of a process. Whatever is away or slow is left out, and `matoolkit_reachable` says so. */
export class Figures {
  readonly #ofDatabase: SoonAnswer<WorkFigures>
  readonly #ofBus: SoonAnswer<WorkFigures>

  readonly #bus: SoonAnswer<boolean>

  constructor({ db, bus, clock }: FiguresContext) {
    const limits = { clock, limitMs: LIMIT_MS, keptMs: KEPT_MS }
    const figuresOfDatabase = () => databaseFigures(db, bus, clock.now())
    this.#ofDatabase = new SoonAnswer({ ...limits, load: figuresOfDatabase })
    this.#ofBus = new SoonAnswer({ ...limits, load: () => busFigures(bus, clock.now()) })
    this.#bus = new SoonAnswer({ ...limits, keptMs: 0, load: () => bus.isReady() })
  }

  async families(): Promise<MetricFamily[]> {
    const [work, messages] = await Promise.all([this.#ofDatabase.get(), this.#ofBus.get()])
    const isThere = (of: string, found: WorkFigures | null) => ({ of, count: found ? 1 : 0 })
    return familiesOf({
      ...work,
      ...messages,
      reachable: {
        help: 'Whether this process reaches the database and the bus: 1, or 0.',
        label: 'part',
        values: [isThere('database', work), isThere('bus', messages)],
      },
    })
  }

  /** In time for a probe of Container Apps, which waits a second. */
  isBusThere = async (): Promise<boolean> => (await this.#bus.get()) === true

  lines = async (): Promise<string[]> => (await this.families()).flatMap(familyLines)
}

async function databaseFigures(
  db: Queryable,
  { capabilities: { relay } }: FiguresContext['bus'],
  now: Date,
): Promise<WorkFigures> {
  const work = await loadWorkFigures(db, now)
  const deadLetters = await countDeadLetters(db)
  return {
    ...work,
    no_worker_steps: {
      help: 'Steps that wait for a worker that does not come, by worker. A worker that sleeps without work is none.',
      label: 'worker',
      values: await stepsWithoutWorker(db, now),
    },
    dead_letters: {
      help: 'Dead letters that wait for a person, by topic.',
      label: 'topic',
      values: deadLetters.map(({ topic, count }) => ({ of: topic, count })),
    },
    ...(relay && outboxFigures(await relay.waiting(), now)),
  }
}

async function stepsWithoutWorker(db: Queryable, now: Date): Promise<Figure['values']> {
  const missing = (await listWorkers(db)).filter((one) => !one.isKnown || isSilent(one, now))
  return missing.flatMap(({ workerId: of, outstanding, waiting, heldAt }) => {
    const count = outstanding + (heldAt === null ? waiting : 0)
    return count > 0 ? [{ of, count }] : []
  })
}

async function busFigures(bus: FiguresContext['bus'], now: Date): Promise<WorkFigures> {
  const [{ messages }] = await Promise.all([bus.depth(), bus.isReady()])
  return {
    messages: {
      help: 'Messages on the bus by topic.',
      label: 'topic',
      values: messages.map(({ topic, count }) => ({ of: topic, count })),
    },
    oldest_message_seconds: {
      help: 'Age of the oldest message that is due, by topic.',
      label: 'topic',
      values: agesOf(messages, now),
    },
  }
}

/** Only where a relay forwards messages to a broker. */
const outboxFigures = (outbox: readonly TopicDepth[], now: Date): WorkFigures => ({
  outbox_messages: {
    help: 'Messages that the relay has not forwarded to the broker, by topic.',
    label: 'topic',
    values: outbox.map(({ topic, count }) => ({ of: topic, count })),
  },
  outbox_oldest_seconds: {
    help: 'Age of the oldest due message that the relay has not forwarded, by topic.',
    label: 'topic',
    values: agesOf(outbox, now),
  },
})

const agesOf = (topics: readonly TopicDepth[], now: Date): Figure['values'] =>
  topics.flatMap(({ topic, oldestAt }) =>
    oldestAt ? [{ of: topic, count: secondsSince(oldestAt, now) }] : [],
  )

const secondsSince = (at: Date, now: Date): number =>
  Math.max(0, Math.round((now.getTime() - at.getTime()) / 100) / 10)

/** One gauge per figure, with one label such as a status or a topic. */
const familiesOf = (figures: WorkFigures): MetricFamily[] =>
  Object.entries(figures).map(([name, { help, label, values }]) =>
    gauge(
      `matoolkit_${name}`,
      help,
      values.map(({ of, count }) => ({ labels: { [label]: of }, value: count })),
    ),
  )

export const processFamilies = (memory: NodeJS.MemoryUsage, uptimeSec: number): MetricFamily[] => {
  const one = (value: number) => [{ labels: {}, value }]
  return [
    gauge('process_resident_memory_bytes', 'Memory of this process.', one(memory.rss)),
    gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', one(memory.heapUsed)),
    gauge('process_uptime_seconds', 'Since this process started.', one(Math.round(uptimeSec))),
  ]
}

export const processLines = (memory: NodeJS.MemoryUsage, uptimeSec: number): string[] =>
  processFamilies(memory, uptimeSec).flatMap(familyLines)
