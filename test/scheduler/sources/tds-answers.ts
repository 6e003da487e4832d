// What the fake TDS server answers: a query is the name of its answer.
import { MANY, memberName, WIDE, WIDE_CHARS } from './contract.ts'
import * as t from './tds-bytes.ts'
import type { TdsAnswer } from './tds-server.ts'

const ID_AND_NAME = [
  { name: 'id', type: t.INT },
  { name: 'name', type: t.NVARCHAR },
]

function* members(count: number): Generator<[number, string]> {
  for (let id = 1; id <= count; id++) yield [id, memberName(id)]
}

function* wideMembers(): Generator<[number, string]> {
  for (let id = 1; id <= WIDE; id++) yield [id, 'x'.repeat(WIDE_CHARS)]
}

const NOON = new Date('2026-03-01T12:30:15.250Z')
/** Name, type, a value, the expected JSON and column type. */
export const TYPES: readonly (readonly [string, t.TdsType, unknown, unknown, string])[] = [
  ['id', t.INT, -7, -7, 'number'],
  ['big', t.BIGINT, 9_007_199_254_740_991n, 9_007_199_254_740_991, 'number'],
  ['bigger', t.BIGINT, -9_223_372_036_854_775_808n, '-9223372036854775808', 'number'],
  ['yes', t.BIT, true, true, 'boolean'],
  ['decimal', t.decimal(4), -125_000n, -12.5, 'number'],
  ['digits', t.decimal(0), 999_999_999_999_999n, 999_999_999_999_999, 'number'],
  ['cents', t.decimal(2), 10n, 0.1, 'number'],
  ['money', t.MONEY, -12_345_678n, -1_234.5678, 'number'],
  ['float', t.FLOAT, 0.1, 0.1, 'number'],
  ['real', t.REAL, 0.1, 0.1, 'number'],
  ['name', t.NVARCHAR, memberName(1), memberName(1), 'text'],
  ['empty', t.NVARCHAR, '', '', 'text'],
  ['long', t.NVARCHAR_MAX, 'ö'.repeat(50_000), 'ö'.repeat(50_000), 'text'],
  ['day', t.DATE, NOON, '2026-03-01', 'date'],
  ['clock', t.TIME, NOON, '12:30:15.25', 'text'],
  ['at', t.DATETIME2, [NOON, 0], '2026-03-01T12:30:15.25Z', 'time'],
  ['exactly', t.DATETIME2, [NOON, 1_234], '2026-03-01T12:30:15.2501234Z', 'time'],
  ['offset', t.DATETIMEOFFSET, NOON, '2026-03-01T12:30:15.25Z', 'time'],
  ['old', t.DATETIME, new Date('2026-03-01T12:30:15Z'), '2026-03-01T12:30:15Z', 'time'],
  ['early', t.DATETIME, new Date('1899-12-31T06:00:00Z'), '1899-12-31T06:00:00Z', 'time'],
  [
    'guid',
    t.GUID,
    '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10',
    '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10',
    'text',
  ],
  ['bytes', t.VARBINARY, Buffer.from([0, 255, 16]), 'AP8Q', 'binary'],
]

const one = (name: string, type: t.TdsType, value: unknown): TdsAnswer => ({
  columns: [...ID_AND_NAME.slice(0, 1), { name, type }],
  rows: [[1, value]],
})

const ANSWERS: Readonly<Record<string, () => TdsAnswer | t.TdsError | 'silent'>> = {
  silent: () => 'silent',
  types: () => ({
    columns: TYPES.map(([name, type]) => ({ name, type })),
    rows: [
      TYPES.map(([, , value]) => value),
      TYPES.map(([name, , value]) => (name === 'id' ? value : null)),
    ],
  }),
  none: () => ({ columns: ID_AND_NAME, rows: [] }),
  many: () => ({ columns: ID_AND_NAME, rows: members(MANY) }),
  wide: () => ({ columns: ID_AND_NAME, rows: wideMembers() }),
  dropped: () => ({ columns: ID_AND_NAME, rows: members(20_000), next: 'drop' }),
  endless: () => ({ columns: ID_AND_NAME, rows: members(10), next: 'hang' }),
  wrong: () => ({ number: 102, message: "Incorrect syntax near 'wrong'." }),
  twice: () => ({ columns: [ID_AND_NAME[0]!, { name: 'ID', type: t.INT }], rows: [] }),
  'fails late': () => ({
    columns: ID_AND_NAME,
    rows: members(3_000),
    next: { number: 8134, message: 'Divide by zero error encountered.' },
  }),
  'stops short': () => ({ columns: ID_AND_NAME, rows: members(5), next: 'stop_short' }),
  'two results': () => ({
    columns: ID_AND_NAME,
    rows: members(1),
    next: { columns: ID_AND_NAME, rows: members(1) },
  }),
  'many digits': () => one('n', t.decimal(2), 123_456_789_012_345_678n),
  'much money': () => one('n', t.MONEY, 9_223_372_036_854_775_807n),
  variant: () => one('v', t.VARIANT, null),
}

export const answer = (sql: string) => {
  const made = ANSWERS[sql]
  return made ? made() : { number: 208, message: `Invalid object name '${sql}'.` }
}
