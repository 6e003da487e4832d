// The context of an API command: client, output, prompts and flags. Also loads paged lists and parses flags.

import type { Answer, ListEndpoint, ListedRow, RequestOf } from '../../api/client/endpoints.ts'
import { listIn, partOf } from '../../api/client/pages.ts'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type Clock, realClock } from '../../base/run/clock.ts'
import { parseDurationSec } from '../../base/text/duration.ts'
import { printable } from '../../base/text/printable.ts'
import { type CommandClient, openClient } from '../connection/client.ts'
import { loadProfile, openProfile, type Profile, type ProfileFlags } from '../connection/profile.ts'
import { tokenSource } from '../sign-in/token-source.ts'
import type { Io } from '../terminal/io.ts'
import { showFor } from '../terminal/output.ts'
import type { Column, OutputFormat, Show } from '../terminal/show.ts'

export type Flags = Readonly<Record<string, string | true | readonly string[] | undefined>>

export interface CommandContext {
  readonly io: Io
  readonly clock: Clock
  readonly profile: Profile
  readonly client: CommandClient
  readonly show: Show
  readonly flags: Flags
}

/** What a command does with the API: text is the same on a terminal and in a pipe, a change goes to no guessed instance. */
export interface CommandKind {
  readonly isText?: boolean
  readonly isChange?: boolean
}

/** Says which instance it is when there are several. Throws INSTANCE_UNCLEAR for a change that may go astray. */
export async function openContext(
  flags: Flags,
  io: Io,
  { isText = false, isChange = false }: CommandKind = {},
): Promise<CommandContext> {
  const { profile, chosen } = await openProfile(flags as ProfileFlags)
  const doubt = chosen?.doubt ?? null
  if (isChange && doubt !== null) throw new MatoolkitError('INSTANCE_UNCLEAR', { doubt })
  if (chosen?.notice) io.err(printable(chosen.notice))
  return contextOf(flags, io, { isText, profile, doubt })
}

interface Opened {
  readonly isText?: boolean
  readonly profile?: Profile
  /** Why the API may be the wrong one: changes are refused. */
  readonly doubt?: string | null
  /** Ends every request. */
  readonly signal?: AbortSignal
}

export function contextOf(
  flags: Flags,
  io: Io,
  {
    isText = false,
    profile = loadProfile(flags as ProfileFlags),
    doubt = null,
    signal,
  }: Opened = {},
): CommandContext {
  const clock = realClock()
  const apiUrl = profile['api-url'].value!
  const client = openClient({
    apiUrl,
    token: tokenSource({ profile, clock, isSecondPerson: flags.secondPerson === true }),
    clock,
    progress: io.progress,
    doubt,
    signal,
    ...(flags.debug && { debug: (line: string) => io.err(printable(line)) }),
  })
  const given = (flags.output as OutputFormat | undefined) ?? (isText ? 'table' : undefined)
  return { io, clock, profile, client, show: showFor(given, profile, io), flags }
}

const PAGE_MAX = 500
const LIMIT_DEFAULT = 100

export interface PagedList<E extends ListEndpoint> {
  readonly given: RequestOf<E>
  readonly columns: readonly Column<ListedRow<E>>[]
  readonly empty: string
}

/** Shows the requested number of rows and says when there are more. */
export async function showPages<E extends ListEndpoint>(
  context: CommandContext,
  endpoint: E,
  { given, columns, empty }: PagedList<E>,
): Promise<void> {
  const { whole, rows } = await loadPages(context, endpoint, given)
  await context.show.list({ whole, rows, columns, empty })
  sayMore(context, whole, rows.length)
}

/** A page of a list, as far as its length is told. */
interface Page {
  readonly next: string | null
  readonly total?: number | undefined
  readonly isTotalExact?: boolean | undefined
}

/** On stderr, in every format: stdout stays parseable. */
export function sayMore({ io }: CommandContext, page: Page, shown: number): void {
  if (page.next !== null)
    io.err(`Showing ${shown} of ${totalOf(page)}; use --limit or --all for more.`)
}

/** Says that the API listed only part; `where` tells how to see all. */
export function sayRest({ io }: CommandContext, shown: number, total: number, where: string): void {
  if (total > shown) io.err(`Showing ${shown} of ${total}; ${where}.`)
}

/** Long lists are counted up to a limit, some not at all. */
function totalOf({ total, isTotalExact }: Page): string {
  if (total === undefined) return 'more'
  return isTotalExact === false ? `more than ${total}` : String(total)
}

/** A person has seen enough after 100 rows; a program would not notice missing ones. */
function limitOf({ flags, show }: Pick<CommandContext, 'flags' | 'show'>): number {
  const given = wholeNumberFlag('--limit', flags.limit)
  if (flags.all && given !== undefined) throw usageError('Use either --limit or --all.')
  return given ?? (flags.all || show.format !== 'table' ? Number.POSITIVE_INFINITY : LIMIT_DEFAULT)
}

/** As many rows as are wanted; `whole` is the last page with all of them. */
export async function loadPages<E extends ListEndpoint>(
  context: CommandContext,
  endpoint: E,
  given: RequestOf<E>,
): Promise<{ whole: Answer<E> & Page; rows: ListedRow<E>[] }> {
  const { client, io } = context
  const limit = limitOf(context)
  const rows: ListedRow<E>[] = []
  let cursor: string | null = null
  for (;;) {
    const page: Answer<E> & Page = await client.call(
      endpoint,
      partOf(given, Math.min(PAGE_MAX, limit - rows.length), cursor),
    )
    const [name, found] = listIn(page)
    rows.push(...found)
    cursor = page.next
    if (cursor === null || rows.length >= limit) {
      io.progress('')
      return { whole: { ...page, [name]: rows }, rows }
    }
    io.progress(`${rows.length} of ${totalOf(page)} …`)
  }
}

export const usageError = (reason: string): MatoolkitError =>
  new MatoolkitError('USAGE', { reason })

function wholeNumberFlag(flag: string, text: Flags[string]): number | undefined {
  if (text === undefined) return undefined
  if (typeof text === 'string' && /^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usageError(`${flag} is "${String(text)}", but must be a whole number above 0.`)
}

/** The id of a batch, member or step. */
export function idOf(what: string, text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw usageError(`"${text ?? ''}" is not the id of a ${what}: ids are whole numbers above 0.`)
}

export function durationMs(flag: string, text: Flags[string]): number | undefined {
  if (text === undefined) return undefined
  const seconds = typeof text === 'string' ? parseDurationSec(text) : null
  if (seconds) return seconds * 1_000
  throw usageError(`${flag} is "${String(text)}", but must be a duration such as 90s, 30m or 8h.`)
}

/** A flag with a fixed set of values: the command line has refused others. */
export const choiceFlag = <T extends string>(
  flags: Flags,
  name: string,
  choices: readonly T[],
): T | undefined => choices.find((choice) => choice === flags[name])

export const textFlag = (flags: Flags, name: string): string | undefined => {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}
