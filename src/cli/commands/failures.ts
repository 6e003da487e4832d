// `matoolkit failures`: the failed steps of a batch, grouped by error; without a batch those of all, the same failure once.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { peopleText } from '../../domain/needs/failures.ts'
import { type CommandContext, sayRest } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { namedBatch } from './batch/named.ts'
import { type ShownFailure, sayNextCommands } from './next-commands.ts'
import { addVerb, BATCH_ARG } from './verb.ts'

const FAILURES: readonly Column<ShownFailure>[] = [
  ['COUNT', 'count'],
  ['PEOPLE', ({ people, count }) => peopleText(people, count), 'whole'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['LAST SEEN', 'lastSeenAt', 'spare'],
  ['STEP ID', 'sample.stepId', 'spare'],
  ['ERROR', 'sample.message'],
]

const FAILURES_OF_ALL: readonly Column<Answer<'GET /api/failures'>['groups'][number]>[] = [
  ['COUNT', 'count'],
  ['BATCHES', ({ batches }) => batches.map(({ batchId }) => batchId).join(', '), 'whole'],
  ['RUNBOOK', 'runbookName', 'spare'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['LAST SEEN', 'lastSeenAt', 'spare'],
  ['ERROR', 'sample.message'],
]

async function showAll({ client, show, io }: CommandContext): Promise<void> {
  const whole = await client.call('GET /api/failures')
  const { groups: rows, isComplete } = whole
  await show.list({ whole, rows, columns: FAILURES_OF_ALL, empty: 'Nothing has failed.' })
  if (!isComplete) io.err('There is more: matoolkit failures <batch-id> lists all of a batch.')
  if (rows.length > 0) show.say('\nPeople, and what you can do: matoolkit failures <batch-id>')
}

export function addFailureCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'failures',
    about: 'list failures grouped by error',
    args: [['[batch-id]', BATCH_ARG[1]]],
    more: 'Without a batch: the failures of all batches, the same failure once.',
    examples: ['failures', 'failures 7', 'failures 7 --output json'],
    run: async (context, [id]) => {
      if (id === undefined) return showAll(context)
      const { client, show } = context
      const params = namedBatch(id)
      const whole = await client.call('GET /api/batches/{batchId}/failures', { params })
      const { groups: rows } = whole
      await show.list({
        whole,
        rows,
        columns: FAILURES,
        empty: 'Nothing has failed.',
      })
      const all = `for every step: batch steps ${id} --status failed,poll_timeout --all`
      sayRest(context, rows.length, whole.groupCount, `largest groups first; ${all}`)
      sayNextCommands(context, rows)
    },
  })
}
