// What was done to the tenants, once for each change of state, and which requests were made. A request that changed nothing is
// no effect, so whoever repeats something harmless leaves one entry, and whoever does it twice leaves two.
import type { Json } from '../domain/json.ts'

const EFFECTS_MAX = 500_000
const REQUESTS_MAX = 20_000

export interface Effect {
  readonly number: number
  readonly at: string
  readonly tenantId: string
  /** Who asked; null for what time brought. */
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
  /** When it came. */
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
    // The first ones are kept: a reader can count on having all up to the number that is said to be missing.
    if (this.effects.length >= EFFECTS_MAX) this.#effectsDropped += 1
    else this.effects.push({ number: this.effects.length + 1, ...effect })
  }

  /** Only the latest are kept. */
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
