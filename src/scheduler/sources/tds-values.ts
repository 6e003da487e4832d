// Converts the TDS driver's values to JSON. The driver reads decimals into doubles of about 15 digits; where that may have
// changed a value the query fails and names the column to cast, because nobody could tell later.

import type { Json } from '../../base/text/json.ts'
import { utcTextOf } from '../../domain/sources/source-time.ts'
import {
  type ColumnType,
  exactNumber,
  floatNumber,
  type SourceColumn,
  type SourceRow,
} from '../../domain/sources/source-values.ts'
import { SourceFault } from './fault.ts'

/** The driver's column metadata. */
export interface TdsMetadata {
  readonly colName: string
  readonly type: { readonly name: string }
  readonly scale?: number | undefined
  readonly dataLength?: number | undefined
}

export interface TdsColumn extends SourceColumn {
  read(value: unknown): Json
}

const TYPES: Readonly<Record<string, ColumnType>> = {
  Bit: 'boolean',
  BitN: 'boolean',
  TinyInt: 'number',
  SmallInt: 'number',
  Int: 'number',
  BigInt: 'number',
  IntN: 'number',
  Real: 'number',
  Float: 'number',
  FloatN: 'number',
  NumericN: 'number',
  DecimalN: 'number',
  SmallMoney: 'number',
  Money: 'number',
  MoneyN: 'number',
  Date: 'date',
  SmallDateTime: 'time',
  DateTime: 'time',
  DateTimeN: 'time',
  DateTime2: 'time',
  DateTimeOffset: 'time',
  VarBinary: 'binary',
  Binary: 'binary',
  Image: 'binary',
  UDT: 'binary',
}

const MONEY_SCALE = 4
/**
 * The driver's arithmetic is exact to 3 parts in 10^16. Below this many units of the last digit the nearest unit is the value.
 */
const EXACT_UNITS = 1.5e15

export function tdsColumns(
  metadata: readonly TdsMetadata[] | Readonly<Record<string, TdsMetadata>>,
): TdsColumn[] {
  return Object.values(metadata).map((column) => {
    const { colName: name, type } = column
    if (type.name === 'Variant') {
      const reason = `column "${name}" has the type sql_variant, which allows any value`
      throw new SourceFault('value', reason)
    }
    return { name, type: TYPES[type.name] ?? 'text', read: readerOf(column) }
  })
}

/** The values of a row, in the order of the columns. */
export function tdsRow(
  values: readonly { readonly value: unknown }[] | Readonly<Record<string, { value: unknown }>>,
  columns: readonly TdsColumn[],
): SourceRow {
  const row: Record<string, Json> = {}
  Object.values(values).forEach(({ value }, index) => {
    const { name, read } = columns[index]!
    row[name] = value === null ? null : read(value)
  })
  return row
}

function readerOf(column: TdsMetadata): (value: unknown) => Json {
  const { colName, type, scale, dataLength } = column
  switch (type.name) {
    case 'BigInt':
    case 'IntN':
      // 8 bytes arrive as text, fewer as a number.
      return (value) => exactNumber(String(value))
    case 'NumericN':
    case 'DecimalN':
      return (value) => decimal(Number(value), scale ?? 0, colName)
    case 'SmallMoney':
    case 'Money':
    case 'MoneyN':
      return (value) => decimal(Number(value), MONEY_SCALE, colName)
    case 'Real':
      return (value) => floatNumber(singleFloat(Number(value)))
    case 'FloatN':
      return (value) => floatNumber(dataLength === 4 ? singleFloat(Number(value)) : Number(value))
    case 'Date':
      return (value) => instantText(value).slice(0, 10)
    case 'Time':
      return (value) => instantText(value).slice(11, -1)
    default:
      return readPlain
  }
}

function readPlain(value: unknown): Json {
  if (value instanceof Date) return instantText(value)
  if (Buffer.isBuffer(value)) return value.toString('base64')
  if (typeof value === 'number') return floatNumber(value)
  return typeof value === 'boolean' ? value : String(value)
}

function decimal(value: number, scale: number, column: string): Json {
  if (Math.abs(value) * 10 ** scale < EXACT_UNITS) return exactNumber(value.toFixed(scale))
  throw new SourceFault('value', `column "${column}" has a number of more than 15 digits`)
}

/** The shortest decimal that is this 4-byte float: 0.1, not 0.10000000149011612. */
function singleFloat(value: number): number {
  for (let digits = 6; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

const SUB_MS_DIGITS = 4

/** The driver stores what is below a millisecond separately, in seconds. */
function instantText(value: unknown): string {
  const date = value as Date & { readonly nanosecondsDelta?: number }
  const ms = +date
  const wholeMs = Math.floor(ms / 1000) * 1000
  const below = Math.round((date.nanosecondsDelta ?? 0) * 10 ** (3 + SUB_MS_DIGITS))
  const digits = String(ms - wholeMs).padStart(3, '0') + String(below).padStart(SUB_MS_DIGITS, '0')
  return utcTextOf(wholeMs, digits.replace(/(?<!0)0+$/, ''))
}
