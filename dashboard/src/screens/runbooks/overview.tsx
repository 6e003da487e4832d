// A runbook's health: figures, its source, its batches.

import { Link } from 'wouter'
import { sameName } from '../../../../src/base/text/same-name.ts'
import { statesText } from '../../../../src/domain/state/person-state.ts'
import { useReading } from '../../api/hooks.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Figure, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, Time } from '../../ui/time.tsx'
import type { TabProps } from './runbook.tsx'
import { LastTick } from './runbooks.tsx'

const BATCHES_LISTED = 50
const SOURCES_LISTED = 500

export function Overview({ runbook }: TabProps) {
  const { name } = runbook
  const batches = useReading('GET /api/batches', {
    query: { runbook: name, limit: BATCHES_LISTED },
  })
  return (
    <>
      <Health runbook={runbook} />
      <Section title="Batches">
        <Loaded reading={batches} what="the batches">
          {({ batches: rows, total }) =>
            rows.length === 0 ? (
              <Empty title="No batch yet">
                <p>Turn automation on to find members in the data source, or give a member file.</p>
              </Empty>
            ) : (
              <>
                <Table
                  caption={`Batches of ${name}`}
                  rows={rows}
                  rowKey={({ id }) => id}
                  columns={[
                    {
                      name: 'Batch',
                      cell: ({ id }) => <Link href={`/batches/${id}`}>{id}</Link>,
                    },
                    { name: 'Status', cell: ({ status }) => <Status status={status} /> },
                    { name: 'Version', isNumber: true, cell: (one) => one.runbookVersion },
                    {
                      name: 'Starts',
                      cell: (one) => <Time at={one.batchStartTime} none="by hand" />,
                    },
                    { name: 'Phase', cell: ({ currentPhase }) => currentPhase ?? '–' },
                    { name: 'People', cell: ({ members }) => statesText(members) },
                  ]}
                />
                {total > rows.length && (
                  <p className="more quiet">
                    The newest {rows.length} of {total}.
                  </p>
                )}
              </>
            )
          }
        </Loaded>
      </Section>
    </>
  )
}

function Health({ runbook }: TabProps) {
  const { data } = useReading('GET /api/sources', { query: { limit: SOURCES_LISTED } })
  const source = data?.sources.find(({ runbookName }) => sameName(runbookName, runbook.name))
  return (
    <Section title="Health">
      <div className="figures">
        <Figure name="version" value={runbook.version} />
        <Figure name="unfinished batches" value={runbook.unfinishedBatches} />
        <Figure name="open reviews" value={source?.openReviews ?? 0} />
        <Figure name="unusable rows" value={source?.issueCount ?? 0} />
      </div>
      <dl className="facts">
        <div>
          <dt>Published</dt>
          <dd>
            <Time at={runbook.publishedAt} /> by {runbook.publishedBy}
          </dd>
        </div>
        <div>
          <dt>Source</dt>
          <dd>{source?.type ?? '–'}</dd>
        </div>
        <div>
          <dt>Last tick</dt>
          <dd>
            <LastTick source={source} lastError={runbook.lastError} />
          </dd>
        </div>
        <div>
          <dt>Next tick</dt>
          <dd>{source?.nextTickAt ? <Distance to={source.nextTickAt} /> : '–'}</dd>
        </div>
        <div>
          <dt>Phases overdue at a new version</dt>
          <dd>{runbook.overdueBehavior === 'rerun' ? 'run again' : 'are skipped'}</dd>
        </div>
      </dl>
    </Section>
  )
}
