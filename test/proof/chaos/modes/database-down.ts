// The database server is gone for longer than a lease, again and again, stopped in order or as by a power cut. Meanwhile processes
// die too, and their successors start without a database.
import { seeded } from '../../../kit/seeded.ts'
import type { Harm } from '../faults.ts'
import { harmMode } from '../mode.ts'

const UP_MIN_MS = 4_000
const UP_MAX_MS = 8_000
const DOWN_MIN_MS = 3_000
const DOWN_MAX_MS = 20_000

const stopServer: Harm = async ({ fleet, server, clock }, seed, over) => {
  const pick = seeded(seed)
  while (!over.aborted) {
    await clock.wait(UP_MIN_MS + pick(UP_MAX_MS - UP_MIN_MS), over)
    if (over.aborted) break
    const [ms, isCrash] = [DOWN_MIN_MS + pick(DOWN_MAX_MS - DOWN_MIN_MS), pick(2) === 0]
    const what = `${isCrash ? 'crashed and stayed down' : 'stopped'} for ${ms} ms`
    const happened = { at: Date.now(), what, who: 'database', until: 0 }
    fleet.happened.push(happened)
    server.stop(isCrash ? 'immediate' : 'fast')
    try {
      await clock.wait(ms / 2, over)
      const atWork = [...fleet.atWork('orchestrator'), ...fleet.atWork('worker')]
      if (atWork.length > 0) fleet.kill(atWork[pick(atWork.length)]!)
      await clock.wait(ms / 2, over)
    } finally {
      server.start()
      happened.until = Date.now()
    }
  }
}

export const databaseDown = harmMode(
  'database-down',
  'the PostgreSQL server stopped or crashed and gone for 3–20 s, again and again; processes that start meanwhile',
  stopServer,
  { minutes: 2, members: 200 },
)
