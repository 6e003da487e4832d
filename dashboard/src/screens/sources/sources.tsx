// Data sources: last and next tick of each, what they brought, what waits for a person.
import { Link } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { CsvButton } from '../../ui/csv-button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'
import { TickButton } from './tick-now.tsx'
import './sources.css'

type Source = Answer<'GET /api/sources'>['sources'][number]

export default function Sources() {
  useLive({ entity: 'system,runbook,batch' })
  const reading = usePages('GET /api/sources', {})
  return (
    <Page
      title="Sources"
      lead="Where members come from. Each tick reads a source and applies what changed."
      actions={<CsvButton endpoint="GET /api/sources" given={{}} name="sources" />}
    >
      <Loaded reading={reading} what="the sources">
        {({ pages }) => (
          <SourceList
            sources={pages.flatMap(({ sources }) => sources)}
            total={pages[0]!.total}
            more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
          />
        )}
      </Loaded>
    </Page>
  )
}

interface SourceListProps {
  readonly sources: readonly Source[]
  readonly total: number
  readonly more: (() => void) | undefined
}

function SourceList({ sources, total, more }: SourceListProps) {
  const reviews = sources.reduce((sum, { openReviews }) => sum + openReviews, 0)
  return (
    <>
      {reviews > 0 && (
        <div className="note" data-look="warn">
          <p>
            {countText(reviews)} {reviews === 1 ? 'change waits' : 'changes wait'} for a person.{' '}
            <Link href="/sources/reviews">Review {reviews === 1 ? 'it' : 'them'}</Link>
          </p>
        </div>
      )}
      <Section title="Data sources">
        {sources.length === 0 ? (
          <Empty title="No runbook is published yet">
            Publish one with <code>matoolkit runbook publish</code>; its data source shows here.
          </Empty>
        ) : (
          <Table
            caption="Data sources"
            rows={sources}
            rowKey={({ runbookName }) => runbookName}
            more={more}
            total={total}
            columns={[
              { name: 'Runbook', cell: (source) => <SourceName source={source} /> },
              { name: 'Last tick', cell: (source) => <LastTick source={source} /> },
              {
                name: 'Rows',
                isNumber: true,
                cell: ({ lastTick }) =>
                  lastTick?.rowCount == null ? '–' : countText(lastTick.rowCount),
              },
              { name: 'Next tick', cell: (source) => <NextTick source={source} /> },
              {
                name: 'Row problems',
                isNumber: true,
                cell: (source) => <Issues source={source} />,
              },
              { name: 'Reviews', isNumber: true, cell: (source) => <Reviews source={source} /> },
              { name: 'Action', cell: (source) => <TickButton source={source} /> },
            ]}
          />
        )}
      </Section>
    </>
  )
}

const placeOf = (runbookName: string) => `/sources/${encodeURIComponent(runbookName)}`

const SourceName = ({ source: { runbookName, type } }: { readonly source: Source }) => (
  <>
    <Link href={placeOf(runbookName)}>{runbookName}</Link>
    <div className="quiet">{type}</div>
  </>
)

export function LastTick({ source: { lastTick, lastGoodAt } }: { readonly source: Source }) {
  if (lastTick === null) return <span className="quiet">never</span>
  const isGood = lastTick.outcome === 'good' || lastTick.outcome === 'running'
  return (
    <>
      <Status status={lastTick.outcome} /> <Distance to={lastTick.endedAt ?? lastTick.startedAt} />
      {!isGood && (
        <div className="quiet tick-error">
          {lastTick.error}
          {lastGoodAt !== null && (
            <>
              {' '}
              The last good one ended <Distance to={lastGoodAt} />.
            </>
          )}
        </div>
      )}
    </>
  )
}

export function NextTick({ source: { nextTickAt, isAutomated } }: { readonly source: Source }) {
  if (!isAutomated) return <Status status="stopped" text="automation off" />
  return nextTickAt === null ? <>soon</> : <Distance to={nextTickAt} />
}

const Issues = ({ source: { runbookName, issueCount } }: { readonly source: Source }) =>
  issueCount === 0 ? (
    <>0</>
  ) : (
    <Link href={placeOf(runbookName)}>
      {countText(issueCount)}
      <span className="hidden-text"> row problems of {runbookName}</span>
    </Link>
  )

const Reviews = ({ source: { runbookName, openReviews } }: { readonly source: Source }) =>
  openReviews === 0 ? (
    <>0</>
  ) : (
    <Link href={`/sources/reviews?runbook=${encodeURIComponent(runbookName)}`}>
      {countText(openReviews)}
      <span className="hidden-text"> reviews of {runbookName}</span>
    </Link>
  )
