// Shapes that many routes share. Paths and queries are parsed strictly: `1e9`, ` 1` and `0x10` are not numbers, and a time needs its
// zone.
import { z } from 'zod'
import type { Json, JsonObject } from '../../base/text/json.ts'

/** How a parameter that travels as text is declared in OpenAPI: as the number, boolean or list that it means. */
export const declaredAs = new WeakMap<object, JsonObject>()
function declare<T extends z.ZodType>(schema: T, as: JsonObject): T {
  declaredAs.set(schema, as)
  return schema
}
const integer = (minimum: number, maximum: number): JsonObject => ({
  type: 'integer',
  minimum,
  maximum,
})

const INT4_MAX = 2_147_483_647
export const PAGE_MAX = 500
const PAGE_DEFAULT = 100

/** A row id in a path or query. */
export const id = declare(
  z
    .string()
    .regex(/^[1-9]\d{0,15}$/, 'must be a whole number above 0')
    .transform(Number)
    .refine(Number.isSafeInteger, 'is too large'),
  integer(1, Number.MAX_SAFE_INTEGER),
)

/** A place in a sequence of ids; 0 is before the first. */
export const position = declare(
  z
    .string()
    .regex(/^(0|[1-9]\d{0,15})$/, 'must be a whole number from 0')
    .transform(Number)
    .refine(Number.isSafeInteger, 'is too large'),
  integer(0, Number.MAX_SAFE_INTEGER),
)

export const version = declare(
  z
    .string()
    .regex(/^[1-9]\d{0,9}$/, 'must be a version number')
    .transform(Number)
    .refine((number) => number <= INT4_MAX, 'is too large'),
  integer(1, INT4_MAX),
)

export const booleanText = declare(
  z.enum(['true', 'false']).transform((text) => text === 'true'),
  { type: 'boolean' },
)

/** A name as in runbooks; case-insensitive. */
export const nameText = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/, 'must be letters, digits, "-" and "_", at most 63')

/** `a,b,c` in a query. */
export const commaSeparated = <const T extends readonly [string, ...string[]]>(choices: T) =>
  declare(
    z
      .string()
      .max(500)
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(choices)).min(1))
      .meta({ description: `One or more of ${choices.join(', ')}, comma-separated.` }),
    { type: 'array', minItems: 1, items: { type: 'string', enum: [...choices] } },
  )

/** Row ids in a query, `1,2,3`: at most a page of them. */
export const idList = declare(
  z
    .string()
    .max(PAGE_MAX * 17)
    .transform((text) => text.split(','))
    .pipe(z.array(id).min(1).max(PAGE_MAX)),
  { type: 'array', minItems: 1, maxItems: PAGE_MAX, items: integer(1, Number.MAX_SAFE_INTEGER) },
)

/** Part of a text to search for. */
/** In the query of what shows one person. */
export const reference = z.string().max(100).optional().meta({
  description: 'From the search that found the person; the role HelpDesk alone needs it.',
})

export const searchText = z.string().min(1).max(200)

/** A time in a query or body, within the range that PostgreSQL intervals can handle. */
export const instant = z.iso
  .datetime({ offset: true, error: 'must be a time with its zone, such as 2030-03-01T20:00:00Z' })
  .transform((text) => new Date(text))
  .refine(
    (at) => at.getUTCFullYear() >= 1970 && at.getUTCFullYear() < 2200,
    'must lie between 1970 and 2199',
  )

/** Why the caller makes a change: stored in the audit and shown in events. */
export const reason = z.string().trim().min(1).max(1_000)

/** Times in answers: `Date` in code, ISO 8601 in UTC on the wire. */
export const dateTime = z.date()
export const nullableDateTime = z.date().nullable()
export const nullableText = z.string().nullable()
export const wholeCount = z.int().min(0)

/** Any JSON value: a body that was parsed holds nothing else. */
export const json = z.custom<Json>((value) => value !== undefined, 'is missing')

/** How many rows to show. */
export const pageSize = declare(
  z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `must be a whole number from 1 to ${PAGE_MAX}`)
    .transform(Number)
    .refine((limit) => limit <= PAGE_MAX, `must be at most ${PAGE_MAX}`),
  integer(1, PAGE_MAX),
).prefault(String(PAGE_DEFAULT))

/** Query parameters of a paged list. */
export const pagingQuery = {
  limit: pageSize,
  cursor: z.string().max(1_000).optional().meta({ description: '`next` of the previous page.' }),
}

/** A page: the rows under their name, the total, and the cursor of the next page. */
export const pageOf = <const N extends string, T extends z.ZodType>(rows: N, row: T) =>
  z.strictObject({
    ...({ [rows]: z.array(row) } as { [K in N]: z.ZodArray<T> }),
    total: wholeCount.meta({ description: 'Rows on all pages.' }),
    isTotalExact: z.boolean().meta({ description: 'False when `total` is a lower bound.' }),
    next: z
      .string()
      .nullable()
      .meta({ description: 'The cursor of the next page; null on the last.' }),
  })
