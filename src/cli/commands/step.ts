// `matoolkit step …`: one step, what was sent for it and what came back.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { idOf } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, showSection } from '../terminal/show.ts'
import { polledText, stepNow } from './step-texts.ts'
import { addVerb } from './verb.ts'
import { statusIn } from './words.ts'

type StepPage = Answer<'GET /api/steps/{stepId}'>

const STEP: readonly Column<StepPage>[] = [
  ['step', 'step.id'],
  ['name', 'step.stepName'],
  ['kind', 'step.kind'],
  ['batch', 'step.batchId'],
  ['phase', 'step.phaseName'],
  ['member', 'step.memberKey'],
  ['status', statusIn('step', 'step.status')],
  ['now', ({ step }) => stepNow(step)],
  ['polls', ({ step }) => polledText(step)],
  ['worker', 'step.workerId'],
  ['function', 'step.functionName'],
  ['parameters', 'step.params'],
  ['result', 'step.result'],
  ['error', 'step.errorMessage'],
  ['late result', 'step.lateResult'],
  ['sent', 'step.dispatchedAt'],
  ['ended', 'step.completedAt'],
]
const ATTEMPTS: readonly Column<StepPage['attempts'][number]>[] = [
  ['ATTEMPT', ({ attempt }) => attempt + 1],
  ['POLL', 'poll'],
  ['SENT', 'sentAt'],
  ['SETTLED', 'settledAt', 'spare'],
  ['OUTCOME', 'outcome'],
  ['MS', 'durationMs'],
  ['ERROR', 'error'],
]

export function addStepCommands(program: Command, io: Io): void {
  const noun = program.command('step').description('inspect a step')
  addVerb(noun, io, {
    name: 'show',
    about: "show a step's parameters, result and attempts",
    args: [['<step-id>', 'id of the step']],
    examples: ['step show 90210', 'step show 90210 --output json'],
    run: async ({ client, show }, [id]) => {
      const params = { stepId: idOf('step', id) }
      const page = await client.call('GET /api/steps/{stepId}', { params })
      await show.one(page, STEP)
      if (show.format === 'table') await showSection(show, 'Attempts', page.attempts, ATTEMPTS)
    },
  })
}
