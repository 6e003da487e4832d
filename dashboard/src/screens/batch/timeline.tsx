// The phases on a time axis: when each was due, when it ran, where now is. A list says the same in words.

import { countText } from '../../ui/page.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Sign } from '../../ui/sign.tsx'
import { Status } from '../../ui/status.tsx'
import { Distance, durationText, Time, useNow } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { RampShares } from './ramp-shares.tsx'
import {
  type Axis,
  axisOf,
  offsetText,
  type Phase,
  type PhaseForecast,
  shownPhases,
  stateOf,
} from './time-axis.ts'

export function Timeline({ summary }: { readonly summary: Summary }) {
  const now = useNow()
  const phases = shownPhases(summary)
  const axis = axisOf(summary, phases, now)
  return (
    <div className="timeline">
      <ol className="lanes">
        {phases.map((phase) => (
          <Lane key={phase.id} phase={phase} summary={summary} axis={axis} now={now} />
        ))}
      </ol>
      {axis && <Ticks axis={axis} />}
    </div>
  )
}

interface LaneProps {
  readonly phase: Phase
  readonly summary: Summary
  readonly axis: Axis | null
  readonly now: number
}

function Lane({ phase, summary, axis, now }: LaneProps) {
  const state = stateOf(phase, summary, now)
  return (
    <li className="lane" data-state={state.name} data-look={state.look}>
      <div className="lane-name">
        <strong>{phase.phaseName}</strong> <span className="quiet">{offsetText(phase)}</span>
        {phase.noReturnSteps.length > 0 && (
          <span className="lane-no-return">
            <Sign sign="⚑" /> Point of no return: {phase.noReturnSteps.join(', ')}
          </span>
        )}
      </div>
      <div className="lane-status">
        <Status status={state.status} text={state.name} />
      </div>
      <div className="lane-track" aria-hidden="true">
        {axis && <Bar phase={phase} summary={summary} axis={axis} now={now} />}
      </div>
      <div className="lane-words">
        <p className="quiet">
          <LaneWords phase={phase} isManual={summary.batch.isManual} now={now} />{' '}
          <Expected forecast={forecastOf(phase, summary)} />
        </p>
        {phase.ramp && <RampShares ramp={phase.ramp} members={phase.members} />}
      </div>
    </li>
  )
}

function LaneWords({
  phase,
  isManual,
  now,
}: {
  readonly phase: Phase
  readonly isManual: boolean
  readonly now: number
}) {
  const { dueAt, dispatchedAt, completedAt, members, waitsFor } = phase
  const lateMs = lateness(phase, now)
  return (
    <>
      {dispatchedAt === null ? (
        dueAt === null || isManual ? (
          'Starts by hand.'
        ) : (
          <>
            Due <Time at={dueAt} /> (<Distance to={dueAt} />
            ).
          </>
        )
      ) : (
        <>
          <Time at={dispatchedAt} /> to{' '}
          {completedAt === null ? 'now' : <Time at={completedAt} isClockOnly />}.
        </>
      )}{' '}
      {lateMs > LATE_MS && (
        <strong className="late">
          {dispatchedAt === null ? 'Late by' : 'Started late by'} {durationText(lateMs)}.
        </strong>
      )}{' '}
      {dispatchedAt !== null && (
        <>
          {countText(members.passed)} of {countText(members.total)} through
          {members.failed > 0 && `, ${countText(members.failed)} failed`}
          {members.stopped > 0 && `, ${countText(members.stopped)} failed before`}.
        </>
      )}{' '}
      {waitsFor !== null && (
        <strong>
          <Sentence text={waitsFor} />.
        </strong>
      )}
    </>
  )
}

const forecastOf = (phase: Phase, { estimate }: Summary): PhaseForecast | undefined =>
  estimate.phases.find(({ phaseId }) => phaseId === phase.id)

/** `Ends about 22:40, latest 23:10.`, with what that rests on, and whether it is too late. */
function Expected({ forecast }: { readonly forecast: PhaseForecast | undefined }) {
  if (!forecast) return null
  const { endsAt, p90, because, miss } = forecast
  return (
    <>
      {endsAt !== null && p90 !== null && (
        <span title={because}>
          Ends about <Time at={endsAt} />, latest <Time at={p90} />.
        </span>
      )}{' '}
      {miss && (
        <strong className="late">
          <Sentence text={miss.text} />.
        </strong>
      )}
    </>
  )
}

/** Phases are looked for once a second; less is not worth a word. */
const LATE_MS = 60_000
const lateness = ({ dueAt, dispatchedAt, status }: Phase, now: number): number => {
  if (dueAt === null || (dispatchedAt === null && status !== 'pending')) return 0
  return (dispatchedAt === null ? now : Date.parse(dispatchedAt)) - Date.parse(dueAt)
}

const NO_FORECAST = { startsAt: null, endsAt: null, p90: null }

interface BarProps {
  readonly phase: Phase
  readonly summary: Summary
  readonly axis: Axis
  readonly now: number
}

function Bar({ phase, summary, axis, now }: BarProps) {
  const { dueAt, dispatchedAt, completedAt } = phase
  const due = dueAt === null ? null : Date.parse(dueAt)
  const start = dispatchedAt === null ? null : Date.parse(dispatchedAt)
  const end = completedAt === null ? now : Date.parse(completedAt)
  const { startsAt, endsAt, p90 } = forecastOf(phase, summary) ?? NO_FORECAST
  const from = startsAt === null ? end : Date.parse(startsAt)
  const lateUntil = lateness(phase, now) > LATE_MS && due !== null ? (start ?? now) : null
  const span = (from: number, to: number) => ({
    left: `${axis.at(from)}%`,
    width: `${Math.max(0, axis.at(to) - axis.at(from))}%`,
  })
  const isOver = summary.batch.endedAt !== null
  return (
    <>
      {lateUntil !== null && <span className="bar-late" style={span(due!, lateUntil)} />}
      {start !== null && <span className="bar-run" style={span(start, Math.max(start, end))} />}
      {endsAt !== null && p90 !== null && (
        <>
          <span className="bar-expected" style={span(from, Date.parse(endsAt))} />
          <span className="bar-p90" style={span(Date.parse(endsAt), Date.parse(p90))} />
        </>
      )}
      {due !== null && <span className="mark-due" style={{ left: `${axis.at(due)}%` }} />}
      {phase.noReturnSteps.length > 0 && (start ?? due) !== null && (
        <span className="mark-no-return" style={{ left: `${axis.at((start ?? due)!)}%` }}>
          <Sign sign="⚑" />
        </span>
      )}
      {!isOver && <span className="mark-now" style={{ left: `${axis.at(now)}%` }} />}
    </>
  )
}

const Ticks = ({ axis }: { readonly axis: Axis }) => (
  <div className="ticks" aria-hidden="true">
    {axis.ticks.map(({ at, text }) => (
      <span key={at} style={{ left: `${axis.at(at)}%` }}>
        {text}
      </span>
    ))}
    {axis.now !== null && (
      <span className="tick-now" style={{ left: `${axis.at(axis.now)}%` }}>
        now
      </span>
    )}
  </div>
)
