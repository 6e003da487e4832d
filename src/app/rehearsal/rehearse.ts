// One rehearsal from its inputs to its report. Nothing outside this process is read or changed.

import { z } from 'zod'
import type { MemberRows } from '../../cli/member-rows.ts'
import type { Db } from '../../db/db.ts'
import { listFailures } from '../../db/views/insight.ts'
import {
  countLostAttempts,
  listRehearsedBatches,
  listRehearsedNames,
  listRehearsedPhases,
  listRehearsedSteps,
  listRolledBackMembers,
  listSourceTrouble,
} from '../../db/views/rehearsal.ts'
import { instantOf } from '../../domain/detection/source-time.ts'
import { FailureGroups } from '../../domain/failures.ts'
import type { Runbook, RunbookStep } from '../../domain/runbook/model.ts'
import type { RunbookProblem } from '../../domain/runbook/read.ts'
import { MatoolkitError } from '../../errors.ts'
import type { Seed, State } from '../../sandbox/state.ts'
import { defineFunction, TOUCHES_NOTHING, type WorkerFunction } from '../../worker/catalogue.ts'
import { STANDARD_FUNCTIONS } from '../../worker/functions/standard.ts'
import { CallMeter } from './call-meter.ts'
import { expectedTenants, phasesInOrder } from './expected-tenants.ts'
import { applyFaults, FAULT_NAMES, type FaultScript, type FaultyInput } from './faults.ts'
import { remedyOf } from './remedy.ts'
import { type FailedGroup, type RehearsalReport, reportOf } from './report.ts'
import { Restoration } from './restoration.ts'
import { runRehearsal } from './run.ts'
import { RehearsalSystem } from './system.ts'
import { openRehearsalTenants, type RehearsalTenants } from './tenants.ts'

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
  readonly slots: number
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
  const startedAt = input.startAt ?? usualStart(input)
  const { rows, slots, calls, timing, events, tenants: seed } = withFaults(input, startedAt)
  let tenants: RehearsalTenants | undefined
  const system = await RehearsalSystem.open({
    yaml: input.yaml,
    runbook,
    columns: members.columns,
    rows,
    startAt: startedAt,
    slots,
    functions: [...STANDARD_FUNCTIONS, ...custom],
    openDatabase: input.openDatabase,
    tenants: (clock) => {
      tenants = openRehearsalTenants({
        clock,
        seed,
        seedNumber: input.seed,
        workerIds: workersOf(runbook),
        webhookHosts: webhookHostsIn(runbook),
        meter,
        timing,
        faults: { ...calls, seed: `${input.seed} ${calls.seed ?? ''}` },
      })
      return tenants.byWorker
    },
  })
  try {
    const before = tenants!.state()
    const restoration = new Restoration()
    const hasRollbacks = runbook.rollbacks.size > 0
    const outcome = await runRehearsal(system, {
      events,
      ...(input.signal && { signal: input.signal }),
      ...(input.onProgress && { onProgress: input.onProgress }),
      beforePhase: (now) => {
        if (hasRollbacks) restoration.keep(tenants!.state(), now)
      },
    })
    const { db } = system
    const rolledBack = await listRolledBackMembers(db)
    return reportOf({
      ...outcome,
      ...{ runbook, lint: input.lint, seed: input.seed, slots, startedAt },
      rows: rows.length,
      faults: input.faults?.use ?? [],
      batches: await listRehearsedBatches(db),
      phases: await listRehearsedPhases(db),
      steps: await listRehearsedSteps(db),
      failures: await failuresIn(system, runbook),
      repeated: await countLostAttempts(db),
      rolledBack: rolledBack.length,
      failedUndos: rolledBack.filter(({ hasFailedUndo }) => hasFailedUndo).length,
      notRestored: restoration.compare(rolledBack, tenants!.state()),
      sourceTrouble: [...(await listSourceTrouble(db)), ...tickFaults(system)],
      services: meter.services(),
      operations: meter.operations(),
      tenants: tenantsIn(before),
      assumptions: assumptionsOf(input, custom),
    })
  } finally {
    await system.close()
  }
}

function withFaults(input: RehearsalInput, startAt: Date): FaultyInput {
  const { runbook, members, tenantSeed, slots, faults } = input
  const faulty: FaultyInput = {
    ...{ runbook, startAt, slots },
    rows: [...members.rows],
    tenants: tenantSeed ?? expectedTenants(runbook, members.rows),
    timing: {},
    calls: {},
    events: [],
  }
  const missing = faults ? applyFaults(faults, faulty) : null
  if (missing === null) return faulty
  const reason = `the runbook has no ${missing}`
  throw new MatoolkitError('REHEARSAL_FAULTS_INVALID', { reason, known: FAULT_NAMES })
}

/** An hour before the first phase of the first wave; for runbooks without dates the next full hour. */
function usualStart({ runbook, members, now }: RehearsalInput): Date {
  const { batchTimeColumn, timeZone } = runbook.dataSource
  const column = batchTimeColumn?.toLowerCase()
  const times = members.rows.flatMap((row) => {
    const value = Object.entries(row).find(([name]) => name.toLowerCase() === column)?.[1]
    const read = instantOf(value, timeZone)
    return 'at' in read ? [+read.at] : []
  })
  if (times.length === 0) return new Date(Math.ceil(+now / LEAD_MS) * LEAD_MS)
  const earliest = times.reduce((least, one) => Math.min(least, one))
  const offset = Math.max(...runbook.phases.map(({ offsetMinutes }) => offsetMinutes))
  return new Date(earliest - offset * MINUTE_MS - LEAD_MS)
}

const stepsOf = (runbook: Runbook): RunbookStep[] => [
  ...runbook.init,
  ...phasesInOrder(runbook).flatMap(({ steps }) => steps),
  ...runbook.onMemberRemoved,
  ...[...runbook.rollbacks.values()].flat(),
]

const workersOf = (runbook: Runbook): string[] => [
  ...new Set(stepsOf(runbook).map(({ workerId }) => workerId)),
]

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

async function failuresIn({ db }: RehearsalSystem, runbook: Runbook): Promise<FailedGroup[]> {
  const groups = new FailureGroups()
  for (const { id: batchId } of await listRehearsedBatches(db)) {
    for (let after = 0; ; ) {
      const page = await listFailures(db, batchId, after, FAILURES_PER_PAGE)
      for (const failure of page) groups.add(failure)
      if (page.length < FAILURES_PER_PAGE) break
      after = page.at(-1)!.stepId
    }
  }
  const largest = groups.largest(GROUPS_SHOWN)
  const names = await listRehearsedNames(db, [...new Set(largest.flatMap((one) => one.memberIds))])
  const keys = new Map(names.map(({ memberId, memberKey }) => [memberId, memberKey]))
  return largest.map((group) => ({
    kind: group.kind,
    phase: group.phaseName,
    step: group.stepName,
    count: group.count,
    message: group.sample.message,
    remedy: remedyOf(runbook, group),
    people: group.memberIds.flatMap((id) => keys.get(id) ?? []),
  }))
}

function tickFaults({ ticks, errors }: RehearsalSystem) {
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
  { tenantSeed }: RehearsalInput,
  custom: readonly WorkerFunction[],
): string[] {
  return [
    ...(tenantSeed === null
      ? [
          'The tenants have what the runbook expects to find. Use --tenant to rehearse with your own.',
        ]
      : []),
    ...custom.map(
      ({ name }) => `${name} is not a standard function. It is taken to succeed at once.`,
    ),
  ]
}
