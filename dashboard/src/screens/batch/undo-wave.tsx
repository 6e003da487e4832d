// The undo of a whole wave: on hold first, then the plan counted by kind of change, then what init changed. Its steps are tracked, so the
// page says how far they are.
import { useState } from 'react'
import { useReading } from '../../api/hooks.ts'
import { MembersDecision } from '../../members/members-decision.tsx'
import { useSession } from '../../sign-in/use-session.ts'
import { Button } from '../../ui/button.tsx'
import { HoldDialog } from '../../ui/hold.tsx'
import { countText } from '../../ui/page.tsx'
import { PastNoReturn, UndoPlan } from '../../undo/undo-plan.tsx'
import type { Summary } from './batch.tsx'
import { BatchDecision } from './batch-actions.tsx'

/** Counting reads a row for each change, so not after every event. */
const EVERY_MS = 5_000

interface UndoWaveProps {
  readonly batch: Summary['batch']
  readonly onClose: () => void
}
export const UndoWave = ({ batch, onClose }: UndoWaveProps) =>
  batch.endedAt === null && !batch.held ? (
    // Once it is held, the plan follows in the same place.
    <HoldDialog
      target={{ scope: 'batch', target: `${batch.id}` }}
      title={`Undo batch ${batch.id}: hold it first`}
      verb="Hold batch"
      reason="required"
      staysOpen
      onClose={onClose}
    >
      <p>
        The wave runs. Hold it, so that nothing is sent meanwhile; the plan of the undo comes next.
        Jobs that workers run now finish, and nothing is undone before you confirm the plan.
      </p>
    </HoldDialog>
  ) : (
    <UndoEverybody batch={batch} onClose={onClose} />
  )

function UndoEverybody({ batch, onClose }: UndoWaveProps) {
  const [pastNoReturn, setPast] = useState(false)
  return (
    <MembersDecision
      change="undo"
      who={`everyone in batch ${batch.id}`}
      targets={[{ batchId: batch.id, select: { all: true } }]}
      more={{ pastNoReturn }}
      onClose={onClose}
    >
      {batch.endedAt === null && (
        <p>The batch is on hold. The steps of the undo wait until you resume it.</p>
      )}
      <PastNoReturn isChosen={pastNoReturn} onChoose={setPast} />
    </MembersDecision>
  )
}

/** How far the undo of a wave is; nothing where none was asked for. */
export function UndoProgress({ batch }: { readonly batch: Summary['batch'] }) {
  const { mayChange } = useSession()
  const [isAsked, setAsked] = useState(false)
  const params = { batchId: batch.id }
  const reading = useReading('GET /api/batches/{batchId}/undo', { params }, { everyMs: EVERY_MS })
  if (!reading.data || reading.data.members.total + reading.data.init.total === 0) return null
  const { members, init } = reading.data
  const isOpen = members.open + init.open > 0
  const look = members.failed + init.failed > 0 ? 'bad' : isOpen ? 'warn' : 'good'
  return (
    <p className="note" data-look={look} role="status">
      {members.total > 0 && <>Undo: {countsText(members)}. </>}
      {init.total > 0 && <>Undo of init: {countsText(init)}. </>}
      {isOpen && batch.held && 'The open steps wait until the batch is resumed. '}
      {mayChange && !isOpen && init.total === 0 && (batch.held || batch.endedAt !== null) && (
        <Button onClick={() => setAsked(true)}>Undo init…</Button>
      )}
      {isAsked && <UndoInit batchId={batch.id} onClose={() => setAsked(false)} />}
    </p>
  )
}

interface Counts {
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly left: number
}
const countsText = ({ total, done, failed, left }: Counts): string =>
  [
    `${countText(done)} of ${countText(total)} changes done`,
    ...(failed > 0 ? [`${countText(failed)} failed`] : []),
    ...(left > 0 ? [`${countText(left)} left after a failure`] : []),
  ].join(', ')

const UndoInit = (props: { readonly batchId: number; readonly onClose: () => void }) => (
  <BatchDecision
    endpoint="POST /api/batches/{batchId}/undo-init"
    batchId={props.batchId}
    order={{}}
    title={`Undo what init of batch ${props.batchId} changed`}
    verb="Undo init"
    isDanger
    reason="required"
    isReady={({ items }) => items.some(({ state }) => state === 'to_undo')}
    onClose={props.onClose}
  >
    {({ items }) =>
      items.length === 0 ? (
        <p>Init has changed nothing.</p>
      ) : (
        <UndoPlan
          isCounted={false}
          effects={items.map(({ undo, ...item }) => ({
            ...item,
            functionName: undo?.functionName ?? null,
            memberCount: 1,
          }))}
        />
      )
    }
  </BatchDecision>
)
