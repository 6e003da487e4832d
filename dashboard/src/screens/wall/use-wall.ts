// What the wall and the wallboard show, kept up to date. Phases, batches and holds only: no event of a person is read.
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'

export type WallAnswer = Answer<'GET /api/now'>
export type WallBatch = WallAnswer['batches'][number]
export type Hold = Answer<'GET /api/holds'>['holds'][number]

/** Members pass without an event of their batch. */
const EVERY_MS = 5_000

export function useWall() {
  useLive({ entity: 'batch,phase' })
  const now = useReading('GET /api/now', {}, { everyMs: EVERY_MS })
  // By itself: the wall's answer is shared for a second, and a hold must be seen at once.
  const holds = useReading('GET /api/holds', { query: { scope: 'system' } }, { everyMs: EVERY_MS })
  /** Undefined while unknown. */
  const systemHold: Hold | null | undefined = holds.data && (holds.data.holds[0] ?? null)
  return { now, systemHold }
}
