// Rehearsals: begin one with a runbook and its people, and see the former ones. A rehearsal runs on simulated tenants.
import './rehearse.css'
import { Link, useSearchParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { Begin } from './begin.tsx'

const RUNBOOKS_OFFERED = 500
const EVERY_MS = 5_000

export default function Rehearse() {
  const { mayChange } = useSession()
  const [search, setSearch] = useSearchParams()
  const runbooks = useReading('GET /api/runbooks', { query: { limit: RUNBOOKS_OFFERED } })
  return (
    <Page
      title="Rehearse"
      lead="The whole migration on simulated tenants: weeks take seconds, and nothing live is touched."
    >
      {mayChange && (
        <Section title="Begin">
          <Loaded reading={runbooks} what="the runbooks">
            {({ runbooks: offered }) => {
              const name = search.get('runbook') ?? offered[0]?.name
              return name === undefined ? (
                <Empty title="No runbook yet">
                  <Link href="/runbooks/new">Write one</Link>
                </Empty>
              ) : (
                <Begin
                  key={name}
                  name={name}
                  offered={offered.map((one) => one.name)}
                  onChoose={(runbook) => setSearch({ runbook }, { replace: true })}
                />
              )
            }}
          </Loaded>
        </Section>
      )}
      <Former />
    </Page>
  )
}

function Former() {
  const reading = useReading('GET /api/rehearsals', {}, { everyMs: EVERY_MS })
  return (
    <Section title="Rehearsals">
      <Loaded reading={reading} what="the rehearsals">
        {({ rehearsals }) =>
          rehearsals.length === 0 ? (
            <Empty title="Nothing was rehearsed yet">
              <p>Choose a runbook and its people above.</p>
            </Empty>
          ) : (
            <Table
              caption="Rehearsals, newest first"
              rows={rehearsals}
              rowKey={({ id }) => id}
              columns={[
                {
                  name: 'Rehearsal',
                  cell: ({ id, runbookName, batchId }) => (
                    <Link href={`/rehearse/${id}`}>
                      {id} {runbookName}
                      {batchId !== null && `, batch ${batchId}`}
                    </Link>
                  ),
                },
                { name: 'Members', isNumber: true, cell: ({ members }) => members },
                { name: 'Status', cell: ({ status }) => <Status status={status} /> },
                {
                  name: 'Verdict',
                  cell: ({ verdict }) =>
                    verdict === null ? '–' : <VerdictMark verdict={verdict} />,
                },
                { name: 'Begun', cell: ({ requestedAt }) => <Time at={requestedAt} /> },
                { name: 'By', cell: ({ requestedBy }) => requestedBy },
              ]}
            />
          )
        }
      </Loaded>
    </Section>
  )
}

const STATUSES: Readonly<Record<string, string>> = {
  ready: 'ready',
  'ready with warnings': 'partial',
  'not ready': 'failed',
}
export const VerdictMark = ({ verdict }: { readonly verdict: string }) => (
  <Status status={STATUSES[verdict] ?? 'pending'} text={verdict} />
)
