// `matoolkit batch report`: the outcome of a batch in a file. CSV has a line per member, JSON everything, HTML a self-contained page
// that prints well. Every member is in it, and nothing internal unless asked. A report that fails halfway leaves no file behind.

import { extname } from 'node:path'
import { csvLine } from '../../../csv.ts'
import { outcomeWord } from '../../../domain/outcome.ts'
import { fullTimeText } from '../../../domain/zoned-time.ts'
import { printable } from '../../../printable.ts'
import { type CommandContext, type Flags, idOf, textFlag } from '../../command-context.ts'
import { requireReplaceable, writeNewFile } from '../../files.ts'
import { safeFor, withoutLineEnd } from '../../terminal/io.ts'
import { statusIn } from '../words.ts'
import {
  loadHead,
  type MemberPages,
  memberPages,
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
  const text = WRITERS[format](head, (outcome) => memberPages(context, batchId, outcome), reader)
  if (file === '-') {
    for await (const lines of wholeLines(text)) context.io.out(safeFor(context.io, lines))
    return
  }
  await writeNewFile(file, text, mayReplace)
  const { status, members } = head.batch
  await context.show.one({ file, format, batchId, status, members }, [
    ['file', 'file'],
    ['batch', 'batchId'],
    ['status', statusIn('batch', 'status')],
    ['members', 'members.total'],
    ['failed', 'members.failed'],
    ['removed', 'members.removed'],
  ])
}

/** Without the last line end: `out` writes one. */
async function* wholeLines(parts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const part of parts) {
    rest += part
    const end = rest.lastIndexOf('\n')
    if (end >= 0) yield withoutLineEnd(rest.slice(0, end + 1))
    rest = rest.slice(end + 1)
  }
  if (rest !== '') yield rest
}

function formatFor(requested: string | undefined, file = ''): ReportFormat {
  const ending = extname(file).slice(1).toLowerCase()
  const name = requested ?? (Object.hasOwn(WRITERS, ending) ? ending : 'html')
  return name as ReportFormat
}

type CsvValue = string | number | null | undefined
type CsvColumn = readonly [name: string, value: (member: ReportMember) => CsvValue]

function csvColumns({ zone, isInternal }: ReportReader): CsvColumn[] {
  const time = (iso: string | null) => iso && fullTimeText(new Date(iso), zone)
  return [
    ['member', ({ memberKey }) => memberKey],
    ['outcome', ({ outcome, movedToBatchId }) => outcomeWord(outcome, movedToBatchId)],
    ['failedPhase', ({ failure }) => failure?.phaseName],
    ['failedStep', ({ failure }) => failure?.stepName],
    ['error', ({ failure }) => failure?.error],
    ['joinedAt', ({ joinedAt }) => time(joinedAt)],
    ['finishedAt', ({ finishedAt }) => time(finishedAt)],
    ['failedAt', ({ failedAt }) => time(failedAt)],
    ['leftAt', ({ leftAt }) => time(leftAt)],
    ['movedToBatch', ({ movedToBatchId }) => movedToBatchId],
    ...(isInternal ? [['removedBy', ({ removedBy }) => removedBy] satisfies CsvColumn] : []),
  ]
}

async function* csvReport(
  _: ReportHead,
  members: MemberPages,
  reader: ReportReader,
): AsyncGenerator<string> {
  const columns = csvColumns(reader)
  yield csvLine(columns.map(([name]) => name))
  for await (const page of members()) {
    yield page
      .map((member) => csvLine(columns.map(([, value]) => printable(String(value(member) ?? '')))))
      .join('')
  }
}

/** The head, then the members in its last field, a line each. */
async function* jsonReport(
  head: ReportHead,
  members: MemberPages,
  { isInternal }: ReportReader,
): AsyncGenerator<string> {
  const shown = isInternal ? head : customersHead(head)
  yield `${JSON.stringify(shown, null, 2).slice(0, -2)},\n  "members": [`
  let separator = '\n    '
  for await (const page of members()) {
    for (const member of page) {
      yield `${separator}${JSON.stringify(isInternal ? member : customersMember(member))}`
      separator = ',\n    '
    }
  }
  yield '\n  ]\n}\n'
}

/** Without people of ours, addresses of ours and the history. */
function customersHead({ madeAt, batch, phases, failures }: ReportHead) {
  const { createdBy: _, held, ...rest } = batch
  const groups = failures.groups.map((group) => {
    const { pattern, phaseName, stepName, count, firstSeenAt, lastSeenAt } = group
    return { pattern, phaseName, stepName, count, firstSeenAt, lastSeenAt }
  })
  const { count, groupCount } = failures
  return {
    madeAt,
    batch: { ...rest, held: held && { at: held.at } },
    phases,
    failures: { count, groupCount, groups },
  }
}

function customersMember(member: ReportMember) {
  const { memberKey, status, outcome, joinedAt, finishedAt, failedAt, leftAt } = member
  const { movedToBatchId, failure } = member
  return {
    ...{ memberKey, status, outcome, joinedAt, finishedAt, failedAt, leftAt, movedToBatchId },
    failure: failure && {
      phaseName: failure.phaseName,
      stepName: failure.stepName,
      error: failure.error,
    },
  }
}
