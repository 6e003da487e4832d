// Members of a batch: list them, create a batch from a file of them, add a file of them, remove one.
import { z } from 'zod'
import { findMembersByKey } from '../../db/batches.ts'
import {
  countMembers,
  findMemberState,
  listMembers,
  MEMBER_SORTS,
  type MemberFilter,
  type MemberLine,
  type MemberState,
} from '../../db/view-members.ts'
import { addMembers, createBatch, type GivenMember } from '../../engine/create.ts'
import { removeMembers, takeBackMembers } from '../../engine/members.ts'
import { MatoolkitError } from '../../errors.ts'
import { batch, MEMBER_STATUSES, shownBatch } from '../batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../batch-state.ts'
import { pageFrom, readCursor } from '../cursor.ts'
import { type MemberFile, readMemberFile } from '../member-file.ts'
import { change, type Route, read } from '../route.ts'
import {
  count,
  id,
  listOf,
  maybeText,
  maybeTime,
  name,
  pageOf,
  paging,
  reason,
  searched,
  time,
  yesOrNo,
} from '../shapes.ts'
import { requireTag, tagOf } from '../state-tag.ts'
import { uploaded } from '../upload.ts'
import { requireRunbook } from './sources.ts'

const COUNT_MAX = 1_000
const SKIPPED_LISTED_MAX = 100
const KEYS_PER_LOOKUP = 1_000

const params = z.strictObject({ batchId: id })

const memberLine = z
  .strictObject({
    id: z.int(),
    memberKey: z.string(),
    status: z.enum(MEMBER_STATUSES),
    isActive: z.boolean(),
    joinedAt: time,
    leftAt: maybeTime,
    failedAt: maybeTime,
    removedBy: maybeText.meta({ description: '`source` when the data source dropped the member.' }),
    movedToBatchId: z.int().nullable(),
    failure: z
      .strictObject({
        stepId: z.int(),
        phaseName: z.string(),
        stepName: z.string(),
        status: z.string(),
        error: maybeText,
      })
      .nullable()
      .meta({ description: 'The step that went wrong, of a member who is not active.' }),
  })
  .meta({ id: 'Member' })

const shown = (line: MemberLine): z.input<typeof memberLine> => ({
  id: line.id,
  memberKey: line.memberKey,
  status: line.status,
  isActive: line.status === 'active',
  joinedAt: line.addedAt,
  leftAt: line.removedAt,
  failedAt: line.failedAt,
  removedBy: line.removedBy,
  movedToBatchId: line.movedToBatchId,
  failure:
    line.failedStepId === null
      ? null
      : {
          stepId: line.failedStepId,
          phaseName: line.failedPhase!,
          stepName: line.failedStep!,
          status: line.failedStatus!,
          error: line.error,
        },
})

const listRoute = read({
  method: 'GET',
  path: '/api/batches/{batchId}/members',
  operation: 'listMembers',
  tag: 'members',
  summary: 'The members of a batch, filtered by status, key, or how they failed',
  rule: 'reader',
  isPersonal: true,
  errors: ['BATCH_NOT_FOUND', 'CURSOR_INVALID'],
  params,
  query: z.strictObject({
    ...paging,
    status: listOf(MEMBER_STATUSES).optional(),
    key: searched.optional().meta({ description: 'How the key begins.' }),
    search: searched.optional().meta({ description: 'Part of the key.' }),
    failedPhase: name.optional(),
    failedStep: name.optional(),
    error: searched.optional().meta({ description: 'Part of the error message.' }),
    sort: z.enum(MEMBER_SORTS).default('id'),
  }),
  answers: { 200: pageOf('members', memberLine) },
  handle: async ({ door: { db }, params: { batchId }, query }) => {
    const { limit, cursor, sort, ...filter } = query
    const state = await loadBatchState(db, batchId)
    const after = readCursor(sort, cursor)
    const found = await listMembers(db, batchId, filter, sort, after, limit + 1)
    const at = (line: MemberLine) => ({
      value: sort === 'key' ? line.keyFolded : null,
      id: line.id,
    })
    const { rows, next } = pageFrom(found, limit, sort, at)
    const counted = totalByCounters(state, filter)
    const total = counted ?? (await countMembers(db, batchId, filter, COUNT_MAX))
    const isTotalExact = counted !== null || total < COUNT_MAX
    return { status: 200, body: { members: rows.map(shown), total, isTotalExact, next } }
  },
})

