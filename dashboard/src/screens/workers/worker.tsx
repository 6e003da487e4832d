// One worker: state, load, quotas of the services it calls, functions with their parameters.
import { Link, useParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { Facts } from '../../ui/facts.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { countText, Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, durationText, Time } from '../../ui/time.tsx'
import { DrainButton } from './drain.tsx'
import { Load, WorkerStatus } from './load.tsx'
import { meanText } from './workers.tsx'
import './workers.css'

type Worker = Answer<'GET /api/workers/{workerId}'>

const EVERY_MS = 2_000
const SECOND_MS = 1_000

export default function WorkerPage() {
  const { workerId = '' } = useParams()
  useLive({ entity: 'system,worker' })
  const reading = useReading(
    'GET /api/workers/{workerId}',
    { params: { workerId } },
    { everyMs: EVERY_MS },
  )
  return (
    <Page
      title={`Worker ${workerId}`}
      lead={<Link href="/workers">All workers</Link>}
      actions={reading.data && <DrainButton worker={reading.data} />}
    >
      <Loaded reading={reading} what="the worker">
        {(worker) => (
          <>
            <Section title="State and load">
              <WorkerFacts worker={worker} />
            </Section>
            <Throttles worker={worker} />
          </>
        )}
      </Loaded>
      <Functions workerId={workerId} />
    </Page>
  )
}

const WorkerFacts = ({ worker }: { readonly worker: Worker }) => (
  <Facts
    facts={{
      State: <WorkerStatus worker={worker} />,
      'Jobs in hand': <Load worker={worker} />,
      'May have in hand': `${countText(worker.jobLimit)} now, ${countText(worker.maxOutstanding)} at most`,
      'Oldest job sent':
        worker.oldestSentAt === null ? 'none' : <Distance to={worker.oldestSentAt} />,
      'Steps waiting for a slot': countText(worker.waiting),
      'Mean run time of its latest jobs': worker.jobMs === null ? '–' : meanText(worker.jobMs),
      'Last seen': worker.lastSeenAt === null ? 'never' : <Distance to={worker.lastSeenAt} />,
      'First seen': <Time at={worker.firstSeenAt} none="never" />,
      Version: worker.version ?? 'unknown',
      Configured: worker.isConfigured ? 'yes' : 'no, it announced itself',
    }}
  />
)

function Throttles({ worker: { throttles } }: { readonly worker: Worker }) {
  if (throttles.length === 0) return null
  return (
    <Section title="Quotas of the services it calls">
      <Table
        caption="Quotas"
        rows={throttles}
        rowKey={({ name }) => name}
        columns={[
          { name: 'Quota', cell: ({ name }) => name },
          {
            name: 'Now',
            cell: ({ closedUntil }) =>
              closedUntil === null ? (
                <Status status="ok" text="open" />
              ) : (
                <>
                  <Status status="held" text="throttled" /> ends <Distance to={closedUntil} />
                </>
              ),
          },
          {
            name: 'Calls under way',
            isNumber: true,
            cell: ({ calls, concurrency }) => `${countText(calls)} of ${countText(concurrency)}`,
          },
          { name: 'Queued', isNumber: true, cell: ({ queued }) => countText(queued) },
          {
            name: 'Throttled calls',
            isNumber: true,
            cell: ({ throttled }) => countText(throttled),
          },
          {
            name: 'Closed in all',
            isNumber: true,
            cell: ({ throttledSec }) => durationText(throttledSec * SECOND_MS),
          },
        ]}
      />
    </Section>
  )
}

function Functions({ workerId }: { readonly workerId: string }) {
  const reading = useReading('GET /api/catalogues', { query: { workerId } })
  return (
    <Section title="Functions">
      <Loaded reading={reading} what="the functions">
        {({ catalogues }) => {
          const functions = catalogues[0]?.functions ?? null
          if (functions === null)
            return <Empty title="The worker never announced its functions">Start it once.</Empty>
          if (functions.length === 0) return <Empty title="The worker announced no function" />
          return (
            <Table
              caption="Functions and their parameters"
              rows={functions}
              rowKey={({ name }) => name}
              columns={[
                { name: 'Function', cell: ({ name }) => <code>{name}</code> },
                {
                  name: 'Parameters',
                  cell: ({ parameters }) => <Parameters schema={parameters} />,
                },
              ]}
            />
          )
        }}
      </Loaded>
    </Section>
  )
}

interface ParameterSchema {
  readonly properties?: Readonly<
    Record<string, { readonly type?: string | readonly string[]; readonly description?: string }>
  >
  readonly required?: readonly string[]
}

/** The names in a JSON Schema, as the worker announced it. */
function Parameters({ schema }: { readonly schema: unknown }) {
  const { properties = {}, required = [] } = (schema ?? {}) as ParameterSchema
  const names = Object.entries(properties)
  if (names.length === 0) return <span className="quiet">none named</span>
  return (
    <ul className="parameters">
      {names.map(([name, { type, description }]) => (
        <li key={name} title={description}>
          <code>{name}</code>{' '}
          <span className="quiet">
            {[type].flat().filter(Boolean).join(' or ')}
            {required.includes(name) && ', required'}
          </span>
        </li>
      ))}
    </ul>
  )
}
