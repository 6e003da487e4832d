// TDS 7.4 bytes as a server sends them: tokens, column metadata and values of common types, after MS-TDS.

export const u8 = (value: number) => Buffer.from([value])
export function u16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16LE(value)
  return buffer
}
export function u32(value: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeUInt32LE(value)
  return buffer
}
function u64(value: bigint): Buffer {
  const buffer = Buffer.alloc(8)
  buffer.writeBigUInt64LE(BigInt.asUintN(64, value))
  return buffer
}
const ucs2 = (text: string) => Buffer.from(text, 'ucs2')
/** Text with its length in characters, in one byte or two. */
const bVarChar = (text: string) => Buffer.concat([u8(text.length), ucs2(text)])
const usVarChar = (text: string) => Buffer.concat([u16(text.length), ucs2(text)])
const littleEndian = (value: bigint, bytes: number) => u64(value).subarray(0, bytes)

const COLLATION = Buffer.from([0x09, 0x04, 0xd0, 0x00, 0x34])
const DAY_MS = 86_400_000
const sinceMidnight = (date: Date) => +date - Math.floor(+date / DAY_MS) * DAY_MS
/** Days since 1 January of the year 1. */
const dayNumber = (date: Date) => Math.floor(+date / DAY_MS) + 719_162

export interface TdsType {
  /** Its COLMETADATA. */
  readonly info: Buffer
  /** A value in a row; `none` writes null. */
  write(value: never): Buffer
  readonly none: Buffer
}

const sized = (body: Buffer) => Buffer.concat([u8(body.length), body])

export const INT: TdsType = {
  info: Buffer.from([0x26, 4]),
  write: (value: number) => {
    const body = Buffer.alloc(4)
    body.writeInt32LE(value)
    return sized(body)
  },
  none: u8(0),
}
export const BIGINT: TdsType = {
  info: Buffer.from([0x26, 8]),
  write: (value: bigint) => sized(u64(value)),
  none: u8(0),
}
export const BIT: TdsType = {
  info: Buffer.from([0x68, 1]),
  write: (value: boolean) => sized(u8(value ? 1 : 0)),
  none: u8(0),
}
export const FLOAT: TdsType = {
  info: Buffer.from([0x6d, 8]),
  write: (value: number) => {
    const body = Buffer.alloc(8)
    body.writeDoubleLE(value)
    return sized(body)
  },
  none: u8(0),
}
export const REAL: TdsType = {
  info: Buffer.from([0x6d, 4]),
  write: (value: number) => {
    const body = Buffer.alloc(4)
    body.writeFloatLE(value)
    return sized(body)
  },
  none: u8(0),
}
/** A decimal by its digits: 1250n with scale 2 is 12.50. */
export const decimal = (scale: number): TdsType => ({
  info: Buffer.from([0x6a, 17, 38, scale]),
  write: (units: bigint) => {
    const size = units < 0n ? -units : units
    return sized(Buffer.concat([u8(units < 0n ? 0 : 1), u64(size), u64(size >> 64n)]))
  },
  none: u8(0),
})
export const MONEY: TdsType = {
  info: Buffer.from([0x6e, 8]),
  write: (units: bigint) => {
    const bits = BigInt.asUintN(64, units)
    return sized(Buffer.concat([u32(Number(bits >> 32n)), u32(Number(bits & 0xffffffffn))]))
  },
  none: u8(0),
}
export const NVARCHAR: TdsType = {
  info: Buffer.concat([u8(0xe7), u16(8000), COLLATION]),
  write: (text: string) => Buffer.concat([u16(text.length * 2), ucs2(text)]),
  none: u16(0xffff),
}
/** nvarchar(max): in chunks, ended by an empty one. */
export const NVARCHAR_MAX: TdsType = {
  info: Buffer.concat([u8(0xe7), u16(0xffff), COLLATION]),
  write: (text: string) => {
    const body = ucs2(text)
    const part = body.length === 0 ? [] : [u32(body.length), body]
    return Buffer.concat([u64(BigInt(body.length)), ...part, u32(0)])
  },
  none: u64(-1n),
}
export const VARBINARY: TdsType = {
  info: Buffer.concat([u8(0xa5), u16(8000)]),
  write: (value: Buffer) => Buffer.concat([u16(value.length), value]),
  none: u16(0xffff),
}
export const GUID: TdsType = {
  info: Buffer.from([0x24, 16]),
  write: (text: string) => {
    const hex = Buffer.from(text.replaceAll('-', ''), 'hex')
    const [a, b, c] = [hex.subarray(0, 4), hex.subarray(4, 6), hex.subarray(6, 8)].map((part) =>
      Buffer.from(part).reverse(),
    )
    return sized(Buffer.concat([a!, b!, c!, hex.subarray(8)]))
  },
  none: u8(0),
}
export const DATE: TdsType = {
  info: u8(0x28),
  write: (date: Date) => sized(littleEndian(BigInt(dayNumber(date)), 3)),
  none: u8(0),
}
/** Seven fraction digits; `ticks` are those below a millisecond. */
const timeBody = (date: Date, ticks: number) =>
  littleEndian(BigInt(sinceMidnight(date)) * 10_000n + BigInt(ticks), 5)
