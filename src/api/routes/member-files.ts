// Member files: create a manual batch from one, or add its members to a manual batch. The whole file is checked before the
// transaction, then read again page by page.

import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { commandLine } from '../../base/text/command-line.ts'
import { listApprovals } from '../../db/orders/gates.ts'
import { type NewData, refreshMembers } from '../../db/sources/membership.ts'
import { findMembersByKey } from '../../db/state/members.ts'
import { findActiveRunbook } from '../../db/state/runbooks.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { inOrder } from '../../domain/runbook/steps.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import type { BatchOrder } from '../../engine/orders/batch-actions.ts'
import {
  addMembers,
  createBatch,
  dataHash,
  requireNobodyElsewhere,
} from '../../engine/orders/create.ts'
import { readmitMembers } from '../../engine/orders/member-actions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { runOrDryRun } from '../http/dry-run.ts'
import { type UploadedFile, uploaded } from '../http/upload.ts'
import { change } from '../route.ts'
import { type MemberFile, readMemberFile } from '../services/member-file.ts'
import { batch, shownBatch } from '../shapes/batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../shapes/batch-state.ts'
import { approvalsLost } from '../shapes/lost-approvals-shape.ts'
import { booleanText, id, nameText, reason, wholeCount } from '../shapes/shapes.ts'
import { requireRunbook } from './sources.ts'

const SKIPPED_LISTED_MAX = 100

const created = z
  .strictObject({
    batchId: z.int().nullable().meta({ description: 'Null in a dry run.' }),
    isDryRun: z.boolean(),
    batch: batch.nullable(),
    memberCount: wholeCount,
    availablePhases: z.array(z.string()).meta({ description: 'In time order.' }),
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
    'At most 50 MB and 200,000 rows. The whole file is checked first, and every fault has its row and column. The batch waits to be advanced.',
  rule: 'admin',
  action: 'batch.create',
  takes: 'upload',
  creates: true,
  errors: ['RUNBOOK_NOT_FOUND', 'MEMBER_ROWS_INVALID', 'MEMBER_ELSEWHERE'],
  query: z.strictObject({ dryRun: booleanText.default(false) }),
  body: z.strictObject({ runbookName: nameText, file: uploaded, reason: reason.optional() }),
  answers: { 200: created, 201: created },
  prepare: async ({ engine, query: { dryRun }, body, signal }) => {
    const runbook = await requireRunbook(engine, body.runbookName)
    const checked = await checkedFile(runbook, body.file, signal)
    if (dryRun) await previewMembers(engine, checked, NEW_BATCH)
    return checked
  },
  handle: async ({ engine, query: { dryRun }, body, by, signal }, prepared) => {
    const { runbook, file } = await recheckedFile(
      prepared,
      await requireRunbook(engine, body.runbookName),
      body.file,
      signal,
    )
    const about = {
      memberCount: file.length,
      availablePhases: inOrder(runbook.phases).map((phase) => phase.name),
      warnings: [...file.warnings],
    }
    if (dryRun) {
      const dryAnswer = { batchId: null, isDryRun: true, batch: null, ...about }
      return { status: 200, body: dryAnswer, auditNote: null }
    }
    const { batchId } = await createBatch(engine, {
      runbookName: runbook.name,
      sourceTime: null,
      members: file,
      createdBy: by.name,
    })
    const { line, etag } = await loadBatchState(engine.db, batchId)
    return {
      status: 201,
      body: { batchId: line.id, isDryRun: false, batch: shownBatch(line), ...about },
      etag,
      headers: { location: `/api/batches/${line.id}` },
      auditNote: {
        subject: `batch ${line.id}`,
        reason: body.reason ?? null,
        after: { runbook: runbook.name, members: file.length, file: body.file.sha256 },
      },
    }
  },
})

interface CheckedFile {
  readonly runbook: Runbook
  readonly file: MemberFile
}

