// A restore of the database from a backup: the order that begins a new epoch, and what is known to have run after the backup.
import { z } from 'zod'
import {
  countRanAfterBackup,
  findLastRestore,
  listRanAfterBackup,
  type RanAfterBackup,
} from '../../db/views/restores.ts'
import { STEP_STATUSES } from '../../domain/state/transitions.ts'
import { beginEpoch } from '../../engine/orders/restores.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { change, read } from '../route.ts'
import { holdInForce, shownHold } from '../shapes/hold-shapes.ts'
import {
  dateTime,
  nullableText,
  pageOf,
  pagingQuery,
  reason,
  wholeCount,
} from '../shapes/shapes.ts'

const epoch = z
  .string()
  .meta({ description: 'The new end of job ids, such as k3f2qz in step-7~k3f2qz.' })
const backupAt = dateTime.meta({ description: 'When the newest record of the backup was written.' })

const restoredRoute = change({
  method: 'POST',
  path: '/api/restored',
  operation: 'noteRestore',
  tag: 'service',
  summary: 'Say that the database was restored from a backup',
  about:
    'Puts the whole system on hold and begins a new epoch: no result of an earlier job counts, and jobs that were out are sent again after the resume. Most restores are noticed without this call.',
  rule: 'admin',
  action: 'system.restored',
  takes: 'json',
  body: z.strictObject({ reason }),
  answers: {
    200: z
      .strictObject({
        epoch,
        backupAt,
        jobsOut: wholeCount.meta({ description: 'Jobs that were out: sent again after resume.' }),
        hold: holdInForce,
      })
      .meta({ id: 'Restored' }),
  },
  handle: async ({ engine, body, by }) => {
    const order = { actor: by.name, because: body.reason, isAudited: true }
    const { hold, ...restored } = (await beginEpoch(engine, order))!
    const after = { epoch: restored.epoch, backupAt: restored.backupAt.toISOString() }
    return {
      status: 200,
      body: { ...restored, hold: shownHold(hold) },
      auditNote: { subject: 'system', reason: body.reason, after },
    }
  },
})

const ranAfterBackup = z
  .strictObject({
    id: z.int(),
    heardAt: dateTime.meta({ description: 'When a worker told it after the restore.' }),
    jobId: z.string(),
    functionName: nullableText,
    status: z.enum(['Success', 'Failure']),
    endedAt: nullableText,
    workerId: nullableText,
    batchId: z
      .int()
      .nullable()
      .meta({ description: 'Null, like the following: the backup does not know the step.' }),
    memberKey: nullableText,
    stepName: nullableText,
    stepStatus: z.enum(STEP_STATUSES).nullable(),
  })
  .meta({ id: 'RanAfterBackup' })

const lastRestore = z
  .strictObject({ epoch, at: dateTime, by: z.string(), because: z.string(), backupAt })
  .nullable()
  .meta({ id: 'LastRestore', description: 'Null: the database was never restored.' })

const SORT = 'oldest'
const placeOf = ({ id }: RanAfterBackup) => ({ value: null, id })

const ranRoute = read({
  method: 'GET',
  path: '/api/restored/ran-after-backup',
  operation: 'listRanAfterBackup',
  tag: 'service',
  summary: 'List jobs that are known to have run after the backup',
  about:
    'From what workers remember and what arrives late; a worker that was stopped remembers nothing. Oldest first.',
  rule: 'reader',
  isPersonal: true,
  errors: ['CURSOR_INVALID'],
  query: z.strictObject(pagingQuery),
  answers: { 200: pageOf('jobs', ranAfterBackup).extend({ lastRestore }) },
  handle: async ({ engine: { db }, query: { limit, cursor } }) => {
    const afterId = readCursor(SORT, cursor)?.id ?? 0
    const found = await listRanAfterBackup(db, afterId, limit + 1)
    const { rows, next } = pageFrom(found, limit, SORT, placeOf)
    const total = await countRanAfterBackup(db)
    return {
      status: 200,
      body: {
        jobs: rows.map((row) => ({ ...row, stepStatus: row.stepStatus as 'pending' | null })),
        total,
        isTotalExact: true,
        next,
        lastRestore: await findLastRestore(db),
      },
    }
  },
})

export const RESTORE_ROUTES = [restoredRoute, ranRoute]
