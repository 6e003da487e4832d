// Another start for the batch, in the viewer's time. Phases that would be late start at once, and only if one says so.
import { useState } from 'react'
import { ApprovalsLost, StartsAtOnce } from '../../ui/starts-at-once.tsx'
import { Time } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { BatchDecision } from './batch-actions.tsx'
import { localInput } from './local-input.ts'
import { offsetText } from './time-axis.ts'

interface RescheduleProps {
  readonly batch: Summary['batch']
  readonly onClose: () => void
}

export function Reschedule({ batch, onClose }: RescheduleProps) {
  const former = batch.batchStartTime
  const [text, setText] = useState(former === null ? '' : localInput(new Date(former)))
  const [allowOverdue, setAllow] = useState(false)
  const start = text === '' ? null : new Date(text)
  const isAnother = start !== null && (former === null || text !== localInput(new Date(former)))
  return (
    <BatchDecision
      endpoint="POST /api/batches/{batchId}/reschedule"
      batchId={batch.id}
      order={isAnother ? { startTime: start.toISOString(), allowOverdue } : null}
      title={`Reschedule batch ${batch.id}`}
      verb="Reschedule"
      reason="required"
      onClose={onClose}
      isReady={({ overdue }) => overdue.length === 0 || allowOverdue}
      fields={
        <label className="field">
          Start (T-0), in your time
          <input
            type="datetime-local"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <span className="quiet">
            {start === null ? 'Choose a time.' : `${start.toISOString().slice(0, 16)} UTC`}
          </span>
        </label>
      }
    >
      {({ phases, overdue, startsAtOnce, approvalsLost }) => (
        <>
          <ul>
            {phases
              .filter(({ status }) => status === 'pending')
              .map((phase) => (
                <li key={phase.id}>
                  {phase.phaseName} <span className="quiet">{offsetText(phase)}</span>:{' '}
                  <Time at={phase.dueAt} />
                </li>
              ))}
          </ul>
          <StartsAtOnce starts={startsAtOnce} />
          <ApprovalsLost lost={approvalsLost} />
          {overdue.length > 0 && (
            <label className="check">
              <input
                type="checkbox"
                checked={allowOverdue}
                onChange={(event) => setAllow(event.target.checked)}
              />{' '}
              Start {overdue.map(({ phaseName }) => phaseName).join(', ')} at once: the new time has
              passed
            </label>
          )}
        </>
      )}
    </BatchDecision>
  )
}
