// Sends steps outside the change windows until a time, in the viewer's time, or ends such an override.
import { useState } from 'react'
import { countText } from '../../ui/page.tsx'
import { useNow } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { BatchDecision } from './batch-actions.tsx'
import { localInput } from './local-input.ts'

interface OverrideProps {
  readonly batch: Summary['batch']
  readonly onClose: () => void
}

/** Offered first; the person chooses. */
const HOURS_OFFERED = 2

export function OverrideWindow({ batch, onClose }: OverrideProps) {
  const now = useNow()
  const [text, setText] = useState(() => localInput(new Date(now + HOURS_OFFERED * 3_600_000)))
  const until = text === '' ? null : new Date(text)
  const isLater = until !== null && +until > now
  return (
    <BatchDecision
      endpoint="POST /api/batches/{batchId}/override-window"
      batchId={batch.id}
      order={isLater ? { until: until.toISOString() } : null}
      title={`Override the change window of batch ${batch.id}`}
      verb="Override the window"
      isDanger
      reason="required"
      onClose={onClose}
      fields={
        <label className="field">
          Until, in your time
          <input
            type="datetime-local"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <span className="quiet">
            {isLater ? `${until.toISOString().slice(0, 16)} UTC` : 'Choose a time to come.'}
          </span>
        </label>
      }
    >
      {({ waitingSteps }) => (
        <p>
          <strong>{countText(waitingSteps)}</strong>{' '}
          {waitingSteps === 1 ? 'step waits and changes' : 'steps wait and change'} a tenant as soon
          as slots are free. Freezes are ignored too. What becomes due until then is also sent; at
          the end, jobs that no worker has begun are taken back.
        </p>
      )}
    </BatchDecision>
  )
}

export const EndOverride = ({ batch, onClose }: OverrideProps) => (
  <BatchDecision
    endpoint="POST /api/batches/{batchId}/override-window"
    batchId={batch.id}
    order={{ until: null }}
    title={`End the override of batch ${batch.id}`}
    verb="End the override"
    reason="required"
    onClose={onClose}
  >
    {({ waitingSteps, outstandingJobs }) => (
      <p>
        {countText(waitingSteps)} steps wait again unless the window is open, and{' '}
        {countText(outstandingJobs)} jobs are out. Those that no worker has begun are taken back;
        the others run to their end.
      </p>
    )}
  </BatchDecision>
)
