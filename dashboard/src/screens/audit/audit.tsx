// The audit: who did what and why. Its filters stand in the address; its chain of hashes can be verified.
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import type { Answer, RequestOf } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { CsvButton } from '../../ui/csv-button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { AuditFilters, withFilter } from './filters.tsx'
import { Verification } from './verification.tsx'
import './audit.css'

type Entry = Answer<'GET /api/audit'>['entries'][number]
type Query = NonNullable<RequestOf<'GET /api/audit'>['query']>

const LEAD = 'Who did what, when and why. Rows are never changed: a chain of hashes seals them.'

export default function Audit() {
  const { mayChange } = useSession()
  if (mayChange) return <AuditList />
  return (
    <Page title="Audit" lead={LEAD}>
      <Empty title="The audit needs the role Admin">Ask someone who has it.</Empty>
    </Page>
  )
}

function AuditList() {
  const [search] = useSearchParams()
  const [isVerifying, setVerifying] = useState(false)
  const query = queryIn(search)
  const reading = usePages('GET /api/audit', { query })
  const actions = (
    <>
      <CsvButton endpoint="GET /api/audit" given={{ query }} name="audit" />
      <Button onClick={() => setVerifying(true)}>Verify chain</Button>
    </>
  )
  return (
    <Page title="Audit" lead={LEAD} actions={actions}>
      {isVerifying && <Verification onClose={() => setVerifying(false)} />}
      <Section title="Entries">
        <AuditFilters />
        <Loaded reading={reading} what="the audit">
          {({ pages }) => (
            <Entries
              entries={pages.flatMap(({ entries }) => entries)}
              total={pages[0]!.total}
              isTotalExact={pages[0]!.isTotalExact}
              more={reading.hasNextPage ? () => void reading.fetchNextPage() : undefined}
            />
          )}
        </Loaded>
      </Section>
    </Page>
  )
}

/** As the API takes them: times of the form are in the viewer's zone. */
function queryIn(search: URLSearchParams): Query {
  const given = (name: string) => search.get(name) || undefined
  const instant = (name: string) => {
    const at = new Date(search.get(name) ?? '')
    return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
  }
  return {
    actor: given('actor'),
    action: given('action'),
    subject: given('subject'),
    from: instant('from'),
    before: instant('before'),
    reads: search.get('reads') === 'true' ? 'true' : 'false',
  } as Query
}

interface EntriesProps {
  readonly entries: readonly Entry[]
  readonly total: number
  readonly isTotalExact: boolean
  readonly more: (() => void) | undefined
}

function Entries({ entries, total, isTotalExact, more }: EntriesProps) {
  if (entries.length === 0)
    return <Empty title="No entry matches">Take a filter away, or choose an earlier time.</Empty>
  return (
    <>
      <p className="quiet">
        {isTotalExact ? '' : 'At least '}
        {countText(total)} {total === 1 ? 'entry' : 'entries'}, newest first
      </p>
      <Table
        caption="Audit entries"
        rows={entries}
        rowKey={({ id }) => id}
        more={more}
        total={total}
        columns={[
          { name: 'When', cell: ({ at }) => <Time at={at} /> },
          {
            name: 'Who',
            cell: ({ actor, actorName }) => (
              <FilterLink name="actor" value={actor} text={actorName} />
            ),
          },
          { name: 'Action', cell: ({ action }) => <FilterLink name="action" value={action} /> },
          { name: 'Subject', cell: ({ subject }) => <FilterLink name="subject" value={subject} /> },
          { name: 'Reason', cell: ({ reason }) => reason ?? <span className="quiet">–</span> },
          { name: 'Details', cell: (entry) => <Details entry={entry} /> },
        ]}
      />
    </>
  )
}

interface FilterLinkProps {
  readonly name: string
  readonly value: string
  readonly text?: string
}
/** Narrows the list to rows with this value. */
function FilterLink({ name, value, text = value }: FilterLinkProps) {
  const [search] = useSearchParams()
  return (
    <Link href={`/audit?${withFilter(search, name, value)}`} title={`Only ${name} ${value}`}>
      {text}
    </Link>
  )
}

function Details({ entry }: { readonly entry: Entry }) {
  const { id, actor, source, clientApp, requestId, before, after, isSealed } = entry
  const shown = { id, actor, from: source, clientApp, requestId, before, after, isSealed }
  return (
    <details>
      <summary aria-label={`Details of entry ${id}`}>Details</summary>
      <pre className="json">{JSON.stringify(shown, null, 2)}</pre>
    </details>
  )
}
