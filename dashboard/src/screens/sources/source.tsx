// One data source: its ticks and the rows that could not be used.

import { Link, useParams } from 'wouter'
import { sameName } from '../../../../src/base/text/same-name.ts'
import { usePages, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import { Facts } from '../../ui/facts.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { durationText, Time } from '../../ui/time.tsx'
import { LastTick, NextTick } from './sources.tsx'
import { countsText, TickButton } from './tick-now.tsx'
import './sources.css'

const SOURCES_MAX = 500

export default function SourcePage() {
  const { name = '' } = useParams()
  useLive({ entity: 'system,runbook,batch' })
  const reading = useReading('GET /api/sources', { query: { limit: SOURCES_MAX } })
  const source = reading.data?.sources.find(({ runbookName }) => sameName(runbookName, name))
  return (
    <Page
      title={`Source of ${source?.runbookName ?? name}`}
      lead={<Link href="/sources">All sources</Link>}
      actions={source && <TickButton source={source} />}
    >
      {source && (
        <Section title="Now">
          <Facts
            facts={{
              'Last tick': <LastTick source={source} />,
              'Next tick': <NextTick source={source} />,
              Type: source.type,
              Runbook: (
                <Link href={`/runbooks/${source.runbookName}`}>
                  {source.runbookName}, version {source.runbookVersion}
                </Link>
              ),
              Reviews:
                source.openReviews === 0 ? (
                  'none'
                ) : (
                  <Link href={`/sources/reviews?runbook=${source.runbookName}`}>
                    {countText(source.openReviews)} wait for a person
                  </Link>
                ),
            }}
          />
        </Section>
      )}
      <Issues name={name} />
      <Ticks name={name} />
    </Page>
  )
}

function Issues({ name }: { readonly name: string }) {
  const reading = usePages('GET /api/runbooks/{name}/issues', { params: { name } })
  return (
    <Section title="Row problems of the last good tick">
      <Loaded reading={reading} what="the row problems">
        {({ pages }) => {
          const issues = pages.flatMap((page) => page.issues)
          if (issues.length === 0) return <Empty title="Every row could be used" />
          return (
            <Table
              caption="Row problems"
              rows={issues}
              rowKey={({ id }) => id}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
              columns={[
                { name: 'Problem', cell: ({ kind }) => kind.replaceAll('_', ' ') },
                { name: 'Member', cell: ({ memberKey }) => memberKey ?? '–' },
                { name: 'Column', cell: ({ column }) => (column ? <code>{column}</code> : '–') },
                {
                  name: 'Batch',
                  cell: ({ batchId }) =>
                    batchId === null ? '–' : <Link href={`/batches/${batchId}`}>{batchId}</Link>,
                },
                { name: 'Why', cell: ({ reason }) => reason },
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

function Ticks({ name }: { readonly name: string }) {
  const reading = usePages('GET /api/runbooks/{name}/ticks', {
    params: { name },
    query: { limit: 20 },
  })
  return (
    <Section title="Ticks">
      <Loaded reading={reading} what="the ticks">
        {({ pages }) => {
          const ticks = pages.flatMap((page) => page.ticks)
          if (ticks.length === 0)
            return <Empty title="No tick yet">The first comes once automation is on.</Empty>
          return (
            <Table
              caption="Ticks, newest first"
              rows={ticks}
              rowKey={({ id }) => id}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
              columns={[
                { name: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
                { name: 'Outcome', cell: ({ outcome }) => <Status status={outcome} /> },
                { name: 'Took', isNumber: true, cell: (tick) => tookText(tick) },
                {
                  name: 'Rows',
                  isNumber: true,
                  cell: ({ rowCount }) => (rowCount === null ? '–' : countText(rowCount)),
                },
                {
                  name: 'What it did',
                  cell: ({ counts, error }) => (
                    <>
                      {error !== null && <div className="tick-error">{error}</div>}
                      {countsText(counts)}
                    </>
                  ),
                },
                { name: 'Started by', cell: ({ startedBy }) => startedBy },
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

const tookText = ({ startedAt, endedAt }: { startedAt: string; endedAt: string | null }): string =>
  endedAt === null ? '–' : durationText(Date.parse(endedAt) - Date.parse(startedAt))
