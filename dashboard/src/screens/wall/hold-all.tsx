// The emergency stop of everything, and its end.
import { useState } from 'react'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { HoldDialog, ResumeDialog } from '../../ui/hold.tsx'
import { Sign } from '../../ui/sign.tsx'
import { Time } from '../../ui/time.tsx'
import type { Hold } from './use-wall.ts'

export function HoldAll({ hold }: { readonly hold: Hold | null }) {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  if (!mayChange) return null
  const verb = hold ? 'Resume everything' : 'Hold everything'
  const shared = {
    target: { scope: 'system' },
    title: verb,
    verb,
    onClose: () => setAsked(false),
  } as const
  return (
    <>
      <Button kind={hold ? 'primary' : 'plain'} onClick={() => setAsked(true)}>
        {verb}
      </Button>
      {isAsked && hold && <ResumeDialog {...shared} />}
      {isAsked && !hold && (
        <HoldDialog {...shared}>
          <p>
            No new job starts in any batch, and jobs that no worker has begun are taken back. Jobs
            that workers run now finish. Nothing is undone.
          </p>
        </HoldDialog>
      )}
    </>
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
