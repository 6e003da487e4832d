// All batches, newest first, by runbook, status and hold.

import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { statesText } from '../../../../src/domain/state/person-state.ts'
import { usePages, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { serverNow } from '../../api/server-clock.ts'
import { CsvButton } from '../../ui/csv-button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { ChoiceFilter, Filters } from '../../ui/filters.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'

type Batch = Answer<'GET /api/batches'>['batches'][number]

const STATUSES = [
  ['detected', 'Detected'],
  ['init_dispatched', 'Init runs'],
  ['active', 'Active'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['cancelled', 'Cancelled'],
] as const
const HOLDS = [
  ['true', 'On hold'],
  ['false', 'Not on hold'],
] as const

const COLUMNS: readonly Column<Batch>[] = [
  { name: 'Batch', cell: ({ id }) => <Link href={`/batches/${id}`}>Batch {id}</Link> },
  {
    name: 'Runbook',
    cell: ({ runbookName, runbookVersion }) => (
      <>
        {runbookName} <span className="quiet">version {runbookVersion}</span>
      </>
    ),
  },
  {
    name: 'Status',
    cell: ({ status, held }) => (
      <>
        <Status status={status} /> {held && <Status status="held" text="on hold" />}
      </>
    ),
  },
  { name: 'Start', cell: ({ batchStartTime }) => <Time at={batchStartTime} none="By hand" /> },
  { name: 'Phase', cell: ({ currentPhase }) => currentPhase ?? '–' },
  { name: 'People', cell: ({ members }) => statesText(members) },
  { name: 'Removed', isNumber: true, cell: ({ members }) => countText(members.removed) },
  { name: 'Stopped', isNumber: true, cell: ({ members }) => countText(members.stopped) },
  { name: 'All', isNumber: true, cell: ({ members }) => countText(members.total) },
]

/** The night that runs, or the one to come, as `matoolkit batch list --tonight`. */
function tonight(now: number) {
  const hours = (count: number) => new Date(now + count * 3_600_000).toISOString()
  return { startsFrom: hours(-12), startsBefore: hours(18), sort: 'start' } as const
}

export default function Batches() {
  useLive({ entity: 'batch,phase' })
  const [params] = useSearchParams()
  const [opened] = useState(serverNow)
  const filter = Object.fromEntries(
    ['runbook', 'status', 'held'].map((name) => [name, params.get(name) ?? undefined]),
  )
  const query = { ...filter, ...(params.get('when') === 'tonight' && tonight(opened)) }
  const reading = usePages('GET /api/batches', { query })
  const isFiltered = Object.values(query).some((value) => value !== undefined)
  return (
    <Page
      title="Batches"
      lead="Groups of people who move together, newest first."
      actions={<CsvButton endpoint="GET /api/batches" given={{ query }} name="batches" />}
    >
      <Section title="List">
        <Filters>
          <RunbookFilter />
          <ChoiceFilter name="when" label="Cut-over" options={[['tonight', 'Tonight']]} />
          <ChoiceFilter name="status" label="Status" options={STATUSES} />
          <ChoiceFilter name="held" label="Hold" options={HOLDS} />
        </Filters>
        <Loaded reading={reading} what="batches">
          {({ pages }) =>
            pages[0]!.batches.length === 0 ? (
              <Nothing isFiltered={isFiltered} />
            ) : (
              <Table
                caption="Batches"
                rows={pages.flatMap(({ batches }) => batches)}
                rowKey={({ id }) => id}
                columns={COLUMNS}
                total={pages[0]!.total}
                more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
              />
            )
          }
        </Loaded>
      </Section>
    </Page>
  )
}

function RunbookFilter() {
  const { data } = useReading('GET /api/runbooks', { query: { limit: 500 } })
  const names = data?.runbooks.map(({ name }) => [name, name] as const) ?? []
  return <ChoiceFilter name="runbook" label="Runbook" options={names} />
}

const Nothing = ({ isFiltered }: { readonly isFiltered: boolean }) =>
  isFiltered ? (
    <Empty title="No batch matches">
      <Link href="/batches">Show all batches</Link>
    </Empty>
  ) : (
    <Empty title="There are no batches yet">
      <p>
        A batch begins when an automated runbook finds people in its data source, or when you make
        one from a file.
      </p>
    </Empty>
  )
