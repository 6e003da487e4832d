// Rehearsals over the API: begin one, follow it, read its report, cancel or delete it. A rehearsal touches nothing live.
import { z } from 'zod'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { type CsvTable, csvTable } from '../../base/files/csv-text.ts'
import {
  deleteRehearsal,
  findRehearsal,
  insertRehearsal,
  listRehearsals,
  REHEARSAL_STATUSES,
  REHEARSALS_KEPT,
  type RehearsalLine,
} from '../../db/orders/rehearsals.ts'
import { liveColumns } from '../../domain/needs/live-batch.ts'
import { keptKeys, WHAT_IF_SLOTS_MAX, whatIfProblem } from '../../domain/plan/what-if.ts'
import type { SourceRow } from '../../domain/sources/source-values.ts'
import { change, read, type Services } from '../route.ts'
import { loadLiveBatch } from '../services/live-batch.ts'
import { REHEARSAL_SEC_MAX } from '../services/rehearsals.ts'
import { parseRunbook, YAML_CHARS_MAX } from '../services/runbook-text.ts'
import {
  dateTime,
  id,
  instant,
  json,
  nullableDateTime,
  nullableText,
  wholeCount,
} from '../shapes/shapes.ts'

const MEMBERS_MAX = 2_000
const COLUMNS_MAX = 100
const FILE_CHARS_MAX = 1_500_000
const SEED_MAX = 1_000_000_000
const SLOTS_MAX = 64
const SLOTS = 32

const line = z
  .strictObject({
    id: z.int(),
    runbookName: z.string(),
    batchId: z.int().nullable().meta({
      description: 'The running batch that was rehearsed; null for a rehearsal of a runbook.',
    }),
    members: wholeCount,
    requestedBy: z.string(),
    requestedAt: dateTime,
    status: z.enum(REHEARSAL_STATUSES),
    at: nullableDateTime.meta({
      description: 'The time inside a running rehearsal; null if another API runs it.',
    }),
    endedAt: nullableDateTime,
    because: nullableText.meta({ description: 'Why it failed or was cancelled.' }),
    verdict: nullableText.meta({ description: 'ready, ready with warnings, or not ready.' }),
  })
  .meta({ id: 'Rehearsal' })

const shown = (
  { rehearsals }: Services,
  { report, ...one }: RehearsalLine & { readonly report?: unknown },
) => ({ ...one, at: rehearsals.progressOf(one.id) })

const rehearsalId = z.strictObject({
  rehearsalId: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
})

const row = z
  .record(z.string().min(1).max(128), json)
  .refine((data) => Object.keys(data).length <= COLUMNS_MAX, 'has too many columns')

function rowsInFile(text: string): SourceRow[] {
  const refuse = (reason: string) =>
    new MatoolkitError('MEMBER_FILE_INVALID', { file: 'memberFile', reason })
  let rows: CsvTable['rows']
  try {
    rows = csvTable(Buffer.from(text)).rows
  } catch (error) {
    throw refuse(`it ${messageOf(error)}`)
  }
  if (rows.length > 0 && rows.length <= MEMBERS_MAX) return [...rows]
  throw refuse(`it has ${rows.length} people, and a rehearsal takes 1 to ${MEMBERS_MAX}`)
}

const notificationsOf = ({ notifications }: Services) =>
  notifications.channels.length > 0 ? notifications : null

