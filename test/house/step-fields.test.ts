// Every field of a step is written when a decision has changed it, and what the API answers is shown by `step show` and on the page of
// the person. Or there is a reason why not.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { step } from '../../src/api/shapes/batch-shapes.ts'
import { pendingStep } from '../../src/domain/decide/definitions.ts'
import type { StepDefinition } from '../../src/domain/state/facts.ts'
import { projectFiles } from './tidy/source.ts'

const OF_OTHER_ROWS = 'an id or a version that means nothing to people'
const IN_NOW = 'part of the sentence on what the step does now'

const NOT_IN_CLI: Readonly<Record<string, string>> = {
  phaseExecutionId: OF_OTHER_ROWS,
  batchMemberId: OF_OTHER_ROWS,
  originStepId: OF_OTHER_ROWS,
  runbookVersion: OF_OTHER_ROWS,
  stepIndex: OF_OTHER_ROWS,
  jobId: 'each attempt has its own',
  isPollStep: 'its polls are shown',
  retryCount: IN_NOW,
  maxRetries: IN_NOW,
  retryAfter: IN_NOW,
  deadlineAt: IN_NOW,
  meaning: '"matoolkit batch failures" explains errors',
  hasLateResult: 'the late result itself is shown',
}

const NOT_ON_THE_PAGE: Readonly<Record<string, string>> = {
  batchMemberId: OF_OTHER_ROWS,
  originStepId: OF_OTHER_ROWS,
  runbookVersion: OF_OTHER_ROWS,
  stepIndex: OF_OTHER_ROWS,
  isPollStep: 'its polls are shown',
  retryCount: IN_NOW,
  maxRetries: IN_NOW,
  retryAfter: IN_NOW,
  deadlineAt: IN_NOW,
}

const files = projectFiles(join(import.meta.dirname, '../..'))
const SHOWN_BY: readonly [where: RegExp, hidden: Readonly<Record<string, string>>][] = [
  [/^src\/cli\/commands\/step(?:-texts)?\.ts$/, NOT_IN_CLI],
  [/^dashboard\/src\/screens\/person\/[\w-]+\.tsx?$/, NOT_ON_THE_PAGE],
]

for (const [where, hidden] of SHOWN_BY)
  it(`every field of a step is shown or listed with a reason: ${where.source.replaceAll('\\', '')}`, () => {
    const text = files
      .filter(({ path }) => where.test(path))
      .map((file) => file.text)
      .join('\n')
    const unseen = Object.keys(step.shape).filter(
      (field) => !new RegExp(`\\b${field}\\b`).test(text),
    )
    assert.deepEqual(unseen.sort(), Object.keys(hidden).sort())
  })

const NOT_WRITTEN: Readonly<Record<string, string>> = {
  phaseId: 'never changes',
  memberId: 'never changes',
  originStepId: 'never changes',
  originAttempt: 'never changes',
  removalNumber: 'never changes',
  kind: 'never changes',
  definition: 'updateDefinitions writes it',
  correctsTime: 'src/db/orders/sent-messages.ts writes it',
  correctsSentAt: 'src/db/orders/sent-messages.ts writes it',
  wait: 'a row of its own',
}

it('every field of a step in a draft is written or listed with a reason: src/db/state/step-changes.ts', () => {
  const { text } = files.find(({ path }) => path === 'src/db/state/step-changes.ts')!
  const step = pendingStep({} as StepDefinition, { kind: 'phase', memberId: 1 })
  const unwritten = Object.keys(step).filter(
    (field) => !new RegExp(`step\\.${field}\\b`).test(text),
  )
  assert.deepEqual(unwritten.sort(), Object.keys(NOT_WRITTEN).sort())
})
