// Drain a worker: it gets no new jobs, gives back those it has not begun, and finishes the others. Resume ends that.
import { useState } from 'react'
import type { Answer } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { HoldDialog, ResumeDialog } from '../../ui/hold.tsx'
import { countText } from '../../ui/page.tsx'

type Worker = Answer<'GET /api/workers/{workerId}'>

export function DrainButton({ worker }: { readonly worker: Worker }) {
  const { mayChange } = useSession()
  // Asked for when the button was pressed: the worker behind the dialog changes with the answer.
  const [asked, setAsked] = useState<'drain' | 'resume' | null>(null)
  if (!mayChange || !worker.isKnown) return null
  const { workerId, outstanding, waiting } = worker
  const shared = {
    target: { scope: 'worker', target: workerId },
    onClose: () => setAsked(null),
  } as const
  return (
    <>
      <Button
        onClick={() => setAsked(worker.held ? 'resume' : 'drain')}
        aria-label={`${worker.held ? 'Resume' : 'Drain'} ${worker.workerId}`}
      >
        {worker.held ? 'Resume' : 'Drain'}
      </Button>
      {asked === 'resume' && (
        <ResumeDialog {...shared} title={`Resume worker ${workerId}`} verb="Resume" />
      )}
      {asked === 'drain' && (
        <HoldDialog {...shared} title={`Drain worker ${workerId}`} verb="Drain" reason="required">
          <p>
            {workerId} gets no new jobs. Jobs that it has not begun go back; jobs that it runs
            finish, and their results count. The worker is <strong>draining</strong> until then, and{' '}
            <strong>drained</strong> afterwards: now it can be stopped or replaced.
          </p>
          <p>
            It has {countText(outstanding)} {outstanding === 1 ? 'job' : 'jobs'} in hand, and{' '}
            {countText(waiting)} {waiting === 1 ? 'step waits' : 'steps wait'} for it. Steps that
            name this worker wait until it resumes.
          </p>
        </HoldDialog>
      )}
    </>
  )
}