const beginRoute = change({
  method: 'POST',
  path: '/api/rehearsals',
  operation: 'beginRehearsal',
  limits: 'runbook texts',
  tag: 'runbooks',
  summary: 'Rehearse a runbook with these people',
  about: `Runs in a process of its own, one at a time, for at most ${REHEARSAL_SEC_MAX / 60} minutes, on simulated tenants. Nothing live is touched.`,
  rule: 'admin',
  action: 'rehearsal.begin',
  creates: true,
  takes: 'json',
  errors: [
    'RUNBOOK_INVALID',
    'MEMBER_FILE_INVALID',
    'REHEARSAL_RUNNING',
    'REHEARSAL_UNAVAILABLE',
    'REHEARSAL_FAULTS_INVALID',
  ],
  body: z
    .strictObject({
      yamlContent: z.string().max(YAML_CHARS_MAX),
      members: z
        .array(row)
        .min(1)
        .max(MEMBERS_MAX)
        .optional()
        .meta({ description: 'Rows as the data source returns them.' }),
      memberFile: z
        .string()
        .max(FILE_CHARS_MAX)
        .optional()
        .meta({ description: 'Instead of the rows: the text of a CSV file.' }),
      faults: z.array(z.string().max(50)).max(20).default([]),
      startAt: instant.optional().meta({ description: 'Default: an hour before the first phase.' }),
      seed: z.int().min(1).max(SEED_MAX).default(1),
      slots: z.int().min(1).max(SLOTS_MAX).default(SLOTS),
    })
    .refine(
      ({ members, memberFile }) => (members === undefined) !== (memberFile === undefined),
      'must have either members or memberFile',
    ),
  answers: { 202: line },
  prepare: async ({ services, body: { yamlContent, members, memberFile } }) => ({
    rows: members ?? rowsInFile(memberFile!),
    parsed: await parseRunbook(services.runbookReader, yamlContent),
  }),
  handle: async ({ engine, services, body, by, now }, { rows, parsed }) => {
    const { yamlContent: yaml, faults, startAt = null, seed, slots } = body
    const { name } = parsed.runbook
    services.rehearsals.requireFree(faults)
    const about = {
      runbookName: name,
      batchId: null,
      members: rows.length,
      requestedBy: by.name,
      requestedAt: now,
    }
    const id = await insertRehearsal(engine.db, about)
    const columns = [...new Set(rows.flatMap((one) => Object.keys(one)))]
    // It takes seconds, and this transaction milliseconds: its end finds the row.
    const notifications = notificationsOf(services)
    const order = { yaml, columns, rows, faults, startAt, seed, slots, notifications }
    services.rehearsals.begin(id, order)
    const begun = { ...about, id, status: 'running' as const, at: null }
    return {
      status: 202,
      body: { ...begun, endedAt: null, because: null, verdict: null },
      auditNote: {
        subject: `rehearsal ${id}`,
        after: { runbook: name, members: rows.length, faults, seed },
      },
    }
  },
})

const slotsCount = z.int().min(1).max(WHAT_IF_SLOTS_MAX)

const whatIfRoute = change({
  method: 'POST',
  path: '/api/batches/{batchId}/what-if',
  operation: 'beginWhatIf',
  tag: 'batches',
  summary: 'Rehearse a batch as it is and with a change',
  about: `Compares when its phases end, with one seed. Without a comparison it is rehearsed once, from now on. Runs like a rehearsal: in a process of its own, one at a time, for at most ${MEMBERS_MAX} people and ${REHEARSAL_SEC_MAX / 60} minutes. Follow it with GET /api/rehearsals/{rehearsalId}. Nothing live is touched.`,
  rule: 'admin',
  action: 'batch.what-if',
  creates: true,
  takes: 'json',
  errors: [
    'BATCH_NOT_FOUND',
    'REHEARSAL_BATCH_UNFIT',
    'WHAT_IF_UNFIT',
    'REHEARSAL_RUNNING',
    'REHEARSAL_UNAVAILABLE',
    'REHEARSAL_FAULTS_INVALID',
  ],
  params: z.strictObject({ batchId: id }),
  body: z.strictObject({
    compare: z.boolean().default(true).meta({
      description: 'False: rehearse it once, with the change if there is one.',
    }),
    slots: slotsCount.optional().meta({ description: 'Of every worker.' }),
    workerSlots: z
      .record(z.string().min(1).max(200), slotsCount)
      .default({})
      .meta({ description: 'Of single workers.' }),
    people: z
      .int()
      .min(1)
      .max(MEMBERS_MAX)
      .optional()
      .meta({ description: 'Only this many, the first of the batch.' }),
    without: z
      .array(z.string().min(1).max(512))
      .max(MEMBERS_MAX)
      .default([])
      .meta({ description: 'Keys of people who stay out.' }),
    faults: z.array(z.string().max(50)).max(20).default([]),
    seed: z.int().min(1).max(SEED_MAX).default(1),
  }),
  answers: { 202: line },
  prepare: ({ engine, params, now }) => loadLiveBatch(engine, params.batchId, now),
  handle: async ({ engine, services, params: { batchId }, body, by, now }, live) => {
    const { compare: isCompared, seed, slots = null, people = null, ...rest } = body
    const change = { ...rest, slots, people }
    services.rehearsals.requireFree(change.faults)
    const keys = live.people.map(({ key }) => key)
    const { past, workerSlots, assumed, runbookName } = live
    const reason = whatIfProblem(change, { workerSlots, keys }, isCompared)
    if (reason !== null) throw new MatoolkitError('WHAT_IF_UNFIT', { batchId, reason })
    const members = keptKeys(change, keys).length
    const about = { runbookName, batchId, members, requestedBy: by.name, requestedAt: now }
    const rehearsalId = await insertRehearsal(engine.db, about)
    services.rehearsals.begin(rehearsalId, {
      yaml: live.yaml,
      columns: liveColumns(live.people),
      seed,
      slots: slots ?? SLOTS,
      startAt: null,
      rows: live.people.map(({ row: one }) => one),
      faults: change.faults,
      notifications: notificationsOf(services),
      whatIf: { isCompared, past, keys, workerSlots, assumed, change },
    })
    const begun = { ...about, id: rehearsalId, status: 'running' as const, at: null }
    const { without, ...told } = change
    return {
      status: 202,
      body: { ...begun, endedAt: null, because: null, verdict: null },
      auditNote: {
        subject: `batch ${batchId}`,
        after: {
          rehearsal: rehearsalId,
          compare: isCompared,
          ...told,
          without: without.length,
          seed,
        },
      },
    }
  },
})

