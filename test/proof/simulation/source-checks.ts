// What ticks may do, checked against the journal of answers: only a member missing from the last two answers leaves, only one
// listed elsewhere in the last answer moves, and a scheduler with an older answer changes nothing.
import type { Programme, Scheduler } from './scheduler.ts'
import type { Answer } from './source.ts'
import type { World } from './world.ts'

interface Change {
  readonly id: number
  readonly event: string
  readonly batchId: number
  readonly key: string | null
  /** The source times that map to the batch, in milliseconds. */
  readonly times: number[]
}

/** The source times that map to batch b, in milliseconds. */
export const TIMES = `
  array(select (extract(epoch from t) * 1000)::float8
          from unnest(b.source_time || array(select a.source_time from batch_source_times a where a.batch_id = b.id)) as t
         where t is not null)`

/** After a commit of this scheduler: checks everything it just did. */
export async function lookAtChanges(
  { db, found }: World,
  programme: Programme,
  { answer }: Scheduler,
): Promise<void> {
  const changes = await db.query<Change>(
    `select e.id, e.event, e.batch_id, m.key_folded as key, ${TIMES} as times
       from events e join batches b on b.id = e.batch_id left join batch_members m on m.id = e.batch_member_id
      where e.id > $1 and e.actor = 'scheduler' order by e.id`,
    [programme.lastLooked],
  )
  programme.lastLooked = changes.at(-1)?.id ?? programme.lastLooked
  const { answers } = programme.source
  for (const change of changes) {
    if (answer === null || answer !== answers.at(-1))
      found.push(`R16: a scheduler that was overtaken did "${change.event}" in ${change.batchId}`)
    else found.push(...wrongs(change, answer, answers.at(-2)))
  }
}

function wrongs({ event, key, batchId, times }: Change, last: Answer, before?: Answer): string[] {
  if (key === null) return []
  const member = `${key} of batch ${batchId}`
  const isThere = (answer: Answer) => times.some((time) => [...answer.values()].includes(time))
  if (event === 'remove') {
    if (last.has(key)) return [`R19: ${member} was removed while it was in the source`]
    if (!before || before.has(key)) return [`R19: ${member} was removed after one tick without it`]
    if (!isThere(last)) return [`R19: ${member} was removed when its whole group was gone`]
  }
  if (event === 'move_out') {
    const time = last.get(key) ?? null
    if (time === null) return [`R18: ${member} was moved, and the source does not say where to`]
    if (times.includes(time)) return [`R18: ${member} was moved away from where the source has it`]
  }
  return []
}
