// The dialogs of every hold, of the system, a runbook, a worker or a batch: hold at once, with a reason now or later; resume after a
// preview of what starts.
import type { ReactNode } from 'react'
import { useChange } from '../api/hooks.ts'
import { useTaggedPreview } from '../api/preview.ts'
import type { RequestOf } from '../api/routes.ts'
import { Decision } from './decision.tsx'
import { Loaded } from './feedback.tsx'
import { countText } from './page.tsx'
import { StartsAtOnce } from './starts-at-once.tsx'
import { Distance } from './time.tsx'

/** As the list of holds names it. */
export type HoldTarget = Pick<RequestOf<'POST /api/holds'>['body'], 'scope' | 'target' | 'batchId'>
interface DialogProps {
  readonly target: HoldTarget
  readonly title: string
  readonly verb: string
  readonly onClose: () => void
}
interface HoldProps extends DialogProps {
  readonly reason?: 'required' | 'optional'
  /** Stays open once it is held: the next question follows in its place. */
  readonly staysOpen?: boolean
  /** What it stops. */
  readonly children: ReactNode
}

export function HoldDialog(props: HoldProps) {
  const { target, reason = 'optional', staysOpen = false, onClose, children } = props
  const hold = useChange('POST /api/holds')
  return (
    <Decision
      title={props.title}
      verb={props.verb}
      isDanger={reason === 'optional'}
      reason={reason}
      isBusy={hold.isPending || hold.isSuccess}
      error={hold.error}
      onClose={onClose}
      onConfirm={(why) =>
        hold.mutate(
          { body: { ...target, ...(why && { reason: why }) } },
          staysOpen ? {} : { onSuccess: onClose },
        )
      }
    >
      {children}
    </Decision>
  )
}

/** Of a batch it is refused when the batch has changed since the preview. */
export function ResumeDialog({ target, title, verb, onClose }: DialogProps) {
  const endpoint = 'POST /api/holds/resume'
  const preview = useTaggedPreview(endpoint, {
    body: { ...target, reason: 'preview', dryRun: true },
  })
  const resume = useChange(endpoint)
  return (
    <Decision
      title={title}
      verb={verb}
      reason="required"
      isReady={preview.isSuccess}
      isBusy={resume.isPending}
      error={resume.error}
      onClose={onClose}
      onConfirm={(reason) =>
        resume.mutate(
          { body: { ...target, reason }, options: { ifMatch: preview.data?.etag } },
          { onSuccess: onClose },
        )
      }
    >
      <Loaded reading={preview} what="the preview">
        {({ answer: { hold, starts, startsAtOnce } }) => (
          <>
            <p>
              {hold.heldBy} holds {hold.name} since <Distance to={hold.heldAt} />: {hold.reason}
            </p>
            <p>
              In {amount(starts.batches, 'batch', 'batches')},{' '}
              {amount(starts.phases, 'phase', 'phases')} and {amount(starts.steps, 'step', 'steps')}{' '}
              start at once. What another hold covers stays held, and time on hold does not count
              for retries and polls.
            </p>
            <StartsAtOnce starts={startsAtOnce} />
          </>
        )}
      </Loaded>
    </Decision>
  )
}

const amount = (count: number, one: string, many: string): string =>
  `${countText(count)} ${count === 1 ? one : many}`
