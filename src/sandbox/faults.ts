// What goes wrong on purpose. By script: the n-th request that fits. By rate: so many of a hundred requests, decided by a seed and
// by the request itself, so the same requests meet the same faults in whatever order they come. A throttled API stays closed to
// the tenant until the time it named has passed, as Microsoft's do.
import { z } from 'zod'
import { chanceOf, hashOf } from './identity.ts'

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
  z.strictObject({ kind: z.literal('expired-token') }),
])

export type InjectedFault = z.output<typeof faultSchema>

export const FAULT_KINDS = [
  'throttle',
  'error',
  'slow',
  'drop-before',
  'drop-after',
  'expired-token',
] as const

const SCRIPT_MAX = 10_000

const ruleSchema = z.strictObject({
  /** "POST /v1.0/users", with `*` for anything; a cmdlet such as "Set-MailUser"; or "*". */
  on: z.string().min(1).max(500),
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
  seed: z.union([z.string(), z.number()]).default('sandbox'),
  /** Of the faults that come by rate. */
  retryAfterSec: seconds.default(5),
  delaySec: seconds.default(2),
})

export type FaultSettings = z.input<typeof faultsSchema>
type Checked = z.output<typeof faultsSchema>

export interface Asked {
  readonly method: string
  readonly path: string
  readonly cmdlet: string | null
  /** All that makes it this request: address, query and body. */
  readonly words: string
  /** Rates are for the APIs; only a script reaches the token endpoint. */
  readonly isApi: boolean
}

/** Requests whose repetitions are counted; after so many the counting begins anew. */
const COUNTED_MAX = 200_000

export class Faults {
  #settings: Checked = faultsSchema.parse({})
  #seen: number[] = []
  readonly #counts = new Map<string, number>()

  constructor(settings: FaultSettings = {}) {
    this.set(settings)
  }

  /** Replaces script and rates; counting begins anew. */
  set(settings: FaultSettings): void {
    this.#settings = faultsSchema.parse(settings)
    this.#seen = this.#settings.script.map(() => 0)
    this.#counts.clear()
  }

  get settings(): Checked {
    return this.#settings
  }

  /** What happens to this request; null for nothing. */
  next(asked: Asked): InjectedFault | null {
    let scripted: InjectedFault | null = null
    for (const [at, { on, nth, times, fault }] of this.#settings.script.entries()) {
      if (!isMeant(on, asked)) continue
      this.#seen[at]! += 1
      const seen = this.#seen[at]!
      if (seen >= nth && seen < nth + times) scripted ??= fault
    }
    return scripted ?? (asked.isApi ? this.#byRate(asked) : null)
  }

  #byRate({ method, words }: Asked): InjectedFault | null {
    const { rates, seed, retryAfterSec, delaySec } = this.#settings
    if (Object.keys(rates).length === 0) return null
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

/** `*` stands for any number of characters; case does not count. */
function fits(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 'i').test(text)
}

function isMeant(on: string, { method, path, cmdlet }: Asked): boolean {
  if (on === '*') return true
  const [, verb, pattern] = /^(\S+) (\S+)$/.exec(on) ?? []
  if (pattern === undefined) return cmdlet !== null && fits(on, cmdlet)
  return (verb === '*' || fits(verb!, method)) && fits(pattern, path)
}

/** "throttle=0.02,drop-after=0.01" as settings; null when it is not of that form. */
export function ratesOf(text: string): FaultSettings | null {
  const pairs = text.split(',').map((part) => part.trim().split('='))
  const rates = Object.fromEntries(pairs.map(([kind, share]) => [kind, Number(share)]))
  const read = faultsSchema.safeParse({ rates })
  return read.success ? { rates: read.data.rates } : null
}
