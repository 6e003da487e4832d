// Reviews that can be decided together: of one kind, batch and new time.
import type { Answer } from '../../api/routes.ts'

export type Review = Answer<'GET /api/reviews'>['reviews'][number]
export type Kind = Review['kind']

interface KindText {
  readonly name: string
  readonly found: string
  readonly approve: string
  readonly dismiss: string
}

export const KIND_TEXT: Readonly<Record<Kind, KindText>> = {
  removal: {
    name: 'Removals',
    found: 'These people are gone from the source.',
    approve:
      'They leave their batch. Steps of theirs stop, and cleanup begins where the runbook has it.',
    dismiss: 'They stay in their batch, against the source.',
  },
  move: {
    name: 'Moves',
    found: 'These people have another time in the source.',
    approve: 'They go to the new time.',
    dismiss: 'They stay in their batch at its time, against the source.',
  },
  join: {
    name: 'Latecomers',
    found: 'These people come too late for their batch.',
    approve: 'They join the batch, which opens again if it has ended.',
    dismiss: 'They stay out, against the source.',
  },
}

export interface ReviewGroup {
  readonly id: string
  readonly kind: Kind
  readonly runbookName: string
  readonly batchId: number | null
  readonly fromTime: string | null
  readonly toTime: string | null
  readonly reviews: readonly Review[]
}

export function groupReviews(reviews: readonly Review[]): readonly ReviewGroup[] {
  const groups = Map.groupBy(reviews, ({ kind, runbookName, batchId, toTime }) =>
    [kind, runbookName, batchId, kind === 'move' ? toTime : ''].join(' '),
  )
  return [...groups].map(([id, [first, ...rest]]) => {
    const { kind, runbookName, batchId, fromTime, toTime } = first!
    return { id, kind, runbookName, batchId, fromTime, toTime, reviews: [first!, ...rest] }
  })
}
