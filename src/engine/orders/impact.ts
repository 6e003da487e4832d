// What publishing a version means for every unfinished batch, as data: the same upgrade that each batch will carry out, as of now.
// Dry run, publishing and what happens later agree.

import type { Queryable } from '../../db/connection/db.ts'
import { listApprovals } from '../../db/orders/gates.ts'
import {
  countLacking,
  listPhasesOf,
  listUnfinished,
  type PhaseOfBatch,
  type UnfinishedBatch,
} from '../../db/state/version-upgrades.ts'
import { listCatalogues } from '../../db/state/workers.ts'
import {
  type InitOutcome,
  type PhaseOutcome,
  type PhaseUpgrade,
  type Publication,
  planUpgrade,
  type VersionUpgrade,
} from '../../domain/decide/version-upgrade.ts'
import type { LostApproval } from '../../domain/plan/lost-approvals.ts'
import {
  initStart,
  type PhaseStart,
  phaseStarts,
  type StartsAtOnce,
  stepNamesIn,
} from '../../domain/plan/starts-at-once.ts'
import type { FactsOf } from '../../domain/runbook/function-facts.ts'
import { variablesNeeded, variablesUsed, workersMissing } from '../../domain/runbook/needs.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { type PhaseWindow, phaseWindow } from '../../domain/windows/phase-window.ts'
import type { Engine } from '../transactions/engine.ts'
import { windowsFor } from '../transactions/window-state.ts'

const BATCHES_PER_PAGE = 200
const BATCHES_LISTED = 100
const SKIPPED_LISTED = 1_000
const STARTS_LISTED = 1_000
/** Counting members without a variable reads every member once per name. */
const VARIABLES_MAX = 20

interface PhaseImpact extends Omit<PhaseUpgrade, 'supersedes' | 'creates'> {
  /** Of a phase that will run. */
  readonly window: PhaseWindow | null
}

export interface BatchImpact {
  readonly batchId: number
  readonly status: UnfinishedBatch['status']
  readonly fromVersion: number
  readonly isManual: boolean
  readonly isHeld: boolean
  readonly membersActive: number
  readonly init: InitOutcome
  readonly phases: readonly PhaseImpact[]
  /** Variables that coming phases use and some members lack. */
  readonly lacking: readonly { readonly variable: string; readonly members: number }[]
}

export interface Impact {
  /** All unfinished batches are counted, the first ones listed. */
  readonly batches: number
  readonly membersActive: number
  readonly phases: Readonly<Record<PhaseOutcome, number>>
  readonly inits: Readonly<Record<InitOutcome, number>>
  readonly listed: readonly BatchImpact[]
  /** Phases skipped because their time has passed. */
  readonly skipped: {
    readonly total: number
    readonly listed: readonly {
      readonly batchId: number
      readonly phase: string
      readonly dueAt: Date | null
    }[]
  }
  /** Phases and inits that start immediately, in all unfinished batches. */
  readonly startsAtOnce: StartsAtOnce & { readonly phaseCount: number }
  readonly warnings: readonly string[]
  /** They were given for the version before. */
  readonly approvalsLost: readonly LostApproval[]
}

type Counted = { -readonly [K in keyof Impact]: Impact[K] } & {
  phases: Record<PhaseOutcome, number>
  inits: Record<InitOutcome, number>
  listed: BatchImpact[]
  skipped: { total: number; listed: { batchId: number; phase: string; dueAt: Date | null }[] }
  startsAtOnce: { phases: PhaseStart[]; steps: []; phaseCount: number }
  approvalsLost: LostApproval[]
}

const emptyImpact = (): Counted => ({
  batches: 0,
  membersActive: 0,
  phases: { pending: 0, skipped: 0, carried_over: 0, rerun: 0, dropped: 0 },
  inits: { none: 0, new: 0, carried_over: 0, rerun: 0 },
  listed: [],
  skipped: { total: 0, listed: [] },
  startsAtOnce: { phases: [], steps: [], phaseCount: 0 },
  warnings: [],
  approvalsLost: [],
})

/** Of a version that is already active. */
export const noImpact = (): Impact => emptyImpact()

/** `former` is the active version; variables that it uses are not reported. */
export async function impactOf(
  db: Queryable,
  engine: Pick<Engine, 'windows' | 'functions'>,
  runbook: Runbook,
  publication: Publication,
  former: Runbook | null,
): Promise<Impact> {
  const windows = windowsFor(engine, runbook)
  const factsOf = await engine.functions.factsOf(db, publication.publishedAt)
  const impact = emptyImpact()
  const oldNames = former ? variablesUsed(former) : new Set<string>()
  let after = 0
  for (;;) {
    const batches = await listUnfinished(db, runbook.name, after, BATCHES_PER_PAGE)
    if (batches.length === 0) break
    after = batches.at(-1)!.id
    const upgrades = await upgradesOf(db, batches, runbook, publication)
    for (const { id: _, ...lost } of await listApprovals(
      db,
      [...upgrades.keys()].map(({ id }) => id),
    ))
      impact.approvalsLost.push(lost)
    const lacking = await lackingIn(db, upgrades, runbook, oldNames)
    for (const [batch, upgrade] of upgrades) {
      const windowOf = windowsOf(runbook, { windows, factsOf }, batch, publication.publishedAt)
      add(impact, batch, upgrade, { lacking, windowOf })
      addStarts(impact, startsOf(batch, upgrade, runbook))
    }
  }
  const known = new Set((await listCatalogues(db)).map(({ workerId }) => workerId))
  const missing = workersMissing(runbook, known)
  return { ...impact, warnings: [...missing, ...impact.warnings] }
}