export const TIME: TdsType = {
  info: Buffer.from([0x29, 7]),
  write: (date: Date) => sized(timeBody(date, 0)),
  none: u8(0),
}
export const DATETIME2: TdsType = {
  info: Buffer.from([0x2a, 7]),
  write: ([date, ticks]: [Date, number]) =>
    sized(Buffer.concat([timeBody(date, ticks), littleEndian(BigInt(dayNumber(date)), 3)])),
  none: u8(0),
}
export const DATETIMEOFFSET: TdsType = {
  info: Buffer.from([0x2b, 7]),
  write: (date: Date) =>
    sized(Buffer.concat([timeBody(date, 0), littleEndian(BigInt(dayNumber(date)), 3), u16(120)])),
  none: u8(0),
}
/** The old type: days since 1900 and 300ths of a second. */
export const DATETIME: TdsType = {
  info: Buffer.from([0x6f, 8]),
  write: (date: Date) => {
    const body = Buffer.alloc(8)
    body.writeInt32LE(dayNumber(date) - 693_595)
    body.writeInt32LE(Math.round((sinceMidnight(date) * 3) / 10), 4)
    return sized(body)
  },
  none: u8(0),
}
/** sql_variant; its values are never written here. */
export const VARIANT: TdsType = {
  info: Buffer.concat([u8(0x62), u32(8009)]),
  write: () => u32(0),
  none: u32(0),
}

export interface TdsTestColumn {
  readonly name: string
  readonly type: TdsType
}

export const columnsToken = (columns: readonly TdsTestColumn[]): Buffer =>
  Buffer.concat([
    u8(0x81),
    u16(columns.length),
    ...columns.flatMap(({ name, type }) => [u32(0), u16(1), type.info, bVarChar(name)]),
  ])

export const rowToken = (values: readonly unknown[], columns: readonly TdsTestColumn[]): Buffer =>
  Buffer.concat([
    u8(0xd1),
    ...columns.map(({ type }, index) =>
      values[index] === null ? type.none : type.write(values[index] as never),
    ),
  ])

export const DONE = { final: 0x10, more: 0x01, error: 0x02, attention: 0x20 } as const
export const doneToken = (status: number, rows = 0): Buffer =>
  Buffer.concat([u8(0xfd), u16(status), u16(0xc1), u64(BigInt(rows))])

export interface TdsError {
  readonly number: number
  readonly message: string
}

export function errorToken({ number, message }: TdsError): Buffer {
  const body = Buffer.concat([
    u32(number),
    u8(1),
    u8(16),
    usVarChar(message),
    bVarChar('test'),
    bVarChar(''),
    u32(1),
  ])
  return Buffer.concat([u8(0xaa), u16(body.length), body])
}

/** Redirects the client. */
function routingToken(port: number): Buffer {
  const place = Buffer.concat([u8(0), u16(port), usVarChar('localhost')])
  const body = Buffer.concat([u8(20), u16(place.length), place, u16(0)])
  return Buffer.concat([u8(0xe3), u16(body.length), body])
}

export function loginTokens(withFedAuth: boolean, goToPort?: number): Buffer {
  const ack = Buffer.concat([
    Buffer.from([1, 0x74, 0, 0, 4]),
    bVarChar('Microsoft SQL Server'),
    Buffer.from([12, 0, 7, 208]),
  ])
  const fedAuthAck = Buffer.concat([u8(0xae), u8(0x02), u32(0), u8(0xff)])
  return Buffer.concat([
    u8(0xad),
    u16(ack.length),
    ack,
    ...(withFedAuth ? [fedAuthAck] : []),
    ...(goToPort === undefined ? [] : [routingToken(goToPort)]),
    doneToken(0),
  ])
}

/** A client's LOGIN7. */
export interface Login {
  readonly user: string
  readonly password: string
  readonly database: string
  /** The access token of a federated sign-in. */
  readonly token: string | null
}

export function readLogin(body: Buffer): Login {
  const field = (at: number) => {
    const from = body.readUInt16LE(at)
    return body.subarray(from, from + body.readUInt16LE(at + 2) * 2)
  }
  const scrambled = Buffer.from(field(44))
  const password = scrambled.map((byte) => {
    const mixed = byte ^ 0xa5
    return ((mixed << 4) | (mixed >> 4)) & 0xff
  })
  return {
    user: field(40).toString('ucs2'),
    password: Buffer.from(password).toString('ucs2'),
    database: field(68).toString('ucs2'),
    token: readFedAuthToken(body),
  }
}

function readFedAuthToken(body: Buffer): string | null {
  let at = body.readUInt32LE(body.readUInt16LE(56))
  while (body[at] !== 0xff) {
    const length = body.readUInt32LE(at + 1)
    // Feature 2: one byte of options, then the token with its length.
    if (body[at] === 0x02) {
      const token = body.subarray(at + 10, at + 10 + body.readUInt32LE(at + 6))
      return token.toString('ucs2')
    }
    at += 5 + length
  }
  return null
}
