// The batches of the cluster benchmarks: a phase of a few steps that do nothing, all due at once or one wave after another.
import { realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { noopRunbook } from './noop-runbook.ts'
import { createDue } from './scale.ts'

export const STEPS = 5
export const WAVE_MEMBERS = 200
const clock = realClock()

const yamlOf = (name: string): string =>
  noopRunbook(name, STEPS, (index) => [
    'params: { A: "{{Upn}}", B: "x {{Upn}} y", C: "{{_batch_id}}" }',
    `output_params: { out${index}: value }`,
  ])

export const dueIn = (db: Db, name: string, sizes: readonly number[]) =>
  createDue(db, name, sizes, yamlOf(name))

/** Batches that become due one after another, so that `stepsPerSec` are asked for. */
export async function startWaves(db: Db, name: string, stepsPerSec: number, seconds: number) {
  const everyMs = (WAVE_MEMBERS * STEPS * 1_000) / stepsPerSec
  const count = Math.max(2, Math.round((seconds * 1_000) / everyMs))
  const ids = await dueIn(
    db,
    name,
    Array.from({ length: count }, () => WAVE_MEMBERS),
  )
  await db.query(
    `update phase_executions p set due_at = $1::timestamptz + (array_position($2::bigint[], p.batch_id) - 1) * $3::float8 * interval '1 millisecond'
      where p.batch_id = any($2::bigint[])`,
    [clock.now(), ids, everyMs],
  )
  return ids
}
