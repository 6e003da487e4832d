// `matoolkit batch report`: the outcome of a batch in a file. CSV has a line per member, JSON everything, HTML a self-contained page
// that prints well. A report that fails halfway leaves no file behind.
import { extname } from 'node:path'
import { csvLine } from '../../../csv.ts'
import { fullTimeText } from '../../../domain/zoned-time.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../command-context.ts'
import { requireReplaceable, writeNewFile } from '../../files.ts'
import { printable, safeFor, withoutLineEnd } from '../../terminal/io.ts'
import {
  loadHead,
  type MemberPages,
  memberPages,
  outcomeOfMember,
  type ReportHead,
  type ReportMember,
  type ReportReader,
} from './report-data.ts'
import { htmlReport } from './report-html.ts'

type ReportWriter = (
  head: ReportHead,
  members: MemberPages,
  reader: ReportReader,
) => AsyncIterable<string>

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
  const mayReplace = flags.force === true
  // Before anything is loaded.
  if (file !== '-') requireReplaceable(file, mayReplace)
  const head = await loadHead(context, batchId)
  const reader = { zone: context.io.zone, isInternal: flags.internal === true }
  const text = WRITERS[format](head, (status) => memberPages(context, batchId, status), reader)
  if (file === '-') {
    let whole = ''
    for await (const part of text) whole += part
    return context.io.out(safeFor(context.io, withoutLineEnd(whole)))
  }
  await writeNewFile(file, text, mayReplace)
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

type CsvValue = string | number | null | undefined
type CsvColumn = readonly [name: string, value: (member: ReportMember) => CsvValue]

function csvColumns({ batch }: ReportHead, { zone, isInternal }: ReportReader): CsvColumn[] {
  const time = (iso: string | null) => iso && fullTimeText(new Date(iso), zone)
  return [
    ['member', ({ memberKey }) => memberKey],
    ['outcome', (member) => outcomeOfMember(member, batch)],
    ['failedPhase', ({ failure }) => failure?.phaseName],
    ['failedStep', ({ failure }) => failure?.stepName],
    ['error', ({ failure }) => failure?.error],
    ['joinedAt', ({ joinedAt }) => time(joinedAt)],
    ['failedAt', ({ failedAt }) => time(failedAt)],
    ['leftAt', ({ leftAt }) => time(leftAt)],
    ['movedToBatch', ({ movedToBatchId }) => movedToBatchId],
    ...(isInternal ? [['removedBy', ({ removedBy }) => removedBy] satisfies CsvColumn] : []),
  ]
}

async function* csvReport(
  head: ReportHead,
  members: MemberPages,
  reader: ReportReader,
): AsyncGenerator<string> {
  const columns = csvColumns(head, reader)
  yield csvLine(columns.map(([name]) => name))
  for await (const page of members()) {
    yield page
      .map((member) => csvLine(columns.map(([, value]) => printable(String(value(member) ?? '')))))
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
