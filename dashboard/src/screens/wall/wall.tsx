// The wall: what runs, what needs a person, what comes next. It names nobody.
import { Link } from 'wouter'
import { CurrentNeeds } from '../../needs/needs.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Page, Section } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { BatchCard, MemberCounts } from './batch-card.tsx'
import { PhaseClock } from './phase-clock.tsx'
import { bySoonest, useWall, type WallAnswer } from './use-wall.ts'
import { Sources, Workers } from './workers-and-sources.tsx'
import './wall.css'

/** More than this are a list. */
const CARDS_MAX = 20

export default function Wall() {
  return (
    <Loaded reading={useWall()} what="the wall">
      {(wall) => (
        <Page title="Now">
          <div className="wall">
            <div className="wall-main">
              <CurrentNeeds />
              <Batches wall={wall} />
            </div>
            <div className="wall-side">
              <PhaseClock batches={wall.batches} />
              <Workers workers={wall.workers} />
              <Sources sources={wall.sources} openReviews={wall.openReviews} />
            </div>
          </div>
        </Page>
      )}
    </Loaded>
  )
}

function Batches({ wall: { batches, isComplete } }: { readonly wall: WallAnswer }) {
  const current = bySoonest(batches.filter(({ batch }) => batch.endedAt === null))
  const cards = current.slice(0, CARDS_MAX)
  const rest = current.slice(CARDS_MAX)
  const ended = batches.filter(({ batch }) => batch.endedAt !== null)
  return (
    <>
      {current.length === 0 && <NoBatch />}
      {cards.map((one) => (
        <BatchCard key={one.batch.id} of={one} />
      ))}
      {rest.length > 0 && <BatchLines title="More batches" batches={rest} />}
      {ended.length > 0 && <BatchLines title="Ended in the last 24 hours" batches={ended} />}
      {!isComplete && (
        <p className="quiet">
          There are more batches than fit here. <Link href="/batches">See all of them</Link>
        </p>
      )}
    </>
  )
}

interface BatchLinesProps {
  readonly title: string
  readonly batches: WallAnswer['batches']
}
const BatchLines = ({ title, batches }: BatchLinesProps) => (
  <Section title={title}>
    <Table
      caption={title}
      rows={batches}
      rowKey={({ batch }) => batch.id}
      columns={[
        {
          name: 'Batch',
          cell: ({ batch }) => <Link href={`/batches/${batch.id}`}>Batch {batch.id}</Link>,
        },
        { name: 'Runbook', cell: ({ batch }) => batch.runbookName },
        { name: 'Status', cell: ({ batch }) => <Status status={batch.status} /> },
        { name: 'Members', cell: ({ batch }) => <MemberCounts members={batch.members} /> },
        { name: 'Start', cell: ({ batch }) => <Time at={batch.batchStartTime} /> },
        { name: 'Ended', cell: ({ batch }) => <Time at={batch.endedAt} /> },
      ]}
    />
  </Section>
)

const NoBatch = () => (
  <Section title="Batches">
    <Empty title="No batch is under way">
      <ol className="first-steps">
        <li>
          <Link href="/runbooks">Publish a runbook</Link>: it says who moves and what happens to
          them. To begin with one of the examples, run <code>matoolkit runbook init</code>.
        </li>
        <li>
          Switch its automation on, so that its data source fills batches; or upload a list of
          people to it.
        </li>
        <li>
          Start a worker for each tenant: <code>matoolkit serve --roles worker</code>.
        </li>
        <li>Come back: each batch appears here on its own, with its phases and its clock.</li>
      </ol>
    </Empty>
  </Section>
)
