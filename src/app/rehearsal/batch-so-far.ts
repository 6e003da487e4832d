// The past of a running batch. The rehearsal repeats it on its own tenants: steps that somebody has passed run at their dates, and all others
// wait in the queue until now. Accounts, moves and outputs are then there as they are in the live tenants.

import type { Clock } from '../../base/run/clock.ts'
import { type Bus, type ReceivedMessage, TIME_TO_LIVE_MAX_MS } from '../../bus/bus.ts'
import { keepJobsUntil } from '../../bus/rehearsed-jobs.ts'
import type { MemberRows } from '../../cli/input/member-rows.ts'
import type { Db } from '../../db/connection/db.ts'
import { listStepPlaces } from '../../db/views/rehearsal.ts'
import {
  type LivePast,
  type LivePerson,
  liveColumns,
  placeKey,
  type StepPlace,
} from '../../domain/needs/live-batch.ts'

export interface RehearsalPast {
  readonly batchId: number
  /** Now: what happens before it does not count. */
  readonly at: Date
  isPassed(place: StepPlace): boolean
  /** By folded name. */
  readonly endedPhases: ReadonlySet<string>
  readonly isHeld: boolean
}

export function pastOf({ batchId, at, passed, endedPhases, isHeld }: LivePast): RehearsalPast {
  const places = new Set(passed)
  return {
    batchId,
    at: new Date(at),
    isHeld,
    isPassed: (place) => places.has(placeKey(place)),
    endedPhases: new Set(endedPhases),
  }
}

export const rowsOfLive = ({ batchId }: LivePast, people: readonly LivePerson[]): MemberRows => ({
  file: `batch ${batchId}`,
  columns: liveColumns(people),
  rows: people.map(({ row }) => row),
})

/** Jobs of steps that nobody has passed are handed out from `at` on. */
export const busWithPast = (bus: Bus, db: Db, clock: Clock, past: RehearsalPast): Bus => ({
  ...bus,
  receive: async (subscription, most) => {
    for (;;) {
      const received = await bus.receive(subscription, most)
      const waitMs = +past.at - +clock.now()
      if (waitMs <= 0 || received.length === 0) return received
      const ids = received.map(stepIdOf)
      const places = await listStepPlaces(db, ids)
      const passed = new Set(places.filter(past.isPassed).map(({ stepId }) => stepId))
      const waiting = received.filter((_, at) => !passed.has(ids[at]!))
      if (waiting.length > 0) {
        await bus.abandon(waiting, waitMs)
        await keepJobsUntil(db, new Date(+past.at + TIME_TO_LIVE_MAX_MS))
      }
      // Others may wait behind them.
      if (waiting.length < received.length) return received.filter((_, at) => passed.has(ids[at]!))
    }
  },
})

/** Of a job of our own engine. */
function stepIdOf({ body }: ReceivedMessage): number {
  const { correlationData } = JSON.parse(body) as {
    correlationData: { stepExecutionId?: number; initExecutionId?: number }
  }
  return correlationData.stepExecutionId ?? correlationData.initExecutionId!
}
