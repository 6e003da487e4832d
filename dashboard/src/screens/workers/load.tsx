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

/** Jobs in hand, of those that it may have, as a bar; how many of them run at once are its slots, another number. */
export function Load({ worker: { outstanding, slots, jobLimit } }: { readonly worker: Worker }) {
  return (
    <span className="load">
      <span className="load-bar" aria-hidden="true">
        <span
          style={{
            inlineSize: `${jobLimit === 0 ? 0 : Math.min(100, (outstanding / jobLimit) * 100)}%`,
          }}
        />
      </span>
      {countText(outstanding)} {outstanding === 1 ? 'job' : 'jobs'} in hand
      {slots !== null && `, ${countText(slots)} ${slots === 1 ? 'slot' : 'slots'}`}
    </span>
  )
}
