// What goes wrong in a rehearsal, by name or by script. Each fault changes what the rehearsal is given (people, tenants, limits) or
// happens at a time that follows from the phases, so the same seed meets the same faults.

import { z } from 'zod'
import { faultsSchema } from '../../../sandbox/faults.ts'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../../sandbox/state.ts'
import type { Timing } from '../../../sandbox/world.ts'
import { durationText } from '../../base/text/duration.ts'
import { sameName } from '../../base/text/same-name.ts'
import { listReviews } from '../../db/sources/reviews.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { inOrder, stepsOf } from '../../domain/runbook/steps.ts'
import { instantOf } from '../../domain/sources/source-time.ts'
import { approveReviews } from '../../engine/orders/reviews.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { RehearsalRow } from './expected-tenants.ts'
import type { RehearsalEvent } from './run.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** What a rehearsal is given; faults change it. */
export interface FaultyInput {
  readonly runbook: Runbook
  readonly startAt: Date
  rows: RehearsalRow[]
  tenants: Seed
  slots: number
  timing: Partial<Timing>
  calls: z.input<typeof faultsSchema>
  readonly events: RehearsalEvent[]
}

interface NamedFault {
  /** A sentence for the report. */
  readonly what: string
  apply(input: FaultyInput): void
}

export const REHEARSAL_FAULTS = {
  throttling: {
    what: 'Throttling: 3 of 100 calls are refused for 30 seconds.',
    apply: (input) => {
      const { rates } = faultsSchema.parse(input.calls)
      input.calls = { ...input.calls, rates: { ...rates, throttle: 0.03 }, retryAfterSec: 30 }
    },
  },
  'worker-crash': {
    what: 'A worker crashes as the cut-over begins, and is back after 5 minutes.',
    apply: (input) => downFor(input, 1_000, 5 * MINUTE_MS),
  },
  'worker-down': {
    what: 'A worker is down for 12 hours from the cut-over on.',
    apply: (input) => downFor(input, 1_000, 12 * HOUR_MS),
  },
  'slow-replication': {
    what: 'Slow replication: new accounts show after 30 minutes, mail users after 2 hours.',
    apply: (input) => {
      input.timing = { ...input.timing, replicationLagSec: 1_800, exchangeLagSec: 7_200 }
    },
  },
  'bad-rows': {
    what: 'Bad rows: one without a key, one twice, one with an unreadable time.',
    apply: (input) => {
      const { primaryKey, batchTimeColumn } = input.runbook.dataSource
      const [first] = input.rows
      if (!first) return
      input.rows.push({ ...first, [nameIn(first, primaryKey)]: '' }, { ...first })
      const untimed = { ...first, [nameIn(first, primaryKey)]: 'rehearsed-bad-row@invalid.example' }
      if (batchTimeColumn !== null)
        input.rows.push({ ...untimed, [nameIn(first, batchTimeColumn)]: 'soon' })
    },
  },
  'source-outage': {
    what: 'The source does not answer for the first 3 hours.',
    apply: ({ events, startAt }) => {
      const reason = 'the source does not answer'
      events.push(
        {
          at: startAt,
          what: 'the source stops answering',
          run: ({ source }) => void Object.assign(source, { outage: reason }),
          changesSource: true,
        },
        {
          at: new Date(+startAt + 3 * HOUR_MS),
          what: 'the source answers again',
          run: ({ source }) => void Object.assign(source, { outage: null }),
          changesSource: true,
        },
      )
    },
  },
  'permission-missing': {
    what: 'A permission is missing: the apps may read and not write.',
    apply: (input) => {
      const roles = ['User.Read.All', 'Group.Read.All', 'Directory.Read.All']
      const application = { clientId: DEFAULT_CLIENT_ID, secret: DEFAULT_SECRET, roles }
      const tenants = input.tenants.tenants.map((tenant) => ({
        ...tenant,
        applications: [application],
      }))
      input.tenants = { tenants }
    },
  },
  'refused-parameters': {
    what: 'The addresses of the first person are not addresses.',
    apply: (input) => {
      const key = input.runbook.dataSource.primaryKey.toLowerCase()
      const [first, ...others] = input.rows
      if (!first) return
      const broken = Object.entries(first).map(([name, value]) => {
        const isAddress = typeof value === 'string' && value.includes('@')
        return [name, isAddress && !sameName(name, key) ? 'not an address' : value]
      })
      input.rows = [Object.fromEntries(broken), ...others]
    },
  },
  leaver: {
    what: 'The first person disappears from the source an hour before the last phase.',
    apply: (input) => {
      const at = new Date(phaseTimesOf(input).at(-1)! - HOUR_MS)
      changeRows(input, at, 'the first person disappears from the source', (rows) => rows.slice(1))
    },
  },
  latecomer: {
    what: 'The last person appears in the source an hour after the first phase.',
    apply: (input) => {
      const late = input.rows.pop()
      if (!late) return
      const at = new Date(phaseTimesOf(input)[0]! + HOUR_MS)
      changeRows(input, at, 'the last person appears in the source', (rows) => [...rows, late])
    },
  },
  redated: {
    what: 'The wave moves by a day, an hour before its last phase.',
    apply: (input) => redate(input),
  },
  'redated-approved': {
    what: 'The wave moves by a day, an hour before its last phase, and a person approves it after half an hour.',
    apply: (input) => {
      const at = redate(input)
      if (at === null) return
      input.events.push({
        at: new Date(+at + HOUR_MS / 2),
        what: 'a person approves the new date',
        run: ({ engine }) => approveNewDate(engine),
      })
    },
  },
  'long-queue': {
    what: 'A long queue: each worker runs one job at a time, and every call takes a minute longer.',
    apply: (input) => {
      input.slots = 1
      input.calls = { ...input.calls, rates: { slow: 1 }, delaySec: 60 }
    },
  },
} as const satisfies Record<string, NamedFault>

