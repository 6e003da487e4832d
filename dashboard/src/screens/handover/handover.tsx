// The shift on one page, for the colleague who takes over: the verdict, needs with owners, holds, waves, what comes next, and what people
// decided. `matoolkit handover` says the same.
import { Link } from 'wouter'
import { statesText } from '../../../../src/domain/state/person-state.ts'
import { useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Needs } from '../../needs/needs.tsx'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Table } from '../../ui/table.tsx'
import { Distance, Time } from '../../ui/time.tsx'

type Wall = Answer<'GET /api/now'>

const EVERY_MS = 10_000
const SHIFT_MS = 12 * 3_600_000
const NEXT_MAX = 10

export default function Handover() {
  const reading = useReading('GET /api/needs', {}, { everyMs: EVERY_MS })
  return (
    <Loaded reading={reading} what="the hand-over">
      {(verdict) => {
        const since = new Date(Date.parse(verdict.at) - SHIFT_MS).toISOString()
        return (
          <Page
            title="Hand-over"
            lead={
              <>
                <Sentence text={verdict.headline} /> As of <Time at={verdict.at} />, since{' '}
                <Time at={since} />.
              </>
            }
            actions={<Button onClick={() => print()}>Print</Button>}
          >
            <Needs needs={verdict.needs} planned={verdict.planned} />
            <Holds />
            <Work />
            <Decisions since={since} />
          </Page>
        )
      }}
    </Loaded>
  )
}

function Work() {
  const reading = useReading('GET /api/now', {}, { everyMs: EVERY_MS })
  return (
    <Loaded reading={reading} what="the waves">
      {({ batches }) => (
        <>
          <Waves batches={batches} />
          <Next batches={batches} />
        </>
      )}
    </Loaded>
  )
}

function Holds() {
  const reading = useReading('GET /api/holds', {})
  return (
    <Section title="Holds">
      <Loaded reading={reading} what="the holds">
        {({ holds }) =>
          holds.length === 0 ? (
            <p className="quiet">Nothing is held.</p>
          ) : (
            <ul className="tight-list">
              {holds.map(({ name, heldAt, heldBy, reason }) => (
                <li key={name}>
                  <Sentence text={name} />, since <Time at={heldAt} /> by {heldBy}: {reason}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Section>
  )
}

const Waves = ({ batches }: Pick<Wall, 'batches'>) => (
  <Section title="Waves">
    <Table
      caption="Waves"
      rows={batches}
      rowKey={({ batch }) => batch.id}
      columns={[
        {
          name: 'Wave',
          cell: ({ batch }) => (
            <Link href={`/batches/${batch.id}`}>
              Batch {batch.id}, {batch.runbookName}
            </Link>
          ),
        },
        { name: 'Cut-over', cell: ({ batch }) => <Time at={batch.batchStartTime} /> },
        { name: 'People', cell: ({ batch }) => statesText(batch.members) },
        { name: 'Ends about', cell: ({ night }) => <Time at={night?.endsAt ?? null} /> },
        { name: 'Latest', cell: ({ night }) => <Time at={night?.p90 ?? null} /> },
      ]}
    />
  </Section>
)

function Next({ batches }: Pick<Wall, 'batches'>) {
  const next = batches
    .flatMap(({ batch, phases }) =>
      phases.flatMap(({ id, phaseName, status, dueAt }) =>
        status === 'pending' && dueAt !== null ? [{ id, phaseName, dueAt, batchId: batch.id }] : [],
      ),
    )
    .sort((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt))
    .slice(0, NEXT_MAX)
  return (
    <Section title="What comes next">
      {next.length === 0 && <p className="quiet">No phase is due.</p>}
      <ul className="tight-list">
        {next.map(({ id, phaseName, dueAt, batchId }) => (
          <li key={id}>
            <Time at={dueAt} /> (<Distance to={dueAt} />
            ): {phaseName} of <Link href={`/batches/${batchId}`}>batch {batchId}</Link>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Decisions({ since }: { readonly since: string }) {
  const { mayChange } = useSession()
  // To the minute: the shift's begin moves with the clock, and the question must stay the same.
  const from = `${since.slice(0, 16)}:00.000Z`
  const reading = useReading(
    'GET /api/audit',
    { query: { from, reads: 'false' } },
    { isEnabled: mayChange, keepsFormer: true },
  )
  if (!mayChange)
    return (
      <Section title="What people decided">
        <p className="quiet">Needs the role Admin.</p>
      </Section>
    )
  return (
    <Section title="What people decided">
      <Loaded reading={reading} what="the decisions">
        {({ entries }) => (
          <Table
            caption="What people decided"
            rows={entries.toReversed()}
            rowKey={({ id }) => id}
            columns={[
              { name: 'When', cell: ({ at }) => <Time at={at} /> },
              { name: 'Who', cell: ({ actorName }) => actorName },
              { name: 'Did', cell: ({ action }) => action },
              { name: 'To', cell: ({ subject }) => subject },
              { name: 'Because', cell: ({ reason }) => reason ?? '–' },
            ]}
          />
        )}
      </Loaded>
    </Section>
  )
}
