// Holds all batches of a runbook, and resumes them with a preview of what starts.

import { useEffect, useState } from 'react'
import { sameName } from '../../../../src/base/text/same-name.ts'
import { useChange, useReading } from '../../api/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loading } from '../../ui/feedback.tsx'

interface NameProps {
  readonly name: string
}
interface DialogProps extends NameProps {
  readonly onClose: () => void
}

export function HoldSwitch({ name }: NameProps) {
  const [isAsked, setAsked] = useState(false)
  const { data } = useReading('GET /api/holds', { query: { scope: 'runbook' } })
  if (!data) return null
  const isHeld = data.holds.some(({ target }) => sameName(target, name))
  const Dialog = isHeld ? ResumeDialog : HoldDialog
  return (
    <>
      <Button onClick={() => setAsked(true)}>{isHeld ? 'Resume' : 'Hold'}</Button>
      {isAsked && <Dialog name={name} onClose={() => setAsked(false)} />}
    </>
  )
}

function HoldDialog({ name, onClose }: DialogProps) {
  const hold = useChange('POST /api/runbooks/{name}/hold')
  return (
    <Decision
      title={`Hold ${name}`}
      verb="Hold"
      isDanger
      reason="optional"
      isBusy={hold.isPending}
      error={hold.error}
      onClose={onClose}
      onConfirm={(reason) =>
        hold.mutate({ params: { name }, body: reason ? { reason } : {} }, { onSuccess: onClose })
      }
    >
      <p>
        No new job starts in any batch of this runbook. Jobs that no worker has taken are withdrawn;
        jobs that workers run finish. Nothing is undone.
      </p>
    </Decision>
  )
}

function ResumeDialog({ name, onClose }: DialogProps) {
  const preview = useChange('POST /api/runbooks/{name}/resume')
  const resume = useChange('POST /api/runbooks/{name}/resume')
  const { mutate } = preview
  useEffect(() => {
    mutate({ params: { name }, body: { reason: 'preview', dryRun: true } })
  }, [mutate, name])
  return (
    <Decision
      title={`Resume ${name}`}
      verb="Resume"
      reason="required"
      isReady={preview.data !== undefined}
      isBusy={resume.isPending}
      error={resume.error ?? preview.error}
      onClose={onClose}
      onConfirm={(reason) =>
        resume.mutate({ params: { name }, body: { reason, dryRun: false } }, { onSuccess: onClose })
      }
    >
      {preview.data ? (
        <p>
          Starts at once: {preview.data.starts.phases} due phases and {preview.data.starts.steps}{' '}
          waiting steps in {preview.data.starts.batches} batches. What another hold covers stays
          held.
        </p>
      ) : (
        !preview.error && <Loading what="what would start" lines={2} />
      )}
    </Decision>
  )
}
