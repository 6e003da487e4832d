// `matoolkit failures`: the failed steps of a batch, grouped by error.
import type { Command } from 'commander'
import { peopleText } from '../../domain/needs/failures.ts'
import { sayRest } from '../program/command-context.ts'
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

export function addFailureCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'failures',
    about: 'list failures grouped by error',
    args: [BATCH_ARG],
    examples: ['failures 7', 'failures 7 --output json'],
    run: async (context, [id]) => {
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
