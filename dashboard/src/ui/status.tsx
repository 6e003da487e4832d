// A status as a word with a sign and a colour: the colour is never the only difference.
import type { PersonState } from '../../../src/domain/state/person-state.ts'
import { Sign } from './sign.tsx'

type Look = readonly [look: string, sign: string]

const STATE_LOOKS: Readonly<Record<PersonState, Look>> = {
  scheduled: ['idle', '○'],
  preparing: ['idle', '▶'],
  cutting_over: ['busy', '▶'],
  cut_over: ['good', '✓'],
  done: ['good', '✓'],
  failed: ['bad', '✕'],
  rolled_back: ['bad', '↶'],
  taken_back: ['off', '↶'],
  stopped: ['off', '–'],
  removed: ['off', '–'],
}

const LOOKS: Readonly<Record<string, Look>> = {
  ...STATE_LOOKS,
  succeeded: ['good', '✓'],
  completed: ['good', '✓'],
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
  late: ['bad', '!'],
  silent: ['warn', '!'],
  unknown: ['warn', '!'],
  draining: ['warn', '⏸'],
  drained: ['off', '⏸'],
  poll_timeout: ['bad', '✕'],
  to_undo: ['idle', '○'],
  goes_with: ['idle', '○'],
  undoing: ['busy', '↶'],
  undone: ['off', '↶'],
  beyond: ['warn', '!'],
  irreversible: ['warn', '!'],
  error: ['bad', '✕'],
  off: ['off', '–'],
  inactive: ['off', '–'],
  abandoned: ['warn', '!'],
  cancelled: ['off', '–'],
  expired: ['off', '–'],
  revoked: ['off', '–'],
  skipped: ['off', '–'],
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
