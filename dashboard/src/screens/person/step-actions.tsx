// What an operator may do about one step: a failed rollback or removal step, or a success that came too late. Steps of phases are
// repaired with their person.
import { useState } from 'react'
import { statusWord } from '../../../../src/domain/state/words.ts'
import { useChange, usePreviews } from '../../api/hooks.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { Decision } from '../../ui/decision.tsx'
import { Loading } from '../../ui/feedback.tsx'
import { isFailedStep, type Person, type PersonStep } from './story.ts'

const STEP_CHANGES = {
  retry: ['Retry the step', 'The step is sent again, alone.'],
  skip: ['Skip the step', 'The step is left out for good.'],
  done: ['Mark the step as done', 'The step counts as done by hand.'],
  'accept-late': [
    'Accept the late success',
    'The success that came too late becomes the result of the step; what comes after it continues.',
  ],
} as const
type StepChange = keyof typeof STEP_CHANGES

function changesOf(step: PersonStep, { actions }: Person): StepChange[] {
  const may = (name: string) => actions.some(({ action }) => action === name)
  const isUndoing = step.kind === 'rollback' || step.kind === 'removal'
  if (isUndoing && isFailedStep(step) && may('retry_step')) return ['retry', 'skip', 'done']
  // Its sequence ended with it: the undo of the person is repeated instead.
  if (step.kind === 'undo' && isFailedStep(step) && may('undo')) return ['skip', 'done']
  return step.hasLateResult && may('accept_late') ? ['accept-late'] : []
}

interface StepActionsProps {
  readonly step: PersonStep
  readonly person: Person
}
export function StepActions({ step, person }: StepActionsProps) {
  const { mayChange } = useSession()
  const [asked, setAsked] = useState<StepChange | null>(null)
  const changes = mayChange ? changesOf(step, person) : []
  if (changes.length === 0) return null
  return (
    <div className="person-actions">
      {changes.map((change) => (
        <Button key={change} onClick={() => setAsked(change)}>
          {STEP_CHANGES[change][0]}
        </Button>
      ))}
      {asked && <StepDecision change={asked} step={step} onClose={() => setAsked(null)} />}
    </div>
  )
}

interface StepDecisionProps {
  readonly change: StepChange
  readonly step: PersonStep
  readonly onClose: () => void
}
function StepDecision({ change, step, onClose }: StepDecisionProps) {
  const endpoint = 'POST /api/steps/{stepId}'
  const params = { stepId: step.id }
  const [preview] = usePreviews(endpoint, [
    { params, body: { decision: change, reason: 'preview', dryRun: true } },
  ])
  const run = useChange(endpoint)
  const [title, effect] = STEP_CHANGES[change]
  return (
    <Decision
      title={`${title}: ${step.stepName}`}
      verb={title}
      reason="required"
      isReady={preview?.data !== undefined}
      isBusy={run.isPending}
      error={run.error ?? preview?.error ?? null}
      onClose={onClose}
      onConfirm={(reason) =>
        run.mutate({ params, body: { decision: change, reason } }, { onSuccess: onClose })
      }
    >
      <p>{effect}</p>
      {preview?.data ? (
        <p role="status">
          It is {statusWord('step', step.status)} now and becomes{' '}
          {statusWord('step', preview.data.step.status)}.
        </p>
      ) : (
        !preview?.error && <Loading what="what it will do" lines={1} />
      )}
    </Decision>
  )
}
