// What the API asks of the scheduler: to try a runbook's data source without doing anything with what it finds. The program
// hands the scheduler's function in when it puts the roles together, because roles do not import each other; without a scheduler
// beside it the API says so. The shape is the one that `previewSource` of the scheduler gives, and the one that is answered.
import type { Json } from '../domain/json.ts'
import type { Runbook } from '../domain/runbook/read.ts'

/** How many there are, and the first of them. */
interface Some<T> {
  readonly total: number
  readonly first: readonly T[]
}

interface InBatch {
  readonly batchId: number
  readonly key: string
}

export interface PreviewResult {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly sample: readonly Readonly<Record<string, Json>>[]
  readonly rowCount: number
  /** The first by time; of a runbook without batch times there is one, without a time. */
  readonly batchGroups: readonly { readonly batchTime: Date | null; readonly memberCount: number }[]
  readonly groupCount: number
  readonly problems: readonly {
    readonly kind: string
    readonly key: string | null
    readonly column: string | null
    readonly batchId: number | null
    readonly reason: string
  }[]
  readonly problemCount: number
  readonly durationMs: number
  readonly nextTick: {
    readonly newBatches: Some<{
      readonly time: string
      readonly members: number
      readonly held: string | null
    }>
    readonly joiners: Some<InBatch>
    readonly rejoiners: Some<InBatch>
    readonly moves: Some<InBatch & { readonly toTime: string }>
    readonly leavers: Some<InBatch>
    readonly missing: number
    readonly refreshed: number
    readonly reviews: Some<{
      readonly kind: string
      readonly cause: string
      readonly key: string
      readonly batchId: number | null
      readonly reason: string
    }>
    readonly holds: readonly { readonly batchId: number; readonly reason: string }[]
  }
}

export type PreviewQuery = (runbook: Runbook, signal: AbortSignal) => Promise<PreviewResult>
