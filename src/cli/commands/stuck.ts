// `matoolkit stuck`: the blocked work of a batch, and what open steps wait for.
import type { Command } from 'commander'
import type { Json } from '../../base/text/json.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn, showSection } from '../terminal/show.ts'
import { batchPath } from './batch/paths.ts'
import { ACTION_COLUMNS } from './member.ts'
import { sayFailures } from './next-commands.ts'
import { addVerb, BATCH_ARG } from './verb.ts'

const STUCK: readonly Column[] = [
  ['WHAT', ({ kind }) => String(kind).replaceAll('_', ' ')],
  ['COUNT', 'count'],
  ['SINCE', 'since', 'spare'],
  ['WORKER', 'workerId'],
  ['STEP ID', 'stepId'],
  ['BECAUSE', 'because'],
]
const WAITED_FOR = {
  slot: 'a free slot',
  job: 'the result (running)',
  retry: 'the next attempt',
  poll: 'the next poll',
}
const WAITS: readonly Column[] = [
  ['WORKER', 'workerId'],
  ['WAIT FOR', ({ kind }) => WAITED_FOR[kind as keyof typeof WAITED_FOR]],
  ['STEPS', 'count'],
  ['SINCE', 'since'],
  ['NEXT', 'wakeAt'],
]

export function addStuckCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'stuck',
    about: 'show blocked work and why',
    args: [BATCH_ARG],
    more: 'Exit code: 0, also when work is blocked.',
    examples: ['stuck 7'],
    run: async (context, [id]) => {
      const { client, show } = context
      const { body } = await client.get<Row>(`${batchPath(id)}/stuck`)
      const rows = rowsIn(body, 'items')
      await show.list({ whole: body as Json, rows, columns: STUCK, empty: 'Nothing is stuck.' })
      const waiting = rowsIn(body, 'waiting')
      if (show.format !== 'table') return
      const ways = rows.flatMap((row) => rowsIn(row, 'actions'))
      await showSection(show, 'What you can do', ways, ACTION_COLUMNS)
      await showSection(show, 'What open steps wait for', waiting, WAITS)
      await sayFailures(context, id!)
    },
  })
}
