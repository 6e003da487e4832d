// The two runbooks of the chaos runs and the worker's functions for them. The large one uses init, outputs, polls, retries and two
// phases, and everybody passes; in the small one, for the operators, members fail, are rolled back, retried, removed and cleaned
// up.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parseJobId } from '../../../src/domain/messages/messages.ts'
import {
  defineFunction,
  TOUCHES_NOTHING,
  type WorkerFunction,
} from '../../../src/worker/functions/catalogue.ts'
import type { Journal } from './journal.ts'

export const WORKER_ID = 'chaos'
export const LARGE = 'large'
export const SMALL = 'small'
/** In the order of a member's steps. */
export const LARGE_STEPS = ['create', 'license', 'copy', 'switch', 'check'] as const

const source =
  'data_source: { type: csv, path: m.csv, primary_key: Upn, batch_time_column: When, columns: [Upn, When] }'

const step = (name: string, more = ''): string => `
      - name: ${name}
        worker_id: ${WORKER_ID}
        function: Effect
        params: { Key: "{{Upn}}", Step: ${name}${more}`

export const LARGE_YAML = `
name: ${LARGE}
${source}
retry: { max_retries: 3, interval: 1s }
safeguards: { max_failed_percent: 100 }
init:
  - name: open
    worker_id: ${WORKER_ID}
    function: Effect
    params: { Key: "batch {{_batch_id}}", Step: open }
phases:
  - name: prepare
    offset: T-0
    steps:${step('create')} }
        output_params: { Account: value }${step('license', ', FailPercent: 5 }')}${step('copy', ', Polls: 1 }')}
        poll: { interval: 1s, timeout: 2h }
  - name: cutover
    offset: T-0
    steps:${step('switch', ', Account: "{{Account}}" }')}${step('check')} }
`

/** A ramp behind a change window that opens in two hours. */
export function nightYaml(now: Date): string {
  const hour = (more: number) =>
    `"${new Date(+now + more * 3_600_000).toISOString().slice(11, 13)}:00"`
  return `
name: night
${source}
windows: { time_zone: UTC, hours: [{ from: ${hour(2)}, to: ${hour(3)} }] }
phases:
  - name: cutover
    offset: T-0
    ramp: [10%, 50%, 100%]
    soak: ${NIGHT_SOAK_SEC}s
    steps:${step('switch-at-night')} }
`
}
export const NIGHT_SOAK_SEC = 2

export const SMALL_YAML = `
name: ${SMALL}
${source}
safeguards: { max_failed_percent: 100 }
phases:
  - name: all
    offset: T-0
    steps:${step('first')} }${step('second', ', FailPercent: 30 }')}
        on_failure: undo
rollbacks:
  undo:
    - { name: undo, worker_id: ${WORKER_ID}, function: Effect, params: { Key: "{{Upn}}", Step: undo } }
on_member_removed:
  - { name: clean, worker_id: ${WORKER_ID}, function: Effect, params: { Key: "{{Upn}}", Step: clean } }
`

export const FUSE = 'fuse'
/** Everybody fails: the eleventh blows the fuse. */
export const FUSE_YAML = `
name: ${FUSE}
${source}
safeguards: { max_failed_percent: 30 }
phases:
  - name: cutover
    offset: T-0
    steps:${step('switch', ', FailPercent: 100 }')}
`

/** A stable number from 0 up to 1 for these words. */
function shareOf(...words: readonly string[]): number {
  return createHash('sha256').update(words.join(' ')).digest().readUInt32BE(0) / 2 ** 32
}

const parameters = z.looseObject({
  Key: z.string(),
  Step: z.string(),
  FailPercent: z.number().default(0),
  Polls: z.number().default(0),
})

/**
 * Records its start and end, and takes some time in between. Fails the first attempt of FailPercent of the keys; completes at the
 * Polls-th poll. Its results have `resultBytes`
 * more than they need.
 */
export const effectFunction = (
  journal: Journal<'effects'>,
  workMs: number,
  resultBytes = 0,
): WorkerFunction =>
  defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Effect',
    description: 'Leaves a trace',
    parameters,
    run: async ({ params, jobId, signal, clock }) => {
      const { Key: key, Step: stepName, FailPercent, Polls } = params
      const { attempt, poll } = parseJobId(jobId)!
      const note = (what: 'begin' | 'end' | 'given-back', passes?: boolean) =>
        journal.write({
          what,
          jobId,
          pid: process.pid,
          at: Date.now(),
          key,
          step: stepName,
          ...(passes !== undefined && { passes }),
        })
      note('begin')
      await clock.wait(workMs * 2 * shareOf('time', jobId), signal)
      if (signal.aborted) note('given-back')
      signal.throwIfAborted()
      const fails = attempt === 0 && shareOf('fail', key, stepName) * 100 < FailPercent
      const isComplete = poll >= Polls
      note('end', !fails && isComplete)
      if (fails) throw new Error('fails the first time')
      const data = { value: jobId, ...(resultBytes > 0 && { filling: 'x'.repeat(resultBytes) }) }
      return Polls > 0 ? { complete: isComplete, data } : data
    },
  })
