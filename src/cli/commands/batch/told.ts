// `matoolkit batch told` and `preview-message`: who was told what and when, and what somebody would be told.
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { TOLD_STATES, toldStateText } from '../../../domain/member-messages/told-state.ts'
import {
  type CommandContext,
  type Flags,
  showPages,
  textFlag,
} from '../../program/command-context.ts'
import { type Column, type Row, rowsIn } from '../../terminal/show.ts'
import { runPreviewOfBatch } from '../preview-message.ts'
import { PAGED, type Verb } from '../verb.ts'
import { batchPath, findMemberId } from './paths.ts'

const dashed = (state: string): string => state.replaceAll('_', '-')

const STATE: Column = [
  'STATE',
  { value: 'state', say: (_, line) => toldStateText(line as unknown as ToldRow) },
]
type ToldRow = Parameters<typeof toldStateText>[0]

/** Of one person. */
export const TOLD_OF_MEMBER: readonly Column[] = [
  ['MESSAGE', 'message'],
  STATE,
  ['LANGUAGE', 'language'],
  ['TO', 'to'],
  ['AT', 'toldAt'],
  ['START TOLD', 'startTime'],
  ['STEP', 'stepName', 'spare'],
  ['JOB', 'jobId', 'spare'],
  ['ERROR', 'error'],
]
const TOLD: readonly Column[] = [['MEMBER', 'memberKey', 'whole'], ...TOLD_OF_MEMBER]

async function runTold(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  await showPages(context, {
    path: `${batchPath(id)}/told`,
    query: {
      state: textFlag(flags, 'state')?.replaceAll('-', '_'),
      message: textFlag(flags, 'message'),
      language: textFlag(flags, 'language'),
      search: textFlag(flags, 'search'),
      memberId: member && (await findMemberId(context, id, member)),
      sort: textFlag(flags, 'sort'),
    },
    rows: 'told',
    columns: TOLD,
    empty: 'No messages match.',
  })
  if (context.show.format === 'table') await sayCounts(context, id)
}

/** `announce/tell (notice): 3 told, 1 failed, 0 not told`, a line per step. */
async function sayCounts({ client, show }: CommandContext, id: string | undefined): Promise<void> {
  const { body } = await client.get<Row>(`${batchPath(id)}/told/counts`)
  for (const { phaseName, stepName, message, told, notTold, failed } of rowsIn(body, 'steps'))
    show.say(
      printable(
        `${phaseName}/${stepName} (${message}): ${told} told, ${failed} failed, ${notTold} not told`,
      ),
    )
  const owed = rowsIn(body, 'messages').reduce((sum, one) => sum + Number(one.correctionsOwed), 0)
  if (owed > 0) show.say(`${countText(owed, 'correction')} owed.`, 'yellow')
}

export const TOLD_VERBS: readonly Verb[] = [
  {
    name: 'told',
    about: 'list who was told what and when',
    args: [['<id>', 'id of the batch']],
    options: [
      ['--message <name>', 'only this message'],
      ['--language <language>', 'only in this language'],
      ['--member <member>', 'only to this member, by id or key'],
      ['--search <text>', 'only with this text in the key'],
      ...PAGED,
    ],
    choices: [
      ['--state <state>', 'where the message stands', TOLD_STATES.map(dashed)],
      ['--sort <order>', 'sort order', ['id', 'id_latest', 'key']],
    ],
    more: 'Without --state: every message that was sent, corrections included.',
    examples: [
      'batch told 7',
      'batch told 7 --state correction-owed',
      'batch told 7 --all --output csv > told.csv',
    ],
    run: runTold,
  },
  {
    name: 'preview-message',
    about: 'preview a message to a member',
    args: [['<id>', 'id of the batch']],
    options: [
      ['--message <name>', 'name of the message (default: the first)'],
      ['--member <member>', 'member who would get it, by id or key'],
      ['--language <language>', "language instead of the member's"],
    ],
    more: 'Sends nothing. Uses the version that the batch runs, the data and outputs of the member, and the start of the batch.',
    examples: ['batch preview-message 7 --message cut-over-notice --member ada@contoso.com'],
    run: runPreviewOfBatch,
  },
]
