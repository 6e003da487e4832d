// `matoolkit failures`: the failed steps of a batch, grouped by error.
import type { Command } from 'commander'
import type { Json } from '../../base/text/json.ts'
import { peopleText } from '../../domain/needs/status.ts'
import { sayRest } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn } from '../terminal/show.ts'
import { batchPath } from './batch/paths.ts'
import { type ShownFailure, sayNextCommands } from './next-commands.ts'
import { addVerb, BATCH_ARG } from './verb.ts'

const FAILURES: readonly Column[] = [
  ['COUNT', 'count'],
  ['PEOPLE', ({ people, count }) => peopleText(people as string[], Number(count)), 'whole'],
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
      const { body } = await client.get<Row>(`${batchPath(id)}/failures`)
      const rows = rowsIn(body, 'groups')
      await show.list({
        whole: body as Json,
        rows,
        columns: FAILURES,
        empty: 'Nothing has failed.',
      })
      const all = `for every step: batch steps ${id} --status failed,poll_timeout --all`
      sayRest(context, rows.length, Number(body.groupCount), `largest groups first; ${all}`)
      sayNextCommands(context, rows as unknown as ShownFailure[])
    },
  })
}
