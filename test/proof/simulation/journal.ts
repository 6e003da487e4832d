// Effects in the tenants and acknowledgements of the program, recorded outside of it to check its promises: a job's effect happens
// while that job is unsettled, and once unless it was redelivered; an acknowledged result is in the database; a job that waits for
// its end was sent.
import type { ReceivedMessage } from '../../../src/bus/bus.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { parseJobId, readMessage } from '../../../src/domain/messages/messages.ts'
import { isCopy } from './faulty-bus.ts'

export interface Journal {
  /** A worker took the job, perhaps not for the first time. */
  delivered(jobId: string, message: ReceivedMessage): void
  /** This job's effect may come late or twice, and the engine is not at fault. */
  excuse(jobId: string): void
  /** The functions of these jobs had their effect now. */
  effect(jobIds: readonly string[]): Promise<void>
  acknowledged(messages: readonly ReceivedMessage[]): Promise<void>
  /** Each batch's failures as seen last, with the batch's failure revision. */
  readonly failures: Map<number, { readonly mark: string; readonly revision: number }>
  readonly effects: ReadonlyMap<string, number>
  readonly deliveries: ReadonlySet<string>
}

export function makeJournal(db: Db, found: string[]): Journal {
  const effects = new Map<string, number>()
  const deliveries = new Set<string>()
  const excused = new Set<string>()
  return {
    effects,
    deliveries,
    failures: new Map(),
    delivered: (jobId, message) => {
      deliveries.add(jobId)
      if (message.deliveryCount > 1 || isCopy(message)) excused.add(jobId)
    },
    excuse: (jobId) => void excused.add(jobId),
    effect: async (jobIds) => {
      for (const jobId of jobIds) effects.set(jobId, (effects.get(jobId) ?? 0) + 1)
      const asked = jobIds.filter((jobId) => !excused.has(jobId))
      if (asked.length === 0) return
      for (const jobId of asked) {
        const times = effects.get(jobId)!
        if (times > 1)
          found.push(`P4: job ${jobId} ran ${times} times, though it was delivered once`)
      }
      const settled = await db.query<{ id: string }>(
        `select j.id from unnest($1::text[]) as j (id)
          where not exists (select from waits w where w.kind = 'job' and w.job_id = j.id)`,
        [asked],
      )
      for (const { id } of settled)
        found.push(`P4: job ${id} ran while the engine took it for settled or called back`)
    },
    acknowledged: async (messages) => {
      const jobIds = messages.flatMap(jobAnswered)
      if (jobIds.length === 0) return
      const lost = await db.query<{ id: string }>(
        `select j.id from unnest($1::text[]) as j (id)
          where not exists (select from attempts a where a.job_id = j.id)
            and not exists (select from events e where e.job_id = j.id and e.event in ('unexpected_result', 'late_result'))`,
        [jobIds],
      )
      for (const { id } of lost)
        found.push(
          `P1: the result of job ${id} was acknowledged, and the database knows nothing of it`,
        )
    },
  }
}

/** The job of a result, if it is one of ours. */
function jobAnswered({ topic, type, body }: ReceivedMessage): string[] {
  if (topic !== 'worker-results') return []
  const read = readMessage(type ?? 'worker-result', body)
  if (!read.ok || read.message.messageType !== 'worker-result') return []
  return parseJobId(read.message.jobId) ? [read.message.jobId] : []
}
