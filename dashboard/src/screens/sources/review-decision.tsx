// Approve or dismiss reviews: the dry run says what follows, then the reason and the confirmation.
import { useState } from 'react'
import { useChange, usePreview } from '../../api/hooks.ts'
import type { Answer } from '../../api/routes.ts'
import { Decision } from '../../ui/decision.tsx'
import { Loaded } from '../../ui/feedback.tsx'
import { ApprovalsLost, peopleText, StartsAtOnce } from '../../ui/starts-at-once.tsx'
import { Time } from '../../ui/time.tsx'
import { KIND_TEXT, type Kind, type Review } from './review-group.ts'

export type ReviewVerb = 'approve' | 'dismiss'
type Choice = 'reschedule' | 'move'

interface ReviewDecisionProps {
  readonly verb: ReviewVerb
  readonly kind: Kind
  readonly reviews: readonly Review[]
  readonly onClose: () => void
}

export function ReviewDecision(props: ReviewDecisionProps) {
  // As they were chosen: the list behind the dialog may change.
  const [reviews] = useState(props.reviews)
  const Dialog = props.verb === 'approve' ? Approve : Dismiss
  return <Dialog {...props} reviews={reviews} />
}

function Approve({ kind, reviews, onClose }: ReviewDecisionProps) {
  const [choice, setChoice] = useState<Choice | null>(null)
  const [allowsOverdue, setAllowsOverdue] = useState(false)
  const isChosen = kind !== 'move' || choice !== null
  const order = {
    decision: 'approve' as const,
    reviewIds: reviews.map(({ id }) => id),
    kind,
    ...(choice !== null && { choice }),
  }
  const preview = usePreview(
    'POST /api/reviews',
    { body: { ...order, reason: 'preview', dryRun: true } },
    isChosen,
  )
  const approve = useChange('POST /api/reviews')
  const isOverdue = (preview.data?.overdue.length ?? 0) > 0
  return (
    <Decision
      title={`Approve ${KIND_TEXT[kind].name.toLowerCase()} of ${peopleText(reviews.length)}`}
      verb="Approve"
      isDanger={kind === 'removal'}
      reason="required"
      isReady={preview.isSuccess && (!isOverdue || allowsOverdue)}
      isBusy={approve.isPending}
      error={approve.error}
      onClose={onClose}
      onConfirm={(reason) =>
        approve.mutate(
          { body: { ...order, reason, ...(allowsOverdue && { allowOverdue: true }) } },
          { onSuccess: onClose },
        )
      }
    >
      <p>{KIND_TEXT[kind].approve}</p>
      {kind === 'move' && <MoveChoice choice={choice} onChoose={setChoice} />}
      {isChosen && (
        <Loaded reading={preview} what="the preview">
          {(outcome) => <Outcome outcome={outcome} />}
        </Loaded>
      )}
      {isOverdue && (
        <label className="checks">
          <input
            type="checkbox"
            checked={allowsOverdue}
            onChange={({ target }) => setAllowsOverdue(target.checked)}
          />
          Start the overdue phases at once
        </label>
      )}
    </Decision>
  )
}

const CHOICES: Readonly<Record<Choice, string>> = {
  reschedule: 'Reschedule the whole batch to the new time',
  move: 'Move these people to the batch of the new time',
}

interface MoveChoiceProps {
  readonly choice: Choice | null
  readonly onChoose: (choice: Choice) => void
}
const MoveChoice = ({ choice, onChoose }: MoveChoiceProps) => (
  <fieldset className="choices">
    <legend>How</legend>
    {(Object.keys(CHOICES) as Choice[]).map((value) => (
      <label key={value} className="checks">
        <input
          type="radio"
          name="choice"
          checked={choice === value}
          onChange={() => onChoose(value)}
        />
        {CHOICES[value]}
      </label>
    ))}
  </fieldset>
)

function Dismiss({ kind, reviews, onClose }: ReviewDecisionProps) {
  const order = { decision: 'dismiss' as const, reviewIds: reviews.map(({ id }) => id) }
  const preview = usePreview('POST /api/reviews', {
    body: { ...order, reason: 'preview', dryRun: true },
  })
  const dismiss = useChange('POST /api/reviews')
  return (
    <Decision
      title={`Dismiss ${KIND_TEXT[kind].name.toLowerCase()} of ${peopleText(reviews.length)}`}
      verb="Dismiss"
      reason="required"
      isReady={preview.isSuccess}
      isBusy={dismiss.isPending}
      error={dismiss.error}
      onClose={onClose}
      onConfirm={(reason) => dismiss.mutate({ body: { ...order, reason } }, { onSuccess: onClose })}
    >
      <p>{KIND_TEXT[kind].dismiss}</p>
      <Loaded reading={preview} what="the preview">
        {(outcome) => <Outcome outcome={outcome} />}
      </Loaded>
    </Decision>
  )
}

type DecisionOutcome = Answer<'POST /api/reviews'>

const Outcome = ({ outcome }: { readonly outcome: DecisionOutcome }) => (
  <>
    <ul className="tight-list">
      {outcome.groups.map(({ kind, batchId, toTime, people, memberKeys }) => (
        <li key={`${kind} ${batchId} ${toTime}`}>
          <strong>{peopleText(people)}</strong>
          {batchId !== null && ` of batch ${batchId}`}
          {kind === 'move' && (
            <>
              {' '}
              to <Time at={toTime} />
            </>
          )}
          : {memberKeys.join(', ')}
          {people > memberKeys.length && ' …'}
        </li>
      ))}
    </ul>
    {outcome.refusedCount > 0 && (
      <>
        <p>
          <strong>{peopleText(outcome.refusedCount)}</strong> would be refused:
        </p>
        <ul className="tight-list">
          {outcome.refused.map(({ memberId, reason }) => (
            <li key={memberId}>{reason}</li>
          ))}
        </ul>
      </>
    )}
    {outcome.overdue.length > 0 && (
      <p>
        Phases whose new time has passed:{' '}
        {outcome.overdue.map(({ phaseName }) => phaseName).join(', ')}.
      </p>
    )}
    <StartsAtOnce starts={outcome.startsAtOnce} />
    <ApprovalsLost lost={outcome.approvalsLost} />
  </>
)
