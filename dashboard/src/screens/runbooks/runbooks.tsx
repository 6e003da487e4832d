// All runbooks with their health: active version, automation, batches, failures, the last tick.
import { sameName } from '../../../../src/base/text/same-name.ts'
import './runbooks.css'
import { Link, useSearchParams } from 'wouter'
import { usePages, useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance } from '../../ui/time.tsx'

const LISTED = 100
const SOURCES_LISTED = 500

type RunbookLine = Answer<'GET /api/runbooks'>['runbooks'][number]
type Source = Answer<'GET /api/sources'>['sources'][number]

export default function Runbooks() {
  useLive({ entity: 'runbook,batch' })
  const { mayChange } = useSession()
  const [search, setSearch] = useSearchParams()
  const text = search.get('search') ?? ''
  const pages = usePages('GET /api/runbooks', {
    query: { withInactive: 'true', search: text, limit: LISTED },
  })
  return (
    <Page
      title="Runbooks"
      lead="What is done to whom and when: a version of each is active, and automation finds its members."
      actions={
        mayChange && (
          <Link href="/runbooks/new" className="button primary">
            New runbook
          </Link>
        )
      }
    >
      <Section
        title="All runbooks"
        actions={
          <input
            type="search"
            aria-label="Part of the name"
            placeholder="Part of the name"
            value={text}
            onChange={({ target: { value } }) =>
              setSearch(value ? { search: value } : {}, { replace: true })
            }
          />
        }
      >
        <Loaded reading={pages} what="the runbooks">
          {({ pages: [first, ...more] }) => (
            <Lines
              lines={[first!, ...more].flatMap(({ runbooks }) => runbooks)}
              total={first!.total}
              isFiltered={text !== ''}
              more={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}

interface LinesProps {
  readonly lines: readonly RunbookLine[]
  readonly total: number
  readonly isFiltered: boolean
  readonly more: (() => void) | undefined
}

function Lines({ lines, total, isFiltered, more }: LinesProps) {
  const { data: sources } = useReading('GET /api/sources', { query: { limit: SOURCES_LISTED } })
  const { data: now } = useReading('GET /api/now', {})
  const { data: holds } = useReading('GET /api/holds', { query: { scope: 'runbook' } })
  const bySource = new Map(sources?.sources.map((one) => [one.runbookName.toLowerCase(), one]))
  const held = new Set(holds?.holds.map(({ target }) => target))
  const failedIn = (name: string) =>
    now?.batches
      .filter(({ batch }) => sameName(batch.runbookName, name))
      .reduce((sum, { batch }) => sum + batch.members.failed, 0) ?? 0
  if (lines.length === 0)
    return (
      <Empty title={isFiltered ? 'No runbook has this in its name' : 'No runbook yet'}>
        {!isFiltered && (
          <p>Write one with “New runbook”, or publish a file: matoolkit runbook publish FILE.</p>
        )}
      </Empty>
    )
  return (
    <Table
      caption="Runbooks"
      rows={lines}
      rowKey={({ name }) => name}
      more={more}
      total={total}
      columns={[
        { name: 'Runbook', cell: ({ name }) => <Link href={`/runbooks/${name}`}>{name}</Link> },
        {
          name: 'Version',
          cell: ({ version, isActive }) => (
            <>
              {version} {!isActive && <Status status="inactive" />}
            </>
          ),
        },
        {
          name: 'Automation',
          cell: ({ name, isAutomationEnabled }) =>
            held.has(name.toLowerCase()) ? (
              <Status status="held" text="on hold" />
            ) : (
              <Status status={isAutomationEnabled ? 'on' : 'off'} />
            ),
        },
        { name: 'Unfinished batches', isNumber: true, cell: (one) => one.unfinishedBatches },
        {
          name: 'Failed members',
          isNumber: true,
          cell: ({ name }) => {
            const failed = failedIn(name)
            return failed > 0 ? <strong className="bad-text">{failed}</strong> : 0
          },
        },
        {
          name: 'Last tick',
          cell: ({ name, lastError }) => (
            <LastTick source={bySource.get(name.toLowerCase())} lastError={lastError} />
          ),
        },
      ]}
    />
  )
}

interface LastTickProps {
  readonly source: Source | undefined
  readonly lastError: string | null
}
export function LastTick({ source, lastError }: LastTickProps) {
  if (!source?.lastTick) return <span className="quiet">none yet</span>
  const { lastTick, issueCount, openReviews } = source
  return (
    <>
      <Status status={lastTick.outcome} /> <Distance to={lastTick.endedAt ?? lastTick.startedAt} />
      {lastError !== null && <div className="bad-text">{lastError}</div>}
      {(issueCount > 0 || openReviews > 0) && (
        <div className="quiet">
          {[
            ...(issueCount > 0
              ? [`${issueCount} unusable ${issueCount === 1 ? 'row' : 'rows'}`]
              : []),
            ...(openReviews > 0
              ? [`${openReviews} open ${openReviews === 1 ? 'review' : 'reviews'}`]
              : []),
          ].join(', ')}
        </div>
      )}
    </>
  )
}
