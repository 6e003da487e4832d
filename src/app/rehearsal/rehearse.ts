// One rehearsal from its inputs to its report. Nothing outside this process is read or changed.

import { z } from 'zod'
import type { FaultSettings } from '../../../sandbox/faults.ts'
import type { Seed, State } from '../../../sandbox/state.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { valueNamed } from '../../base/text/same-name.ts'
import type { MemberRows } from '../../cli/input/member-rows.ts'
import type { Db } from '../../db/connection/db.ts'
import { listFailures } from '../../db/views/batch-summary.ts'
import {
  countLostAttempts,
  listNotUndoable,
  listRehearsedBatches,
  listRehearsedConditions,
  listRehearsedNames,
  listRehearsedNotifications,
  listRehearsedPhases,
  listRehearsedSteps,
  listRolledBackMembers,
  listSourceTrouble,
} from '../../db/views/rehearsal.ts'
import { FailureGroups } from '../../domain/needs/failures.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'
import { runbookWorkers } from '../../domain/plan/what-if.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { RunbookProblem } from '../../domain/runbook/read.ts'
import { stepsOf } from '../../domain/runbook/steps.ts'
import { instantOf } from '../../domain/sources/source-time.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import { STANDARD_FUNCTIONS } from '../../m365/functions/standard.ts'
import {
  defineFunction,
  TOUCHES_NOTHING,
  type WorkerFunction,
} from '../../worker/functions/catalogue.ts'
import type { RehearsalPast } from './batch-so-far.ts'
import { CallMeter } from './call-meter.ts'
import { expectedTenants } from './expected-tenants.ts'
import {
  applyFaults,
  FAULT_NAMES,
  type FaultScript,
  type FaultyInput,
  faultOfPast,
} from './faults.ts'
import { rehearsedMessages } from './messages.ts'
import { remedyOf } from './remedy.ts'
import { type FailedGroup, type RehearsalReport, reportOf } from './report.ts'
import { RollbackCheck } from './rollback-check.ts'
import { type RehearsalEvent, runRehearsal } from './run.ts'
import { openRehearsalTenants, type RehearsalTenants } from './tenants.ts'
import { WholeProgram } from './whole-program.ts'

export interface RehearsalInput {
  readonly yaml: string
  readonly runbook: Runbook
  readonly lint: readonly RunbookProblem[]
  readonly members: MemberRows
  /** Null: the tenants that the runbook expects. */
  readonly tenantSeed: Seed | null
  /** When the rehearsal begins; null: an hour before the first phase is due. */
  readonly startAt: Date | null
  /** For runbooks without dates. */
  readonly now: Date
  readonly seed: number
  /** Jobs that a worker runs at once. */
  readonly slots: number
  /** Of the system; those of the runbook count too. */
  readonly windows?: ChangeWindows | null
  /** Of single workers. */
  readonly workerSlots?: Readonly<Record<string, number>>
  /** Of a running batch: repeated first, and not counted. */
  readonly past?: RehearsalPast | null
  /** Channels and rules; null: those that the runbook names. Nothing is sent. */
  readonly notifications?: NotificationSettings | null
  /** What goes wrong; null: nothing. */
  readonly faults?: FaultScript | null
  /** A throw-away one with the schema. */
  readonly openDatabase: () => Promise<Db>
  readonly signal?: AbortSignal
  readonly onProgress?: (now: Date) => void
}

const LEAD_MS = 3_600_000
const MINUTE_MS = 60_000
const FAILURES_PER_PAGE = 1_000
const GROUPS_SHOWN = 50

