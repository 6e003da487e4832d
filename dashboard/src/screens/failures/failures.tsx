// Failures over all batches: the same failure is one group, understood once and repaired for everybody it hit. A group is a selection
// of each of its batches by its pattern.
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useReading } from '../../api/hooks.ts'
import { useLive } from '../../api/live.ts'
import type { Answer } from '../../api/routes.ts'
import { CHANGES, type MembersChange } from '../../members/changes.ts'
import { MembersDecision, type Target } from '../../members/members-decision.tsx'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Empty, Loaded } from '../../ui/feedback.tsx'
import { Meaning } from '../../ui/meaning.tsx'
import { countText, Page } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { Example } from './example.tsx'
import './failures.css'

type Failures = Answer<'GET /api/failures'>
type Group = Failures['groups'][number]

const EVERY_MS = 5_000

export default function FailuresScreen() {
  useLive({ entity: 'batch,phase' })
  const [search, setSearch] = useSearchParams()
  const batchId = Number(search.get('batchId')) || null
  const reading = useReading('GET /api/failures', {}, { everyMs: EVERY_MS })
  return (
    <Page
      title="Failures"
      lead="Of all batches, until the people are through, in a later wave or taken back. The same failure is one group, the largest first."
    >
      <Loaded reading={reading} what="the failures">
        {(failures) => (
          <>
            <BatchFilter
              groups={failures.groups}
              batchId={batchId}
              onChange={(id) => setSearch(id === '' ? {} : { batchId: id })}
            />
            <Groups failures={failures} batchId={batchId} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

interface BatchFilterProps {
  readonly groups: readonly Group[]
  readonly batchId: number | null
  readonly onChange: (batchId: string) => void
}
function BatchFilter({ groups, batchId, onChange }: BatchFilterProps) {
  const found = groups.flatMap(({ batches }) => batches.map((one) => one.batchId))
  const ids = [...new Set([...found, ...(batchId === null ? [] : [batchId])])]
  if (ids.length < 2 && batchId === null) return null
  return (
    <label className="failures-filter">
      Batch
      <select value={batchId ?? ''} onChange={(event) => onChange(event.target.value)}>
        <option value="">all</option>
        {ids
          .sort((a, b) => a - b)
          .map((id) => (
            <option key={id}>{id}</option>
          ))}
      </select>
    </label>
  )
}

interface GroupsProps {
  readonly failures: Failures
  readonly batchId: number | null
}
function Groups({ failures, batchId }: GroupsProps) {
  const groups = failures.groups
    .map((group) => within(group, batchId))
    .filter(({ batches }) => batches.length > 0)
  if (groups.length === 0)
    return (
      <Empty title={batchId === null ? 'Nothing has failed' : `Nothing failed in batch ${batchId}`}>
        <p>A failure appears here as soon as a step of a person fails for good.</p>
      </Empty>
    )
  return (
    <>
      {groups.map((group) => (
        <GroupCard key={keyOf(group)} group={group} />
      ))}
      {!failures.isComplete && (
        <p className="quiet">
          There are more: only the newest batches and largest groups are read.
        </p>
      )}
    </>
  )
}

const keyOf = ({ runbookName, kind, phaseName, stepName, pattern }: Group): string =>
  [runbookName, kind, phaseName, stepName, pattern].join('\n')

/** The group as far as it concerns one batch. */
function within(group: Group, batchId: number | null): Group {
  if (batchId === null) return group
  const batches = group.batches.filter((one) => one.batchId === batchId)
  return { ...group, batches, count: batches.reduce((sum, { count }) => sum + count, 0) }
}

const placeOf = ({ kind, phaseName, stepName }: Group): string =>
  phaseName === null || kind !== 'phase' ? `${kind} / ${stepName}` : `${phaseName} / ${stepName}`

function GroupCard({ group }: { readonly group: Group }) {
  const { count, kind, sample, meaning, firstSeenAt, lastSeenAt, runbookName } = group
  const title = placeOf(group)
  return (
    <section className="section failure" aria-label={`${countText(count)} failed at ${title}`}>
      <div className="failure-head">
        <span className="failure-count">{countText(count)}</span>
        <div>
          <h2>{title}</h2>
          <span className="quiet">
            {kind === 'init' ? 'init of the batch' : count === 1 ? '1 person' : 'people'} of runbook{' '}
            {runbookName}
          </span>
        </div>
        <Trend group={group} />
        <span className="quiet failure-seen">
          first <Time at={firstSeenAt} />
          <br />
          last <Time at={lastSeenAt} />
        </span>
      </div>
      <p className="failure-error">{sample.message}</p>
      {meaning ? (
        <Meaning meaning={meaning} />
      ) : (
        <p className="quiet">
          The meaning of this error is not known here: look at an example, then retry, skip or hold.
        </p>
      )}
      <GroupBatches group={group} />
      <GroupActions group={group} />
      <Example stepId={sample.stepId} batchId={sample.batchId} memberId={sample.memberId} />
    </section>
  )
}

const TREND_HOURS = 24

/** How many failed in each of the latest hours that had any. */
function Trend({ group: { perHour } }: { readonly group: Group }) {
  const shown = perHour.slice(-TREND_HOURS)
  if (shown.length < 2) return null
  const most = Math.max(...shown.map(({ count }) => count))
  const spoken = shown.map(({ count }) => countText(count)).join(', ')
  return (
    <span className="trend" role="img" aria-label={`Per hour, oldest first: ${spoken}`}>
      {shown.map(({ from, count }) => (
        <span
          key={from}
          title={`${from.slice(0, 16).replace('T', ' ')} UTC: ${countText(count)}`}
          style={{ height: `${Math.max(8, (count / most) * 100)}%` }}
        />
      ))}
    </span>
  )
}

const GroupBatches = ({ group }: { readonly group: Group }) => (
  <ul className="failure-batches" aria-label="Batches">
    {group.batches.map(({ batchId, count }) => (
      <li key={batchId}>
        <Link href={peopleOf(group, batchId)}>
          Batch {batchId}: {countText(count)}
        </Link>
      </li>
    ))}
  </ul>
)

/** The people of the group in the batch's own list; an init step has none. */
function peopleOf({ kind, pattern, phaseName, stepName }: Group, batchId: number): string {
  if (kind !== 'phase') return `/batches/${batchId}`
  const query = new URLSearchParams({ pattern, failedStep: stepName })
  if (phaseName !== null) query.set('failedPhase', phaseName)
  return `/batches/${batchId}?${query}`
}

const OFFERED: readonly MembersChange[] = ['retry', 'skip', 'hold', 'remove']

function GroupActions({ group }: { readonly group: Group }) {
  const { mayChange } = useSession()
  const [asked, setAsked] = useState<MembersChange | null>(null)
  if (!mayChange) return null
  if (group.kind !== 'phase')
    return (
      <p className="quiet">
        {group.kind === 'init'
          ? 'Repair it on the page of the batch.'
          : `A failed ${group.kind} step is repaired on the page of its person.`}
      </p>
    )
  const { pattern, phaseName, stepName, count } = group
  const select = {
    pattern,
    failedStep: stepName,
    ...(phaseName !== null && { failedPhase: phaseName }),
  }
  const targets: Target[] = group.batches.map(({ batchId }) => ({ batchId, select }))
  return (
    <div className="failure-actions">
      {OFFERED.map((change, at) => (
        <Button
          key={change}
          kind={at === 0 && group.meaning?.retry !== 'never' ? 'primary' : 'plain'}
          onClick={() => setAsked(change)}
        >
          {at === 0 && count > 1 ? `Retry these ${countText(count)}` : CHANGES[change].verb}
        </Button>
      ))}
      {asked && (
        <MembersDecision
          change={asked}
          who={`${countText(count)} failed at ${placeOf(group)}`}
          targets={targets}
          onClose={() => setAsked(null)}
        />
      )}
    </div>
  )
}
