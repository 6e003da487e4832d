// Dead letters as events: told once per change, and sent again where they had been delivered too often for a passing reason.

import { countText } from '../../base/text/count-text.ts'
import type { Topic } from '../../bus/bus.ts'
import { countDeadLetters } from '../../bus/dead-letters.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { findNotedDeadLetters } from '../../db/views/waiting.ts'
import { deadLetterNeed, needEvent } from '../../domain/needs/from-sources.ts'
import type { Need } from '../../domain/needs/needs.ts'
import { type EventRecord, eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../transactions/engine.ts'

const ACTOR = 'orchestrator'
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
export async function noteDeadLetters({ db, clock }: Engine): Promise<Need[]> {
  const deadLetters = await countDeadLetters(db)
  const now = clock.now()
  const noted = await findNotedDeadLetters(db)
  const there = deadLetters.filter(({ count }) => count > 0)
  const fresh = there
    .filter(({ topic, count }) => noted.get(topic) !== count)
    .map(({ topic, count }) => ({ topic, need: deadLetterNeed(topic, count, now) }))
  const left = new Set(there.map(({ topic }) => topic))
  const decided = [...noted].filter(([topic, count]) => count > 0 && !left.has(topic as Topic))
  const events = [
    ...fresh.map(({ topic, need }) => needEvent(need, { topic })),
    ...decided.map(([topic]) => allDecided(topic)),
  ]
  if (events.length > 0) await db.transaction((tx) => insertEvents(tx, null, now, ACTOR, events))
  return fresh.map(({ need }) => need)
}

const allDecided = (topic: string): EventRecord =>
  eventRecord('worker', 'dead_letters_decided', `No dead letters are left on ${topic}`, {
    details: { topic, count: 0 },
  })
