// `matoolkit db restored`: after a restore of the database from a backup.

import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { showPages } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import type { Column } from '../terminal/show.ts'
import { addVerb, CHANGE, PAGED } from './verb.ts'
import { statusIn } from './words.ts'

const RESTORED: readonly Column<Answer<'POST /api/restored'>>[] = [
  ['epoch', 'epoch'],
  ['newest record', 'backupAt'],
  ['jobs sent again', 'jobsOut'],
  ['held', 'hold.reason'],
  ['ends with', 'hold.endsWith'],
]
const RAN: readonly Column<ListedRow<'GET /api/restored/ran-after-backup'>>[] = [
  ['JOB', 'jobId', 'whole'],
  ['FUNCTION', 'functionName'],
  ['ENDED', 'endedAt'],
  ['RESULT', 'status'],
  ['BATCH', 'batchId'],
  [
    'MEMBER',
    ({ memberKey, batchId }) => memberKey ?? (batchId === null ? 'not in the backup' : ''),
  ],
  ['STEP', 'stepName'],
  ['NOW', statusIn('step', 'stepStatus')],
  ['WORKER', 'workerId', 'spare'],
]

export function addRestoredCommand(noun: Command, io: Io): void {
  addVerb(noun, io, {
    name: 'restored',
    about: 'report that the database was restored',
    options: [
      ['--list', 'list the jobs known to have run after the backup instead'],
      ...CHANGE,
      ...PAGED,
    ],
    more: `Everything is put on hold, and no answer to a job sent before counts. Most restores are noticed automatically; report a dump
that was loaded into the same database, or an embedded folder that was copied back. See docs/operating.md, "After a restore".
--list knows what workers remember and what arrives late; a worker that was stopped meanwhile remembers nothing.`,
    examples: [
      'db restored --reason "loaded the dump of 03:00"',
      'db restored --list --all --output csv > lost.csv',
    ],
    run: async (context, _, flags) => {
      if (flags.list)
        return showPages(context, 'GET /api/restored/ran-after-backup', {
          given: {},
          columns: RAN,
          empty: 'No job is known to have run after the backup.',
        })
      const what =
        'Everything is put on hold. Jobs that are out are sent again after the resume; their answers no longer count.'
      await confirm(context, { what, members: 0 })
      const body = { reason: await askReason(context) }
      const restored = await context.client.call('POST /api/restored', { body })
      context.show.say('What ran after the backup: matoolkit db restored --list')
      await context.show.one(restored, RESTORED)
    },
  })
}
