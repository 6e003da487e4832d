// A batch on the wall: its phases in order of time, its members as counts that add up, its pace and its end.

import { Link } from 'wouter'
import { phaseOffsetText } from '../../../../src/base/text/duration.ts'
import { PERSON_STATES, statesText, stateWord } from '../../../../src/domain/state/person-state.ts'
import { WindowNote } from '../../ui/change-window.tsx'
import { isLate } from '../../ui/late.ts'
import { countText } from '../../ui/page.tsx'
import { completedPhase } from '../../ui/phase-end.ts'
import { Sentence, TextWithTimes } from '../../ui/sentence.tsx'
import { lookOf, Status } from '../../ui/status.tsx'
import { Distance, Time, useNow } from '../../ui/time.tsx'
import type { WallBatch } from './use-wall.ts'

type Phase = WallBatch['phases'][number]
type Members = WallBatch['batch']['members']

export function BatchCard({ of }: CardProps) {
  const { batch, phases, throughput, night, because, misses } = of
  const title = `Batch ${batch.id}, ${batch.runbookName}`
  return (
    <section className="section batch-card" aria-label={title} data-held={batch.held !== null}>
      <div className="batch-head">
        <h2>
          <Link href={`/batches/${batch.id}`}>Batch {batch.id}</Link>{' '}
          <span className="batch-runbook">{batch.runbookName}</span>
        </h2>
        <Status status={batch.held ? 'held' : batch.status} />
        <span className="batch-start">
          {batch.batchStartTime === null ? (
            'Started by hand'
          ) : (
            <>
              Cut-over <Time at={batch.batchStartTime} /> (<Distance to={batch.batchStartTime} />)
            </>
          )}
        </span>
      </div>
      {batch.held && (
        <p className="batch-held">
          Held by {batch.held.by} since <Time at={batch.held.at} />: {batch.held.reason}
        </p>
      )}
      {batch.changeWindow && (
        <p className="batch-window">
          <WindowNote changeWindow={batch.changeWindow} />
        </p>
      )}
      {misses.map(({ text }) => (
        <p key={text} className="batch-miss">
          <Sentence text={text} />.
        </p>
      ))}
      <PhaseRail phases={phases} isHeld={batch.held !== null} />
      <MemberBar members={batch.members} />
      <div className="batch-foot">
        <MemberCounts members={batch.members} />
        {batch.heldMemberCount > 0 && <span>{countText(batch.heldMemberCount)} held</span>}
        <span className="batch-pace">
          {throughput.stepsPerMin > 0 &&
            `${countText(Math.round(throughput.stepsPerMin))} steps/min`}
        </span>
        <span className="batch-end">
          {night?.endsAt ? (
            <>
              {night.phaseName} ends about <Time at={night.endsAt} />, latest{' '}
              <Time at={night.p90} />{' '}
              <span className="quiet">
                (<TextWithTimes text={night.because} />)
              </span>
            </>
          ) : (
            <span className="quiet">
              No estimate: <TextWithTimes text={night?.because ?? because} />
            </span>
          )}
        </span>
      </div>
    </section>
  )
}
interface CardProps {
  readonly of: WallBatch
}

/** Words for people: `pending` is what comes next, or what is to come after that; an overdue one is neither. */
function stateOf(phase: Phase, next: Phase | undefined, { isHeld, now }: RailFacts) {
  const { status, dueAt } = phase
  if (status === 'completed') return completedPhase(phase.membersFailed)
  const look = lookOf(status)
  const isRunning = status === 'dispatched'
  if (isHeld && (isRunning || status === 'pending'))
    return { name: 'held', status: 'held', look: 'warn' }
  if (status === 'pending' && dueAt !== null && isLate(dueAt, now))
    return { name: 'late', status: 'late', look: 'bad' }
  if (status === 'pending') return { name: phase === next ? 'next' : 'to come', status, look }
  return { name: isRunning ? 'running' : status, status, look }
}

interface RailFacts {
  readonly isHeld: boolean
  readonly now: number
}

function PhaseRail({ phases, isHeld }: Pick<RailFacts, 'isHeld'> & Pick<WallBatch, 'phases'>) {
  const now = useNow()
  const next = phases.find(({ status }) => status === 'pending')
  return (
    <ol className="rail">
      {phases.map((phase) => {
        const state = stateOf(phase, next, { isHeld, now })
        return (
          <li
            key={phase.id}
            className="rail-phase"
            data-look={state.look}
            data-state={state.name}
            aria-current={phase.status === 'dispatched' ? 'step' : undefined}
          >
            <span className="rail-name">
              {phase.phaseName}{' '}
              <span className="quiet">{phaseOffsetText(phase.offsetMinutes)}</span>
            </span>
            <Status status={state.status} text={state.name} />
            <span className="rail-when">
              <PhaseTime phase={phase} />
            </span>
            {phase.membersTotal > 0 && (
              <span className="rail-counts">
                {countText(phase.membersPassed)} of {countText(phase.membersTotal)} passed
                {phase.membersFailed > 0 && `, ${countText(phase.membersFailed)} failed`}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}

function PhaseTime({ phase: { status, dueAt, startedAt, endedAt } }: { readonly phase: Phase }) {
  if (status === 'pending')
    return dueAt === null ? (
      'when you advance it'
    ) : (
      <>
        <Time at={dueAt} />, <Distance to={dueAt} />
      </>
    )
  if (status === 'dispatched' && startedAt !== null)
    return (
      <>
        since <Time at={startedAt} />
      </>
    )
  return <Time at={endedAt ?? startedAt ?? dueAt} />
}

/** The same counts as the text below it. */
const MemberBar = ({ members }: { readonly members: Members }) => (
  <div className="member-bar" aria-hidden="true">
    {PERSON_STATES.map(
      (state) =>
        members[state] > 0 && (
          <span
            key={state}
            data-look={lookOf(state)}
            title={`${countText(members[state])} ${stateWord(state)}`}
            style={{ flexGrow: members[state] }}
          />
        ),
    )}
  </div>
)

/** The same sentence as on the command line and in the report. */
export const MemberCounts = ({ members }: { readonly members: Members }) => (
  <span className="member-counts">
    <strong>{statesText(members)}</strong>
  </span>
)
