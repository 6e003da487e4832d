// A status as a word with a sign and a colour: the colour is never the only difference.
import { Sign } from './sign.tsx'

const LOOKS: Readonly<Record<string, readonly [look: string, sign: string]>> = {
  succeeded: ['good', '✓'],
  completed: ['good', '✓'],
  migrated: ['good', '✓'],
  passed: ['good', '✓'],
  ready: ['good', '✓'],
  ok: ['good', '✓'],
  on: ['good', '✓'],
  good: ['good', '✓'],
  sent: ['good', '✓'],
  valid: ['good', '✓'],
  active: ['busy', '▶'],
  dispatched: ['busy', '▶'],
  init_dispatched: ['busy', '▶'],
  running: ['busy', '▶'],
  polling: ['busy', '↻'],
  'in progress': ['busy', '▶'],
  pending: ['idle', '○'],
  waiting: ['idle', '○'],
  detected: ['idle', '○'],
  held: ['warn', '⏸'],
  partial: ['warn', '!'],
  silent: ['warn', '!'],
  unknown: ['warn', '!'],
  draining: ['warn', '⏸'],
  drained: ['off', '⏸'],
  failed: ['bad', '✕'],
  poll_timeout: ['bad', '✕'],
  error: ['bad', '✕'],
  off: ['off', '–'],
  inactive: ['off', '–'],
  abandoned: ['warn', '!'],
  cancelled: ['off', '–'],
  expired: ['off', '–'],
  revoked: ['off', '–'],
  skipped: ['off', '–'],
  removed: ['off', '–'],
  stopped: ['off', '–'],
  superseded: ['off', '–'],
}

export const lookOf = (status: string): string => LOOKS[status]?.[0] ?? 'idle'

export function Status({ status, text }: { readonly status: string; readonly text?: string }) {
  const [look, sign] = LOOKS[status] ?? ['idle', '·']
  return (
    <span className="status" data-look={look}>
      <Sign sign={sign} /> {text ?? status.replaceAll('_', ' ')}
    </span>
  )
}