type Upgrades = ReadonlyMap<UnfinishedBatch, VersionUpgrade<PhaseOfBatch>>

async function upgradesOf(
  db: Queryable,
  batches: readonly UnfinishedBatch[],
  runbook: Runbook,
  publication: Publication,
): Promise<Upgrades> {
  const ids = batches.map(({ id }) => id)
  const phases = Map.groupBy(await listPhasesOf(db, ids), ({ batchId }) => batchId)
  return new Map(
    batches.map((batch) => [
      batch,
      planUpgrade(batch, phases.get(batch.id) ?? [], runbook, publication),
    ]),
  )
}

function add(
  impact: Counted,
  batch: UnfinishedBatch,
  { phases, init }: VersionUpgrade<PhaseOfBatch>,
  more: MoreFacts,
): void {
  impact.batches += 1
  impact.membersActive += batch.membersActive
  impact.inits[init] += 1
  for (const { outcome, name, dueAt, from } of phases) {
    impact.phases[outcome] += 1
    // An earlier version already skipped it.
    if (outcome !== 'skipped' || from === 'skipped') continue
    impact.skipped.total += 1
    if (impact.skipped.listed.length < SKIPPED_LISTED)
      impact.skipped.listed.push({ batchId: batch.id, phase: name, dueAt })
  }
  if (impact.listed.length < BATCHES_LISTED)
    impact.listed.push(batchImpact(batch, phases, init, more))
}

/** Phases that would be pending and due, and an init that runs again. */
function startsOf(
  batch: UnfinishedBatch,
  { phases, init, publication }: VersionUpgrade<PhaseOfBatch>,
  runbook: Runbook,
): PhaseStart[] {
  const pending = phases
    .filter(({ outcome }) => outcome === 'pending' || outcome === 'rerun')
    .map(({ name, dueAt }) => ({ name, dueAt, status: 'pending' as const }))
  const due = phaseStarts(batch, pending, stepNamesIn(runbook), publication.publishedAt)
  return init === 'rerun' ? [initStart(batch, runbook), ...due] : due
}

function addStarts({ startsAtOnce }: Counted, starts: readonly PhaseStart[]): void {
  startsAtOnce.phaseCount += starts.length
  startsAtOnce.phases.push(...starts.slice(0, STARTS_LISTED - startsAtOnce.phases.length))
}

interface MoreFacts {
  readonly lacking: Lacking
  readonly windowOf: (phaseName: string, dueAt: Date | null) => PhaseWindow | null
}

/** A phase whose time has passed begins when the version is published. */
function windowsOf(
  { phases }: Runbook,
  { windows, factsOf }: { windows: readonly ChangeWindows[]; factsOf: FactsOf },
  { windowOverrideUntil: overrideUntil }: UnfinishedBatch,
  publishedAt: Date,
): MoreFacts['windowOf'] {
  const byName = new Map(phases.map((phase) => [phase.name.toLowerCase(), phase]))
  return (phaseName, dueAt) => {
    const at = dueAt && dueAt < publishedAt ? publishedAt : dueAt
    const phase = byName.get(phaseName.toLowerCase())!
    return phaseWindow(phase, factsOf, { windows, overrideUntil, at })
  }
}

const batchImpact = (
  batch: UnfinishedBatch,
  phases: readonly PhaseUpgrade<PhaseOfBatch>[],
  init: InitOutcome,
  { lacking, windowOf }: MoreFacts,
): BatchImpact => ({
  batchId: batch.id,
  status: batch.status,
  fromVersion: batch.runbookVersion,
  isManual: batch.isManual,
  isHeld: batch.heldAt !== null,
  membersActive: batch.membersActive,
  init,
  phases: phases.map(({ name, outcome, from, dueAt, because }) => ({
    name,
    outcome,
    from,
    dueAt,
    because,
    window: outcome === 'pending' || outcome === 'rerun' ? windowOf(name, dueAt) : null,
  })),
  lacking: lacking.get(batch.id) ?? [],
})

type Lacking = ReadonlyMap<number, BatchImpact['lacking']>

async function lackingIn(
  db: Queryable,
  upgrades: Upgrades,
  runbook: Runbook,
  oldNames: ReadonlySet<string>,
): Promise<Lacking> {
  const needed = new Map(
    [...upgrades].map(([batch, upgrade]) => [
      batch.id,
      newVariables(batch, upgrade, runbook, oldNames),
    ]),
  )
  const names = [...new Set([...needed.values()].flatMap((variables) => [...variables]))]
  if (names.length === 0) return new Map()
  const batchIds = [...needed].filter(([, variables]) => variables.size > 0).map(([id]) => id)
  const found = await countLacking(db, batchIds, names.slice(0, VARIABLES_MAX))
  const relevant = found.filter(({ batchId, name }) => needed.get(batchId)!.has(name))
  return new Map(
    [...Map.groupBy(relevant, ({ batchId }) => batchId)].map(([batchId, rows]) => [
      batchId,
      rows.map(({ name, members }) => ({ variable: name, members })),
    ]),
  )
}

function newVariables(
  batch: UnfinishedBatch,
  { phases, init }: VersionUpgrade<PhaseOfBatch>,
  runbook: Runbook,
  oldNames: ReadonlySet<string>,
): ReadonlySet<string> {
  const toRun = phases.filter(({ outcome }) => outcome === 'pending' || outcome === 'rerun')
  const needed = variablesNeeded(runbook, {
    phaseNames: new Set(toRun.map(({ name }) => name.toLowerCase())),
    isInit: init !== 'carried_over' || batch.status === 'init_dispatched',
  })
  return new Set([...needed].filter((name) => !oldNames.has(name)))
}
