// What `matoolkit batch …` shows: batches, one batch, its phases, members and steps, how it stands. Nothing here changes anything.
import type { Json } from '../../../domain/json.ts'
import { ENDED_BATCH_STATUSES } from '../../../domain/transitions.ts'
import { MatoolkitError } from '../../../errors.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  showPages,
  textFlag,
} from '../../command-context.ts'
import { type Column, type Row, timeCell } from '../../terminal/show.ts'

/** A batch in one of these does nothing more by itself. */
export const BATCH_ENDED: readonly string[] = ENDED_BATCH_STATUSES

export const batchPath = (id: string | undefined): string => `/api/batches/${idOf('batch', id)}`

const LIST: readonly Column[] = [
  ['ID', 'id'],
  ['RUNBOOK', 'runbookName'],
  ['VERSION', 'runbookVersion', 'spare'],
  ['STATUS', ({ status, held }) => (held ? 'held' : status)],
  ['START', 'batchStartTime'],
  ['PHASE', 'currentPhase'],
  ['ACTIVE', 'members.active'],
  ['FAILED', 'members.failed'],
  ['REMOVED', 'members.removed', 'spare'],
  ['MANUAL', 'isManual', 'spare'],
]
const PHASES: readonly Column[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  [
    'STATUS',
    ({ status, skippedBecause }) => (skippedBecause ? `${status}: ${skippedBecause}` : status),
  ],
  ['MEMBERS', 'members.total'],
  ['PASSED', 'members.passed'],
  ['FAILED', 'members.failed'],
  ['STOPPED', 'members.stopped', 'spare'],
  ['STEPS OPEN', ({ steps }) => openSteps(steps as Row)],
  ['ENDED', 'completedAt', 'spare'],
]
const MEMBERS: readonly Column[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey', 'whole'],
  ['STATUS', 'status'],
  ['JOINED', 'joinedAt', 'spare'],
  ['FAILED AT', ({ failure }) => failedAt(failure as Row | null)],
  ['ERROR', 'failure.error'],
]
const STEPS: readonly Column[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey', 'whole'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['STATUS', 'status'],
  ['TRY', 'attempt', 'spare'],
  ['WORKER', 'workerId', 'spare'],
  ['WAITS FOR', 'waitsFor'],
  ['ENDED', 'completedAt', 'spare'],
  ['ERROR', 'errorMessage'],
]

const openSteps = ({ pending, dispatched, polling }: Row): number =>
  Number(pending) + Number(dispatched) + Number(polling)

const failedAt = (failure: Row | null): string | null =>
  failure && `${String(failure.phaseName)} / ${String(failure.stepName)}`

