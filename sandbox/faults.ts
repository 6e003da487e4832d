// Injected faults. By script: the n-th matching request. By rate: a share of requests, chosen by a seed and the request itself,
// so the same requests meet the same faults in any order. By quota: see quotas.ts. A throttled service stays closed to the tenant
// until the announced time has passed, as Microsoft's does.
import { z } from 'zod'
import { chanceOf, hashOf } from './identity.ts'
import { quotasSchema } from './quotas.ts'

const seconds = z.number().min(0).max(86_400)

const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('throttle'), retryAfterSec: seconds.default(5) }),
  z.strictObject({
    kind: z.literal('error'),
    status: z.union([z.literal(500), z.literal(502), z.literal(503), z.literal(504)]).default(503),
  }),
  z.strictObject({ kind: z.literal('slow'), delaySec: seconds.default(2) }),
  z.strictObject({ kind: z.literal('drop-before') }),
  z.strictObject({ kind: z.literal('drop-after') }),
  z.strictObject({
    kind: z.literal('error-after'),
    status: z.union([z.literal(429), z.literal(503), z.literal(504)]).default(503),
  }),
  z.strictObject({ kind: z.literal('expired-token') }),
])

export type InjectedFault = z.output<typeof faultSchema>

export const FAULT_KINDS = [
  'throttle',
  'error',
  'slow',
  'drop-before',
  'drop-after',
  'error-after',
  'expired-token',
] as const

const SCRIPT_MAX = 10_000

/** "POST /v1.0/users" with `*` as wildcard, a cmdlet such as "Set-MailUser", or "*". */
const requests = z.string().min(1).max(500)

const ruleSchema = z.strictObject({
  on: requests,
  nth: z.int().min(1).default(1),
  times: z.int().min(1).default(1),
  fault: z.union([
    z.enum(FAULT_KINDS).transform((kind) => faultSchema.parse({ kind })),
    faultSchema,
  ]),
})

const rate = z.number().min(0).max(1)

export const faultsSchema = z.strictObject({
  script: z.array(ruleSchema).max(SCRIPT_MAX).default([]),
  rates: z.partialRecord(z.enum(FAULT_KINDS), rate).default({}),
  /** What rates leave alone. */
  spared: z.array(requests).max(SCRIPT_MAX).default([]),
  seed: z.union([z.string(), z.number()]).default('sandbox'),
  /** For faults by rate. */
  retryAfterSec: seconds.default(5),
  delaySec: seconds.default(2),
  quotas: quotasSchema.prefault({}),
})

export type FaultSettings = z.input<typeof faultsSchema>
type Checked = z.output<typeof faultsSchema>

export interface FaultCandidate {
  readonly method: string
  readonly path: string
  readonly cmdlet: string | null
  /** Identifies the request: path, query and body. */
  readonly words: string
  /** Rates apply to the APIs only; a script also reaches the token endpoint. */
  readonly isApi: boolean
}

/** Distinct requests counted; then counting starts over. */
const COUNTED_MAX = 200_000

export class Faults {
  #settings: Checked = faultsSchema.parse({})
  #seen: number[] = []
  readonly #counts = new Map<string, number>()

  constructor(settings: FaultSettings = {}) {
    this.set(settings)
  }

  /** Replaces script and rates; resets the counters. */
  set(settings: FaultSettings): void {
    this.#settings = faultsSchema.parse(settings)
    this.#seen = this.#settings.script.map(() => 0)
    this.#counts.clear()
  }

  get settings(): Checked {
    return this.#settings
  }

  /** The fault for this request, or null. */
  next(candidate: FaultCandidate): InjectedFault | null {
    let scripted: InjectedFault | null = null
    for (const [at, { on, nth, times, fault }] of this.#settings.script.entries()) {
      if (!isMatching(on, candidate)) continue
      this.#seen[at]! += 1
      const seen = this.#seen[at]!
      if (seen >= nth && seen < nth + times) scripted ??= fault
    }
    return scripted ?? (candidate.isApi ? this.#byRate(candidate) : null)
  }

  #byRate(candidate: FaultCandidate): InjectedFault | null {
    const { method, words } = candidate
    const { rates, spared, seed, retryAfterSec, delaySec } = this.#settings
    if (Object.keys(rates).length === 0 || spared.some((on) => isMatching(on, candidate)))
      return null
    const key = hashOf(`${method} ${words}`)
    const count = (this.#counts.get(key) ?? 0) + 1
    if (this.#counts.size >= COUNTED_MAX) this.#counts.clear()
    this.#counts.set(key, count)
    let chance = chanceOf(seed, key, count)
    for (const kind of FAULT_KINDS) {
      const share = rates[kind] ?? 0
      if (chance < share)
        return faultSchema.parse({
          kind,
          ...(kind === 'throttle' ? { retryAfterSec } : {}),
          ...(kind === 'slow' ? { delaySec } : {}),
        })
      chance -= share
    }
    return null
  }
}

/** `*` matches any characters; case is ignored. */
function matchesPattern(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(text)
}

function isMatching(on: string, { method, path, cmdlet }: FaultCandidate): boolean {
  if (on === '*') return true
  const [, verb, pattern] = /^(\S+) (\S+)$/.exec(on) ?? []
  if (pattern === undefined) return cmdlet !== null && matchesPattern(on, cmdlet)
  return (verb === '*' || matchesPattern(verb!, method)) && matchesPattern(pattern, path)
}

/** Parses "throttle=0.02,drop-after=0.01"; null when malformed. */
export function ratesOf(text: string): FaultSettings | null {
  const pairs = text.split(',').map((part) => part.trim().split('='))
  const rates = Object.fromEntries(pairs.map(([kind, share]) => [kind, Number(share)]))
  const read = faultsSchema.safeParse({ rates })
  return read.success ? { rates: read.data.rates } : null
}
