// Reviews: source changes that wait for a person, by what they would do.
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { usePages } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Figure, Page, Section } from '../../ui/page.tsx'
import { Sign } from '../../ui/sign.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Distance, Time } from '../../ui/time.tsx'
import { ReviewDecision, type ReviewVerb } from './review-decision.tsx'
import {
  groupReviews,
  KIND_TEXT,
  type Kind,
  type Review,
  type ReviewGroup,
} from './review-group.ts'
import './sources.css'

const PAGE = 200

export default function Reviews() {
  useLive({ entity: 'system,runbook,batch' })
  const [search, setSearch] = useSearchParams()
  const runbook = search.get('runbook') ?? ''
  const batchId = search.get('batchId') ?? ''
  const kind = search.get('kind') ?? ''
  const reading = usePages('GET /api/reviews', {
    query: {
      limit: PAGE,
      ...(runbook && { runbook }),
      ...(batchId && { batchId }),
      ...(kind && { kind: kind as Kind }),
    },
  })
  const choose = (name: string, value: string) => {
    const next = new URLSearchParams(search)
    if (value) next.set(name, value)
    else next.delete(name)
    setSearch(next)
  }
  return (
    <Page
      title="Reviews"
      lead={
        <>
          Changes in a data source that wait for a person. Nothing happens before you decide.{' '}
          <Link href="/sources">All sources</Link>
        </>
      }
    >
      <div className="filters">
        <label className="field">
          Change
          <select value={kind} onChange={({ target }) => choose('kind', target.value)}>
            <option value="">All</option>
            {Object.entries(KIND_TEXT).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {runbook && (
          <Button onClick={() => choose('runbook', '')}>
            Runbook {runbook} <Sign sign="✕" />
          </Button>
        )}
        {batchId && (
          <Button onClick={() => choose('batchId', '')}>
            Batch {batchId} <Sign sign="✕" />
          </Button>
        )}
      </div>
      <Loaded reading={reading} what="the reviews">
        {({ pages }) => (
          <>
            <Open open={pages[0]!.open} />
            <Groups groups={groupReviews(pages.flatMap(({ reviews }) => reviews))} />
            {reading.hasNextPage && (
              <Button onClick={() => void reading.fetchNextPage()}>Show more</Button>
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}

const Open = ({ open }: { readonly open: Readonly<Record<Kind, number>> }) => (
  <Section title="Open">
    <div className="figures">
      {(Object.keys(KIND_TEXT) as Kind[]).map((kind) => (
        <Figure
          key={kind}
          name={KIND_TEXT[kind].name.toLowerCase()}
          value={open[kind]}
          {...(open[kind] > 0 && { look: 'warn' })}
        />
      ))}
    </div>
  </Section>
)

function Groups({ groups }: { readonly groups: readonly ReviewGroup[] }) {
  if (groups.length === 0)
    return <Empty title="Nothing waits for a person">Ticks apply what the sources say.</Empty>
  return groups.map((group) => <Group key={group.id} group={group} />)
}

function Group({ group }: { readonly group: ReviewGroup }) {
  const { mayChange } = useSession()
  /** Those left out: a group is decided as a whole unless somebody is. */
  const [left, setLeft] = useState<ReadonlySet<number>>(new Set())
  const [verb, setVerb] = useState<ReviewVerb | null>(null)
  const chosen = group.reviews.filter(({ id }) => !left.has(id))
  const actions = mayChange && (
    <>
      <span className="quiet" role="status">
        {chosen.length} of {group.reviews.length} selected
      </span>
      <Button disabled={chosen.length === 0} onClick={() => setVerb('dismiss')}>
        Dismiss …
      </Button>
      <Button kind="primary" disabled={chosen.length === 0} onClick={() => setVerb('approve')}>
        Approve …
      </Button>
    </>
  )
  const { kind, batchId, runbookName, fromTime, toTime } = group
  return (
    <Section
      title={`${KIND_TEXT[kind].name}: ${runbookName}${batchId === null ? '' : `, batch ${batchId}`}`}
      actions={actions}
    >
      <p>
        {KIND_TEXT[kind].found}
        {kind === 'move' && (
          <>
            {' '}
            <Time at={fromTime} /> →{' '}
            <strong>
              <Time at={toTime} none="no time" />
            </strong>
          </>
        )}{' '}
        {batchId !== null && <Link href={`/batches/${batchId}`}>Batch {batchId}</Link>}
      </p>
      <Table
        caption={`${KIND_TEXT[kind].name} of ${runbookName}`}
        rows={group.reviews}
        rowKey={({ id }) => id}
        columns={[...(mayChange ? [choice(left, setLeft)] : []), ...COLUMNS]}
      />
      {verb && (
        <ReviewDecision verb={verb} kind={kind} reviews={chosen} onClose={() => setVerb(null)} />
      )}
    </Section>
  )
}

const COLUMNS: readonly Column<Review>[] = [
  {
    name: 'Person',
    cell: ({ memberKey, memberId, batchId }) =>
      memberId === null || batchId === null ? (
        memberKey
      ) : (
        <Link href={`/batches/${batchId}/members/${memberId}`}>{memberKey}</Link>
      ),
  },
  { name: 'Why it waits', cell: ({ reason }) => reason },
  { name: 'Since', cell: ({ since }) => <Distance to={since} /> },
]

const choice = (
  left: ReadonlySet<number>,
  onLeft: (left: ReadonlySet<number>) => void,
): Column<Review> => ({
  name: 'Select',
  cell: ({ id, memberKey }) => (
    <input
      type="checkbox"
      aria-label={`Select ${memberKey}`}
      checked={!left.has(id)}
      onChange={({ target }) => {
        const next = new Set(left)
        if (target.checked) next.delete(id)
        else next.add(id)
        onLeft(next)
      }}
    />
  ),
})
