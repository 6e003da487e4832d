// Random faults by seed: processes killed, frozen and asked to stop, connections cut by the server, a faulty network, and a server
// stopped as by a power cut. The seed fixes the choice and order of faults; the exact moment depends on the machine and cannot be
// replayed.
import type { Clock } from '../../../src/base/run/clock.ts'
import type { PostgresServer } from '../../kit/postgres-server.ts'
import { seeded } from '../../kit/seeded.ts'
import type { Fleet } from './fleet.ts'
import { MODES, type TcpProxy } from './proxy.ts'

export interface Targets {
  readonly fleet: Fleet
  readonly server: PostgresServer
  readonly proxy: TcpProxy
  readonly clock: Clock
  readonly leaseMs: number
  /** Ends all connections but the watcher's. Fails when the server is down. */
  cutConnections(): Promise<void>
}

const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 3_000
const SERVER_CRASH_EVERY_MS = 10_000
const NETWORK_FAULT_MAX_MS = 3_000

type Kind = 'kill' | 'freeze' | 'freeze beyond the lease' | 'ask to stop' | 'cut' | 'network'

/** By weight: mostly kills, then freezes. */
const KINDS: readonly Kind[] = [
  ...Array<Kind>(8).fill('kill'),
  ...Array<Kind>(2).fill('freeze'),
  ...Array<Kind>(3).fill('freeze beyond the lease'),
  ...Array<Kind>(2).fill('ask to stop'),
  ...Array<Kind>(1).fill('cut'),
  ...Array<Kind>(3).fill('network'),
]

/** Injects faults until `over` aborts, then lets everything heal. */
export type Harm = (targets: Targets, seed: number, over: AbortSignal) => Promise<void>

export const doHarm: Harm = async (targets, seed, over) => {
  const { clock, proxy } = targets
  const pick = seeded(seed)
  const lasting: Promise<void>[] = []
  let crashAt = Date.now() + SERVER_CRASH_EVERY_MS
  while (!over.aborted) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS - PAUSE_MIN_MS), over)
    if (over.aborted) break
    if (Date.now() >= crashAt) {
      crashServer(targets)
      crashAt = Date.now() + SERVER_CRASH_EVERY_MS
    } else {
      lasting.push(strike(targets, KINDS[pick(KINDS.length)]!, pick))
    }
  }
  await Promise.all(lasting)
  proxy.become('pass')
}

/** No checkpoint, no shutdown: the next start recovers from the log. */
function crashServer({ server, fleet }: Targets): void {
  const happened = { at: Date.now(), what: 'crashed', who: 'database', until: 0 }
  fleet.happened.push(happened)
  server.stop('immediate')
  server.start()
  happened.until = Date.now()
}

async function strike(
  targets: Targets,
  kind: Kind,
  pick: (limit: number) => number,
): Promise<void> {
  const { fleet, leaseMs } = targets
  const atWork = [...fleet.atWork('orchestrator'), ...fleet.atWork('worker')]
  const target = atWork[pick(atWork.length || 1)]
  const chance = pick(3_000)
  const mode = MODES[1 + pick(MODES.length - 1)]!
  if (kind === 'cut') return cut(targets)
  if (kind === 'network') return disturb(targets, mode, 300 + (chance % NETWORK_FAULT_MAX_MS))
  if (!target) return
  if (kind === 'kill') fleet.kill(target)
  else if (kind === 'ask to stop') fleet.askToStop(target)
  else await fleet.freeze(target, kind === 'freeze' ? 500 + chance : leaseMs + 500 + chance)
}

async function cut({ fleet, cutConnections }: Targets): Promise<void> {
  try {
    await cutConnections()
    fleet.happened.push({ at: Date.now(), what: 'cut all connections', who: 'database' })
  } catch {
    // A server that is down has no connections to cut.
  }
}

async function disturb(
  { fleet, proxy, clock }: Targets,
  mode: (typeof MODES)[number],
  ms: number,
): Promise<void> {
  const happened = { at: Date.now(), what: `${mode} for ${ms} ms`, who: 'network', until: 0 }
  fleet.happened.push(happened)
  proxy.become(mode)
  await clock.wait(ms)
  proxy.become('pass')
  happened.until = Date.now()
}
