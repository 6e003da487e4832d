// The effects on the tenants, one per change of state, and the requests. A request that changes nothing has no effect: a
// harmless repeat leaves one entry, a harmful one two.
import type { Json } from './json.ts'

const EFFECTS_MAX = 500_000
const REQUESTS_MAX = 20_000

export interface Effect {
  readonly number: number
  readonly at: string
  readonly tenantId: string
  /** The caller; null for effects of time. */
  readonly clientId: string | null
  readonly what: string
  readonly id: string
  readonly name: string
  readonly details: Json
  readonly requestId: string | null
  readonly clientRequestId: string | null
}

export interface RequestMade {
  readonly number: number
  /** When it arrived. */
  readonly at: string
  readonly method: string
  readonly path: string
  readonly cmdlet: string | null
  readonly tenantId: string | null
  /** Null when the connection was dropped. */
  readonly status: number | null
  readonly fault: string | null
  readonly requestId: string
  readonly clientRequestId: string | null
}

export class Journal {
  readonly effects: Effect[] = []
  readonly requests: RequestMade[] = []
  #effectsDropped = 0
  #requestsMade = 0

  addEffect(effect: Omit<Effect, 'number'>): void {
    // Keeps the first ones: a reader has everything up to the first dropped number.
    if (this.effects.length >= EFFECTS_MAX) this.#effectsDropped += 1
    else this.effects.push({ number: this.effects.length + 1, ...effect })
  }

  /** Keeps only the latest. */
  addRequest(request: Omit<RequestMade, 'number'>): void {
    this.#requestsMade += 1
    this.requests.push({ number: this.#requestsMade, ...request })
    if (this.requests.length > REQUESTS_MAX) this.requests.splice(0, REQUESTS_MAX / 10)
  }

  get effectsDropped(): number {
    return this.#effectsDropped
  }

  get requestsMade(): number {
    return this.#requestsMade
  }
}
