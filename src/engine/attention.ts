// Everything that waits for a person, from the database and the bus, for tick, API and log alike.
import { ATTENTION_LISTED_MAX, type AttentionScope, listAttention } from '../db/views/attention.ts'
import type { Attention } from '../domain/attention.ts'
import type { Engine } from './engine.ts'

export interface AttentionList {
  readonly items: readonly Attention[]
  /** False when there are more than listed. */
  readonly isComplete: boolean
}

/** Dead letters belong to no batch and show only without a scope. */
export async function loadAttention(
  { db, bus }: Pick<Engine, 'db' | 'bus'>,
  scope: AttentionScope = {},
): Promise<AttentionList> {
  const found = await listAttention(db, scope)
  const isWide = scope.runbookName === undefined && scope.batchId === undefined
  const { deadLetters } = isWide ? await bus.depth() : { deadLetters: [] }
  const dead = deadLetters.filter(({ count }) => count > 0).map(deadLetterItem)
  return {
    items: [...found.slice(0, ATTENTION_LISTED_MAX), ...dead],
    isComplete: found.length <= ATTENTION_LISTED_MAX,
  }
}

const deadLetterItem = ({ topic, count }: { topic: string; count: number }): Attention => ({
  kind: 'dead_letters',
  runbookName: null,
  batchId: null,
  count,
  membersActive: null,
  since: null,
  fromTime: null,
  toTime: null,
  isWholeWave: false,
  hasOtherTimes: false,
  topic,
  error: null,
})
