// Creating batches from lists of members, and adding members to batches.

import { hash as sha } from 'node:crypto'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import type { OutgoingMessage } from '../../bus/bus.ts'
import { enqueue } from '../../bus/outbox.ts'
import type { Queryable, Tx } from '../../db/connection/db.ts'
import { insertBatch } from '../../db/state/batches.ts'
import {
  addToMemberCount,
  findKeysElsewhere,
  insertMembers,
  lockMembership,
  type NewMember,
} from '../../db/state/members.ts'
import { insertPhases } from '../../db/state/phases.ts'
import { findActiveRunbook } from '../../db/state/runbooks.ts'
import { setHold } from '../../domain/decide/finish.ts'
import { beginBatch, dueAt } from '../../domain/decide/lifecycle.ts'
import type { PhaseToCreate } from '../../domain/decide/version-upgrade.ts'
import { messageIdOf } from '../../domain/messages/messages.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import type { Batch } from '../../domain/state/facts.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { finish } from '../transactions/finish.ts'
import { begin, changeBatch } from '../transactions/locking.ts'

const MEMBERS_PER_STATEMENT = 1_000
const KEYS_NAMED_MAX = 5

export interface GivenMember {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  /** Outputs from an earlier batch, for a member who moves. */
  readonly outputs?: Readonly<Record<string, Json>>
  /** `dataHash` of the data, when the caller knows it. */
  readonly hash?: string
}

/** Members in pages of at most a thousand: a file of 200,000 is never in memory as a whole. */
export interface PagedMembers {
  readonly length: number
  pages(): AsyncIterable<readonly GivenMember[]>
}

export type GivenMembers = readonly GivenMember[] | PagedMembers

export interface BatchRequest {
  readonly runbookName: string
  /** The cut-over time in the data, for a scheduled batch; null for a manual one. */
  readonly sourceTime: Date | null
  readonly members: GivenMembers
  readonly createdBy: string
  /** Create it on hold: nothing is sent before a person has looked. */
  readonly hold?: { readonly by: string; readonly reason: string }
}

/** Creates a batch of the active version with members and phases. A scheduled batch starts at its time, a manual one when advanced. */
export function createBatch(engine: Engine, request: BatchRequest): Promise<{ batchId: number }> {
  return engine.db.transaction((tx) => createBatchIn(engine, tx, request))
}

/** `createBatch` in the caller's transaction. */
export async function createBatchIn(
  engine: Engine,
  tx: Tx,
  request: BatchRequest,
): Promise<{ batchId: number }> {
  const now = engine.clock.now()
  const published = await findActiveRunbook(tx, request.runbookName)
  if (!published) throw new MatoolkitError('RUNBOOK_NOT_FOUND', { name: request.runbookName })
  const runbook = await engine.runbooks.get(tx, published.name, published.version)
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
    engine.isDryRun ?? false,
  )
  if (batchId === null) {
    const time = request.sourceTime!.toISOString()
    throw new MatoolkitError('BATCH_EXISTS', { name: request.runbookName, time })
  }
  const phases = phasesOf(runbook, request.sourceTime)
  await insertPhases(tx, batchId, published.version, phases, now)
  let stored = 0
  for await (const part of storeMembers(tx, published.name, batchId, request.members, now)) {
    stored += part.length
  }
  await addToMemberCount(tx, batchId, stored)
  await startBatch(engine, tx, batchId, request)
  return { batchId }
}

async function startBatch(
  engine: Engine,
  tx: Tx,
  batchId: number,
  request: BatchRequest,
): Promise<void> {
  const order = { batchIds: [batchId], actor: request.createdBy, access: 'exclusive' } as const
  const [batchTx] = (await begin(engine, tx, order)) as [BatchTransaction]
  const { draft } = batchTx
  // Not the request's: `begin` may have upgraded the batch to a version published just now.
  const runbook = draft.runbooks.get(draft.batch.runbookVersion)!
  const when = request.sourceTime ? `start ${request.sourceTime.toISOString()}` : 'manual'
  draft.note(
    'created',
    `${countText(request.members.length, 'member')}, ${when}, version ${draft.batch.runbookVersion}`,
  )
  const isScheduled = request.sourceTime !== null
  if (isScheduled && runbook.init.length === 0) beginBatch(draft)
  if (request.hold) setHold(draft, request.hold.by, request.hold.reason)
  await finish([batchTx])
  if (!isScheduled || runbook.init.length === 0) return
  await announceInit(batchTx, request.members.length)
}

