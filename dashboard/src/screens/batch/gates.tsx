// The gates of the batch: what is known before a phase starts, who approved it, and the dialogs to approve, to waive and to withdraw.
import { type ReactNode, useState } from 'react'
import { useChange, useReading } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { countText, Section } from '../../ui/page.tsx'
import { peopleText } from '../../ui/starts-at-once.tsx'
import { Distance, Time, useNow } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'

type GatesAnswer = Answer<'GET /api/batches/{batchId}/gates'>
type Gate = GatesAnswer['gates'][number]
type Verb = 'approve' | 'waive' | 'withdraw'

/** Readiness is counted from the steps. */
const EVERY_MS = 5_000

export function Gates({ summary: { batch, phases } }: { readonly summary: Summary }) {
  const isAsked = phases.some(
    ({ gate, status }) => gate !== null && status !== 'superseded' && status !== 'cancelled',
  )
  return isAsked ? <GatesOf batchId={batch.id} isOver={batch.endedAt !== null} /> : null
}

function GatesOf({ batchId, isOver }: { readonly batchId: number; readonly isOver: boolean }) {
  const reading = useReading(
    'GET /api/batches/{batchId}/gates',
    { params: { batchId } },
    { everyMs: EVERY_MS, isLive: false },
  )
  const { mayChange } = useSession()
  const [asked, setAsked] = useState<{ readonly verb: Verb; readonly gate: Gate } | null>(null)
  return (
    <Section title="Gates">
      <Loaded reading={reading} what="the gates">
        {(answer) =>
          answer.gates.map((gate) => (
            <article key={gate.phaseName} className="gate" aria-label={`Gate of ${gate.phaseName}`}>
              <GateHead gate={gate} />
              <GateFacts gate={gate} answer={answer} />
              {mayChange && !isOver && gate.phaseStatus === 'pending' && (
                <p className="gate-actions">
                  <Button kind="primary" onClick={() => setAsked({ verb: 'approve', gate })}>
                    Approve {gate.phaseName}
                  </Button>{' '}
                  {(gate.readiness.neededPercent !== null || gate.supplies.length > 0) && (
                    <Button onClick={() => setAsked({ verb: 'waive', gate })}>
                      Waive readiness
                    </Button>
                  )}{' '}
                  {gate.approvals.given > 0 && (
                    <Button onClick={() => setAsked({ verb: 'withdraw', gate })}>
                      Withdraw my approval
                    </Button>
                  )}
                </p>
              )}
            </article>
          ))
        }
      </Loaded>
      {asked && (
        <GateDecision
          {...asked}
          batchId={batchId}
          onClose={() => {
            setAsked(null)
            void reading.refetch()
          }}
        />
      )}
    </Section>
  )
}

const STATES: Readonly<Record<Gate['state'], string>> = {
  open: 'may start at its time',
  closed: 'not yet',
  waiting: 'its time has come, and it waits',
  passed: 'passed',
}

const GateHead = ({ gate }: { readonly gate: Gate }) => (
  <p>
    <strong>{gate.phaseName}</strong>: {STATES[gate.state]}
    {gate.dueAt && gate.state !== 'passed' && (
      <>
        , due <Time at={gate.dueAt} /> (<Distance to={gate.dueAt} />)
      </>
    )}
    .{' '}
    {gate.missing.length > 0 && (
      <strong className="warn-text">Missing: {gate.missing.join('; ')}.</strong>
    )}
  </p>
)

function GateFacts({ gate, answer }: { readonly gate: Gate; readonly answer: GatesAnswer }) {
  const reviews = Object.values(answer.openReviews).reduce((sum, one) => sum + one, 0)
  const { ready, members, percent, neededPercent, isWaived } = gate.readiness
  return (
    <ul className="gate-facts">
      <li>
        {countText(gate.approvals.given)} of {countText(gate.approvals.needed)} approvals
      </li>
      <li>
        {countText(ready)} of {countText(members)} members ready ({percent} %
        {neededPercent !== null && `, ${neededPercent} % needed`}
        {isWaived && ', waived'})
      </li>
      {gate.supplies.map((one) => (
        <li key={one.name}>
          {one.noun} {one.name}: {countText(one.free)} free, {countText(one.needed)} needed (counted{' '}
          <Distance to={one.countedAt} />)
        </li>
      ))}
      {gate.earlierPhases.map((one) => (
        <li key={one.phaseName}>
          {one.phaseName}: {one.status}, {countText(one.passed)} of {countText(one.members)} passed,{' '}
          {countText(one.failed)} failed, {countText(one.openSteps)} steps open
        </li>
      ))}
      <li>
        {countText(answer.failedMembers)} failed members, {countText(reviews)} open reviews,{' '}
        {countText(answer.holds.length)} holds
      </li>
      {gate.decisions.map((one) => (
        <li key={one.id}>
          {one.kind === 'approval' ? 'Approved' : 'Waived'} by {one.by} <Distance to={one.at} />:{' '}
          {one.reason}
          {!one.isCounted && (
            <span className="quiet"> (void: {one.endedBecause ?? 'no longer fits'})</span>
          )}
        </li>
      ))}
    </ul>
  )
}

interface GateDecisionProps {
  readonly verb: Verb
  readonly gate: Gate
  readonly batchId: number
  readonly onClose: () => void
}

const TITLES: Readonly<Record<Verb, string>> = {
  approve: 'Approve',
  waive: 'Waive the readiness of',
  withdraw: 'Withdraw my approval of',
}
const VERBS: Readonly<Record<Verb, string>> = {
  approve: 'Approve',
  waive: 'Waive',
  withdraw: 'Withdraw',
}
const WAIVER_HOURS = 2

function GateDecision({ verb, gate, batchId, onClose }: GateDecisionProps) {
  const change = useChange('POST /api/batches/{batchId}/gates/{phaseName}')
  const [hours, setHours] = useState(WAIVER_HOURS)
  const now = useNow()
  const confirm = (reason: string) => {
    const until = new Date(now + hours * 3_600_000).toISOString()
    const body = { decision: verb, reason, ...(verb === 'waive' && { until }) }
    change.mutate({ params: { batchId, phaseName: gate.phaseName }, body }, { onSuccess: onClose })
  }
  return (
    <Decision
      title={`${TITLES[verb]} ${gate.phaseName}`}
      verb={VERBS[verb]}
      reason="required"
      isReady={hours > 0}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={confirm}
      onClose={onClose}
    >
      {WORDS[verb](gate)}
      {verb === 'waive' && (
        <label className="field">
          For this many hours
          <input
            type="number"
            min={1}
            max={72}
            value={hours}
            onChange={(event) => setHours(Number(event.target.value))}
          />
        </label>
      )}
    </Decision>
  )
}

const WORDS: Readonly<Record<Verb, (gate: Gate) => ReactNode>> = {
  approve: ({ missing, approvals }) => (
    <p>
      {missing.length > 0 && <>Still missing: {missing.join('; ')}. </>}
      Your approval is about this version, these members and this time; if one of them changes, it
      is void
      {approvals.survives > 0 && `, but up to ${peopleText(approvals.survives)} may join or leave`}.
    </p>
  ),
  waive: ({ readiness }) => (
    <p>
      {countText(readiness.ready)} of {countText(readiness.members)} members are ready. The phase
      may start with fewer
      {readiness.neededPercent !== null && <> than {readiness.neededPercent} %</>}, and with too few
      licences or other supplies.
    </p>
  ),
  withdraw: () => <p>Your approval no longer counts. You can approve again.</p>,
}