const listRoute = read({
  method: 'GET',
  path: '/api/rehearsals',
  operation: 'listRehearsals',
  tag: 'runbooks',
  summary: 'List the newest rehearsals',
  about: `The newest ${REHEARSALS_KEPT}; older ones are deleted.`,
  rule: 'reader',
  answers: {
    200: z.strictObject({ rehearsals: z.array(line) }).meta({ id: 'Rehearsals' }),
  },
  handle: async ({ engine, services }) => {
    const lines = await listRehearsals(engine.db)
    return { status: 200, body: { rehearsals: lines.map((one) => shown(services, one)) } }
  },
})

const showRoute = read({
  method: 'GET',
  path: '/api/rehearsals/{rehearsalId}',
  operation: 'getRehearsal',
  tag: 'runbooks',
  summary: 'Show a rehearsal with its report',
  rule: 'reader',
  isPersonal: true,
  errors: ['REHEARSAL_NOT_FOUND'],
  params: rehearsalId,
  answers: {
    200: z
      .strictObject({
        ...line.shape,
        report: json.meta({
          description:
            'The report, as "matoolkit runbook rehearse --output json" prints it; of a batch, as "matoolkit batch rehearse --output json" does.',
        }),
      })
      .meta({ id: 'RehearsalWithReport' }),
  },
  handle: async ({ engine, services, params }) => {
    const found = await findRehearsal(engine.db, params.rehearsalId)
    if (!found) throw new MatoolkitError('REHEARSAL_NOT_FOUND', { id: params.rehearsalId })
    return { status: 200, body: { ...shown(services, found), report: found.report } }
  },
})

const deleteRoute = change({
  method: 'DELETE',
  path: '/api/rehearsals/{rehearsalId}',
  operation: 'deleteRehearsal',
  tag: 'runbooks',
  summary: 'Cancel a running rehearsal, or delete an ended one',
  about:
    'A cancelled rehearsal stays in the list until it is deleted. One that another API runs can be cancelled there only.',
  rule: 'admin',
  action: 'rehearsal.delete',
  errors: ['REHEARSAL_NOT_FOUND', 'REHEARSAL_RUNNING'],
  params: rehearsalId,
  answers: {
    200: z
      .strictObject({ id: z.int(), did: z.enum(['cancelled', 'deleted']) })
      .meta({ id: 'RehearsalDeleted' }),
  },
  // Outside of the transaction: the end of a cancelled one is stored in its own.
  prepare: ({ services, params, by }) => services.rehearsals.cancel(params.rehearsalId, by.name),
  handle: async ({ engine, params: { rehearsalId: id } }, isCancelled) => {
    const found = await findRehearsal(engine.db, id)
    if (!found) throw new MatoolkitError('REHEARSAL_NOT_FOUND', { id })
    if (found.status === 'running') throw new MatoolkitError('REHEARSAL_RUNNING', { id })
    if (!isCancelled) await deleteRehearsal(engine.db, id)
    const did = isCancelled ? ('cancelled' as const) : ('deleted' as const)
    return { status: 200, body: { id, did }, auditNote: { subject: `rehearsal ${id}`, after: did } }
  },
})

export const REHEARSAL_ROUTES = [beginRoute, whatIfRoute, listRoute, showRoute, deleteRoute]