export async function rehearse(input: RehearsalInput): Promise<RehearsalReport> {
  const { runbook, members } = input
  const meter = new CallMeter()
  const custom = customFunctions(runbook)
  const past = input.past ?? null
  const beginsAt = input.startAt ?? usualStart(input)
  // What counts begins now; what a running batch has behind it is repeated first.
  const startedAt = past === null ? beginsAt : past.at
  const startAt = past === null || past.at < beginsAt ? startedAt : beginsAt
  const faulty = withFaults(input, startedAt)
  const { rows, slots, timing, events, tenants: seed } = faulty
  const slotsOf = (workerId: string) => input.workerSlots?.[workerId] ?? slots
  const calls = { ...faulty.calls, seed: `${input.seed} ${faulty.calls.seed ?? ''}` }
  let tenants: RehearsalTenants | undefined
  const system = await WholeProgram.open({
    yaml: input.yaml,
    runbook,
    columns: members.columns,
    rows,
    startAt,
    past,
    slotsOf,
    windows: input.windows ?? null,
    notifications: input.notifications ?? null,
    functions: [...STANDARD_FUNCTIONS, ...custom],
    openDatabase: input.openDatabase,
    tenants: (clock) => {
      tenants = openRehearsalTenants({
        clock,
        seed,
        seedNumber: input.seed,
        workerIds: runbookWorkers(runbook),
        webhookHosts: webhookHostsIn(runbook),
        meter,
        timing,
        faults: past === null ? calls : {},
      })
      return tenants.byWorker
    },
  })
  try {
    const before = tenants!.state()
    const rollbackCheck = new RollbackCheck()
    const hasRollbacks = runbook.rollbacks.size > 0
    const outcome = await runRehearsal(system, {
      events: past === null ? events : [beginOf(past, meter, tenants!, calls), ...events],
      ...(input.signal && { signal: input.signal }),
      ...(input.onProgress && { onProgress: input.onProgress }),
      beforePhase: (now) => {
        if (hasRollbacks) rollbackCheck.keep(tenants!.state(), now)
      },
    })
    const rolledBack = await listRolledBackMembers(system.db)
    return reportOf({
      ...outcome,
      ...(await factsIn(system, runbook, past)),
      runbook,
      lint: input.lint,
      seed: input.seed,
      slots,
      slotsOf,
      startedAt,
      notifications: await notificationsIn(system, input),
      rows: rows.length,
      faults: input.faults?.use ?? [],
      rolledBack: rolledBack.length,
      failedUndos: rolledBack.filter(({ hasFailedUndo }) => hasFailedUndo).length,
      notRestored: rollbackCheck.compare(rolledBack, tenants!.state()),
      messages: await rehearsedMessages(system.db, runbook, past?.at ?? startedAt),
      services: meter.services(),
      operations: meter.operations(),
      tenants: tenantsIn(before),
      assumptions: assumptionsOf(input, custom),
    })
  } finally {
    await system.close()
  }
}

/** What the database says. */
async function factsIn(system: WholeProgram, runbook: Runbook, past: RehearsalPast | null) {
  const { db } = system
  const phases = await listRehearsedPhases(db)
  return {
    batches: await listRehearsedBatches(db),
    phases: phases.filter(({ name }) => !past?.endedPhases.has(foldKey(name))),
    steps: await listRehearsedSteps(db),
    ...(await failuresIn(system, runbook, past)),
    repeated: await countLostAttempts(db),
    staysAfterUndo: await listNotUndoable(db),
    sourceTrouble: [...(await listSourceTrouble(db)), ...tickFaults(system)],
  }
}

const notificationsIn = async ({ db }: WholeProgram, { notifications }: RehearsalInput) => ({
  conditions: await listRehearsedConditions(db),
  messages: await listRehearsedNotifications(db),
  settings: notifications ?? null,
})

/** From here on calls count, and faults happen. */
const beginOf = (
  { at }: RehearsalPast,
  meter: CallMeter,
  tenants: RehearsalTenants,
  calls: FaultSettings,
): RehearsalEvent => ({
  at,
  what: null,
  run: async (system) => {
    meter.reset()
    tenants.setFaults(calls)
    await system.announceWorkers()
  },
})

function withFaults(input: RehearsalInput, startAt: Date): FaultyInput {
  const { runbook, members, tenantSeed, slots, faults, past } = input
  const faulty: FaultyInput = {
    runbook,
    startAt,
    slots,
    rows: [...members.rows],
    tenants: tenantSeed ?? expectedTenants(runbook, members.rows),
    timing: {},
    calls: {},
    events: [],
  }
  const late = faults && past ? faultOfPast(faults) : null
  const missing = faults ? applyFaults(faults, faulty) : null
  if (late === null && missing === null) return faulty
  const reason =
    late === null ? `the runbook has no ${missing}` : `"${late}" would change what has been done`
  throw new MatoolkitError('REHEARSAL_FAULTS_INVALID', { reason, known: FAULT_NAMES })
}

