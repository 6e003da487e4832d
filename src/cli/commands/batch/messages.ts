// `matoolkit batch messages`: the messages to members, sent, failed and to come.
import type { ListedRow } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { MESSAGE_STATES, messageStateText } from '../../../domain/member-messages/message-state.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  showPages,
  textFlag,
} from '../../program/command-context.ts'
import type { Column } from '../../terminal/show.ts'
import { PAGED, type Verb } from '../verb.ts'
import { findMemberId, namedBatch } from './named.ts'

const SORTS = ['id', 'id_latest', 'key'] as const
const dashed = (state: string): string => state.replaceAll('_', '-')

type Message = ListedRow<'GET /api/batches/{batchId}/messages'>

/** Of one person. */
export const MESSAGES_OF_MEMBER: readonly Column<Message>[] = [
  ['MESSAGE', 'message'],
  ['STATE', { value: 'state', say: (_, message) => messageStateText(message) }],
  ['LANGUAGE', 'language'],
  ['TO', 'to'],
  ['AT', 'sentAt'],
  ['START SENT', 'startTime'],
  ['STEP', 'stepName', 'spare'],
  ['JOB', 'jobId', 'spare'],
  ['ERROR', 'error'],
]
const MESSAGES: readonly Column<Message>[] = [
  ['MEMBER', 'memberKey', 'whole'],
  ...MESSAGES_OF_MEMBER,
]

async function runMessages(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  await showPages(context, 'GET /api/batches/{batchId}/messages', {
    given: {
      params: namedBatch(id),
      query: {
        state: MESSAGE_STATES.find((state) => dashed(state) === flags.state),
        message: textFlag(flags, 'message'),
        language: textFlag(flags, 'language'),
        search: textFlag(flags, 'search'),
        memberId: member === undefined ? undefined : await findMemberId(context, id, member),
        sort: choiceFlag(flags, 'sort', SORTS),
      },
    },
    columns: MESSAGES,
    empty: 'No messages match.',
  })
  if (context.show.format === 'table') await sayCounts(context, id)
}

/** `announce/tell (notice): 3 sent, 1 failed, 0 not sent`, a line per step. */
async function sayCounts({ client, show }: CommandContext, id: string | undefined): Promise<void> {
  const params = namedBatch(id)
  const counts = await client.call('GET /api/batches/{batchId}/messages/counts', { params })
  for (const { phaseName, stepName, message, sent, notSent, failed } of counts.steps)
    show.say(
      printable(
        `${phaseName}/${stepName} (${message}): ${sent} sent, ${failed} failed, ${notSent} not sent`,
      ),
    )
  const owed = counts.messages.reduce((sum, one) => sum + one.correctionsOwed, 0)
  if (owed > 0) show.say(`${countText(owed, 'correction')} owed.`, 'yellow')
}

export const MESSAGES_VERB: Verb = {
  name: 'messages',
  about: 'list messages to the members',
  args: [['<id>', 'id of the batch']],
  options: [
    ['--message <name>', 'only this message'],
    ['--language <language>', 'only in this language'],
    ['--member <member>', 'only to this member, by id or key'],
    ['--search <text>', 'only with this text in the key'],
    ...PAGED,
  ],
  choices: [
    ['--state <state>', 'where the message stands', MESSAGE_STATES.map(dashed)],
    ['--sort <order>', 'sort order', SORTS],
  ],
  more: 'Without --state: every message that was sent, corrections included.',
  examples: [
    'batch messages 7',
    'batch messages 7 --state correction-owed',
    'batch messages 7 --all --output csv > messages.csv',
  ],
  run: runMessages,
}