/** Starts init in the orchestrator, unless it has begun; peers of the earlier system hear of it. */
export async function announceInit(
  { tx, draft }: Pick<BatchTransaction, 'tx' | 'draft'>,
  memberCount: number,
): Promise<void> {
  const { id: batchId, runbookName, runbookVersion, startTime, epoch } = draft.batch
  const body = { batchId, runbookName, runbookVersion, memberCount }
  const message: OutgoingMessage = {
    topic: 'orchestrator-events',
    messageId: messageIdOf.batchInit(batchId, epoch),
    type: 'batch-init',
    body: { ...body, batchStartTime: startTime!.toISOString() },
  }
  await enqueue(tx, [message], draft.now)
}

const phasesOf = (runbook: Runbook, startTime: Date | null): PhaseToCreate[] =>
  runbook.phases.map(({ name, offsetMinutes, gate, ramp }, index) => ({
    name,
    index,
    offsetMinutes,
    dueAt: startTime && dueAt(startTime, offsetMinutes),
    isOverdue: false,
    gate,
    rampPercents: ramp?.percents ?? null,
  }))

function refuseRepeatedKeys(members: readonly GivenMember[], seen: Set<string>): void {
  for (const { key } of members) {
    const folded = foldKey(key)
    if (folded === '') throw new MatoolkitError('MEMBER_KEY_INVALID', { key })
    if (seen.has(folded)) throw new MatoolkitError('MEMBER_REPEATED', { key })
    seen.add(folded)
  }
}

async function* partsOf(members: GivenMembers): AsyncGenerator<readonly GivenMember[]> {
  if ('pages' in members) return yield* members.pages()
  for (let start = 0; start < members.length; start += MEMBERS_PER_STATEMENT) {
    yield members.slice(start, start + MEMBERS_PER_STATEMENT)
  }
}

/** Stores the members part by part. Yields each part's members that are new to the batch. */
async function* storeMembers(
  tx: Tx,
  runbookName: string,
  batchId: number,
  members: GivenMembers,
  now: Date,
): AsyncGenerator<{ id: number; key: string }[]> {
  await lockMembership(tx, runbookName)
  const seen = new Set<string>()
  for await (const part of partsOf(members)) {
    refuseRepeatedKeys(part, seen)
    await requireNobodyElsewhere(tx, runbookName, batchId, part)
    yield await insertMembers(tx, batchId, part.map(withHash), now)
  }
}

/** Throws MEMBER_ELSEWHERE if another unfinished batch of the runbook has one of them. */
export async function requireNobodyElsewhere(
  db: Queryable,
  runbookName: string,
  batchId: number,
  members: readonly GivenMember[],
): Promise<void> {
  const keys = members.map(({ key }) => key)
  const elsewhere = await findKeysElsewhere(db, runbookName, batchId, keys)
  if (elsewhere.length === 0) return
  const named = elsewhere
    .slice(0, KEYS_NAMED_MAX)
    .map(({ key, batchId: id }) => `${key} (batch ${id})`)
  throw new MatoolkitError('MEMBER_ELSEWHERE', {
    count: elsewhere.length,
    members: named.join(', '),
  })
}

function withHash({ key, data, outputs, hash }: GivenMember): NewMember {
  return { key, data, hash: hash ?? dataHash(data), ...(outputs && { outputs }) }
}

/** Equal for equal content in any order of columns. */
export function dataHash(data: Readonly<Record<string, Json>>): string {
  const sorted = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1))
  return sha('sha256', JSON.stringify(sorted), 'base64url')
}

/** Adds members to a batch; they catch up on every phase that has started. Keys that are already in it are ignored and not returned. */
export async function addMembers(
  engine: Engine,
  batchId: number,
  members: GivenMembers,
  actor: string,
): Promise<{ added: { id: number; key: string }[] }> {
  return changeBatch(engine, batchId, actor, async (batchTx) => {
    const { tx, draft } = batchTx
    const { batch } = draft
    if (batch.status === 'cancelled' || batch.failedInInit) {
      throw new MatoolkitError('REFUSED', { reason: `Batch ${batchId} is ${batch.status}.` })
    }
    const added: { id: number; key: string }[] = []
    for await (const part of storeMembers(tx, batch.runbookName, batchId, members, draft.now)) {
      await enqueue(
        tx,
        part.map((member) => addedMessage(batch, member)),
        draft.now,
      )
      for (const member of part) added.push(member)
    }
    draft.changeBatch({ membersActive: batch.membersActive + added.length })
    const were = added.length === 1 ? 'member was' : 'members were'
    draft.note('members_added', `${added.length} ${were} added`)
    return { added }
  })
}

const addedMessage = (
  { id: batchId, runbookName, activeVersion, epoch }: Batch,
  { id, key }: { id: number; key: string },
): OutgoingMessage => ({
  topic: 'orchestrator-events',
  messageId: messageIdOf.memberAdded(id, epoch),
  type: 'member-added',
  body: { batchId, runbookName, runbookVersion: activeVersion, batchMemberId: id, memberKey: key },
})
