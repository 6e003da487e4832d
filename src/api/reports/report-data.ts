// The data of a batch report. Members are read page by page, so that 200,000 of them are never in memory at once. A running batch may
// change while it is read; the report says so.
import { z } from 'zod'
import type { Queryable } from '../../db/connection/db.ts'
import { loadHolds } from '../../db/state/holds.ts'
import { listEvents } from '../../db/views/events.ts'
import { listMembers, type MemberAfter } from '../../db/views/members.ts'
import { loadPeopleData } from '../../db/views/people.ts'
import { holdsOnBatch } from '../../domain/state/holds.ts'
import { type PersonColumns, personColumns } from '../../domain/state/person-columns.ts'
import type { PersonState } from '../../domain/state/person-state.ts'
import type { MemberStatus } from '../../domain/state/transitions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { event } from '../events/event-shape.ts'
import { memberLine, shownMember } from '../routes/members.ts'
import type { FailureCache } from '../services/failure-cache.ts'
import { batch, phase, STEP_KINDS, shownBatch } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState } from '../shapes/batch-state.ts'
import { showPhases } from '../shapes/phase-waits.ts'
import { dateTime, nullableText, wholeCount } from '../shapes/shapes.ts'

const failureGroup = z.object({
  pattern: z.string(),
  kind: z.enum(STEP_KINDS),
  phaseName: nullableText,
  stepName: z.string(),
  count: wholeCount,
  firstSeenAt: dateTime,
  lastSeenAt: dateTime,
})

/** Everything but the members. */
const reportHead = z.object({
  madeAt: dateTime,
  madeBy: z.string(),
  batch,
  phases: z.array(phase),
  failures: z.object({ count: wholeCount, groupCount: wholeCount, groups: z.array(failureGroup) }),
  /** Events of the batch and its phases. */
  course: z.array(event),
  isCourseComplete: z.boolean(),
})

export type ReportHead = z.output<typeof reportHead>
export type ReportBatch = ReportHead['batch']
export type ReportPhase = ReportHead['phases'][number]
export type ReportFailureGroup = z.output<typeof failureGroup>
export type CourseEvent = ReportHead['course'][number]
export type ReportMember = z.output<typeof memberLine> & PersonColumns

/** The members page by page, optionally of one state. */
export type MemberPages = (of?: PersonState) => AsyncIterable<readonly ReportMember[]>

/** Who reads the report: the zone of its times, and whether it shows who did what inside. */
export interface ReportReader {
  readonly zone: string
  readonly isInternal: boolean
}

export interface ReportOrder {
  readonly batchId: number
  readonly madeAt: Date
  readonly madeBy: string
}

export interface LoadedReport {
  readonly head: ReportHead
  readonly members: MemberPages
}

const ROWS_PER_PAGE = 500
const COURSE_MAX = 2_000

/** Throws BATCH_NOT_FOUND. */
export async function loadReport(
  engine: Engine,
  failureCache: FailureCache,
  { batchId, madeAt, madeBy }: ReportOrder,
): Promise<LoadedReport> {
  const { db } = engine
  const state = await loadBatchState(db, batchId)
  const { isComplete, ...failures } = await failureCache.groups(db, state.line)
  const course = await listEvents(
    db,
    { batchId, entities: ['batch', 'phase'] },
    'oldest',
    COURSE_MAX + 1,
  )
  const head = reportHead.parse({
    madeAt,
    madeBy,
    batch: shownBatch(state.line),
    phases: await showPhases(engine, state),
    failures,
    course: course.slice(0, COURSE_MAX),
    isCourseComplete: course.length <= COURSE_MAX,
  })
  return { head, members: (of) => memberPages(db, state, of) }
}

const STATUS_OF: Partial<Readonly<Record<PersonState, MemberStatus>>> = {
  failed: 'failed',
  rolled_back: 'failed',
  taken_back: 'failed',
  removed: 'removed',
}

/** Sorted by key. Failed and removed people are found by their status, along its index. */
async function* memberPages(
  db: Queryable,
  state: BatchState,
  of?: PersonState,
): AsyncGenerator<readonly ReportMember[]> {
  const { id } = state.line
  const filter =
    of === undefined ? {} : { state: [of], ...(STATUS_OF[of] && { status: [STATUS_OF[of]] }) }
  const holds = holdsOnBatch(await loadHolds(db, id))
  const { wave } = state.line
  for (let after: MemberAfter | null = null; ; ) {
    const page = { sort: 'key', after, limit: ROWS_PER_PAGE, wave } as const
    const rows = await listMembers(db, id, filter, page)
    const data = await loadPeopleData(
      db,
      rows.map((row) => row.id),
    )
    yield rows.map((row) => ({
      ...memberLine.parse(shownMember(row, state, holds)),
      ...personColumns(data.get(row.id) ?? {}),
    }))
    if (rows.length < ROWS_PER_PAGE) return
    const last = rows.at(-1)!
    after = { value: last.keyFolded, id: last.id }
  }
}
