// Failures of the batch, the same failure as one group, with what it means and whom it hit.
import { Link } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { Loaded } from '../../ui/feedback.tsx'
import { Meaning } from '../../ui/meaning.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { showPeople } from './members/member-list.tsx'

const EVERY_MS = 5_000
const SHOWN_MAX = 10

export function FailureGroups({ batch }: { readonly batch: Summary['batch'] }) {
  const reading = useReading(
    'GET /api/batches/{batchId}/failures',
    { params: { batchId: batch.id } },
    { everyMs: EVERY_MS, isLive: false },
  )
  if (reading.data?.groupCount === 0) return null
  return (
    <Section title="Failures">
      <Loaded reading={reading} what="failures">
        {({ groups, groupCount }) => (
          <>
            <Table
              caption="Failure groups"
              rows={groups.slice(0, SHOWN_MAX)}
              rowKey={(group) =>
                `${group.kind} ${group.phaseName} ${group.stepName} ${group.pattern}`
              }
              columns={[
                { name: 'People', isNumber: true, cell: ({ count }) => countText(count) },
                {
                  name: 'Step',
                  cell: ({ phaseName, stepName, kind }) =>
                    phaseName === null ? `${kind} / ${stepName}` : `${phaseName} / ${stepName}`,
                },
                {
                  name: 'Error',
                  cell: ({ sample, meaning }) => (
                    <>
                      <div className="error-text">{sample.message}</div>
                      {meaning && <Meaning meaning={meaning} />}
                    </>
                  ),
                },
                { name: 'Last', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
                {
                  name: 'Do',
                  cell: (group) =>
                    group.kind === 'phase' && (
                      <Link href={selectionOf(batch.id, group)} onClick={showPeople}>
                        Select these people
                      </Link>
                    ),
                },
              ]}
            />
            {groupCount > SHOWN_MAX && (
              <p className="quiet">
                The largest {SHOWN_MAX} of {countText(groupCount)} groups.{' '}
                <Link href={`/failures?batchId=${batch.id}`}>See all failures</Link>
              </p>
            )}
          </>
        )}
      </Loaded>
    </Section>
  )
}

interface Group {
  readonly pattern: string
  readonly phaseName: string | null
  readonly stepName: string
}
const selectionOf = (batchId: number, { pattern, phaseName, stepName }: Group): string => {
  const query = new URLSearchParams({ pattern, failedStep: stepName, selected: 'all' })
  if (phaseName !== null) query.set('failedPhase', phaseName)
  return `/batches/${batchId}?${query}`
}
