// Counts the calls of a rehearsal: by API and operation, the busiest second, and how long each API was closed by throttling.

export type CalledService = 'Microsoft Graph' | 'Exchange Online' | 'webhooks'

export interface CallCount {
  readonly service: CalledService
  /** A cmdlet, or a method and a path with `*` for ids. */
  readonly operation: string
  readonly calls: number
}

export interface ServiceUse {
  readonly service: CalledService
  readonly calls: number
  readonly peakPerSec: number
  readonly peakAt: string | null
  readonly throttled: number
  readonly throttledSec: number
}

export class CallMeter {
  readonly #operations = new Map<string, number>()
  readonly #seconds = new Map<CalledService, Map<number, number>>()
  readonly #closed = new Map<string, { until: number; ms: number; times: number }>()

  count(service: CalledService, operation: string, at: Date): void {
    const key = `${service}\n${operation}`
    this.#operations.set(key, (this.#operations.get(key) ?? 0) + 1)
    const second = Math.floor(+at / 1_000)
    const seconds = this.#seconds.get(service) ?? new Map<number, number>()
    this.#seconds.set(service, seconds)
    seconds.set(second, (seconds.get(second) ?? 0) + 1)
  }

  /** A gate of the API is closed for so long. Overlapping pauses count once. */
  throttled(service: CalledService, gate: string, sec: number, at: Date): void {
    const key = `${service}\n${gate}`
    const known = this.#closed.get(key) ?? { until: 0, ms: 0, times: 0 }
    const until = +at + sec * 1_000
    const addedMs = Math.max(0, until - Math.max(+at, known.until))
    const times = known.times + 1
    this.#closed.set(key, { until: Math.max(until, known.until), ms: known.ms + addedMs, times })
  }

  /** What was counted so far was only preparation. */
  reset(): void {
    for (const counted of [this.#operations, this.#seconds, this.#closed]) counted.clear()
  }

  operations(): CallCount[] {
    return [...this.#operations]
      .map(([key, calls]) => {
        const [service, operation] = key.split('\n') as [CalledService, string]
        return { service, operation, calls }
      })
      .toSorted((a, b) => b.calls - a.calls || (a.operation < b.operation ? -1 : 1))
  }

  services(): ServiceUse[] {
    return [...this.#seconds].map(([service, seconds]) => {
      let calls = 0
      let peak: [second: number | null, calls: number] = [null, 0]
      for (const [second, count] of seconds) {
        calls += count
        if (count > peak[1]) peak = [second, count]
      }
      const closed = [...this.#closed].filter(([key]) => key.startsWith(`${service}\n`))
      return {
        service,
        calls,
        peakPerSec: peak[1],
        peakAt: peak[0] === null ? null : new Date(peak[0] * 1_000).toISOString(),
        throttled: closed.reduce((sum, [, { times }]) => sum + times, 0),
        throttledSec: Math.round(closed.reduce((sum, [, { ms }]) => sum + ms, 0) / 1_000),
      }
    })
  }
}
