// Requests to this process's API, as measures.
import type { Measures } from '../../base/telemetry/measures.ts'
import { gauge } from '../../base/telemetry/metric-family.ts'
import { familyLines } from '../../base/telemetry/prometheus.ts'

export interface AnsweredRequest {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
}

export interface Meter {
  begin(): void
  end(answered: AnsweredRequest): void
  /** Requests being answered. */
  inFlight(): number
  lines(): string[]
}

/** One series per route and status, so callers cannot make their number grow. */
export function createMeter(measures: Measures): Meter {
  let inFlight = 0
  return {
    begin: () => {
      inFlight += 1
    },
    end: ({ method, route, status, ms }) => {
      inFlight -= 1
      measures.observe('matoolkit_http_request_seconds', { method, route, status }, ms)
    },
    inFlight: () => inFlight,
    lines: () => [
      ...familyLines(
        gauge('matoolkit_http_in_flight', 'Requests being answered.', [
          { labels: {}, value: inFlight },
        ]),
      ),
      ...measures.lines(),
    ],
  }
}
