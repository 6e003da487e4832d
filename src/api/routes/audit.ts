// The audit: a filtered list of who did what, and a check of its hash chain.
import { z } from 'zod'
import { type AuditRow, countAudit, listAudit } from '../../db/orders/audit.ts'
import { verifyAudit } from '../../db/orders/audit-chain.ts'
import { pageFrom, readCursor } from '../http/cursor.ts'
import { read } from '../route.ts'
import {
  booleanText,
  dateTime,
  instant,
  json,
  nullableText,
  pageOf,
  pagingQuery,
  position,
  wholeCount,
} from '../shapes/shapes.ts'

const COUNT_MAX = 10_000

const auditRow = z
  .strictObject({
    id: z.int(),
    at: dateTime,
    actor: z.string().meta({ description: 'Tenant and object id; never reassigned.' }),
    actorName: z.string(),
    action: z.string(),
    subject: z.string(),
    reason: nullableText,
    source: nullableText.meta({ description: 'IP address of the request.' }),
    clientApp: nullableText,
    requestId: nullableText,
    before: json,
    after: json,
    isSealed: z.boolean(),
  })
  .meta({ id: 'AuditRow' })

const SORT = 'newest'
const at = ({ id }: AuditRow) => ({ value: null, id })

const listRoute = read({
  method: 'GET',
  path: '/api/audit',
  operation: 'listAudit',
  tag: 'audit',
  summary: 'List who did what, newest first',
  rule: 'admin',
  isPersonal: true,
  errors: ['CURSOR_INVALID'],
  query: z.strictObject({
    ...pagingQuery,
    actor: z.string().max(300).optional(),
    action: z.string().max(100).optional(),
    subject: z.string().max(500).optional(),
    reads: booleanText
      .optional()
      .meta({ description: 'False leaves out reads of personal data (default: true).' }),
    from: instant.optional(),
    before: instant.optional(),
  }),
  answers: { 200: pageOf('entries', auditRow) },
  handle: async ({ engine, query }) => {
    const { limit, cursor, ...filter } = query
    const olderThan = readCursor(SORT, cursor)?.id
    const found = await listAudit(engine.db, { ...filter, olderThan }, limit + 1)
    const { rows, next } = pageFrom(found, limit, SORT, at)
    const total = await countAudit(engine.db, filter, COUNT_MAX)
    return {
      status: 200,
      body: { entries: [...rows], total, isTotalExact: total < COUNT_MAX, next },
    }
  },
})

const verifyRoute = read({
  method: 'GET',
  path: '/api/audit/verification',
  operation: 'verifyAudit',
  tag: 'audit',
  summary: 'Verify the hash chain, from the first kept row to the last sealed one',
  about: 'Keep the returned head: a later check against it also detects rows cut off at the end.',
  rule: 'admin',
  query: z.strictObject({
    sealed: position.optional(),
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  }),
  answers: {
    200: z
      .strictObject({
        head: z.strictObject({ sealed: wholeCount, hash: z.string() }),
        pruned: z
          .strictObject({
            through: wholeCount,
            hash: z.string(),
            at: dateTime,
            before: dateTime.nullable(),
          })
          .nullable()
          .meta({
            description:
              'Rows 1 to `through` are gone: pruned `at`, because they were from before `before`.',
          }),
        unsealed: wholeCount,
        broken: z
          .strictObject({ sealNumber: wholeCount, id: z.int().nullable(), why: z.string() })
          .nullable(),
      })
      .meta({ id: 'AuditVerdict' }),
  },
  handle: async ({ engine, now, services, query: { sealed, hash } }) => {
    const known = sealed !== undefined && hash !== undefined ? { sealed, hash } : undefined
    return {
      status: 200,
      body: await verifyAudit(engine.db, { known, keptDays: services.auditKeptDays, now }),
    }
  },
})

export const AUDIT_ROUTES = [listRoute, verifyRoute]
