// The tenants of a sandbox without a socket: requests go in and responses come out in the same process. The server of `sandbox.ts` and
// rehearsals use it.

import { SandboxApis } from './api.ts'
import type { SandboxResponse } from './call.ts'
import type { Clock } from './clock.ts'
import { type FaultSettings, Faults } from './faults.ts'
import type { Journal } from './journal.ts'
import { type RecordedTenant, Replay } from './replay.ts'
import { defaultSeed, SeedFault, stateOf } from './seed.ts'
import type { Seed, State } from './state.ts'
import { type Timing, USUAL_TIMING, World } from './world.ts'

export interface SandboxCoreOptions {
  readonly clock: Clock
  /** Default: two small tenants. Throws SeedFault when invalid. */
  readonly seed?: Seed
  readonly timing?: Partial<Timing>
  readonly faults?: FaultSettings
  /** Answers in the forms of a recorded tenant. */
  readonly replay?: RecordedTenant
}

export interface SandboxCore {
  readonly apis: SandboxApis
  readonly journal: Journal
  /** A copy. */
  state(): State
  setFaults(settings: FaultSettings): void
}

export function makeSandboxCore(options: SandboxCoreOptions, controlToken: string): SandboxCore {
  const { clock, seed = defaultSeed(), timing = {} } = options
  const replay = options.replay ? new Replay(options.replay) : null
  const world = worldOf(seed, clock, { ...USUAL_TIMING, ...timing }, replay)
  const faults = new Faults(options.faults)
  return {
    apis: new SandboxApis(world, faults, controlToken),
    journal: world.journal,
    state: () => {
      world.advance(clock.now())
      return world.state()
    },
    setFaults: (settings) => faults.set(settings),
  }
}

function worldOf(seed: Seed, clock: Clock, timing: Timing, replay: Replay | null): World {
  const state = stateOf(seed)
  try {
    return new World(state, clock, timing, replay)
  } catch (error) {
    throw new SeedFault((error as Error).message)
  }
}

/** What Exchange sends in place of JSON when it refuses a cmdlet. */
const NUL_BYTES = '\0'.repeat(32)

/** Headers and text as they are sent; null without a body. */
export function wireText({ headers = {}, body }: SandboxResponse): {
  headers: Record<string, string>
  text: string | null
} {
  if (headers['content-encoding'] === 'gzip')
    return { headers: { ...headers, 'content-type': 'application/json' }, text: NUL_BYTES }
  if (body === undefined) return { headers: { ...headers }, text: null }
  const isPlain = typeof body === 'string'
  const type = isPlain ? 'text/plain' : 'application/json; charset=utf-8'
  return {
    headers: { ...headers, 'content-type': type },
    text: isPlain ? body : JSON.stringify(body),
  }
}