/** The batch keeps the count of its members by status. */
function totalByCounters({ line }: BatchState, filter: MemberFilter): number | null {
  const { status = MEMBER_STATUSES, ...others } = filter
  if (Object.values(others).some((value) => value !== undefined)) return null
  const { membersActive: active, membersFailed: failed, membersRemoved: removed } = line
  const counts: Readonly<Record<string, number>> = { active, failed, removed }
  return [...new Set(status)].reduce((sum, one) => sum + counts[one]!, 0)
}

const created = z
  .strictObject({
    batchId: z.int().nullable().meta({ description: 'Null in a dry run.' }),
    isDryRun: z.boolean(),
    batch: batch.nullable(),
    memberCount: count,
    availablePhases: z.array(z.string()).meta({ description: 'In the order of their time.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'CreatedBatch' })

const createRoute = change({
  method: 'POST',
  path: '/api/batches',
  operation: 'createBatch',
  tag: 'batches',
  summary: 'Create a manual batch from a member file (CSV)',
  about:
    'At most 50 MB and 200,000 members. All of the file is checked first; every problem is told with its row and column. The batch waits to be advanced.',
  rule: 'admin',
  action: 'batch.create',
  takes: 'upload',
  creates: true,
  errors: ['RUNBOOK_NOT_FOUND', 'MEMBER_ROWS_INVALID', 'MEMBER_ELSEWHERE'],
  query: z.strictObject({ dryRun: yesOrNo.default(false) }),
  body: z.strictObject({ runbookName: name, file: uploaded, reason: reason.optional() }),
  answers: { 200: created, 201: created },
  handle: async ({ door, query: { dryRun }, body, by }) => {
    const runbook = await requireRunbook(door, body.runbookName)
    const file = await readMemberFile(body.file, runbook)
    const about = {
      memberCount: file.count,
      availablePhases: runbook.phases
        .toSorted((a, b) => b.offsetMinutes - a.offsetMinutes)
        .map((phase) => phase.name),
      warnings: [...file.warnings],
    }
    if (dryRun) {
      const nothing = { batchId: null, isDryRun: true, batch: null, ...about }
      return { status: 200, body: nothing, noted: null }
    }
    const members = await membersOf(file)
    const request = { runbookName: runbook.name, sourceTime: null, members, createdBy: by.name }
    const { batchId } = await createBatch(door, request)
    const { line, tag } = await loadBatchState(door.db, batchId)
    return {
      status: 201,
      body: { batchId, isDryRun: false, batch: shownBatch(line), ...about },
      etag: tag,
      headers: { location: `/api/batches/${batchId}` },
      noted: {
        subject: `batch ${batchId}`,
        reason: body.reason ?? null,
        after: { runbook: runbook.name, members: file.count, file: body.file.sha256 },
      },
    }
  },
})

async function membersOf(file: MemberFile): Promise<GivenMember[]> {
  const members: GivenMember[] = []
  for await (const page of file.pages()) members.push(...page)
  return members
}

const added = z
  .strictObject({
    batchId: z.int(),
    isDryRun: z.boolean(),
    addedCount: count,
    takenBackCount: count.meta({ description: 'Removed earlier, and active again.' }),
    skippedCount: count,
    skipped: z
      .array(z.strictObject({ memberId: z.int(), memberKey: z.string(), reason: z.string() }))
      .meta({ description: 'The first of them.' }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'AddedMembers' })

const addRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/members',
  operation: 'addMembers',
  tag: 'members',
  summary: 'Add the members of a file (CSV) to a manual batch; they catch up on what has begun',
  about: 'Keys that were removed are taken back; keys that are active or failed are skipped.',
  rule: 'admin',
  action: 'members.add',
  takes: 'upload',
  creates: true,
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_ROWS_INVALID', 'MEMBER_ELSEWHERE', 'REFUSED'],
  params,
  query: z.strictObject({ dryRun: yesOrNo.default(false) }),
  body: z.strictObject({ file: uploaded, reason: reason.optional() }),
  answers: { 200: added, 201: added },
  handle: async ({ door, params: { batchId }, query: { dryRun }, body, by, ifMatch }) => {
    const { line } = await lockBatchState(door, batchId, ifMatch)
    requireManual(line)
    const version = line.runbookVersion
    const runbook = await door.runbooks.get(door.db, line.runbookName, version)
    const file = await readMemberFile(body.file, runbook)
    const members = await membersOf(file)
    const known = await knownMembers(door, batchId, members)
    const removed = known.filter(({ status }) => status === 'removed')
    const skipped = known
      .filter(({ status }) => status !== 'removed')
      .map((one) => ({ memberId: one.id, memberKey: one.key, reason: `is ${one.status} already` }))
    const fresh = members.length - known.length
    const answer = (takenBack: number, isDryRun: boolean) => ({
      batchId,
      isDryRun,
      addedCount: fresh,
      takenBackCount: takenBack,
      skippedCount: skipped.length,
      skipped: skipped.slice(0, SKIPPED_LISTED_MAX),
      warnings: [...file.warnings],
    })
    if (dryRun) return { status: 200, body: answer(removed.length, true), noted: null }
    await addMembers(door, batchId, members, by.name)
    const why = body.reason ?? 'added again from a member file'
    const order = { batchId, memberIds: removed.map((one) => one.id), actor: by.name, reason: why }
    const outcome = await takeBackMembers(door, { ...order, event: 'readd' })
    for (const { memberId, reason: cause } of outcome.refused) {
      const { key } = removed.find((one) => one.id === memberId)!
      skipped.push({ memberId, memberKey: key, reason: cause })
    }
    const done = { members: fresh, takenBack: outcome.done.length, file: body.file.sha256 }
    return {
      status: 201,
      body: answer(outcome.done.length, false),
      noted: { subject: `batch ${batchId}`, reason: body.reason ?? null, after: done },
    }
  },
})

function requireManual({ id: batchId, isManual }: BatchState['line']): void {
  if (isManual) return
  const why = `Batch ${batchId} is not manual: its members come from the data source.`
  throw new MatoolkitError('REFUSED', { reason: why })
}

async function knownMembers(
  { db }: Parameters<typeof addMembers>[0],
  batchId: number,
  members: readonly GivenMember[],
) {
  const known: Awaited<ReturnType<typeof findMembersByKey>> = []
  for (let start = 0; start < members.length; start += KEYS_PER_LOOKUP) {
    const keys = members.slice(start, start + KEYS_PER_LOOKUP).map(({ key }) => key)
    known.push(...(await findMembersByKey(db, batchId, keys)))
  }
  return known
}

const tagOfMember = ({ id: memberId, status, removalNumber }: MemberState) =>
  tagOf(memberId, status, removalNumber)

const removeRoute = change({
  method: 'DELETE',
  path: '/api/batches/{batchId}/members/{memberId}',
  operation: 'removeMember',
  tag: 'members',
  summary: 'Remove a member: its open steps are cancelled and its removal steps run',
  rule: 'admin',
  action: 'member.remove',
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_NOT_FOUND', 'REFUSED'],
  params: z.strictObject({ batchId: id, memberId: id }),
  query: z.strictObject({ reason: reason.optional() }),
  answers: {
    200: z
      .strictObject({ batchId: z.int(), memberId: z.int(), status: z.enum(MEMBER_STATUSES) })
      .meta({ id: 'RemovedMember' }),
  },
  handle: async ({ door, params: { batchId, memberId }, query, by, ifMatch }) => {
    await lockBatchState(door, batchId, null)
    const before = await findMemberState(door.db, batchId, memberId)
    if (!before) throw new MatoolkitError('MEMBER_NOT_FOUND', { batchId, memberId })
    requireTag(ifMatch, tagOfMember(before), `Member ${memberId}`)
    const why = query.reason ?? 'removed by an operator'
    const order = { batchId, memberIds: [memberId], actor: by.name, reason: why }
    const { refused } = await removeMembers(door, order)
    if (refused[0]) throw new MatoolkitError('REFUSED', { reason: `${refused[0].reason}.` })
    const after = (await findMemberState(door.db, batchId, memberId))!
    return {
      status: 200,
      body: { batchId, memberId, status: after.status },
      etag: tagOfMember(after),
      noted: {
        subject: `member ${memberId} of batch ${batchId}`,
        reason: query.reason ?? null,
        before: { status: before.status, memberKey: before.memberKey },
        after: { status: after.status },
      },
    }
  },
})

export const MEMBER_ROUTES: readonly Route[] = [listRoute, createRoute, addRoute, removeRoute]
