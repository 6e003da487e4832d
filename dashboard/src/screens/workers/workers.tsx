// Workers: who is there, how busy, throttled until when; drain and resume.
import { Link } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Figure, Page, Section } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, durationText } from '../../ui/time.tsx'
import { DrainButton } from './drain.tsx'
import { Load, WorkerStatus } from './load.tsx'
import './workers.css'

type Worker = Answer<'GET /api/workers'>['workers'][number]

/** Load has no events of its own. */
const EVERY_MS = 2_000

export default function Workers() {
  useLive({ entity: 'system,worker' })
  const reading = useReading('GET /api/workers', {}, { everyMs: EVERY_MS })
  return (
    <Page title="Workers" lead="Who runs the steps, how busy they are, and what slows them down.">
      <Loaded reading={reading} what="the workers">
        {({ workers }) => (
          <>
            <Totals workers={workers} />
            <Section title="Workers">
              {workers.length === 0 ? (
                <Empty title="No worker has announced itself">
                  Start one with <code>matoolkit worker</code>.
                </Empty>
              ) : (
                <WorkerTable workers={workers} />
              )}
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Totals({ workers }: { readonly workers: readonly Worker[] }) {
  const sum = (of: (worker: Worker) => number) =>
    workers.reduce((total, worker) => total + of(worker), 0)
  const missing = sum(({ state }) => (state === 'silent' || state === 'unknown' ? 1 : 0))
  const throttled = sum(({ throttledUntil }) => (throttledUntil === null ? 0 : 1))
  return (
    <Section title="In all">
      <div className="figures">
        <Figure name="working" value={sum(({ state }) => (state === 'ok' ? 1 : 0))} look="good" />
        <Figure name="silent or unknown" value={missing} {...(missing > 0 && { look: 'bad' })} />
        <Figure name="drained or draining" value={sum(({ held }) => (held ? 1 : 0))} />
        <Figure name="throttled" value={throttled} {...(throttled > 0 && { look: 'warn' })} />
        <Figure name="jobs in hand" value={sum(({ outstanding }) => outstanding)} />
        <Figure name="steps waiting for a slot" value={sum(({ waiting }) => waiting)} />
      </div>
    </Section>
  )
}

const WorkerTable = ({ workers }: { readonly workers: readonly Worker[] }) => (
  <Table
    caption="Workers"
    rows={workers}
    rowKey={({ workerId }) => workerId}
    columns={[
      {
        name: 'Worker',
        cell: ({ workerId }) => (
          <Link href={`/workers/${encodeURIComponent(workerId)}`}>{workerId}</Link>
        ),
      },
      { name: 'State', cell: (worker) => <WorkerStatus worker={worker} /> },
      { name: 'Jobs in hand', cell: (worker) => <Load worker={worker} /> },
      { name: 'Waiting', isNumber: true, cell: ({ waiting }) => countText(waiting) },
      {
        name: 'Throttled',
        cell: ({ throttledUntil }) =>
          throttledUntil === null ? (
            <span className="quiet">no</span>
          ) : (
            <>
              ends <Distance to={throttledUntil} />
            </>
          ),
      },
      {
        name: 'Mean job',
        isNumber: true,
        cell: ({ jobMs }) => (jobMs === null ? '–' : meanText(jobMs)),
      },
      { name: 'Functions', isNumber: true, cell: ({ functions }) => countText(functions.length) },
      { name: 'Version', cell: ({ version }) => version ?? '–' },
      {
        name: 'Last seen',
        cell: ({ lastSeenAt }) => (lastSeenAt === null ? 'never' : <Distance to={lastSeenAt} />),
      },
      { name: 'Action', cell: (worker) => <DrainButton worker={worker} /> },
    ]}
  />
)

const SECOND_MS = 1_000
export const meanText = (ms: number): string => (ms < SECOND_MS ? `${ms} ms` : durationText(ms))
