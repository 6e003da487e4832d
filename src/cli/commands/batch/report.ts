// `matoolkit batch report`: the outcome of a batch in a file. CSV has a line per member, JSON everything, HTML a self-contained page
// that prints well. A report that fails halfway leaves no file behind.
import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { extname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { csvLine } from '../../../csv.ts'
import { MatoolkitError, messageOf } from '../../../errors.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../command-context.ts'
import { printable, safeFor, withoutLineEnd } from '../../terminal/io.ts'
import {
  loadHead,
  type MemberPages,
  memberPages,
  type ReportHead,
  type ReportMember,
} from './report-data.ts'
import { htmlReport } from './report-html.ts'

type ReportWriter = (head: ReportHead, members: MemberPages) => AsyncIterable<string>

const WRITERS = { html: htmlReport, csv: csvReport, json: jsonReport } satisfies Record<
  string,
  ReportWriter
>
type ReportFormat = keyof typeof WRITERS

export async function runReport(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const batchId = idOf('batch', id)
  const given = textFlag(flags, 'file')
  const format = formatFor(textFlag(flags, 'format'), given)
  const file = given ?? `batch-${batchId}-report.${format}`
  if (file !== '-' && !flags.force && existsSync(file)) {
    throw new MatoolkitError('FILE_EXISTS', { file })
  }
  const head = await loadHead(context, batchId)
  const text = WRITERS[format](head, (status) => memberPages(context, batchId, status))
  if (file === '-') {
    let whole = ''
    for await (const part of text) whole += part
    return context.io.out(safeFor(context.io, withoutLineEnd(whole)))
  }
  await writeWhole(file, text)
  const { status, members } = head.batch
  await context.show.one({ file, format, batchId, status, members }, [
    ['file', 'file'],
    ['batch', 'batchId'],
    ['status', 'status'],
    ['members', 'members.total'],
    ['failed', 'members.failed'],
    ['removed', 'members.removed'],
  ])
}

function formatFor(requested: string | undefined, file = ''): ReportFormat {
  const ending = extname(file).slice(1).toLowerCase()
  const name = requested ?? (Object.hasOwn(WRITERS, ending) ? ending : 'html')
  return name as ReportFormat
}

/** Written under another name until it is complete. Only the owner can read it: it names people. */
async function writeWhole(file: string, text: AsyncIterable<string>): Promise<void> {
  const draft = `${file}.part`
  try {
    await pipeline(text, createWriteStream(draft, { mode: 0o600 }))
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    const isOfFile = typeof (error as NodeJS.ErrnoException).syscall === 'string'
    if (!isOfFile) throw error
    throw new MatoolkitError('FILE_UNWRITABLE', { file, reason: messageOf(error) })
  }
}

const CSV_COLUMNS: readonly (readonly [
  string,
  (member: ReportMember) => string | number | null | undefined,
])[] = [
  ['member', ({ memberKey }) => memberKey],
  ['status', ({ status }) => status],
  ['failedPhase', ({ failure }) => failure?.phaseName],
  ['failedStep', ({ failure }) => failure?.stepName],
  ['error', ({ failure }) => failure?.error],
  ['joinedAt', ({ joinedAt }) => joinedAt],
  ['failedAt', ({ failedAt }) => failedAt],
  ['leftAt', ({ leftAt }) => leftAt],
  ['removedBy', ({ removedBy }) => removedBy],
  ['movedToBatch', ({ movedToBatchId }) => movedToBatchId],
]

async function* csvReport(_: ReportHead, members: MemberPages): AsyncGenerator<string> {
  yield csvLine(CSV_COLUMNS.map(([name]) => name))
  for await (const page of members()) {
    yield page
      .map((member) =>
        csvLine(CSV_COLUMNS.map(([, value]) => printable(String(value(member) ?? '')))),
      )
      .join('')
  }
}

/** The head, then the members in its last field, a line each. */
async function* jsonReport(head: ReportHead, members: MemberPages): AsyncGenerator<string> {
  yield `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "members": [`
  let separator = '\n    '
  for await (const page of members()) {
    for (const member of page) {
      yield `${separator}${JSON.stringify(member)}`
      separator = ',\n    '
    }
  }
  yield '\n  ]\n}\n'
}
