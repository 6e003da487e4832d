// How much work there is, for `/metrics`: read from counters and small tables when somebody asks, so it costs nothing in between and
// is the same from every process with the database.
import type { Bus, TopicDepth } from '../bus/bus.ts'
import type { Queryable } from '../db/db.ts'
import { type Figure, loadWorkFigures, type WorkFigures } from '../db/views/metrics.ts'
import { head, labelText } from '../telemetry/prometheus.ts'

export interface FiguresContext {
  readonly db: Queryable
  readonly bus: Pick<Bus, 'depth'>
}

export async function figureLines({ db, bus }: FiguresContext, now: Date): Promise<string[]> {
  const work = await loadWorkFigures(db, now)
  const depth = await bus.depth()
  return workLines({
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
function workLines(figures: WorkFigures): string[] {
  return Object.entries(figures).flatMap(([name, { help, label, values }]) => [
    ...head(`matoolkit_${name}`, 'gauge', help),
    ...values.map(({ of, count }) => `matoolkit_${name}{${labelText({ [label]: of })}} ${count}`),
  ])
}

export function processLines(memory: NodeJS.MemoryUsage, uptimeSec: number): string[] {
  return [
    ...head('process_resident_memory_bytes', 'gauge', 'Memory of this process.'),
    `process_resident_memory_bytes ${memory.rss}`,
    ...head('nodejs_heap_size_used_bytes', 'gauge', 'JavaScript heap in use.'),
    `nodejs_heap_size_used_bytes ${memory.heapUsed}`,
    ...head('process_uptime_seconds', 'gauge', 'Since this process started.'),
    `process_uptime_seconds ${Math.round(uptimeSec)}`,
  ]
}