export type RehearsalFaultName = keyof typeof REHEARSAL_FAULTS

const NAMES = Object.keys(REHEARSAL_FAULTS) as [RehearsalFaultName, ...RehearsalFaultName[]]

export const FAULT_NAMES = NAMES.join(', ')

/** A script: faults by name, faults of calls as the sandbox takes them, and workers that go and come. */
export const faultScriptSchema = z.strictObject({
  use: z.array(z.enum(NAMES)).default([]),
  calls: faultsSchema.optional(),
  workers: z
    .array(
      z.strictObject({
        worker: z.string().min(1),
        /** Counted from the start of this phase of the first wave. */
        phase: z.string().min(1),
        afterMin: z.number().min(0).max(525_600).default(0),
        downMin: z.number().min(1).max(525_600),
      }),
    )
    .default([]),
})
export type FaultScript = z.output<typeof faultScriptSchema>

/** Null when the text is not a list of known names. */
export function namedFaults(text: string): FaultScript | null {
  const use = text.split(',').map((name) => name.trim())
  const read = faultScriptSchema.safeParse({ use })
  return read.success ? read.data : null
}

/** These begin when they are told to. Others change what the rehearsal begins with, and so the past of a running batch. */
const FROM_NOW_ON: readonly RehearsalFaultName[] = [
  'throttling',
  'worker-crash',
  'worker-down',
  'source-outage',
  'leaver',
  'redated',
  'redated-approved',
]

/** The first fault that a running batch cannot meet any more. */
export const faultOfPast = ({ use }: FaultScript): RehearsalFaultName | null =>
  use.find((name) => !FROM_NOW_ON.includes(name)) ?? null

/** Changes the input. Null, or the phase or worker that does not exist. */
export function applyFaults(script: FaultScript, input: FaultyInput): string | null {
  if (script.calls) input.calls = script.calls
  for (const name of script.use) {
    const { what, apply } = REHEARSAL_FAULTS[name]
    // Its sentence stands in the report even if nothing comes of it.
    input.events.push({ at: input.startAt, what, run: () => {} })
    apply(input)
  }
  const phases = inOrder(input.runbook.phases)
  for (const { worker, phase, afterMin, downMin } of script.workers) {
    const place = phases.findIndex(({ name }) => sameName(name, phase))
    if (place < 0) return `phase "${phase}"`
    if (!workersIn(input.runbook).includes(worker.toLowerCase())) return `worker "${worker}"`
    const fromMs = phaseTimesOf(input)[place]! + afterMin * MINUTE_MS
    pushDown(input, worker.toLowerCase(), fromMs, downMin * MINUTE_MS)
  }
  return null
}

