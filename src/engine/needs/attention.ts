// Everything that waits for a person, from the database and the bus, for tick, API and log alike.

import { countText } from '../../base/text/count-text.ts'
import type { Topic } from '../../bus/bus.ts'
import { type FailingChannel, listFailingChannels } from '../../db/orders/notifications.ts'
import { insertEvents } from '../../db/state/changes.ts'
import {
  ATTENTION_LISTED_MAX,
  type AttentionScope,
  findNotedDeadLetters,
  listAttention,
} from '../../db/views/attention.ts'
import {
  type Attention,
  attentionEvent,
  type DescribedAttention,
  describeAttention,
} from '../../domain/needs/attention.ts'
import { type EventRecord, eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../transactions/engine.ts'

const ACTOR = 'orchestrator'

export interface AttentionList {
  readonly items: readonly Attention[]
  /** False when there are more than listed. */
  readonly isComplete: boolean
}

/** Dead letters and channels belong to no batch and show only without a scope. */
export async function loadAttention(
  { db, bus }: Pick<Engine, 'db' | 'bus'>,
  scope: AttentionScope = {},
): Promise<AttentionList> {
  const found = await listAttention(db, scope)
  const isWide = scope.runbookName === undefined && scope.batchId === undefined
  const { deadLetters } = isWide ? await bus.depth() : { deadLetters: [] }
  const dead = deadLetters.filter(({ count }) => count > 0).map(deadLetterItem)
  const channels = isWide ? (await listFailingChannels(db)).map(failingChannelItem) : []
  return {
    items: [...found.slice(0, ATTENTION_LISTED_MAX), ...dead, ...channels],
    isComplete: found.length <= ATTENTION_LISTED_MAX,
  }
}

const REPLAYED_AT_ONCE = 500

/** Messages that were delivered too often for a passing reason get another chance, with an event. Returns how many. */
export async function replayExhausted({ db, bus, clock }: Engine): Promise<number> {
  const counts = await bus.deadLetters.replayExhausted(ACTOR, REPLAYED_AT_ONCE)
  const events = counts.map(({ topic, count }) =>
    eventRecord(
      'worker',
      'dead_letters_replayed',
      `${countText(count, 'message')} on ${topic} that had been delivered too often: sent again`,
      { details: { topic, count } },
    ),
  )
  if (events.length > 0)
    await db.transaction((tx) => insertEvents(tx, null, clock.now(), ACTOR, events))
  return counts.reduce((sum, { count }) => sum + count, 0)
}

/** Writes an event when the number of dead letters has changed, whichever orchestrator sees it first. Returns what is new. */
export async function noteDeadLetters({ db, bus, clock }: Engine): Promise<DescribedAttention[]> {
  const { deadLetters } = await bus.depth()
  const noted = await findNotedDeadLetters(db)
  const items = deadLetters
    .filter(({ topic, count }) => count > 0 && noted.get(topic) !== count)
    .map(deadLetterItem)
    .map(describeAttention)
  const left = new Set(deadLetters.filter(({ count }) => count > 0).map(({ topic }) => topic))
  const decided = [...noted].filter(([topic, count]) => count > 0 && !left.has(topic as Topic))
  const events = [...items.map(attentionEvent), ...decided.map(([topic]) => allDecided(topic))]
  if (events.length > 0)
    await db.transaction((tx) => insertEvents(tx, null, clock.now(), ACTOR, events))
  return items
}

const allDecided = (topic: string): EventRecord =>
  eventRecord('worker', 'dead_letters_decided', `No dead letters are left on ${topic}`, {
    details: { topic, count: 0 },
  })

const NOTHING = {
  runbookName: null,
  batchId: null,
  membersActive: null,
  since: null,
  fromTime: null,
  toTime: null,
  isWholeWave: false,
  hasOtherTimes: false,
  topic: null,
  error: null,
} as const

export const deadLetterItem = ({ topic, count }: { topic: string; count: number }): Attention => ({
  ...NOTHING,
  kind: 'dead_letters',
  count,
  topic,
})

const failingChannelItem = ({ channel, since, error }: FailingChannel): Attention => ({
  ...NOTHING,
  kind: 'channel_failing',
  count: 1,
  since,
  topic: channel,
  error,
})
