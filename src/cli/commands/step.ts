// `matoolkit step …`: one step, what was sent for it and what came back.
import type { Command } from 'commander'
import type { Json } from '../../base/text/json.ts'
import { idOf } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn, showSection } from '../terminal/show.ts'
import { polledText, stepNow } from './step-texts.ts'
import { addVerb } from './verb.ts'
import { statusIn } from './words.ts'

const STEP: readonly Column[] = [
  ['step', 'step.id'],
  ['name', 'step.stepName'],
  ['kind', 'step.kind'],
  ['batch', 'step.batchId'],
  ['phase', 'step.phaseName'],
  ['member', 'step.memberKey'],
  ['status', statusIn('step', 'step.status')],
  ['now', ({ step }) => stepNow(step as Row)],
  ['polls', ({ step }) => polledText(step as Row)],
  ['worker', 'step.workerId'],
  ['function', 'step.functionName'],
  ['parameters', 'step.params'],
  ['result', 'step.result'],
  ['error', 'step.errorMessage'],
  ['late result', 'step.lateResult'],
  ['sent', 'step.dispatchedAt'],
  ['ended', 'step.completedAt'],
]
const ATTEMPTS: readonly Column[] = [
  ['ATTEMPT', ({ attempt }) => Number(attempt) + 1],
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
      const { body } = await client.get<Row>(`/api/steps/${idOf('step', id)}`)
      await show.one(body as Json, STEP)
      const rows = rowsIn(body, 'attempts')
      if (show.format === 'table') await showSection(show, 'Attempts', rows, ATTEMPTS)
    },
  })
}
