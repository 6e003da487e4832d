// The emergency stop of everything, and its end.
import { useEffect, useState } from 'react'
import { countText } from '../../../../src/base/text/count-text.ts'
import { useChange } from '../../api/hooks.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Sign } from '../../ui/sign.tsx'
import { Time } from '../../ui/time.tsx'
import type { Hold } from './use-wall.ts'

export function HoldAll({ hold }: { readonly hold: Hold | null }) {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  if (!mayChange) return null
  const close = () => setAsked(false)
  return (
    <>
      <Button kind={hold ? 'primary' : 'plain'} onClick={() => setAsked(true)}>
        {hold ? 'Resume everything' : 'Hold everything'}
      </Button>
      {isAsked && (hold ? <Resume onClose={close} /> : <Stop onClose={close} />)}
    </>
  )
}

interface AskProps {
  readonly onClose: () => void
}

function Stop({ onClose }: AskProps) {
  const hold = useChange('POST /api/hold')
  return (
    <Decision
      title="Hold everything"
      verb="Hold everything"
      isDanger
      reason="optional"
      isBusy={hold.isPending}
      error={hold.error}
      onClose={onClose}
      onConfirm={(reason) =>
        hold.mutate({ body: reason ? { reason } : {} }, { onSuccess: onClose })
      }
    >
      <p>
        No new job starts in any batch, and jobs that no worker has begun are taken back. Jobs that
        workers run now finish. Nothing is undone.
      </p>
    </Decision>
  )
}

function Resume({ onClose }: AskProps) {
  const resume = useChange('POST /api/resume')
  const { mutate: previewNow, ...preview } = useChange('POST /api/resume')
  useEffect(() => previewNow({ body: { reason: 'preview', dryRun: true } }), [previewNow])
  const starts = preview.data?.starts
  return (
    <Decision
      title="Resume everything"
      verb="Resume everything"
      reason="required"
      isReady={starts !== undefined}
      isBusy={resume.isPending}
      error={resume.error ?? preview.error}
      onClose={onClose}
      onConfirm={(reason) => resume.mutate({ body: { reason } }, { onSuccess: onClose })}
    >
      {starts && (
        <p>
          At once {countText(starts.phases, 'phase')} and {countText(starts.steps, 'step')} in{' '}
          {countText(starts.batches, 'batch', 'batches')} start. What another hold covers stays
          held.
        </p>
      )}
    </Decision>
  )
}

export const HeldNote = ({ hold }: { readonly hold: Hold }) => (
  <p className="held-note" role="status">
    <strong>
      <Sign sign="⏸" /> Everything is held
    </strong>{' '}
    by {hold.heldBy} since <Time at={hold.heldAt} />: {hold.reason}. No new job starts.
  </p>
)