const checkedFile = async (
  runbook: Runbook,
  file: UploadedFile,
  signal: AbortSignal,
): Promise<CheckedFile> => ({ runbook, file: await readMemberFile(file, runbook, signal) })

/** Checks the file again if another version was published meanwhile. Runbooks are cached: same object, same version. */
const recheckedFile = async (
  prepared: CheckedFile,
  runbook: Runbook,
  file: UploadedFile,
  signal: AbortSignal,
): Promise<CheckedFile> =>
  prepared.runbook === runbook ? prepared : checkedFile(runbook, file, signal)

/** No batch has this id: every unfinished one counts as another. */
const NEW_BATCH = 0

/**
 * Looks for the members of a file page by page and outside a transaction: writing 100,000 of them and rolling back kept a hold
 * waiting for the embedded database's only connection.
 */
async function previewMembers(
  { db }: Engine,
  { runbook, file }: CheckedFile,
  batchId: number,
): Promise<void> {
  for await (const page of file.pages()) {
    await requireNobodyElsewhere(db, runbook.name, batchId, page)
  }
}

const added = z
  .strictObject({
    batchId: z.int(),
    isDryRun: z.boolean(),
    addedCount: wholeCount,
    takenBackCount: wholeCount.meta({ description: 'Removed earlier, now active again.' }),
    skippedCount: wholeCount,
    skipped: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
      .meta({ description: `The first ${SKIPPED_LISTED_MAX}.` }),
    warnings: z.array(z.string()),
    approvalsLost,
  })
  .meta({ id: 'AddedMembers' })

const addRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/members',
  operation: 'addMembers',
  tag: 'members',
  summary: 'Add the members of a file (CSV) to a manual batch; they catch up on started phases',
  about: 'Removed members are taken back; active and failed members are skipped.',
  rule: 'admin',
  action: 'members.add',
  takes: 'upload',
  creates: true,
  comparesState: true,
  errors: ['BATCH_NOT_FOUND', 'MEMBER_ROWS_INVALID', 'MEMBER_ELSEWHERE', 'REFUSED'],
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({ dryRun: booleanText.default(false) }),
  body: z.strictObject({ file: uploaded, reason: reason.optional() }),
  answers: { 200: added, 201: added },
  prepare: async ({ engine, params: { batchId }, query: { dryRun }, body, signal }) => {
    const { line } = await loadBatchState(engine.db, batchId)
    const checked = await checkedFile(await runbookOf(engine, line), body.file, signal)
    return { checked, preview: dryRun ? await previewAdding(engine, checked, batchId) : null }
  },
  handle: async (
    { engine: outer, params: { batchId }, query: { dryRun }, body, by, ifMatch, signal },
    { checked, preview },
  ) => {
    const { counts, skipped, warnings, lost } = await runOrDryRun(outer, dryRun, async (engine) => {
      const { line } = await lockBatchState(engine, batchId, ifMatch)
      const runbook = await runbookOf(engine, line)
      requireManual(line, runbook)
      const { file } = await recheckedFile(checked, runbook, body.file, signal)
      const why = body.reason ?? 'added again from a member file'
      // A preview adds nobody, so nothing would be seen to become void.
      const approvals = await listApprovals(engine.db, [batchId])
      const added = await addFile(engine, { batchId, actor: by.name, reason: why }, file, preview)
      const isChanged = added.counts.addedCount + added.counts.takenBackCount > 0
      const lost = isChanged ? approvals.map(({ id: _, ...approval }) => approval) : []
      return { ...added, warnings: [...file.warnings], lost }
    })
    const after = { ...counts, file: body.file.sha256 }
    return {
      status: dryRun ? 200 : 201,
      body: {
        batchId,
        isDryRun: dryRun,
        ...counts,
        skipped: skipped.slice(0, SKIPPED_LISTED_MAX),
        warnings,
        approvalsLost: lost,
      },
      auditNote: dryRun
        ? null
        : { subject: `batch ${batchId}`, reason: body.reason ?? null, after },
    }
  },
})

