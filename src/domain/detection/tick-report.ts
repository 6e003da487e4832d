// What a tick did. The scheduler produces it, the API returns it; the type lives here because roles do not import each other.

export interface TickReport {
  readonly runbookName: string
  readonly outcome: 'good' | 'failed' | 'abandoned'
  /** Changes made, by kind. */
  readonly counts: Readonly<Record<string, number>>
  readonly error: string | null
}

/** Runs a tick that need not be due. Null when another scheduler has the lease. */
export type TickNow = (
  runbookName: string,
  startedBy: string,
  stopping: AbortSignal,
) => Promise<TickReport | null>
