// The answer of a what-if: one sentence, then when each phase ends as it is and with the change.
import type { PhaseEnd, WhatIfReport } from '../../../../src/app/rehearsal/what-if-report.ts'
import { Section } from '../../ui/page.tsx'
import { TextWithTimes } from '../../ui/sentence.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { durationText, Time } from '../../ui/time.tsx'

const SLOTS_NONE = 'none'

export function Comparison({ report }: { readonly report: WhatIfReport }) {
  const { headline, phases, asItIs, changed, assumptions, cutoverAt, seed } = report
  const notes = [...changed.reasons.map((one) => `With the change: ${one}`), ...assumptions]
  return (
    <>
      <Section title="The answer">
        <p className="answer">
          <TextWithTimes text={headline} />
        </p>
        <p className="quiet rehearsed">
          T-0 is <Time at={cutoverAt} />. As it is: {asItIs.members.total} people, slots{' '}
          {slotsText(asItIs.workerSlots)}. With the change: {changed.members.total} people, slots{' '}
          {slotsText(changed.workerSlots)}. Seed {seed}.
        </p>
        {notes.length > 0 && (
          <ul>
            {notes.map((one) => (
              <li key={one}>{one}</li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Phases">
        <Table
          caption="Phases that are left, as it is and with the change"
          rows={phases}
          rowKey={({ phase }) => phase}
          columns={[
            { name: 'Phase', cell: ({ phase }) => phase },
            { name: 'Due', cell: ({ dueAt }) => <Time at={dueAt} /> },
            { name: 'Ends as it is', cell: (one) => <End end={one.asItIs} /> },
            { name: 'Ends with the change', cell: (one) => <End end={one.changed} /> },
            { name: 'Difference', cell: ({ savedSec }) => differenceText(savedSec) },
            { name: 'Failed as it is', isNumber: true, cell: (one) => one.asItIs.failed },
            { name: 'Failed with the change', isNumber: true, cell: (one) => one.changed.failed },
          ]}
        />
      </Section>
    </>
  )
}

const slotsText = (slots: Readonly<Record<string, number>>): string =>
  Object.entries(slots)
    .map(([worker, count]) => `${count} of ${worker}`)
    .join(', ') || SLOTS_NONE

const End = ({ end: { endedAt, misses } }: { readonly end: PhaseEnd }) => (
  <>
    <Time at={endedAt} none="does not end" />{' '}
    {misses !== null && <Status status="failed" text={`after ${misses}`} />}
  </>
)

function differenceText(savedSec: number | null): string {
  if (savedSec === null) return '–'
  if (savedSec === 0) return 'none'
  return `${durationText(Math.abs(savedSec) * 1_000)} ${savedSec > 0 ? 'earlier' : 'later'}`
}
