// A worker's state and load.
import type { Answer } from '../../api/routes.ts'
import { countText } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Distance } from '../../ui/time.tsx'

type Worker = Answer<'GET /api/workers/{workerId}'>

const STATE_TEXT: Readonly<Record<Worker['state'], string>> = {
  ok: 'working',
  silent: 'silent',
  unknown: 'never seen',
  draining: 'draining',
  drained: 'drained',
}

export const WorkerStatus = ({ worker: { state, held } }: { readonly worker: Worker }) => (
  <>
    <Status status={state} text={STATE_TEXT[state]} />
    {held && (
      <div className="quiet held-by">
        {held.by}, <Distance to={held.at} />: {held.reason}
      </div>
    )}
  </>
)

/** Jobs in hand of its slots, as figures and as a bar. */
export function Load({ worker: { outstanding, slots, jobLimit } }: { readonly worker: Worker }) {
  const most = slots ?? jobLimit
  return (
    <span className="load">
      <span className="load-bar" aria-hidden="true">
        <span
          style={{ inlineSize: `${most === 0 ? 0 : Math.min(100, (outstanding / most) * 100)}%` }}
        />
      </span>
      {countText(outstanding)} of {countText(most)}{' '}
      {slots === null ? '' : most === 1 ? 'slot' : 'slots'}
    </span>
  )
}
