// The report of a rehearsal: the verdict with its reasons, phases in time, who would fail and why, rollbacks, calls.

import type { ReactNode } from 'react'
import type { RehearsalReport, TimelinePhase } from '../../../../src/app/rehearsal/report.ts'
import { textOfHtml } from '../../../../src/domain/member-messages/shown-html.ts'
import { PERSON_STATES, stateWord } from '../../../../src/domain/state/person-state.ts'
import { Figure, Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { durationText, Time } from '../../ui/time.tsx'

const OPERATIONS_SHOWN = 15
/** Shares of the time to the next phase, for the colour of the bar. */
const TIGHT_SHARE = 0.5
const LATE_SHARE = 0.9

interface ReportProps {
  readonly report: RehearsalReport
}
export function Report({ report }: ReportProps) {
  const { calls, rollbacks, failures, neverRan } = report
  return (
    <>
      <Outcome report={report} />
      <Timeline timeline={report.timeline} />
      <Part
        title="Who would have failed, and why"
        rows={failures}
        columns={[
          { name: 'Members', isNumber: true, cell: ({ count }) => count },
          {
            name: 'Where',
            cell: ({ step, phase, kind }) =>
              `${step} of ${phase === null ? kind : `phase ${phase}`}`,
          },
          { name: 'Message', cell: ({ message }) => message },
          { name: 'What to do', cell: ({ remedy }) => remedy ?? '–' },
          { name: 'For example', cell: ({ people }) => people.join(', ') },
        ]}
      />
      <Part
        title="Rollbacks that did not restore the tenant"
        rows={rollbacks.notRestored}
        columns={[
          { name: 'Member', cell: ({ member }) => member },
          { name: 'After', cell: ({ failedStep, phase }) => `${failedStep} of phase ${phase}` },
          { name: 'What differs', cell: ({ differences }) => differences.join(' ') },
        ]}
      />
      <StaysAfterUndo report={report} />
      <Told report={report} />
      <Part
        title="Steps that never ran"
        rows={neverRan}
        columns={[
          { name: 'Where', cell: ({ where }) => where },
          { name: 'Step', cell: ({ step }) => step },
        ]}
      />
      <Messages report={report} />
      <Calls calls={calls} />
    </>
  )
}

function Outcome({ report }: ReportProps) {
  const { members, batches, calls } = report
  return (
    <Section title="Outcome">
      <div className="figures">
        <Figure name="members" value={members.total} />
        {PERSON_STATES.filter((state) => state === 'done' || members[state] > 0).map((state) => (
          <Figure
            key={state}
            name={stateWord(state)}
            value={members[state]}
            look={members[state] > 0 ? lookOf(state) : 'idle'}
          />
        ))}
        <Figure name="batches" value={batches.length} />
        <Figure name="calls" value={calls.total} />
      </div>
      <Sentences title="Why it is not ready" look="bad" sentences={report.reasons} />
      <Sentences title="Warnings" look="warn" sentences={report.warnings} />
      <p className="quiet rehearsed">
        From <Time at={report.startedAt} /> to <Time at={report.endedAt} />, seed {report.seed},{' '}
        {report.slots} slots per worker
        {report.faults.length > 0 && `, with the faults ${report.faults.join(', ')}`}.
      </p>
    </Section>
  )
}

const StaysAfterUndo = ({ report }: ReportProps) => (
  <Part
    title="What an undo would leave"
    // A report of an earlier release has none.
    rows={report.staysAfterUndo ?? []}
    columns={[
      {
        name: 'Where',
        cell: ({ step, phase }) =>
          phase === null ? `init step ${step}` : `${step} of phase ${phase}`,
      },
      { name: 'Times', cell: ({ count }) => String(count) },
      {
        name: 'Why',
        cell: ({ why, isPointOfNoReturn }) =>
          isPointOfNoReturn ? `${why} The point of no return.` : why,
      },
    ]}
  />
)

/** Who would have been told; nothing was sent. A report of an earlier release has none. */
function Told({ report: { notifications } }: ReportProps) {
  if (!notifications) return null
  return (
    <>
      <Part
        title="Which channels would have been told"
        rows={notifications.conditions}
        columns={[
          { name: 'Condition', cell: ({ kind }) => kind.replaceAll('_', ' ') },
          { name: 'Times', isNumber: true, cell: ({ opened }) => opened },
          { name: 'Cleared', isNumber: true, cell: ({ cleared }) => cleared ?? '–' },
          { name: 'First', cell: ({ firstAt }) => <Time at={firstAt} /> },
          { name: 'For example', cell: ({ example }) => <TextWithTimes text={example} /> },
          { name: 'Channels', cell: ({ channels }) => channels.join(', ') || 'nobody' },
        ]}
      />
      <Part
        title="The first messages to channels; none was sent"
        rows={notifications.messages}
        columns={[
          { name: 'When', cell: ({ dueAt }) => <Time at={dueAt} /> },
          { name: 'Channel', cell: ({ channel }) => channel },
          { name: 'Says', cell: ({ says }) => says.join('; ') },
        ]}
      />
    </>
  )
}

const defaultLanguageOf = (messages: RehearsalReport['messages'] | undefined): string[] => {
  const { count = 0, people = [] } = messages?.inDefaultLanguage ?? {}
  if (count === 0) return []
  const more = count > people.length ? ` and ${count - people.length} more` : ''
  return [`The default language goes to ${people.join(', ')}${more}.`]
}

/** A report of an earlier release has none. */
const Messages = ({ report: { messages } }: ReportProps) => (
  <>
    <Part
      title="Messages to people"
      rows={messages?.sent ?? []}
      columns={[
        { name: 'Phase', cell: ({ phase }) => phase ?? '–' },
        { name: 'Step', cell: ({ step }) => step },
        { name: 'Message', cell: ({ message }) => message },
        { name: 'Language', cell: ({ language }) => language },
        { name: 'Sent', isNumber: true, cell: ({ sent }) => sent },
        { name: 'Corrections', isNumber: true, cell: ({ corrections }) => corrections },
        { name: 'First', cell: ({ firstAt }) => <Time at={firstAt} /> },
        { name: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
      ]}
    />
    <Part
      title={`How long ${messages?.from} sends`}
      rows={messages?.loads ?? []}
      columns={[
        { name: 'Batch', isNumber: true, cell: ({ batchId }) => batchId },
        { name: 'Phase', cell: ({ phase }) => phase ?? '–' },
        { name: 'Messages', isNumber: true, cell: ({ mails }) => mails },
        { name: 'Takes, at 30 a minute', cell: ({ takesSec }) => secondsText(takesSec) },
      ]}
    />
    <Sentences
      title="People without their own language"
      look="idle"
      sentences={defaultLanguageOf(messages)}
    />
    <Part
      title="The first of each message to people"
      rows={messages?.examples ?? []}
      columns={[
        { name: 'Message', cell: ({ message }) => message },
        { name: 'Language', cell: ({ language }) => language },
        { name: 'To', cell: ({ member, to }) => `${member} (${to})` },
        { name: 'Subject', cell: ({ subject }) => subject },
        { name: 'Text', cell: ({ body, isHtml }) => (isHtml ? textOfHtml(body) : body) },
      ]}
    />
  </>
)

interface SentencesProps {
  readonly title: string
  readonly look: string
  readonly sentences: readonly string[]
}
const Sentences = ({ title, look, sentences }: SentencesProps) =>
  sentences.length === 0 ? null : (
    <div className="verdict-part" data-look={look}>
      <h3>{title}</h3>
      <ul>
        {sentences.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </div>
  )

interface PartProps<Row> {
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row & { readonly at: number }>[]
  readonly children?: ReactNode
}
/** Nothing where there are no rows. */
function Part<Row>({ title, rows, columns }: PartProps<Row>) {
  if (rows.length === 0) return null
  return (
    <Section title={title}>
      <Table
        caption={title}
        rows={rows.map((row, at) => ({ ...row, at }))}
        rowKey={({ at }) => at}
        columns={columns}
      />
    </Section>
  )
}

const secondsText = (sec: number | null): string => (sec === null ? '–' : durationText(sec * 1_000))

const RESULTS = {
  overran: 'failed',
  skipped: 'skipped',
  'no one ran it': 'stopped',
  'in time': 'completed',
} as const
function resultOf({ isLate, status, worstSec }: TimelinePhase): keyof typeof RESULTS {
  if (isLate) return 'overran'
  if (status === 'skipped') return 'skipped'
  return worstSec === null ? 'no one ran it' : 'in time'
}

const Timeline = ({ timeline }: { readonly timeline: readonly TimelinePhase[] }) => (
  <Part
    title="Timeline"
    rows={timeline}
    columns={[
      { name: 'Batch', isNumber: true, cell: ({ batchId }) => batchId },
      { name: 'Phase', cell: ({ phase }) => phase },
      { name: 'Due', cell: ({ dueAt }) => <Time at={dueAt} /> },
      { name: 'Members', isNumber: true, cell: ({ members }) => members },
      { name: 'Failed', isNumber: true, cell: ({ failed }) => failed },
      { name: 'Half within', cell: ({ p50Sec }) => secondsText(p50Sec) },
      { name: '95 of 100 within', cell: ({ p95Sec }) => secondsText(p95Sec) },
      { name: 'Slowest', cell: (phase) => <Share phase={phase} /> },
      { name: 'With 10× members', cell: ({ tenTimesSec }) => secondsText(tenTimesSec) },
      {
        name: 'Waited for the change window',
        cell: ({ windowWaitSec }) => secondsText(windowWaitSec || null),
      },
      {
        name: 'Result',
        cell: (phase) => <Status status={RESULTS[resultOf(phase)]} text={resultOf(phase)} />,
      },
    ]}
  />
)

/** The slowest member's time, and its share of the time to the next phase. */
function Share({ phase: { worstSec, gapSec } }: { readonly phase: TimelinePhase }) {
  if (worstSec === null || gapSec === null) return secondsText(worstSec)
  return (
    <>
      {secondsText(worstSec)}{' '}
      <meter
        className="share"
        max={gapSec}
        low={gapSec * TIGHT_SHARE}
        high={gapSec * LATE_SHARE}
        optimum={0}
        value={worstSec}
        aria-label={`of ${secondsText(gapSec)} to the next phase`}
        title={`of ${secondsText(gapSec)} to the next phase`}
      />
    </>
  )
}

const Calls = ({ calls: { services, operations } }: Pick<RehearsalReport, 'calls'>) => (
  <>
    <Part
      title="Calls to Microsoft 365"
      rows={services}
      columns={[
        { name: 'API', cell: ({ service }) => service },
        { name: 'Calls', isNumber: true, cell: ({ calls }) => calls },
        { name: 'Most in a second', isNumber: true, cell: ({ peakPerSec }) => peakPerSec },
        { name: 'At', cell: ({ peakAt }) => <Time at={peakAt} /> },
        { name: 'Times throttled', isNumber: true, cell: ({ throttled }) => throttled },
        { name: 'Time throttled', cell: ({ throttledSec }) => secondsText(throttledSec) },
      ]}
    />
    <Part
      title="The most frequent calls"
      rows={operations.slice(0, OPERATIONS_SHOWN)}
      columns={[
        { name: 'API', cell: ({ service }) => service },
        { name: 'Call', cell: ({ operation }) => <code>{operation}</code> },
        { name: 'Calls', isNumber: true, cell: ({ calls }) => calls },
      ]}
    />
  </>
)
