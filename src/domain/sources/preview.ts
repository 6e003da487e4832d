// What a preview of a data source shows: the result, and the changes the next tick would make. The scheduler produces it, the API
// returns it; the type lives here because roles do not import each other.
import type { Runbook } from '../runbook/read.ts'
import type { Issue } from './compare.ts'
import type { NewReview } from './reviews.ts'
import type { SourceColumn, SourceRow } from './source-values.ts'

/** A total and its first items. */
export interface CountedSample<T> {
  readonly total: number
  readonly first: readonly T[]
}

export interface SourcePreview {
  readonly columns: readonly SourceColumn[]
  readonly sample: readonly SourceRow[]
  /** What the sample leaves out. */
  readonly warnings: readonly string[]
  readonly rowCount: number
  /** The first groups by time. An immediate runbook has one, without a time. */
  readonly batchGroups: readonly { readonly batchTime: Date | null; readonly memberCount: number }[]
  readonly groupCount: number
  readonly problems: readonly Issue[]
  readonly problemCount: number
  readonly durationMs: number
  readonly nextTick: NextTick
}

interface KeyInBatch {
  readonly batchId: number
  readonly key: string
}

export interface NextTick {
  readonly newBatches: CountedSample<{
    readonly time: string
    readonly members: number
    /** Why the batch starts on hold; null when it does not. */
    readonly held: string | null
  }>
  readonly joiners: CountedSample<KeyInBatch>
  readonly rejoiners: CountedSample<KeyInBatch>
  readonly moves: CountedSample<KeyInBatch & { readonly toTime: string }>
  readonly leavers: CountedSample<KeyInBatch>
  /** Missing for the first time: they leave if the next good tick misses them too. */
  readonly missing: number
  readonly refreshed: number
  readonly reviews: CountedSample<Pick<NewReview, 'kind' | 'cause' | 'key' | 'batchId' | 'reason'>>
  readonly holds: readonly { readonly batchId: number; readonly reason: string }[]
}

/** Previews the data source of a runbook, published or not, and changes nothing. */
export type PreviewQuery = (runbook: Runbook, signal: AbortSignal) => Promise<SourcePreview>
