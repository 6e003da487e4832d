// How much work there is, for `/metrics` and collectors: read from counters and small tables when somebody asks, so it costs nothing in between and
// is the same from every process with the database.

import { gauge, type MetricFamily } from '../../base/telemetry/metric-family.ts'
import { familyLines } from '../../base/telemetry/prometheus.ts'
import type { Bus, TopicDepth } from '../../bus/bus.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { type Figure, loadWorkFigures, type WorkFigures } from '../../db/views/metrics.ts'

export interface FiguresContext {
  readonly db: Queryable
  readonly bus: Pick<Bus, 'depth'>
}

export const figureLines = async (context: FiguresContext, now: Date): Promise<string[]> =>
  (await loadFigures(context, now)).flatMap(familyLines)

export async function loadFigures({ db, bus }: FiguresContext, now: Date): Promise<MetricFamily[]> {
  const work = await loadWorkFigures(db, now)
  const depth = await bus.depth()
  return familiesOf({
    ...work,
    messages: {
      help: 'Messages on the bus by topic.',
      label: 'topic',
      values: depth.messages.map(({ topic, count }) => ({ of: topic, count })),
    },
    oldest_message_seconds: {
      help: 'Age of the oldest message that is due, by topic.',
      label: 'topic',
      values: agesOf(depth.messages, now),
    },
    dead_letters: {
      help: 'Dead letters that wait for a person, by topic.',
      label: 'topic',
      values: depth.deadLetters.map(({ topic, count }) => ({ of: topic, count })),
    },
    ...(depth.outbox && outboxFigures(depth.outbox, now)),
  })
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
