// `matoolkit events`: what happened in a batch.
import type { Command } from 'commander'
import { eventWords } from '../../domain/state/words.ts'
import type { LiveEvent } from '../connection/event-stream.ts'
import { type CommandContext, type Flags, showPages, textFlag } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { findMemberId, namedBatch } from './batch/named.ts'
import { addVerb, BATCH_ARG, PAGED } from './verb.ts'
import { EVENT_TO } from './words.ts'

export const EVENT_COLUMNS: readonly Column<LiveEvent>[] = [
  ['AT', 'at'],
  ['MEMBER', 'memberKey'],
  ['PHASE', 'phaseName', 'spare'],
  ['STEP', 'stepName'],
  ['WHAT', ({ entity, event }) => eventWords(entity, event)],
  EVENT_TO,
  ['BY', 'actor', 'spare'],
  ['BECAUSE', 'because'],
]

export function addEventCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'events',
    about: 'list what happened in a batch',
    args: [BATCH_ARG],
    options: [
      ['--member <member>', 'only for this member, by id or key'],
      ['--entity <list>', 'only of batch, phase, member, step'],
      ['--oldest', 'oldest first (default: newest first)'],
      ...PAGED,
    ],
    examples: ['events 7 --entity batch,phase', 'events 7 --member ada@contoso.com --oldest'],
    run: runListEvents,
  })
}

async function runListEvents(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  await showPages(context, 'GET /api/batches/{batchId}/events', {
    given: {
      params: namedBatch(id),
      query: {
        memberId: member === undefined ? undefined : await findMemberId(context, id, member),
        entity: textFlag(flags, 'entity'),
        sort: flags.oldest ? 'oldest' : 'newest',
      },
    },
    columns: EVENT_COLUMNS,
    empty: 'Nothing has happened.',
  })
}
