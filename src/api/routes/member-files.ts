// Members by file: create a manual batch from one, or add one to a manual batch. The file is checked whole before the transaction
// begins and then read once more, a page at a time.
import { z } from 'zod'
import { findMembersByKey } from '../../db/batches.ts'
import { type NewData, refreshMembers } from '../../db/membership.ts'
import { findActiveRunbook } from '../../db/runbooks.ts'
import { foldKey } from '../../domain/member-key.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import type { BatchOrder } from '../../engine/batch-actions.ts'
import { addMembers, createBatch, dataHash } from '../../engine/create.ts'
import type { Engine } from '../../engine/engine.ts'
import { readmitMembers } from '../../engine/member-actions.ts'
import { MatoolkitError } from '../../errors.ts'
import { batch, shownBatch } from '../batch-shapes.ts'
import { type BatchState, loadBatchState, lockBatchState } from '../batch-state.ts'
import { runOrDryRun } from '../dry-run.ts'
import { type MemberFile, readMemberFile } from '../member-file.ts'
import { change, type Route } from '../route.ts'
import { id, nameText, reason, wholeCount, yesOrNo } from '../shapes.ts'
import { type UploadedFile, uploaded } from '../upload.ts'
import { requireRunbook } from './sources.ts'

const SKIPPED_LISTED_MAX = 100

const created = z
  .strictObject({
    batchId: z.int().nullable().meta({ description: 'Null in a dry run.' }),
    isDryRun: z.boolean(),
    batch: batch.nullable(),
    memberCount: wholeCount,
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
  body: z.strictObject({ runbookName: nameText, file: uploaded, reason: reason.optional() }),
  answers: { 200: created, 201: created },
  prepare: async ({ engine, body }) =>
    checkedFile(await requireRunbook(engine, body.runbookName), body.file),
  handle: async ({ engine: outer, query: { dryRun }, body, by }, prepared) => {
    const { runbook, file } = await stillFits(
      prepared,
      await requireRunbook(outer, body.runbookName),
      body.file,
    )
    const about = {
      memberCount: file.length,
      availablePhases: runbook.phases
        .toSorted((a, b) => b.offsetMinutes - a.offsetMinutes)
        .map((phase) => phase.name),
      warnings: [...file.warnings],
    }
    const { line, tag } = await runOrDryRun(outer, dryRun, async (engine) => {
      const { batchId } = await createBatch(engine, {
        runbookName: runbook.name,
        sourceTime: null,
        members: file,
        createdBy: by.name,
      })
      return loadBatchState(engine.db, batchId)
    })
    if (dryRun) {
      const nothing = { batchId: null, isDryRun: true, batch: null, ...about }
      return { status: 200, body: nothing, noted: null }
    }
    return {
      status: 201,
      body: { batchId: line.id, isDryRun: false, batch: shownBatch(line), ...about },
      etag: tag,
      headers: { location: `/api/batches/${line.id}` },
      noted: {
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

const checkedFile = async (runbook: Runbook, file: UploadedFile): Promise<CheckedFile> => ({
  runbook,
  file: await readMemberFile(file, runbook),
})

/** Versions are kept in a cache, so the same object is the same version. Another one may have been published meanwhile. */
const stillFits = async (
  prepared: CheckedFile,
  runbook: Runbook,
  file: UploadedFile,
): Promise<CheckedFile> => (prepared.runbook === runbook ? prepared : checkedFile(runbook, file))

const added = z
  .strictObject({
    batchId: z.int(),
    isDryRun: z.boolean(),
    addedCount: wholeCount,
    takenBackCount: wholeCount.meta({ description: 'Removed earlier, and active again.' }),
    skippedCount: wholeCount,
    skipped: z
      .array(z.strictObject({ memberId: z.int(), reason: z.string() }))
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
  params: z.strictObject({ batchId: id }),
  query: z.strictObject({ dryRun: yesOrNo.default(false) }),
  body: z.strictObject({ file: uploaded, reason: reason.optional() }),
  answers: { 200: added, 201: added },
  prepare: async ({ engine, params: { batchId }, body }) =>
    checkedFile(
      await runbookOf(engine, (await loadBatchState(engine.db, batchId)).line),
      body.file,
    ),
  handle: async (
    { engine: outer, params: { batchId }, query: { dryRun }, body, by, ifMatch },
    prepared,
  ) => {
    const { counts, skipped, warnings } = await runOrDryRun(outer, dryRun, async (engine) => {
      const { line } = await lockBatchState(engine, batchId, ifMatch)
      requireManual(line)
      const { file } = await stillFits(prepared, await runbookOf(engine, line), body.file)
      const why = body.reason ?? 'added again from a member file'
      const added = await addFile(engine, { batchId, actor: by.name, reason: why }, file)
      return { ...added, warnings: [...file.warnings] }
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
      },
      noted: dryRun ? null : { subject: `batch ${batchId}`, reason: body.reason ?? null, after },
    }
  },
})

/** Those who are new join, those who were removed come back with what the file says of them now. */
async function addFile(engine: Engine, order: BatchOrder, file: MemberFile) {
  const { batchId, actor } = order
  const { known, removed, skipped } = await sortOut(engine, batchId, file)
  await addMembers(engine, batchId, file, actor)
  const back = { ...order, memberIds: removed, event: 'readd' } as const
  const { done, refused } = await readmitMembers(engine, back)
  skipped.push(...refused)
  const counts = {
    addedCount: file.length - known,
    takenBackCount: done.length,
    skippedCount: skipped.length,
  }
  return { counts, skipped }
}

/** Whoever joins gets the steps of the active version, so its columns are the ones that are needed. */
async function runbookOf(engine: Engine, { runbookName, runbookVersion }: BatchState['line']) {
  const active = await findActiveRunbook(engine.db, runbookName)
  return engine.runbooks.get(engine.db, runbookName, active?.version ?? runbookVersion)
}

interface SortedOut {
  /** How many of the file the batch has already. */
  readonly known: number
  /** Members to take back, with what the file says of them now. */
  readonly removed: number[]
  readonly skipped: { memberId: number; reason: string }[]
}

async function sortOut({ db }: Engine, batchId: number, file: MemberFile): Promise<SortedOut> {
  const removed: number[] = []
  const skipped: SortedOut['skipped'] = []
  for await (const page of file.pages()) {
    const byKey = new Map(page.map((member) => [foldKey(member.key), member]))
    const fresh: NewData[] = []
    for (const { id: memberId, key, status } of await findMembersByKey(db, batchId, [
      ...byKey.keys(),
    ])) {
      if (status !== 'removed') {
        skipped.push({ memberId, reason: `member ${memberId} is ${status} already` })
        continue
      }
      removed.push(memberId)
      const given = byKey.get(foldKey(key))!
      const data = JSON.stringify(given.data)
      fresh.push({ memberId, key: given.key, data, hash: dataHash(given.data) })
    }
    if (fresh.length > 0) await db.transaction((tx) => refreshMembers(tx, batchId, fresh))
  }
  return { known: removed.length + skipped.length, removed, skipped }
}

function requireManual({ id: batchId, isManual }: BatchState['line']): void {
  if (isManual) return
  const why = `Batch ${batchId} is not manual: its members come from the data source.`
  throw new MatoolkitError('REFUSED', { reason: why })
}

export const MEMBER_FILE_ROUTES: readonly Route[] = [createRoute, addRoute]