/** New members join. Removed members come back with the data of the file. */
async function addFile(
  engine: Engine,
  order: BatchOrder,
  file: MemberFile,
  preview: AddingPreview | null,
) {
  const { batchId, actor } = order
  const { known, removed, skipped } =
    preview?.known ?? (await findKnown(engine, batchId, file, true))
  // A preview adds nobody, but a batch that takes no members refuses it as it would refuse the file.
  await addMembers(engine, batchId, preview ? [] : file, actor)
  if (preview?.refusal) throw preview.refusal
  const back = { ...order, memberIds: removed, event: 'readd' } as const
  const { done, refused } = await readmitMembers(engine, back)
  for (const one of refused) skipped.push(one)
  const counts = {
    addedCount: file.length - known,
    takenBackCount: done.length,
    skippedCount: skipped.length,
  }
  return { counts, skipped }
}

/** Joiners get the active version's steps, so the file needs its columns. */
async function runbookOf(engine: Engine, { runbookName, runbookVersion }: BatchState['line']) {
  const active = await findActiveRunbook(engine.db, runbookName)
  return engine.runbooks.get(engine.db, runbookName, active?.version ?? runbookVersion)
}

interface KnownMembers {
  /** Rows of the file that the batch already has. */
  readonly known: number
  /** Members to take back; their data is already refreshed. */
  readonly removed: number[]
  readonly skipped: { memberId: number; reason: string }[]
}

interface AddingPreview {
  readonly known: KnownMembers
  /** Why the file would be refused; thrown after what is wrong with the batch itself. */
  readonly refusal: unknown
}

/** Page by page and outside a transaction, as `previewMembers`. */
async function previewAdding(
  engine: Engine,
  checked: CheckedFile,
  batchId: number,
): Promise<AddingPreview> {
  const refusal = await previewMembers(engine, checked, batchId).then(
    () => null,
    (error: unknown) => error,
  )
  return { refusal, known: await findKnown(engine, batchId, checked.file, false) }
}

async function findKnown(
  { db }: Engine,
  batchId: number,
  file: MemberFile,
  refreshes: boolean,
): Promise<KnownMembers> {
  const removed: number[] = []
  const skipped: KnownMembers['skipped'] = []
  for await (const page of file.pages()) {
    const byKey = new Map(page.map((member) => [foldKey(member.key), member]))
    const fresh: NewData[] = []
    for (const { id: memberId, key, status } of await findMembersByKey(db, batchId, [
      ...byKey.keys(),
    ])) {
      if (status !== 'removed') {
        skipped.push({ memberId, reason: `member ${memberId} is already ${status}` })
        continue
      }
      removed.push(memberId)
      const given = byKey.get(foldKey(key))!
      const data = JSON.stringify(given.data)
      fresh.push({ memberId, key: given.key, data, hash: dataHash(given.data) })
    }
    if (refreshes && fresh.length > 0)
      await db.transaction((tx) => refreshMembers(tx, batchId, fresh))
  }
  return { known: removed.length + skipped.length, removed, skipped }
}

/** Says what to edit instead: who is in a scheduled batch is decided by its source alone. */
function requireManual({ id, isManual, batchStartTime }: BatchState['line'], runbook: Runbook) {
  if (isManual) return
  const { type, path, batchTimeColumn } = runbook.dataSource
  const at =
    batchTimeColumn && batchStartTime
      ? ` with ${batchTimeColumn} ${batchStartTime.toISOString()}`
      : ''
  const where = path ?? `the ${type} source of "${runbook.name}"`
  const why = `Batch ${id} takes its people from its data source. Add the rows to ${where}${at}, then run "${commandLine`automation tick ${runbook.name}`}".`
  throw new MatoolkitError('REFUSED', { reason: why })
}

export const MEMBER_FILE_ROUTES = [createRoute, addRoute]
