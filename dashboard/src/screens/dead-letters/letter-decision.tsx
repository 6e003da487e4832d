// Replay or discard dead letters: which, what follows, why. Several are sent one by one, and each that was refused is told.
import { useState } from 'react'
import { useChange } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Decision } from '../../ui/decision.tsx'
import { kindText } from './letter-text.ts'

type Letter = Answer<'GET /api/dead-letters'>['deadLetters'][number]
export type LetterVerb = 'replay' | 'discard'
const LISTED_MAX = 8

interface LetterDecisionProps {
  readonly verb: LetterVerb
  readonly letters: readonly Letter[]
  /** Whether all of them were decided. */
  readonly onClose: (isDone: boolean) => void
}

export function LetterDecision({ verb, letters: given, onClose }: LetterDecisionProps) {
  // As they were chosen: the list behind the dialog loses each one that is done.
  const [letters] = useState(given)
  const { isBusy, doneCount, error, run } = useDecisions(verb, letters, () => onClose(true))
  const what = letters.length === 1 ? 'a dead letter' : `${letters.length} dead letters`
  return (
    <Decision
      title={`${verb === 'replay' ? 'Replay' : 'Discard'} ${what}`}
      verb={verb === 'replay' ? 'Replay' : 'Discard'}
      isDanger={verb === 'discard'}
      reason="required"
      isBusy={isBusy}
      error={error}
      onClose={() => onClose(false)}
      onConfirm={(reason) => void run(reason)}
    >
      <p>
        {verb === 'replay'
          ? 'Each goes to its own queue once more, as it was. Replay after the cause is gone: otherwise it is dead again. Results that came meanwhile count once.'
          : 'None is handled any more; each is kept as a record. A step that waits for a discarded result waits until its deadline.'}
      </p>
      <ul className="tight-list">
        {letters.slice(0, LISTED_MAX).map(({ id, messageId, subscription, reason, ...letter }) => (
          <li key={id}>
            {kindText(letter)} <code>{messageId}</code> of {subscription}: {reason}
          </li>
        ))}
        {letters.length > LISTED_MAX && <li>and {letters.length - LISTED_MAX} more</li>}
      </ul>
      {isBusy && (
        <p role="status">
          {doneCount} of {letters.length} done
        </p>
      )}
    </Decision>
  )
}

function useDecisions(verb: LetterVerb, letters: readonly Letter[], onDone: () => void) {
  const { mutateAsync } = useChange('POST /api/dead-letters/{deadLetterId}')
  const [done, setDone] = useState<ReadonlySet<string>>(new Set())
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const run = async (reason: string) => {
    setBusy(true)
    setError(null)
    const refused: string[] = []
    const ended = new Set(done)
    for (const { id, messageId } of letters) {
      // What an earlier attempt did is not done again.
      if (ended.has(id)) continue
      try {
        await mutateAsync({ params: { deadLetterId: id }, body: { decision: verb, reason } })
        ended.add(id)
        setDone(new Set(ended))
      } catch (failure) {
        refused.push(`${messageId}: ${(failure as Error).message}`)
      }
    }
    setBusy(false)
    if (refused.length === 0) onDone()
    else setError(new Error(`${ended.size} done, ${refused.length} refused. ${refused[0]}`))
  }
  return { isBusy, doneCount: done.size, error, run }
}