export const runListBatches = (
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> =>
  showPages(context, {
    path: '/api/batches',
    query: {
      runbook: textFlag(flags, 'runbook'),
      status: textFlag(flags, 'status'),
      manual: flags.manual === true ? true : undefined,
      held: flags.held === true ? true : undefined,
      sort: textFlag(flags, 'sort'),
    },
    rows: 'batches',
    columns: LIST,
    empty: 'There are no batches.',
  })

const BATCH_FIELDS: readonly Column[] = [
  ['batch', 'batch.id'],
  [
    'runbook',
    ({ batch }) =>
      `${String((batch as Row).runbookName)} version ${Number((batch as Row).runbookVersion)}`,
  ],
  ['status', 'batch.status'],
  ['failed in init', ({ initSteps }) => initFailure(initSteps as Row[] | undefined)],
  ['held', ({ batch }) => heldText(batch as Row)],
  ['start', 'batch.batchStartTime'],
  ['manual', 'batch.isManual'],
  ['created by', 'batch.createdBy'],
  ['members', ({ batch }) => membersText(batch as Row)],
  ['next to advance', 'nextPhase'],
  [
    'pace',
    ({ throughput }) => throughput && `${Number((throughput as Row).stepsPerMin)} steps a minute`,
  ],
  ['ends', 'estimate.endsAt'],
  ['because', 'estimate.because'],
  ['open reviews', ({ openReviews }) => reviewsText(openReviews as Row | undefined)],
]

function initFailure(steps: readonly Row[] = []): string | null {
  const failed = steps.find(({ status }) => ['failed', 'poll_timeout'].includes(String(status)))
  return failed ? `${String(failed.stepName)}: ${String(failed.errorMessage)}` : null
}

function heldText({ held }: Row): string | null {
  if (!held) return null
  const { at, by, reason } = held as Row
  return `since ${timeCell(String(at))} by ${String(by)}: ${String(reason)}`
}

export function membersText({ members }: Row): string {
  const { active, failed, removed } = members as Row
  return `${Number(active)} active, ${Number(failed)} failed, ${Number(removed)} removed`
}

function reviewsText(openReviews: Row | undefined): string | null {
  const some = Object.entries(openReviews ?? {}).filter(([, count]) => Number(count) > 0)
  return some.length === 0
    ? null
    : some.map(([kind, count]) => `${Number(count)} ${kind}`).join(', ')
}

/** A batch with its phases, from a page that has both. */
export async function showBatch({ show }: CommandContext, body: Row): Promise<void> {
  await show.one(body as Json, BATCH_FIELDS)
  if (show.format !== 'table') return
  show.say('')
  const rows = body.phases as unknown as Row[]
  await show.list({ whole: null, rows, columns: PHASES, empty: 'It has no phases.' })
}

export async function runGetBatch(context: CommandContext, [id]: readonly string[]): Promise<void> {
  await showBatch(context, (await context.client.get<Row>(batchPath(id))).body)
}

export async function runSummary(context: CommandContext, [id]: readonly string[]): Promise<void> {
  await showBatch(context, (await context.client.get<Row>(`${batchPath(id)}/summary`)).body)
}

export async function runListPhases(
  { client, show }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const { body } = await client.get<Row>(`${batchPath(id)}/phases`)
  const rows = body.phases as unknown as Row[]
  await show.list({ whole: body as Json, rows, columns: PHASES, empty: 'It has no phases.' })
}

export const runListMembers = (
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> =>
  showPages(context, {
    path: `${batchPath(id)}/members`,
    query: {
      status: textFlag(flags, 'status'),
      search: textFlag(flags, 'search'),
      failedPhase: textFlag(flags, 'failedPhase'),
      failedStep: textFlag(flags, 'failedStep'),
      error: textFlag(flags, 'error'),
      sort: textFlag(flags, 'sort'),
    },
    rows: 'members',
    columns: MEMBERS,
    empty: 'There are no such members.',
  })

export async function runListSteps(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  await showPages(context, {
    path: `${batchPath(id)}/steps`,
    query: {
      kind: textFlag(flags, 'kind'),
      status: textFlag(flags, 'status'),
      phase: textFlag(flags, 'phase'),
      step: textFlag(flags, 'step'),
      worker: textFlag(flags, 'worker'),
      memberId: member && (await findMemberId(context, id, member)),
      error: textFlag(flags, 'error'),
    },
    rows: 'steps',
    columns: STEPS,
    empty: 'There are no such steps.',
  })
}

/**
 * The id of a member who is named by id or by key, whatever the case. Keys may be numbers, such as those of employees: where a
 * number is the id of one and the key of another nobody is guessed at. Throws MEMBER_NOT_FOUND.
 */
export async function findMemberId(
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<number> {
  const [, kind, given = ''] = /^(?:(id|key):)?(.*)$/s.exec(member ?? '')!
  if (kind === 'id') return idOf('member', given)
  const isNumber = /^[1-9]\d*$/.test(given) && kind !== 'key'
  const found = await memberWithKey(context, batchId, given)
  if (!isNumber) {
    if (found !== null) return found
    const details = { batchId: idOf('batch', batchId), memberId: given }
    throw new MatoolkitError('MEMBER_NOT_FOUND', details)
  }
  const id = idOf('member', given)
  if (found === null || found === id) return id
  const path = `${batchPath(batchId)}/members/${id}`
  const { status } = await context.client.get(path, {}, { accepts: [404] })
  if (status === 404) return found
  const reason = `${given} is the id of one member of batch ${batchId} and the key of another: say id:${given} or key:${given}.`
  throw new MatoolkitError('USAGE', { reason })
}

async function memberWithKey(
  { client }: CommandContext,
  batchId: string | undefined,
  key: string,
): Promise<number | null> {
  // The API finds keys by how they begin; in their order the one that is no longer than that comes first.
  const query = { key, sort: 'key', limit: 10 }
  const { body } = await client.get<{ members: Row[] }>(`${batchPath(batchId)}/members`, query)
  const wanted = key.trim().toLowerCase()
  const found = body.members.find(({ memberKey }) => String(memberKey).toLowerCase() === wanted)
  return found ? Number(found.id) : null
}

export const memberPath = async (
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<string> =>
  `${batchPath(batchId)}/members/${await findMemberId(context, batchId, member)}`
