// How batches come into being: one is created from a list of members, members are added to it.
import { createHash } from 'node:crypto'
import { enqueue } from '../bus/outbox.ts'
import {
  addToMemberCount,
  findKeysElsewhere,
  insertBatch,
  insertMembers,
  lockMembership,
  type NewMember,
} from '../db/batches.ts'
import type { Tx } from '../db/db.ts'
import { insertPhases } from '../db/phases.ts'
import { findActiveRunbook } from '../db/runbooks.ts'
import { beginBatch, dueAt } from '../domain/decide/course.ts'
import { holdBatch } from '../domain/decide/finish.ts'
import type { PlannedPhase } from '../domain/decide/transition.ts'
import type { Json } from '../domain/json.ts'
import { foldKey } from '../domain/member-key.ts'
import { messageIdOf } from '../domain/messages.ts'
import type { Runbook } from '../domain/runbook.ts'
import { MatoolkitError } from '../errors.ts'
import { changeBatch, type Door, enter, leave } from './door.ts'

const MEMBERS_PER_STATEMENT = 1_000
const KEYS_NAMED_MAX = 5

export interface GivenMember {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  /** What its steps in an earlier batch put out, for a member who moves. */
  readonly outputs?: Readonly<Record<string, Json>>
}

export interface BatchRequest {
  readonly runbookName: string
  /** The cut-over that the data gives, for a scheduled batch; null for a manual one. */
  readonly sourceTime: Date | null
  readonly members: readonly GivenMember[]
  readonly createdBy: string
  /** It begins held: nothing is sent before a person has looked. */
  readonly hold?: { readonly by: string; readonly reason: string }
}

/** A batch of the active version with its members and phases. A scheduled one begins by itself, a manual one waits to be advanced. */
export function createBatch(door: Door, request: BatchRequest): Promise<{ batchId: number }> {
  return door.db.transaction((tx) => createBatchIn(door, tx, request))
}

/** As `createBatch`, in a transaction that does more. */
export async function createBatchIn(
  door: Door,
  tx: Tx,
  request: BatchRequest,
): Promise<{ batchId: number }> {
  refuseRepeatedKeys(request.members)
  const now = door.clock.now()
  const published = await findActiveRunbook(tx, request.runbookName)
  if (!published) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: request.runbookName })
  const runbook = await door.runbooks.get(tx, published.name, published.version)
  const batchId = await insertBatch(
    tx,
    {
      runbookId: published.id,
      runbookName: published.name,
      runbookVersion: published.version,
      sourceTime: request.sourceTime,
      createdBy: request.createdBy,
    },
    now,
  )
  if (batchId === null) {
    const time = request.sourceTime!.toISOString()
    throw new MatoolkitError('BATCH_EXISTS', { name: request.runbookName, time })
  }
  const phases = phasesOf(runbook, request.sourceTime)
  await insertPhases(tx, batchId, published.version, phases, now)
  const stored = await storeMembers(tx, published.name, batchId, request.members, now)
  await addToMemberCount(tx, batchId, stored.length)
  await begin(door, tx, batchId, request)
  return { batchId }
}

async function begin(door: Door, tx: Tx, batchId: number, request: BatchRequest): Promise<void> {
  const visit = await enter(door, tx, batchId, request.createdBy)
  const { draft } = visit
  // Not that of the request: a version that was published in this very moment has been taken up by now.
  const runbook = draft.runbooks.get(draft.batch.runbookVersion)!
  const when = request.sourceTime ? `start ${request.sourceTime.toISOString()}` : 'manual'
  draft.note(
    'created',
    `${request.members.length} members, ${when}, version ${draft.batch.runbookVersion}`,
  )
  const isScheduled = request.sourceTime !== null
  if (isScheduled && runbook.init.length === 0) beginBatch(draft)
  if (request.hold) holdBatch(draft, request.hold.by, request.hold.reason)
  await leave(visit)
  if (!isScheduled || runbook.init.length === 0) return
  await enqueue(
    tx,
    [
      {
        topic: 'orchestrator-events',
        messageId: messageIdOf.batchInit(batchId, 0),
        type: 'batch-init',
        body: {
          batchId,
          runbookName: draft.batch.runbookName,
          runbookVersion: draft.batch.runbookVersion,
          batchStartTime: draft.batch.startTime!.toISOString(),
          memberCount: request.members.length,
        },
      },
    ],
    draft.now,
  )
}

