// `matoolkit actions`: changes of many members, and what has become of them.

import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { statesText } from '../../domain/state/person-state.ts'
import { type CommandContext, idOf, showPages } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, fieldsFrom } from '../terminal/show.ts'
import { stateCell } from './batch/lists.ts'
import { addVerb, PAGED } from './verb.ts'

type Action = ListedRow<'GET /api/actions'>
type ActionNow = Answer<'GET /api/actions/{actionId}'>

const ACTIONS: readonly Column<Action>[] = [
  ['ID', 'id'],
  ['AT', 'startedAt'],
  ['BATCH', 'batchId'],
  ['ACTION', 'action', 'whole'],
  ['BY', 'by'],
  ['STATE', 'state'],
  ['SELECTED', 'selectedCount', 'spare'],
  ['DONE', 'doneCount'],
  ['REFUSED', 'refusedCount'],
  ['REASON', 'reason'],
]
const SHOWN: readonly Column<ActionNow>[] = [
  ...fieldsFrom(ACTIONS),
  ['now', ({ now }) => statesText(now)],
  ['failed again', 'failedAgain'],
  ['held now', 'heldNow'],
]
const MEMBERS: readonly Column<ListedRow<'GET /api/actions/{actionId}/members'>>[] = [
  ['MEMBER', 'member.memberKey', 'whole'],
  ['RESULT', ({ refusal }) => (refusal === null ? 'done' : 'refused')],
  ['STATE', ({ member }) => stateCell(member)],
  ['NOW', 'member.where'],
  ['REFUSED BECAUSE', 'refusal'],
]

async function runShowAction(context: CommandContext, [id]: readonly string[]): Promise<void> {
  const params = { actionId: idOf('action', id) }
  await context.show.one(
    await context.client.call('GET /api/actions/{actionId}', { params }),
    SHOWN,
  )
  if (context.show.format !== 'table') return
  context.io.out('')
  await showPages(context, 'GET /api/actions/{actionId}/members', {
    given: { params },
    columns: MEMBERS,
    empty: 'No one was changed.',
  })
}

export function addActionCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'actions',
    about: 'list changes of many members, or one',
    args: [['[action]', 'id of an action']],
    options: [['--batch <id>', 'only of this batch'], ...PAGED],
    examples: ['actions', 'actions --batch 7 --all -o csv', 'actions 12'],
    run: async (context, args, { batch }) => {
      if (args.length > 0) return runShowAction(context, args)
      await showPages(context, 'GET /api/actions', {
        given: { query: batch === undefined ? {} : { batchId: idOf('batch', String(batch)) } },
        columns: ACTIONS,
        empty: 'No change of many members yet.',
      })
    },
  })
}
