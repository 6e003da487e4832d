// What was done in the tenants, and what the program has acknowledged: kept outside of the program, so that it can be held to
// its promises. A job's effect happens while that job is out, and once, unless the job was delivered again; a result that was
// acknowledged is in the database; a job that is out has been sent.
import type { ReceivedMessage } from '../../src/bus/bus.ts'
import type { Db } from '../../src/db/db.ts'
import { parseJobId, readMessage } from '../../src/domain/messages.ts'
import { isCopy } from './faulty-bus.ts'

export interface Journal {
  /** A worker was given the job. Says so when it may have been given it before. */
  delivered(jobId: string, message: ReceivedMessage): void
  /** This job's effect may come late or twice, through no fault of the engine. */
  excuse(jobId: string): void
  /** The functions of these jobs did their work, now. */
  effect(jobIds: readonly string[]): Promise<void>
  acknowledged(messages: readonly ReceivedMessage[]): Promise<void>
  /** The failures of each batch as they were seen last, and the batch's own number over them. */
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
          where not exists (select from waits w where w.what = 'job' and w.job_id = j.id)`,
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

/** The job that a result speaks of, when it is one of ours. */
function jobAnswered({ topic, type, body }: ReceivedMessage): string[] {
  if (topic !== 'worker-results') return []
  const read = readMessage(type ?? 'worker-result', body)
  if (!read.ok || read.message.messageType !== 'worker-result') return []
  return parseJobId(read.message.jobId) ? [read.message.jobId] : []
}
