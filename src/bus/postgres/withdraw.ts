// Withdrawing messages as part of a transaction: they are gone when it commits and were never touched when it rolls back.
import { idsParam } from '../../db/connection/arrays.ts'
import type { Tx } from '../../db/connection/db.ts'
import { bundleOf, splitBundles } from './bundle-rows.ts'

/** A lapsed lease counts as leased: its consumer may be slow rather than dead, and would still run the job. */
const NEVER_LEASED = 'lease_token is null'
/** With a time: leased, but no longer at that time. */
const isWanted = (lapsedBy: string) =>
  `case when ${lapsedBy}::timestamptz is null then ${NEVER_LEASED} else leased_until <= ${lapsedBy} end`

/** Removes all jobs and forgets all ids. */
export async function discardJobs(tx: Tx): Promise<void> {
  await tx.query(`delete from bundles where topic = 'worker-jobs'`)
  await tx.query('delete from message_ids')
}

/** Workers ack a job after its result; peers that are not ours ack it when they take it. */
export async function countRunning(
  tx: Tx,
  jobIds: readonly string[],
  resultIds: readonly string[],
): Promise<number> {
  const [found] = await tx.query<{ count: number }>(
    `with queued as (
       select unnest(string_to_array(message_ids, E'\\n')) as id from bundles
        where (topic = 'worker-jobs' and ${NEVER_LEASED}) or topic = 'worker-results'
       union all
       select original_message_id from dead_letters where topic = 'worker-jobs' and noticed_at is null)
     select count(*)::int as count from unnest($1::text[], $2::text[]) as j (job, result)
      where j.job not in (select id from queued) and j.result not in (select id from queued)`,
    [jobIds, resultIds],
  )
  return found!.count
}

/** Removes the jobs that no worker has leased, or whose lease has lapsed, and returns their ids. Scans the waiting rows, which the workers' windows keep few. */
export async function withdraw(
  tx: Tx,
  jobIds: readonly string[],
  lapsedBy: Date | null = null,
): Promise<string[]> {
  const withdrawn: string[] = []
  for (;;) {
    const found = await tx.query<{ id: number }>(
      `select id from bundles where topic = 'worker-jobs' and ${isWanted('$2')}
          and exists (select from unnest(string_to_array(message_ids, E'\\n')) as m (id) where m.id = any ($1::text[]))`,
      [jobIds, lapsedBy],
    )
    const rows = found.map(({ id }) => id)
    const state = lapsedBy === null ? ({ unleased: true } as const) : { lapsed: lapsedBy }
    const split = await splitBundles(tx, rows, state)
    const gone = await tx.query<{ id: number; messageId: string }>(
      `delete from bundles where id = any ($1::bigint[]) and message_ids = any ($2::text[]) and size = 1 and ${isWanted('$3')}
       returning id, message_ids as message_id`,
      [idsParam([...rows, ...split]), jobIds, lapsedBy],
    )
    withdrawn.push(...gone.map(({ messageId }) => messageId))
    // Another transaction may have split a bundle at the same moment: look again for what was in it.
    const seen = new Set([...gone.map(({ id }) => id), ...split.map(bundleOf)])
    if (rows.every((id) => seen.has(id))) return withdrawn
  }
}
