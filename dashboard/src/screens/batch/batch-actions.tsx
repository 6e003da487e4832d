// Actions on the whole batch: hold, resume, advance, reschedule, what if, override the change window, cancel, undo. Each is tried first, and
// confirmed for the state that was shown; only a hold never waits for anything.
import { type ReactNode, useState } from 'react'
import { useChange, useReading } from '../../api/hooks.ts'
import { useTaggedPreview } from '../../api/preview.ts'
import type { Answer, Change, RequestOf } from '../../api/routes.ts'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { overrideOf } from '../../ui/change-window.tsx'
import { Decision } from '../../ui/decision.tsx'
import { ErrorNote, Loading } from '../../ui/feedback.tsx'
import { HoldDialog, ResumeDialog } from '../../ui/hold.tsx'
import { countText } from '../../ui/page.tsx'
import { Time, useNow } from '../../ui/time.tsx'
import type { Summary } from './batch.tsx'
import { EndOverride, OverrideWindow } from './override-window.tsx'
import { Reschedule } from './reschedule.tsx'
import { UndoWave } from './undo-wave.tsx'
import { WhatIf } from './what-if.tsx'

type Asked =
  | 'hold'
  | 'resume'
  | 'advance'
  | 'reschedule'
  | 'what-if'
  | 'override'
  | 'end-override'
  | 'cancel'
  | 'undo'

export function BatchActions({ summary: { batch, window } }: { readonly summary: Summary }) {
  const { mayChange } = useSession()
  const isOverridden = overrideOf(batch.changeWindow, useNow()) !== null
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  const held = { target: { scope: 'batch', target: `${batch.id}` }, onClose: close } as const
  if (!mayChange) return null
  const undo = (
    <>
      <Button onClick={() => setAsked('undo')}>Undo the wave…</Button>
      {asked === 'undo' && <UndoWave batch={batch} onClose={close} />}
    </>
  )
  if (batch.endedAt !== null) return undo
  return (
    <>
      {batch.held ? (
        <Button kind="primary" onClick={() => setAsked('resume')}>
          Resume batch
        </Button>
      ) : (
        <Button onClick={() => setAsked('hold')}>Hold batch</Button>
      )}
      {batch.isManual ? (
        <Button onClick={() => setAsked('advance')}>Advance</Button>
      ) : (
        <>
          <Button onClick={() => setAsked('reschedule')}>Reschedule</Button>
          <Button onClick={() => setAsked('what-if')}>What if …</Button>
        </>
      )}
      {isOverridden ? (
        <Button onClick={() => setAsked('end-override')}>End window override</Button>
      ) : (
        window !== null && (
          <Button onClick={() => setAsked('override')}>Override change window</Button>
        )
      )}
      <Button onClick={() => setAsked('cancel')}>Cancel batch</Button>
      {undo}
      {asked === 'hold' && (
        <HoldDialog {...held} title={`Hold batch ${batch.id}`} verb="Hold batch">
          <p>
            No new job starts, and queued jobs are withdrawn. Jobs that workers run now finish, and
            their results are recorded. Nothing is undone.
          </p>
        </HoldDialog>
      )}
      {asked === 'resume' && (
        <ResumeDialog {...held} title={`Resume batch ${batch.id}`} verb="Resume batch" />
      )}
      {asked === 'advance' && <Advance batchId={batch.id} onClose={close} />}
      {asked === 'reschedule' && <Reschedule batch={batch} onClose={close} />}
      {asked === 'override' && <OverrideWindow batch={batch} onClose={close} />}
      {asked === 'end-override' && <EndOverride batch={batch} onClose={close} />}
      {asked === 'what-if' && <WhatIf batch={batch} onClose={close} />}
      {asked === 'cancel' && <Cancel batch={batch} onClose={close} />}
    </>
  )
}

interface DialogProps {
  readonly batchId: number
  readonly onClose: () => void
}

type BatchChange = Extract<
  Change,
  `POST /api/batches/{batchId}/${'advance' | 'reschedule' | 'override-window' | 'cancel' | 'undo-init'}`
