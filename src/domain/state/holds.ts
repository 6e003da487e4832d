// Holds of every scope: which steps each covers, and how it is told to people with the command that ends it.
import { commandLine } from '../../base/text/command-line.ts'

export const HOLD_SCOPES = ['system', 'runbook', 'worker', 'batch', 'member'] as const
export type HoldScope = (typeof HOLD_SCOPES)[number]

/** What is held: nothing to name for the system, else the runbook's name, or the id of the worker, batch or member. */
export interface HoldTarget {
  readonly scope: HoldScope
  readonly target: string
}

export interface Hold extends HoldTarget {
  /** Of a held member. */
  readonly batchId: number | null
  readonly memberId: number | null
  readonly memberKey: string | null
  readonly heldAt: Date
  readonly heldBy: string
  readonly reason: string
}

/** Holds a batch whose phase is due while its gate has not passed. */
export const HELD_BY_GATE = 'gate'
/** Holds a batch when more of a ramp's share failed than allowed. */
export const HELD_BY_RAMP = 'ramp'

/** Holds the whole system when the disk of the embedded database is nearly full. */
export const DISK_WATCH = 'disk watch'
/** Holds the whole system after the database has become what it was earlier. */
export const RESTORE = 'restore'

/** Set by the program itself, because something is wrong. */
const PROGRAMS: readonly string[] = [
  'fuse',
  HELD_BY_GATE,
  HELD_BY_RAMP,
  'source',
  'orchestrator',
  'scheduler',
  DISK_WATCH,
  RESTORE,
]
export const isAutomaticHold = (heldBy: string): boolean => PROGRAMS.includes(heldBy)

export const SYSTEM: HoldTarget = { scope: 'system', target: '' }

/** The reason of a hold until somebody gives one: a hold never waits for it. */
export const NO_REASON_YET = 'no reason given yet'

/** Holds that concern one batch, besides its own. */
export interface HoldsOnBatch {
  readonly system: Hold | null
  readonly runbook: Hold | null
  readonly workers: ReadonlyMap<string, Hold>
  readonly members: ReadonlyMap<number, Hold>
}

export const NO_HOLDS: HoldsOnBatch = {
  system: null,
  runbook: null,
  workers: new Map(),
  members: new Map(),
}

export function holdsOnBatch(holds: readonly Hold[]): HoldsOnBatch {
  if (holds.length === 0) return NO_HOLDS
  const of = (scope: HoldScope) => holds.filter((hold) => hold.scope === scope)
  return {
    system: of('system')[0] ?? null,
    runbook: of('runbook')[0] ?? null,
    workers: new Map(of('worker').map((hold) => [hold.target, hold])),
    members: new Map(of('member').map((hold) => [hold.memberId!, hold])),
  }
}

/** Of holds on several batches, those on this one. */
export const holdsAmong = (
  holds: readonly Hold[],
  { id, runbookName }: { readonly id: number; readonly runbookName: string },
): HoldsOnBatch =>
  holdsOnBatch(
    holds.filter(({ scope, target, batchId }) =>
      scope === 'runbook' ? target === runbookName : scope !== 'member' || batchId === id,
    ),
  )

export function nameOfHeld({ scope, target, batchId, memberKey }: Hold): string {
  switch (scope) {
    case 'system':
      return 'the whole system'
    case 'member':
      return `member ${memberKey} of batch ${batchId}`
    default:
      return `${scope} ${target}`
  }
}

/** The command that ends the hold. */
export function resumeCommand({ scope, target, batchId, memberKey }: Hold): string {
  if (scope === 'system') return commandLine`resume --all`
  if (scope === 'member') return commandLine`resume --member ${batchId!} ${memberKey!}`
  return commandLine`resume --${scope} ${target}`
}

/** What is held, who held it, why, and how it ends. Without a full stop. */
export const tellHold = (hold: Hold): string =>
  `${nameOfHeld(hold)} is held by ${hold.heldBy}: ${hold.reason}; end it with "${resumeCommand(hold)}"`
