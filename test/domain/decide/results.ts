// A member's first step with an unsettled job, and the results a worker may send.

import type { Json } from '../../../src/base/text/json.ts'
import type { Draft } from '../../../src/domain/decide/draft.ts'
import { onResult, type WorkerResult } from '../../../src/domain/decide/settle.ts'
import type { Facts } from './builders.ts'
import { stepOf } from './table.ts'

export const PHASES = { prepare: 'dispatched' } as const
export const CREATE: Facts = {
  phases: PHASES,
  members: { 1: 'active' },
  steps: { 11: '1 prepare/create dispatched job', 12: '1 prepare/check pending' },
}
export const createTried = (retryCount: number): Facts => ({
  ...CREATE,
  steps: {
    11: ['1 prepare/create dispatched job', { attempt: retryCount, retryCount }],
    12: '1 prepare/check pending',
  },
})
export const CANCELLED: Facts = {
  phases: PHASES,
  members: { 1: { status: 'removed' } },
  steps: { 11: '1 prepare/create cancelled job', 51: '1 removal/clean pending' },
}

export const result =
  (stepId: number, body: Partial<WorkerResult> = {}) =>
  (draft: Draft): void => {
    const step = stepOf(draft, stepId)
    onResult(draft, step, { jobId: step.jobId!, status: 'Success', workerId: 'w1', ...body })
  }
export const fails = (stepId: number, message: string) =>
  result(stepId, { status: 'Failure', error: { message, type: 'Odd' } })
export const says = (value: Json) => ({ result: value })
