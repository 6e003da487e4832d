// What the API asks of the scheduler: to try a runbook's data source without doing anything with what it finds. The program
// hands the scheduler's function in when it puts the roles together; without a scheduler beside it the API says so.
import type { Json } from '../domain/json.ts'
import type { Runbook } from '../domain/runbook.ts'

export interface PreviewGroup {
  /** Null for immediate runbooks. */
  readonly batchTime: Date | null
  readonly memberCount: number
}

export interface PreviewResult {
  readonly rowCount: number
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly sample: readonly Readonly<Record<string, Json>>[]
  readonly batchGroups: readonly PreviewGroup[]
  readonly problems: readonly {
    readonly key: string | null
    readonly column: string
    readonly reason: string
  }[]
  readonly problemCount: number
  readonly durationMs: number
}

export type Preview = (runbook: Runbook, signal: AbortSignal) => Promise<PreviewResult>