>
interface BatchDecisionProps<E extends BatchChange> {
  readonly endpoint: E
  readonly batchId: number
  /** Without reason and dryRun. Null: not to be tried yet. */
  readonly order: Readonly<Record<string, unknown>> | null
  readonly title: string
  readonly verb: string
  readonly isDanger?: boolean
  readonly reason: 'required' | 'optional'
  readonly isReady?: (answer: Answer<E>) => boolean
  readonly onClose: () => void
  /** What to ask for before the preview. */
  readonly fields?: ReactNode
  readonly children: (answer: Answer<E>) => ReactNode
}

/** The dialog of a change of the batch: tried, shown, confirmed for the state that was shown. */
export function BatchDecision<E extends BatchChange>(props: BatchDecisionProps<E>) {
  const { endpoint, batchId, order, isReady = () => true } = props
  const given = (body: object) => ({ params: { batchId }, body }) as unknown as RequestOf<E>
  const preview = useTaggedPreview(
    endpoint,
    order && given({ ...order, reason: 'preview', dryRun: true }),
  )
  const change = useChange(endpoint)
  const answer = preview.data?.answer
  const confirm = (reason: string) => {
    const options = { ifMatch: preview.data?.etag }
    const body = { ...order, ...(reason && { reason }) }
    change.mutate({ ...given(body), options }, { onSuccess: props.onClose })
  }
  return (
    <Decision
      title={props.title}
      verb={props.verb}
      isDanger={props.isDanger ?? false}
      reason={props.reason}
      isReady={answer !== undefined && isReady(answer)}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={confirm}
      onClose={props.onClose}
    >
      {props.fields}
      {preview.error && <ErrorNote error={preview.error} onRetry={() => void preview.refetch()} />}
      {answer
        ? props.children(answer)
        : order && !preview.error && <Loading what="the preview" lines={2} />}
    </Decision>
  )
}

function Advance({ batchId, onClose }: DialogProps) {
  const [allowStragglers, setAllow] = useState(false)
  const reading = useReading('GET /api/batches/{batchId}', { params: { batchId } })
  const next = reading.data?.nextPhase
  return (
    <BatchDecision
      endpoint="POST /api/batches/{batchId}/advance"
      batchId={batchId}
      order={next ? { expectedPhase: next, allowStragglers } : null}
      title={next ? `Start phase ${next} of batch ${batchId}` : `Advance batch ${batchId}`}
      verb={next ? `Start ${next}` : 'Advance'}
      reason="optional"
      onClose={onClose}
      fields={
        <>
          {reading.data && !next && <p>No phase is left to start.</p>}
          <label className="check">
            <input
              type="checkbox"
              checked={allowStragglers}
              onChange={(event) => setAllow(event.target.checked)}
            />{' '}
            Also while people are still in an earlier phase
          </label>
        </>
      }
    >
      {({ batch }) => (
        <p>
          {next} starts now for {countText(batch.members.active)} people.
        </p>
      )}
    </BatchDecision>
  )
}

interface CancelProps {
  readonly batch: Summary['batch']
  readonly onClose: () => void
}
const Cancel = ({ batch, onClose }: CancelProps) => (
  <BatchDecision
    endpoint="POST /api/batches/{batchId}/cancel"
    batchId={batch.id}
    order={{}}
    title={`Cancel batch ${batch.id}`}
    verb="Cancel this batch"
    isDanger
    reason="required"
    onClose={onClose}
  >
    {(answer) => (
      <>
        <p>
          Open steps are cancelled; running rollbacks finish. What was done stays done. This cannot
          be taken back.
        </p>
        <p>
          <strong>{countText(answer.batch.members.stopped)}</strong> people stop before they are cut
          over; {countText(answer.batch.members.cut_over + answer.batch.members.done)} are.
        </p>
        {batch.batchStartTime && (
          <p className="quiet">
            The batch starts <Time at={batch.batchStartTime} />.
          </p>
        )}
      </>
    )}
  </BatchDecision>
)
