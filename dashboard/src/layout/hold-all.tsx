// The emergency stop of everything, and its end.
import { useState } from 'react'
import { useSession } from '../sign-in/use-session.ts'
import { Button } from '../ui/button.tsx'
import { HoldDialog, ResumeDialog } from '../ui/hold.tsx'

export function HoldAll({ isHeld }: { readonly isHeld: boolean }) {
  const { mayChange } = useSession()
  // What was asked for: the hold may be in force before its answer is here.
  const [asked, setAsked] = useState<'hold' | 'resume' | null>(null)
  if (!mayChange) return null
  const verb = isHeld ? 'Resume everything' : 'Hold everything'
  const shared = { target: { scope: 'system' }, onClose: () => setAsked(null) } as const
  return (
    <>
      <Button
        kind={isHeld ? 'primary' : 'plain'}
        onClick={() => setAsked(isHeld ? 'resume' : 'hold')}
      >
        {verb}
      </Button>
      {asked === 'resume' && (
        <ResumeDialog {...shared} title="Resume everything" verb="Resume everything" />
      )}
      {asked === 'hold' && (
        <HoldDialog {...shared} title="Hold everything" verb="Hold everything">
          <p>
            No new job starts in any batch, and jobs that no worker has begun are taken back. Jobs
            that workers run now finish. Nothing is undone.
          </p>
        </HoldDialog>
      )}
    </>
  )
}
