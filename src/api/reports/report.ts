// The report of a batch in three formats. CSV has a line per member, JSON everything, HTML is a self-contained page that prints well.
// Every member is in it, and nothing internal unless asked.
import { csvLine } from '../../base/files/csv.ts'
import { printable } from '../../base/text/printable.ts'
import { fullTimeText } from '../../base/text/zoned-time.ts'
import { stateWord } from '../../domain/state/person-state.ts'
import type {
  LoadedReport,
  MemberPages,
  ReportBatch,
  ReportHead,
  ReportMember,
  ReportReader,
} from './report-data.ts'
import { htmlReport } from './report-html.ts'

export const REPORT_FORMATS = ['json', 'csv', 'html'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

type ReportWriter = (
  head: ReportHead,
  members: MemberPages,
  reader: ReportReader,
) => AsyncIterable<string>

const WRITERS: Readonly<Record<ReportFormat, ReportWriter>> = {
  html: htmlReport,
  csv: csvReport,
  json: jsonReport,
}

export const writeReport = (
  format: ReportFormat,
  { head, members }: LoadedReport,
  reader: ReportReader,
): AsyncIterable<string> => WRITERS[format](head, members, reader)

type CsvValue = string | number | null | undefined
type CsvColumn = readonly [name: string, value: (member: ReportMember) => CsvValue]

function csvColumns(batch: ReportBatch, { zone, isInternal }: ReportReader): CsvColumn[] {
  const time = (at: Date | null) => at && fullTimeText(at, zone)
  return [
    ['member', ({ memberKey }) => memberKey],
    ['name', ({ name }) => name],
    ['department', ({ department }) => department],
    ['batch', () => batch.id],
    ['batchStartTime', () => time(batch.batchStartTime)],
    ['state', ({ state, movedToBatchId }) => stateWord(state, movedToBatchId)],
    ['failedPhase', ({ failure }) => failure?.phaseName],
    ['failedStep', ({ failure }) => failure?.stepName],
    ['error', ({ failure }) => failure?.error],
    ['joinedAt', ({ joinedAt }) => time(joinedAt)],
    ['cutOverAt', ({ cutOverAt }) => time(cutOverAt)],
    ['finishedAt', ({ finishedAt }) => time(finishedAt)],
    ['failedAt', ({ failedAt }) => time(failedAt)],
    ['leftAt', ({ leftAt }) => time(leftAt)],
    ['movedToBatch', ({ movedToBatchId }) => movedToBatchId],
    ...(isInternal ? [['removedBy', ({ removedBy }) => removedBy] satisfies CsvColumn] : []),
  ]
}

async function* csvReport(
  { batch }: ReportHead,
  members: MemberPages,
  reader: ReportReader,
): AsyncGenerator<string> {
  const columns = csvColumns(batch, reader)
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
  const { createdBy, held, ...rest } = batch
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
  const {
    memberKey,
    name,
    department,
    status,
    state,
    joinedAt,
    cutOverAt,
    finishedAt,
    failedAt,
    leftAt,
  } = member
  const { movedToBatchId, failure } = member
  return {
    memberKey,
    name,
    department,
    status,
    state,
    joinedAt,
    cutOverAt,
    finishedAt,
    failedAt,
    leftAt,
    movedToBatchId,
    failure: failure && {
      phaseName: failure.phaseName,
      stepName: failure.stepName,
      error: failure.error,
    },
  }
}