/** An hour before the first phase of the first wave; for runbooks without dates the next full hour. */
function usualStart({ runbook, members, now }: RehearsalInput): Date {
  const { batchTimeColumn, timeZone } = runbook.dataSource
  const times = members.rows.flatMap((row) => {
    const value = batchTimeColumn === null ? undefined : valueNamed(row, batchTimeColumn)
    const read = instantOf(value, timeZone)
    return 'at' in read ? [+read.at] : []
  })
  if (times.length === 0) return new Date(Math.ceil(+now / LEAD_MS) * LEAD_MS)
  const earliest = times.reduce((least, one) => Math.min(least, one))
  const offset = Math.max(...runbook.phases.map(({ offsetMinutes }) => offsetMinutes))
  return new Date(earliest - offset * MINUTE_MS - LEAD_MS)
}

const webhookHostsIn = (runbook: Runbook): string[] => [
  ...new Set(
    stepsOf(runbook).flatMap(({ params }) =>
      Object.values(params).flatMap((value) => {
        const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null
        return url?.protocol === 'https:' ? [url.host] : []
      }),
    ),
  ),
]

/** Functions of the site succeed at once, with a value for every output that a step wants. */
function customFunctions(runbook: Runbook): WorkerFunction[] {
  const standard = new Set(STANDARD_FUNCTIONS.map(({ name }) => name.toLowerCase()))
  const steps = stepsOf(runbook).filter(
    (step) => !step.function.includes('{{') && !standard.has(step.function.toLowerCase()),
  )
  const byName = Map.groupBy(steps, (step) => step.function.toLowerCase())
  return [...byName.values()].map((uses) => {
    const fields = [...new Set(uses.flatMap(({ outputParams }) => Object.values(outputParams)))]
    const result = Object.fromEntries(fields.map((field) => [field, `rehearsed ${field}`]))
    return defineFunction({
      ...TOUCHES_NOTHING,
      name: uses[0]!.function,
      description: 'Stands in for a function of the site.',
      parameters: z.looseObject({}),
      actsOnlyOnTenant: true,
      run: async () => result,
    })
  })
}

async function failuresIn(
  { db }: WholeProgram,
  runbook: Runbook,
  past: RehearsalPast | null,
): Promise<{ failures: FailedGroup[]; unrepeated: number }> {
  const groups = new FailureGroups()
  const unrepeated = new Set<number | null>()
  for (const { id: batchId } of await listRehearsedBatches(db)) {
    for (let after = 0; ; ) {
      const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
      for (const failure of page) {
        groups.add(failure)
        if (past !== null && failure.at < past.at) unrepeated.add(failure.memberId)
      }
      if (page.length < FAILURES_PER_PAGE) break
      after = page.at(-1)!.stepId
    }
  }
  const largest = groups.largest(GROUPS_SHOWN)
  const names = await listRehearsedNames(db, [...new Set(largest.flatMap((one) => one.memberIds))])
  const keys = new Map(names.map(({ memberId, memberKey }) => [memberId, memberKey]))
  const failures = largest.map((group) => ({
    kind: group.kind,
    phase: group.phaseName,
    step: group.stepName,
    count: group.count,
    message: group.sample.message,
    remedy: remedyOf(runbook, group),
    people: group.memberIds.flatMap((id) => keys.get(id) ?? []),
  }))
  return { failures, unrepeated: unrepeated.size }
}

function tickFaults({ ticks, errors }: WholeProgram) {
  const failed = ticks.flatMap(({ error }) => (error ? [error] : []))
  return [...new Set([...failed, ...errors])].map((example) => ({
    what: 'query' as const,
    kind: 'failed',
    count: failed.filter((one) => one === example).length || 1,
    example,
  }))
}

const tenantsIn = ({ tenants }: State) =>
  tenants.map(({ displayName, domains, users, groups }) => ({
    name: displayName,
    domains,
    users: users.length,
    groups: groups.length,
  }))

function assumptionsOf(
  { tenantSeed, past, windows }: RehearsalInput,
  custom: readonly WorkerFunction[],
): string[] {
  return [
    ...(tenantSeed === null
      ? [
          `The tenants have what the runbook expects to find.${past ? '' : ' Use --tenant to rehearse with your own.'}`,
        ]
      : []),
    ...(windows ? ["The system's change windows count, and those of the runbook."] : []),
    ...(past ? ['Passed steps were repeated on the simulated tenants, and are not counted.'] : []),
    ...(past?.isHeld ? ['The batch is on hold. It is taken to resume now.'] : []),
    ...custom.map(
      ({ name }) => `${name} is not a standard function. It is taken to succeed at once.`,
    ),
  ]
}
