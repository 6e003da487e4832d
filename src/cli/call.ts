// What a command of a client works with: the API it talks to, a way to show the answer, and a way to ask whether something is
// meant. Lists that come in pages are put together here, and texts that people type as flags are read here.
import { type Clock, realClock } from '../clock.ts'
import { parseDurationSec } from '../domain/duration.ts'
import type { Json } from '../domain/json.ts'
import { MatoolkitError } from '../errors.ts'
import { Client, type Query } from './client.ts'
import type { Io } from './io.ts'
import { loadProfile, type Profile } from './profile.ts'
import { type Column, type Format, makeShow, type Row, type Show } from './show.ts'
import { tokenSource } from './token-source.ts'

export type Flags = Readonly<Record<string, string | true | readonly string[] | undefined>>

export interface Call {
  readonly io: Io
  readonly clock: Clock
  readonly profile: Profile
  readonly client: Client
  readonly show: Show
  readonly flags: Flags
}

export function openCall(flags: Flags, io: Io): Call {
  const clock = realClock()
  const profile = loadProfile(flags as { apiUrl?: string; profile?: string })
  const apiUrl = profile['api-url'].value!
  const client = new Client({
    apiUrl,
    token: tokenSource({ profile, clock }),
    clock,
    progress: io.progress,
    ...(flags.debug && { debug: (line: string) => io.err(line) }),
  })
  return { io, clock, profile, client, show: makeShow(flags.output as Format, io), flags }
}

const PAGE_MAX = 500
const LIMIT_DEFAULT = 100

export interface Paged {
  readonly path: string
  readonly query?: Query
  /** The name of the rows in the answer. */
  readonly rows: string
  readonly columns: readonly Column[]
  readonly empty: string
}

/** Shows as many rows of a list as were asked for, in the API's own shape, and says when there are more. */
export async function showPages(call: Call, paged: Paged): Promise<void> {
  const { whole, rows } = await loadPages(call, paged)
  await call.show.list({ whole, rows, columns: paged.columns, empty: paged.empty })
  const { total, next, isTotalExact } = whole as { total: number; next: unknown } & Row
  if (next === null || next === undefined || call.show.format !== 'table') return
  const all = isTotalExact === false ? `more than ${total}` : total
  call.io.err(`${rows.length} of ${all} are shown; --limit and --all show more.`)
}

export async function loadPages(
  { client, flags, io }: Call,
  { path, query = {}, rows: name }: Pick<Paged, 'path' | 'query' | 'rows'>,
): Promise<{ whole: Json; rows: Row[] }> {
  const limit = flags.all
    ? Number.POSITIVE_INFINITY
    : (wholeNumber('--limit', flags.limit) ?? LIMIT_DEFAULT)
  const rows: Row[] = []
  let cursor: string | null = null
  for (;;) {
    const size = Math.min(PAGE_MAX, limit - rows.length)
    const { body }: { body: Row } = await client.get<Row>(path, { ...query, limit: size, cursor })
    rows.push(...(body[name] as Row[]))
    cursor = body.next as string | null
    if (cursor === null || rows.length >= limit) {
      io.progress('')
      return { whole: { ...body, [name]: rows as unknown as Json }, rows }
    }
    io.progress(`${rows.length} of ${String(body.total)} …`)
  }
}

/** A name or id from the command line as a part of a path. */
export const segment = (text: string): string => encodeURIComponent(text)

const usage = (reason: string): MatoolkitError => new MatoolkitError('USAGE', { reason })

export function wholeNumber(flag: string, text: Flags[string]): number | undefined {
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usage(`${flag} is "${String(text)}", but must be a whole number above 0.`)
}

/** The id of a batch, member, step: as the API counts them. */
export function idOf(what: string, text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw usage(`"${text ?? ''}" is not the id of a ${what}: ids are whole numbers above 0.`)
}

export function durationMs(flag: string, text: Flags[string]): number | undefined {
  if (text === undefined) return undefined
  const seconds = typeof text === 'string' ? parseDurationSec(text) : null
  if (seconds) return seconds * 1_000
  throw usage(`${flag} is "${String(text)}", but must be a duration such as 90s, 30m or 8h.`)
}

export const textFlag = (flags: Flags, name: string): string | undefined => {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}
