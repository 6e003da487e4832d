// A valid runbook as the program uses it: seconds and minutes instead of "15m" and "T-5d", defaults filled in, each step's
// retry resolved. Only build.ts creates these, from documents without errors.
import type { Json } from '../../base/text/json.ts'
import type { ConditionKind } from '../notifications/conditions.ts'
import type { ChangeWindows } from '../windows/change-windows.ts'
import type { StepCondition } from './conditions.ts'
import type { BACKOFFS, MULTI_VALUED_FORMATS, REMOVALS_AFTER_START, SOURCE_TYPES } from './shape.ts'

export interface RetryPolicyDefinition {
  /** Attempts after the first one; 0 = none. */
  readonly maxRetries: number
  readonly intervalSec: number
  readonly backoff: (typeof BACKOFFS)[number]
  readonly maxIntervalSec: number | null
}

/** Tells the member something, by a message of the runbook. */
export interface Notify {
  /** A key of the messages' `templates`, in lower case. */
  readonly message: string
  /** Templates. */
  readonly to: string
  readonly language: string | null
}

export interface MessageText {
  readonly subject: string
  readonly body: string
}

export interface RunbookMessage {
  readonly name: string
  readonly isHtml: boolean
  /** Sent to those who got this message once its start time is no longer true: a key of `templates`. Null: it tells no time. */
  readonly correction: string | null
  /** By language, in lower case. All have the default language. */
  readonly texts: ReadonlyMap<string, MessageText>
}

export interface RunbookMessages {
  /** The mailbox that sends. */
  readonly from: string
  readonly defaultLanguage: string
  readonly timeZone: string
  /** By lower-case name. */
  readonly templates: ReadonlyMap<string, RunbookMessage>
}

export interface RunbookStep {
  readonly name: string
  readonly workerId: string
  /** Set: `function` is the one that sends messages, and the parameters come from the message. */
  readonly notify: Notify | null
  /** A template. */
  readonly function: string
  /** Texts inside are templates. */
  readonly params: Record<string, Json>
  /** Variable: field of the result. */
  readonly outputParams: Record<string, string>
  /** All must hold, or the step is left out; empty: it always runs. */
  readonly when: readonly StepCondition[]
  /** A key of `rollbacks`, in lower case. */
  readonly onFailure: string | null
  readonly poll: { readonly intervalSec: number; readonly timeoutSec: number } | null
  /** The step's or the runbook's; null or maxRetries 0 = none. */
  readonly retry: RetryPolicyDefinition | null
  /** The deadline of one job. */
  readonly timeoutSec: number
}

/** What must be true before a phase starts. */
export interface Gate {
  readonly approvals: number
  /** How many people may join or leave after an approval before it is void. */
  readonly survives: number
  /** Of the members who are not removed; null: not asked. */
  readonly readyPercent: number | null
}

/** A phase starts for one share of its members after the other. */
export interface Ramp {
  /** Rising, each with those before it; the last is 100. */
  readonly percents: readonly number[]
  readonly soakSec: number
  /** Null: that of the safeguards. */
  readonly maxFailedPercent: number | null
}

export interface RunbookPhase {
  readonly name: string
  /** Before the batch's start time: T-5d = 7200, T+7d = -10080. */
  readonly offsetMinutes: number
  readonly gate: Gate | null
  readonly ramp: Ramp | null
  readonly steps: readonly RunbookStep[]
}

export interface DataSource {
  readonly type: (typeof SOURCE_TYPES)[number]
  /** Names of environment variables, never their values. `connection` is null for csv, `warehouseId` for all but databricks. */
  readonly connection: string | null
  readonly warehouseId: string | null
  /** Null for all but csv. */
  readonly path: string | null
  /** Null for csv. */
  readonly query: string | null
  readonly primaryKey: string
  /** Null for immediate runbooks, whose members start as soon as they are found. */
  readonly batchTimeColumn: string | null
  readonly timeZone: string | null
  readonly columns: readonly string[] | null
  readonly multiValuedColumns: readonly {
    readonly name: string
    readonly format: (typeof MULTI_VALUED_FORMATS)[number]
  }[]
}

export interface Safeguards {
  readonly maxRemovalPercent: number
  readonly removalsAfterStart: (typeof REMOVALS_AFTER_START)[number]
  readonly maxFailedPercent: number
}

/** Channels are named in the settings. */
export interface RunbookNotification {
  /** Empty: all. */
  readonly conditions: readonly ConditionKind[]
  readonly channels: readonly string[]
}

/** How the people of this migration are called before and after their move: what `{{person:…}}` looks up. */
export interface People {
  /** Its tenant is the one that they move to. */
  readonly workerId: string
  /** Templates; each gives a name, or a list of names, of the member in the tenant that they leave. */
  readonly source: readonly string[]
  /** A template: the member's address or id in the tenant that they move to. */
  readonly target: string
}

export interface Runbook {
  readonly name: string
  readonly description: string | null
  readonly dataSource: DataSource
  readonly retry: RetryPolicyDefinition | null
  readonly safeguards: Safeguards
  readonly notifications: readonly RunbookNotification[]
  /** Null: at any time. */
  readonly windows: ChangeWindows | null
  /** Null: it tells its members nothing. */
  readonly messages: RunbookMessages | null
  /** Null: its steps name no people of the other tenant. */
  readonly people: People | null
  readonly init: readonly RunbookStep[]
  /** In file order. */
  readonly phases: readonly RunbookPhase[]
  readonly onMemberRemoved: readonly RunbookStep[]
  /** By lower-case name. */
  readonly rollbacks: ReadonlyMap<string, readonly RunbookStep[]>
}
