// The rehearsals of this API: one at a time. Whatever its end is, it is stored; an API that stops cancels the one it runs. The process
// that rehearses belongs to the composition root.

import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Json } from '../../base/text/json.ts'
import type { Db } from '../../db/connection/db.ts'
import { endRehearsal, type RehearsalEnd } from '../../db/orders/rehearsals.ts'
import type { LivePast } from '../../domain/needs/live-batch.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'
import type { WhatIf } from '../../domain/plan/what-if.ts'
import type { SourceRow } from '../../domain/sources/source-values.ts'

/** A rehearsal that lasts longer is ended. */
export const REHEARSAL_SEC_MAX = 600
/** PostgreSQL stores far more; a report of this size is read by nobody. */
const REPORT_CHARS_MAX = 8_000_000

export interface RehearsalOrder {
  readonly yaml: string
  readonly columns: readonly string[]
  readonly rows: readonly SourceRow[]
  readonly faults: readonly string[]
  readonly startAt: Date | null
  readonly seed: number
  readonly slots: number
  /** Of this API; null without a file. It names secrets and holds none. */
  readonly notifications: NotificationSettings | null
  readonly whatIf?: WhatIfOrder
}

/** A running batch, rehearsed as it is and with a change, or with the change only. The order's rows are its people. */
export interface WhatIfOrder {
  readonly isCompared: boolean
  readonly past: LivePast
  /** Of the rows. */
  readonly keys: readonly string[]
  readonly workerSlots: Readonly<Record<string, number>>
  readonly assumed: readonly string[]
  readonly change: WhatIf
}

export interface RunRehearsal {
  /** Names that orders may use. */
  readonly faultNames: readonly string[]
  /** Resolves with the report. Rejects with a sentence; ends its process when `signal` aborts. */
  run(order: RehearsalOrder, signal: AbortSignal, onProgress: (at: Date) => void): Promise<Json>
}

interface Running {
  readonly id: number
  readonly cancel: AbortController
  readonly ended: Promise<void>
  /** The time inside the rehearsal. */
  at: Date | null
}

const CANCELLED = Symbol('cancelled')

export class Rehearsals {
  readonly #runner: RunRehearsal | null
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  #running: Running | null = null

  constructor(runner: RunRehearsal | null, { db, clock, log }: { db: Db; clock: Clock; log: Log }) {
    this.#runner = runner
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /** Throws REHEARSAL_UNAVAILABLE, REHEARSAL_RUNNING or REHEARSAL_FAULTS_INVALID. */
  requireFree(faults: readonly string[]): void {
    if (this.#runner === null) throw new MatoolkitError('REHEARSAL_UNAVAILABLE', {})
    if (this.#running) throw new MatoolkitError('REHEARSAL_RUNNING', { id: this.#running.id })
    const { faultNames } = this.#runner
    const wrong = faults.find((name) => !faultNames.includes(name))
    if (wrong === undefined) return
    const reason = `"${wrong}" is not a known fault`
    const known = faultNames.join(', ')
    throw new MatoolkitError('REHEARSAL_FAULTS_INVALID', { reason, known })
  }

  /** Returns at once; the end is stored under `id`. */
  begin(id: number, order: RehearsalOrder): void {
    this.requireFree(order.faults)
    const cancel = new AbortController()
    const ended = this.#run(id, order, cancel.signal)
    this.#running = { id, cancel, ended, at: null }
  }

  async #run(id: number, order: RehearsalOrder, cancelled: AbortSignal): Promise<void> {
    const tooLong = new AbortController()
    const over = new AbortController()
    const limit = this.#clock.wait(REHEARSAL_SEC_MAX * 1_000, over.signal)
    void limit.then(
      () => tooLong.abort(),
      () => {},
    )
    let end: RehearsalEnd
    try {
      const signal = AbortSignal.any([cancelled, tooLong.signal])
      const report = await this.#runner!.run(order, signal, (at) => {
        if (this.#running?.id === id) this.#running.at = at
      })
      end =
        JSON.stringify(report).length > REPORT_CHARS_MAX
          ? {
              status: 'failed',
              because: `Its report has more than ${REPORT_CHARS_MAX} characters.`,
            }
          : { status: 'completed', report }
    } catch (error) {
      end = cancelled.aborted
        ? { status: 'cancelled', because: cancelText(cancelled.reason) }
        : { status: 'failed', because: tooLong.signal.aborted ? TOO_LONG : messageOf(error) }
    }
    over.abort()
    await this.#store(id, end)
  }

  async #store(id: number, end: RehearsalEnd): Promise<void> {
    try {
      await endRehearsal(this.#db, id, end, this.#clock.now())
      this.#log.info({ id, status: end.status }, 'Rehearsal ended')
    } catch (err) {
      this.#log.error({ err, id }, 'The end of a rehearsal could not be stored')
    } finally {
      this.#running = null
    }
  }

  /** The time inside a rehearsal of this API; null for others. */
  progressOf(id: number): Date | null {
    return this.#running?.id === id ? this.#running.at : null
  }

  /** True if it ran here. Its end is stored before this returns. */
  async cancel(id: number, by: string): Promise<boolean> {
    const running = this.#running
    if (running?.id !== id) return false
    running.cancel.abort({ [CANCELLED]: by })
    await running.ended
    return true
  }

  async stop(): Promise<void> {
    if (!this.#running) return
    this.#running.cancel.abort({ [CANCELLED]: null })
    await this.#running.ended
  }
}

const TOO_LONG = `It was not over after ${REHEARSAL_SEC_MAX / 60} minutes. Rehearse fewer people, or use "matoolkit runbook rehearse".`

function cancelText(reason: { readonly [CANCELLED]?: string | null }): string {
  const by = reason[CANCELLED]
  return by ? `Cancelled by ${by}.` : 'The API stopped.'
}
