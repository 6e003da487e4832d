// What the wall and the wallboard show, kept up to date. Phases, batches and holds only: no event of a person is read.
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'

export type WallAnswer = Answer<'GET /api/now'>
export type WallBatch = WallAnswer['batches'][number]

/** Members pass without an event of their batch. */
const EVERY_MS = 5_000

export function useWall() {
  useLive({ entity: 'batch,phase' })
  return useReading('GET /api/now', {}, { everyMs: EVERY_MS })
}

/** What runs first, then what is due next: tonight's wave is on the screen, not the pilot of yesterday with its aftercare. */
export function bySoonest(batches: readonly WallBatch[]): WallBatch[] {
  const place = ({ phases }: WallBatch): number => {
    if (phases.some(({ status }) => status === 'dispatched')) return 0
    const due = phases.flatMap(({ status, dueAt }) =>
      status === 'pending' && dueAt !== null ? [Date.parse(dueAt)] : [],
    )
    return Math.min(...due, Number.MAX_SAFE_INTEGER)
  }
  return batches.toSorted((a, b) => place(a) - place(b))
}
