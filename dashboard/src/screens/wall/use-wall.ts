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
