// What a tick did. The scheduler produces it, the API returns it; the type lives here because roles do not import each other.
import type { Need } from '../needs/needs.ts'

export interface TickReport {
  readonly runbookName: string
  readonly outcome: 'good' | 'failed' | 'abandoned'
  /** Changes made, by kind. */
  readonly counts: Readonly<Record<string, number>>
  readonly error: string | null
  /** What waits for a person after the tick: reviews, a failing source, rows left out. */
  readonly needs: readonly Need[]
  /** The part of it that this tick found or changed. */
  readonly news: readonly Need[]
}

/** Runs a tick that need not be due. Null when another scheduler has the lease. */
export type TickNow = (
  runbookName: string,
  startedBy: string,
  stopping: AbortSignal,
) => Promise<TickReport | null>
