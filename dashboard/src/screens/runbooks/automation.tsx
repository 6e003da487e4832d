// Turns a runbook's automation on or off. Before it is turned on, the query is asked and the person sees what the first tick does.
import { useEffect, useState } from 'react'
import { useChange, useTagged } from '../../api/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loading } from '../../ui/feedback.tsx'
import { NextTick } from './preview.tsx'
import type { TabProps } from './runbook.tsx'

export function AutomationSwitch({ runbook }: TabProps) {
  const [isAsked, setAsked] = useState(false)
  const isOn = runbook.isAutomationEnabled
  if (!runbook.isActive && !isOn) return null
  return (
    <>
      <Button onClick={() => setAsked(true)}>
        {isOn ? 'Turn automation off' : 'Turn automation on'}
      </Button>
      {isAsked && <Switch name={runbook.name} isOn={isOn} onClose={() => setAsked(false)} />}
    </>
  )
}

interface SwitchProps {
  readonly name: string
  readonly isOn: boolean
  readonly onClose: () => void
}

function Switch({ name, isOn, onClose }: SwitchProps) {
  const set = useChange('PUT /api/runbooks/{name}/automation')
  // The state that the person decides about: a change by another is refused.
  const [etag, setEtag] = useState<string | null>(null)
  const { data } = useTagged('GET /api/runbooks/{name}/automation', { params: { name } })
  useEffect(() => setEtag((seen) => seen ?? data?.etag ?? null), [data])
  const [isPreviewed, setPreviewed] = useState(isOn)
  return (
    <Decision
      title={`Turn automation of ${name} ${isOn ? 'off' : 'on'}`}
      verb={isOn ? 'Turn off' : 'Turn on'}
      reason="optional"
      isReady={etag !== null && isPreviewed}
      isBusy={set.isPending}
      error={set.error}
      onClose={onClose}
      onConfirm={(reason) =>
        set.mutate(
          {
            params: { name },
            body: { enabled: !isOn, ...(reason && { reason }) },
            options: { ifMatch: etag },
          },
          { onSuccess: onClose },
        )
      }
    >
      {isOn ? (
        <p>
          The scheduler stops running the query: no one joins, moves or leaves. Batches that exist
          continue.
        </p>
      ) : (
        <FirstTick name={name} onSeen={setPreviewed} />
      )}
    </Decision>
  )
}

interface FirstTickProps {
  readonly name: string
  /** Also when the source could not be asked: the person knows. */
  readonly onSeen: (isSeen: true) => void
}
function FirstTick({ name, onSeen }: FirstTickProps) {
  const preview = useChange('POST /api/runbooks/{name}/query/preview')
  const { mutate } = preview
  useEffect(() => {
    mutate({ params: { name }, body: {} }, { onSettled: () => onSeen(true) })
  }, [mutate, name, onSeen])
  return (
    <>
      <p>
        The scheduler runs the query at every tick and creates batches from its rows. The first tick
        would do this:
      </p>
      {preview.data && (
        <NextTick rowCount={preview.data.rowCount} nextTick={preview.data.nextTick} />
      )}
      {preview.error && (
        <p className="warn-text">The source could not be asked: {preview.error.message}</p>
      )}
      {preview.isPending && <Loading what="the first tick" lines={2} />}
    </>
  )
}
