// When each job reached a worker, in seconds since the story began, and a step's rows in short.
import { START, type Worker, type World } from './world.ts'

/** Answers with the given results, and records `60 step-1-poll-1` for each job. */
export function keepTimes(world: World, answer: Worker): string[] {
  const times: string[] = []
  world.answer = (job) => {
    times.push(`${secondsOf(world)} ${job.jobId}`)
    return answer(job)
  }
  return times
}

export const secondsOf = ({ clock }: World): number => (+clock.now() - +START) / 1000

/** Lets time pass second by second where it matters: one second before, then the second itself. */
export async function passUntil(world: World, second: number): Promise<void> {
  const left = second - secondsOf(world)
  if (left > 1) await world.pass(left - 1)
  await world.pass(Math.min(left, 1))
}

export interface StepLook {
  readonly status: string
  readonly attempt: number
  readonly retries: number
  readonly polls: number
  readonly error: string | null
}

export async function stepLook({ db }: World, id: number): Promise<StepLook> {
  const rows = await db.query<StepLook>(
    `select status, attempt, retry_count as retries, poll_count as polls, error_message as error
       from step_executions where id = $1`,
    [id],
  )
  return rows[0]!
}

/** A step's transitions with their reasons: `retry: retry 1 of 2 in 60 s: busy`. */
export async function historyOf({ db }: World, stepId: number): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select event || ': ' || because as said from events where step_id = $1 order by id`,
    [stepId],
  )
  return rows.map(({ said }) => said)
}
