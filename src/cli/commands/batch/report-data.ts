// Loads the data of a batch report from the API. Members are read page by page, so that 200,000 of them are never in memory at once.
// A running batch may change while it is read; the report says so.

import type { Json } from '../../../domain/json.ts'
import type { Outcome, OutcomeCounts } from '../../../domain/outcome.ts'
import type { CommandContext } from '../../command-context.ts'
import type { Row } from '../../terminal/show.ts'
import { batchPath } from './paths.ts'

export interface ReportBatch {
  readonly id: number
  readonly runbookName: string
  readonly runbookVersion: number
  readonly status: string
  readonly batchStartTime: string | null
  readonly isManual: boolean
  readonly createdBy: string
  readonly held: { readonly by: string; readonly reason: string; readonly at: string } | null
  readonly members: OutcomeCounts & Readonly<Record<'active' | 'total', number>>
  readonly detectedAt: string
  readonly activatedAt: string | null
  readonly endedAt: string | null
}

export interface ReportPhase {
  readonly phaseName: string
  readonly status: string
  readonly skippedBecause: string | null
  readonly dueAt: string | null
  readonly dispatchedAt: string | null
  readonly completedAt: string | null
  readonly members: Readonly<Record<'total' | 'passed' | 'failed' | 'stopped' | 'removed', number>>
}

export interface ReportFailureGroup {
  readonly pattern: string
  readonly phaseName: string | null
  readonly stepName: string
  readonly count: number
  readonly firstSeenAt: string
  readonly lastSeenAt: string
}

export interface CourseEvent {
  readonly at: string
  readonly entity: string
  readonly event: string
  readonly phaseName: string | null
  readonly toStatus: string | null
  readonly actor: string
  readonly because: string
}

export interface ReportMember {
  readonly memberKey: string
  readonly status: 'active' | 'failed' | 'removed'
  readonly outcome: Outcome
  readonly joinedAt: string
  readonly finishedAt: string | null
  readonly failedAt: string | null
  readonly leftAt: string | null
  readonly removedBy: string | null
  readonly movedToBatchId: number | null
  readonly failure: {
    readonly phaseName: string
    readonly stepName: string
    readonly error: string | null
  } | null
}

/** The members page by page, optionally of one outcome. */
export type MemberPages = (outcome?: Outcome) => AsyncIterable<readonly ReportMember[]>

/** Who reads the report: the zone of its times, and whether it shows who did what inside. */
export interface ReportReader {
  readonly zone: string
  readonly isInternal: boolean
}

/** Everything but the members. */
export interface ReportHead {
  readonly madeAt: string
  readonly madeBy: string
  readonly api: string
  readonly batch: ReportBatch
  readonly phases: readonly ReportPhase[]
  readonly failures: {
    readonly count: number
    readonly groupCount: number
    readonly groups: readonly ReportFailureGroup[]
  }
  readonly course: readonly CourseEvent[]
  readonly isCourseComplete: boolean
}

type LoadedFailures = Omit<ReportHead['failures'], 'groups'> & {
  readonly groups: readonly (ReportFailureGroup & {
    readonly actions: Json
    readonly list: string
  })[]
}

const PAGE = 500
const COURSE_MAX = 2_000

export async function loadHead(
  { client, clock }: CommandContext,
  batchId: number,
): Promise<ReportHead> {
  const path = batchPath(String(batchId))
  const { body: summary } = await client.get<Pick<ReportHead, 'batch' | 'phases'>>(
    `${path}/summary`,
  )
  const { body: me } = await client.get<{ name: string }>('/api/me')
  const { body: failures } = await client.get<LoadedFailures>(`${path}/failures`)
  const course: CourseEvent[] = []
  let cursor: string | null = null
  do {
    const query = { entity: 'batch,phase', sort: 'oldest', limit: PAGE, cursor }
    const { body }: { body: Row } = await client.get<Row>(`${path}/events`, query)
    course.push(...(body.events as unknown as CourseEvent[]))
    cursor = body.next as string | null
  } while (cursor !== null && course.length < COURSE_MAX)
  return {
    madeAt: clock.now().toISOString(),
    madeBy: me.name,
    api: client.apiUrl,
    batch: summary.batch,
    phases: summary.phases,
    // A report is for customers: commands are for operators.
    failures: {
      ...failures,
      groups: failures.groups.map(({ actions: _, list: __, ...group }) => group),
    },
    course,
    isCourseComplete: cursor === null,
  }
}

/** The members sorted by key, page by page, optionally of one outcome. */
export async function* memberPages(
  { client, io }: CommandContext,
  batchId: number,
  outcome?: Outcome,
): AsyncGenerator<readonly ReportMember[]> {
  let read = 0
  // Failed and removed people are found by their status, along its index.
  const isStatus = outcome === 'failed' || outcome === 'removed'
  const filter = isStatus ? { status: outcome } : { outcome }
  let cursor: string | null = null
  do {
    const query = { sort: 'key', limit: PAGE, cursor, ...filter }
    const { body }: { body: Row } = await client.get<Row>(
      `${batchPath(String(batchId))}/members`,
      query,
    )
    const members = body.members as unknown as ReportMember[]
    cursor = body.next as string | null
    read += members.length
    const of = body.isTotalExact === false ? '' : ` of ${Number(body.total)}`
    io.progress(`Reading members: ${read}${of} …`)
    yield members
  } while (cursor !== null)
  io.progress('')
}
