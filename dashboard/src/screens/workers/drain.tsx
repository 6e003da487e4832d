// Drain a worker: it gets no new jobs, gives back those it has not begun, and finishes the others. Resume ends that.
import { useState } from 'react'
import { useChange, usePreview } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { countText } from '../../ui/page.tsx'
import { ResumePreview } from '../../ui/resume-preview.tsx'

type Worker = Answer<'GET /api/workers/{workerId}'>
interface DialogProps {
  readonly worker: Worker
  readonly onClose: () => void
}

export function DrainButton({ worker }: { readonly worker: Worker }) {
  const { mayChange } = useSession()
  // Asked for when the button was pressed: the worker behind the dialog changes with the answer.
  const [asked, setAsked] = useState<'drain' | 'resume' | null>(null)
  if (!mayChange || !worker.isKnown) return null
  const Dialog = asked === 'resume' ? Resume : Drain
  return (
    <>
      <Button
        onClick={() => setAsked(worker.held ? 'resume' : 'drain')}
        aria-label={`${worker.held ? 'Resume' : 'Drain'} ${worker.workerId}`}
      >
        {worker.held ? 'Resume' : 'Drain'}
      </Button>
      {asked && <Dialog worker={worker} onClose={() => setAsked(null)} />}
    </>
  )
}

function Drain({ worker: { workerId, outstanding, waiting }, onClose }: DialogProps) {
  const hold = useChange('POST /api/workers/{workerId}/hold')
  return (
    <Decision
      title={`Drain worker ${workerId}`}
      verb="Drain"
      reason="required"
      isBusy={hold.isPending}
      error={hold.error}
      onClose={onClose}
      onConfirm={(reason) =>
        hold.mutate({ params: { workerId }, body: { reason } }, { onSuccess: onClose })
      }
    >
      <p>
        {workerId} gets no new jobs. Jobs that it has not begun go back; jobs that it runs finish,
        and their results count. The worker is <strong>draining</strong> until then, and{' '}
        <strong>drained</strong> afterwards: now it can be stopped or replaced.
      </p>
      <p>
        It has {countText(outstanding)} {outstanding === 1 ? 'job' : 'jobs'} in hand, and{' '}
        {countText(waiting)} {waiting === 1 ? 'step waits' : 'steps wait'} for it. Steps that name
        this worker wait until it resumes.
      </p>
    </Decision>
  )
}

function Resume({ worker: { workerId }, onClose }: DialogProps) {
  const resume = useChange('POST /api/workers/{workerId}/resume')
  const preview = usePreview('POST /api/workers/{workerId}/resume', {
    params: { workerId },
    body: { reason: 'preview', dryRun: true },
  })
  return (
    <Decision
      title={`Resume worker ${workerId}`}
      verb="Resume"
      reason="required"
      isReady={preview.isSuccess}
      isBusy={resume.isPending}
      error={resume.error}
      onClose={onClose}
      onConfirm={(reason) =>
        resume.mutate({ params: { workerId }, body: { reason } }, { onSuccess: onClose })
      }
    >
      <ResumePreview reading={preview} />
    </Decision>
  )
}