const workersIn = (runbook: Runbook): string[] =>
  stepsOf(runbook, 'phase').map((step) => step.workerId.toLowerCase())

/** The worker of the first step of the cut-over: the phase at T-0, or else the last one before it. */
function downFor(input: FaultyInput, afterMs: number, downMs: number): void {
  const phases = inOrder(input.runbook.phases)
  const after = phases.findIndex(({ offsetMinutes }) => offsetMinutes < 0)
  const place = after < 0 ? phases.length - 1 : Math.max(0, after - 1)
  const worker = phases[place]!.steps[0]!.workerId.toLowerCase()
  pushDown(input, worker, phaseTimesOf(input)[place]! + afterMs, downMs)
}

function pushDown({ events }: FaultyInput, worker: string, fromMs: number, downMs: number): void {
  events.push(
    {
      at: new Date(fromMs),
      what: `worker ${worker} crashes, for ${durationText(downMs)}`,
      run: (system) => system.killWorker(worker),
    },
    {
      at: new Date(fromMs + downMs),
      what: `worker ${worker} is back`,
      run: (system) => system.startWorker(worker),
    },
  )
}

/** Returns when, or null for a runbook without dates. */
function redate(input: FaultyInput): Date | null {
  const { batchTimeColumn, timeZone } = input.runbook.dataSource
  if (batchTimeColumn === null) return null
  const at = new Date(phaseTimesOf(input).at(-1)! - HOUR_MS)
  changeRows(input, at, 'the wave is a day later in the source', (rows) =>
    rows.map((row) => {
      const column = nameIn(row, batchTimeColumn)
      const read = instantOf(row[column], timeZone)
      if (!('at' in read)) return row
      return { ...row, [column]: new Date(+read.at + 24 * HOUR_MS).toISOString() }
    }),
  )
  return at
}

const REVIEWS_MAX = 100_000

/** Batch by batch, as a person would who is asked about each. */
async function approveNewDate(engine: Engine): Promise<void> {
  const reviews = await listReviews(engine.db, { kind: 'move', limit: REVIEWS_MAX })
  for (const [, same] of Map.groupBy(reviews, ({ batchId }) => batchId))
    await approveReviews(engine, {
      reviewIds: same.map(({ id }) => id),
      actor: 'rehearsed approver 1',
      reason: 'rehearsal',
      choice: 'reschedule',
    })
}

function changeRows(
  { events }: FaultyInput,
  at: Date,
  what: string,
  change: (rows: readonly RehearsalRow[]) => RehearsalRow[],
): void {
  events.push({
    at,
    what,
    run: ({ source }) => void Object.assign(source, { rows: change(source.rows) }),
    changesSource: true,
  })
}

/** When the phases of the first wave are due, in order; overdue ones at the start. */
function phaseTimesOf({ runbook, rows, startAt }: FaultyInput): number[] {
  const { batchTimeColumn, timeZone } = runbook.dataSource
  const times = rows.flatMap((row) => {
    const value = batchTimeColumn === null ? null : row[nameIn(row, batchTimeColumn)]
    const read = instantOf(value, timeZone)
    return 'at' in read ? [+read.at] : []
  })
  const firstMs = times.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY)
  const startMs = Number.isFinite(firstMs) ? firstMs : +startAt
  return inOrder(runbook.phases).map(({ offsetMinutes }) =>
    Math.max(+startAt, startMs - offsetMinutes * MINUTE_MS),
  )
}

/** The column as the file spells it. */
const nameIn = (row: RehearsalRow, column: string): string =>
  Object.keys(row).find((name) => sameName(name, column)) ?? column