const phasesOf = (runbook: Runbook, startTime: Date | null): PlannedPhase[] =>
  runbook.phases.map(({ name, offsetMinutes }, index) => ({
    name,
    index,
    offsetMinutes,
    dueAt: startTime && dueAt(startTime, offsetMinutes),
    isOverdue: false,
  }))

function refuseRepeatedKeys(members: readonly GivenMember[]): void {
  const seen = new Set<string>()
  for (const { key } of members) {
    const folded = foldKey(key)
    if (folded === '') throw new MatoolkitError('MEMBER_KEY_INVALID', { key })
    if (seen.has(folded)) throw new MatoolkitError('MEMBER_REPEATED', { key })
    seen.add(folded)
  }
}

async function storeMembers(
  tx: Tx,
  runbookName: string,
  batchId: number,
  members: readonly GivenMember[],
  now: Date,
): Promise<{ id: number; key: string }[]> {
  await lockMembership(tx, runbookName)
  const stored: { id: number; key: string }[] = []
  for (let start = 0; start < members.length; start += MEMBERS_PER_STATEMENT) {
    const part = members.slice(start, start + MEMBERS_PER_STATEMENT)
    const elsewhere = await findKeysElsewhere(
      tx,
      runbookName,
      batchId,
      part.map(({ key }) => key),
    )
    if (elsewhere.length > 0) {
      const named = elsewhere
        .slice(0, KEYS_NAMED_MAX)
        .map(({ key, batchId: id }) => `${key} (batch ${id})`)
      throw new MatoolkitError('MEMBER_ELSEWHERE', {
        count: elsewhere.length,
        members: named.join(', '),
      })
    }
    stored.push(...(await insertMembers(tx, batchId, part.map(withHash), now)))
  }
  return stored
}

const withHash = (member: GivenMember): NewMember => ({ ...member, hash: hashOf(member.data) })

/** Equal for equal content, whatever the order of the columns. */
export function hashOf(data: Readonly<Record<string, Json>>): string {
  const sorted = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url')
}

/** New members of a batch: they catch up on every phase that has started. Keys it has already are left alone and not returned. */
export async function addMembers(
  door: Door,
  batchId: number,
  members: readonly GivenMember[],
  actor: string,
): Promise<{ added: { id: number; key: string }[] }> {
  refuseRepeatedKeys(members)
  return changeBatch(door, batchId, actor, async (visit) => {
    const { tx, draft } = visit
    const { batch } = draft
    if (batch.status === 'cancelled' || batch.failedInInit) {
      throw new MatoolkitError('REFUSED', { reason: `Batch ${batchId} is ${batch.status}.` })
    }
    const added = await storeMembers(tx, batch.runbookName, batchId, members, draft.now)
    draft.changeBatch({ membersActive: batch.membersActive + added.length })
    const were = added.length === 1 ? 'member was' : 'members were'
    draft.note('members_added', `${added.length} ${were} added`)
    await enqueue(
      tx,
      added.map(({ id, key }) => ({
        topic: 'orchestrator-events' as const,
        messageId: messageIdOf.memberAdded(id, 0),
        type: 'member-added' as const,
        body: {
          batchId,
          runbookName: batch.runbookName,
          runbookVersion: batch.activeVersion,
          batchMemberId: id,
          memberKey: key,
        },
      })),
      draft.now,
    )
    return { added }
  })
}
