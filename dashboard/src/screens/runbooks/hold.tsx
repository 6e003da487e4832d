// Holds all batches of a runbook, and resumes them.
import { useState } from 'react'
import { sameName } from '../../../../src/base/text/same-name.ts'
import { useReading } from '../../api/hooks.ts'
import { Button } from '../../ui/button.tsx'
import { HoldDialog, ResumeDialog } from '../../ui/hold.tsx'

export function HoldSwitch({ name }: { readonly name: string }) {
  const [isAsked, setAsked] = useState(false)
  const { data } = useReading('GET /api/holds', { query: { scope: 'runbook' } })
  if (!data) return null
  const isHeld = data.holds.some(({ target }) => sameName(target, name))
  const verb = isHeld ? 'Resume' : 'Hold'
  const shared = {
    target: { scope: 'runbook', target: name },
    title: `${verb} ${name}`,
    verb,
    onClose: () => setAsked(false),
  } as const
  return (
    <>
      <Button onClick={() => setAsked(true)}>{verb}</Button>
      {isAsked && isHeld && <ResumeDialog {...shared} />}
      {isAsked && !isHeld && (
        <HoldDialog {...shared}>
          <p>
            No new job starts in any batch of this runbook. Jobs that no worker has taken are
            withdrawn; jobs that workers run finish. Nothing is undone.
          </p>
        </HoldDialog>
      )}
    </>
  )
}
