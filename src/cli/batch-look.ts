// What `matoolkit batch …` shows: batches, one batch, its phases, members and steps, how it stands. Nothing here changes anything.
import type { Json } from '../domain/json.ts'
import { MatoolkitError } from '../errors.ts'
import { type Call, type Flags, idOf, loadPages, segment, showPages, textFlag } from './call.ts'
import type { Column, Row } from './show.ts'

export const batchPath = (id: string | undefined): string => `/api/batches/${idOf('batch', id)}`

const LIST: readonly Column[] = [
  ['ID', 'id'],
  ['RUNBOOK', 'runbookName'],
  ['VERSION', 'runbookVersion'],
  ['STATUS', ({ status, held }) => (held ? 'held' : status)],
  ['START', 'batchStartTime'],
  ['PHASE', 'currentPhase'],
  ['ACTIVE', 'members.active'],
  ['FAILED', 'members.failed'],
  ['REMOVED', 'members.removed'],
  ['MANUAL', 'isManual'],
]
export const PHASES: readonly Column[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  [
    'STATUS',
    ({ status, skippedBecause }) => (skippedBecause ? `${status}: ${skippedBecause}` : status),
  ],
  ['MEMBERS', 'members.total'],
  ['PASSED', 'members.passed'],
  ['FAILED', 'members.failed'],
  ['STOPPED', 'members.stopped'],
  ['STEPS OPEN', ({ steps }) => openSteps(steps as Row)],
  ['ENDED', 'completedAt'],
]
const MEMBERS: readonly Column[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey'],
  ['STATUS', 'status'],
  ['FAILED AT', ({ failure }) => failedAt(failure as Row | null)],
  ['ERROR', 'failure.error'],
  ['JOINED', 'joinedAt'],
]
const STEPS: readonly Column[] = [
  ['ID', 'id'],
  ['MEMBER', 'memberKey'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['STATUS', 'status'],
  ['TRY', 'attempt'],
  ['WORKER', 'workerId'],
  ['WAITS FOR', 'waitsFor'],
  ['ENDED', 'completedAt'],
  ['ERROR', 'errorMessage'],
]

const openSteps = ({ pending, dispatched, polling }: Row): number =>
  Number(pending) + Number(dispatched) + Number(polling)

const failedAt = (failure: Row | null): string | null =>
  failure && `${String(failure.phaseName)} / ${String(failure.stepName)}`

export const listBatches = (call: Call, _: readonly string[], flags: Flags): Promise<void> =>
  showPages(call, {
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

export const BATCH_FIELDS: readonly Column[] = [
  ['batch', 'batch.id'],
  [
    'runbook',
    ({ batch }) =>
      `${String((batch as Row).runbookName)} version ${Number((batch as Row).runbookVersion)}`,
  ],
  ['status', 'batch.status'],
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
  ['undecided', ({ undecided }) => undecidedText(undecided as Row | undefined)],
]

function heldText({ held }: Row): string | null {
  if (!held) return null
  const { at, by, reason } = held as Row
  return `since ${String(at)} by ${String(by)}: ${String(reason)}`
}

export function membersText({ members }: Row): string {
  const { active, failed, removed } = members as Row
  return `${Number(active)} active, ${Number(failed)} failed, ${Number(removed)} removed`
}

function undecidedText(undecided: Row | undefined): string | null {
  const some = Object.entries(undecided ?? {}).filter(([, count]) => Number(count) > 0)
  return some.length === 0
    ? null
    : some.map(([kind, count]) => `${Number(count)} ${kind}`).join(', ')
}

/** A batch with its phases, from the page that has `what` on it. */
async function showBatch({ client, show }: Call, path: string): Promise<void> {
  const { body } = await client.get<Row>(path)
  await show.one(body as Json, BATCH_FIELDS)
  if (show.format !== 'table') return
  show.say('')
  const rows = body.phases as unknown as Row[]
  await show.list({ whole: null, rows, columns: PHASES, empty: 'It has no phases.' })
}

export const getBatch = (call: Call, [id]: readonly string[]): Promise<void> =>
  showBatch(call, batchPath(id))

export const summarizeBatch = (call: Call, [id]: readonly string[]): Promise<void> =>
  showBatch(call, `${batchPath(id)}/summary`)

export async function listPhases({ client, show }: Call, [id]: readonly string[]): Promise<void> {
  const { body } = await client.get<Row>(`${batchPath(id)}/phases`)
  const rows = body.phases as unknown as Row[]
  await show.list({ whole: body as Json, rows, columns: PHASES, empty: 'It has no phases.' })
}

export const listMembers = (call: Call, [id]: readonly string[], flags: Flags): Promise<void> =>
  showPages(call, {
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

export const listSteps = (call: Call, [id]: readonly string[], flags: Flags): Promise<void> =>
  showPages(call, {
    path: `${batchPath(id)}/steps`,
    query: {
      kind: textFlag(flags, 'kind'),
      status: textFlag(flags, 'status'),
      phase: textFlag(flags, 'phase'),
      step: textFlag(flags, 'step'),
      worker: textFlag(flags, 'worker'),
      memberKey: textFlag(flags, 'member'),
      error: textFlag(flags, 'error'),
    },
    rows: 'steps',
    columns: STEPS,
    empty: 'There are no such steps.',
  })

/** The id of a member who is named by id or by key, whatever the case. Throws MEMBER_NOT_FOUND. */
export async function findMemberId(
  call: Call,
  batchId: string | undefined,
  member: string | undefined,
): Promise<number> {
  const given = member ?? ''
  if (/^[1-9]\d*$/.test(given)) return idOf('member', given)
  const { rows } = await loadPages(
    { ...call, flags: { limit: '100' } },
    { path: `${batchPath(batchId)}/members`, query: { key: given }, rows: 'members' },
  )
  const found = rows.find(
    ({ memberKey }) => String(memberKey).toLowerCase() === given.toLowerCase(),
  )
  if (found) return Number(found.id)
  const details = { batchId: idOf('batch', batchId), memberId: given }
  throw new MatoolkitError('MEMBER_NOT_FOUND', details)
}

export const memberPath = async (
  call: Call,
  batchId: string | undefined,
  member: string | undefined,
): Promise<string> =>
  `${batchPath(batchId)}/members/${segment(String(await findMemberId(call, batchId, member)))}`
