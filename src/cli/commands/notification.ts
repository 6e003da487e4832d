// `matoolkit notification …`: messages to people, open conditions, channels, and a test of one.
import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { EXIT } from '../../base/errors/errors.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  idOf,
  showPages,
  textFlag,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, showSection } from '../terminal/show.ts'
import { addVerb, PAGED } from './verb.ts'

const STATUSES = ['waiting', 'sent', 'failed'] as const
const POLL_MS = 1_000
const WAIT_MS = 60_000

type Message = Answer<'GET /api/notifications/{notificationId}'>

const titleOf = ({ items: [first, ...others], leftOut }: Message): string => {
  const more = others.length + leftOut
  const state = first?.state === 'cleared' ? 'Cleared: ' : ''
  return `${state}${first?.title ?? ''}${more > 0 ? ` and ${more} more` : ''}`
}

const MESSAGES: readonly Column<Message>[] = [
  ['ID', 'id', 'whole'],
  ['CHANNEL', 'channel'],
  ['STATUS', 'status'],
  ['TRIES', 'attempts', 'spare'],
  ['CREATED', 'createdAt'],
  ['DUE', 'dueAt', 'spare'],
  ['MESSAGE', titleOf],
  ['ERROR', 'error', 'spare'],
]

const CONDITIONS: readonly Column<ListedRow<'GET /api/conditions'>>[] = [
  ['KIND', 'kind'],
  ['BATCH', 'batchId'],
  ['SINCE', 'since'],
  ['CONDITION', 'title'],
  ['CHANNELS', ({ channels }) => channels.join(', '), 'spare'],
  ['MESSAGES', ({ messages }) => messages.map(({ id }) => id).join(', '), 'spare'],
  ['NEXT', 'command'],
]

const CHANNELS: readonly Column<Answer<'GET /api/channels'>['channels'][number]>[] = [
  ['CHANNEL', 'name'],
  ['TYPE', 'type'],
  ['LAST SENT', 'lastSentAt'],
  ['WAITING', 'waiting'],
  ['FAILING SINCE', 'failingSince'],
  ['ERROR', 'error'],
]

const RULES: readonly Column<Answer<'GET /api/channels'>['rules'][number]>[] = [
  ['CONDITIONS', ({ conditions }) => conditions.join(', ') || 'all'],
  ['CHANNELS', ({ channels }) => channels.join(', ')],
  ['RUNBOOKS', ({ runbooks }) => runbooks?.join(', ') || 'all'],
  ['WRITTEN IN', 'from'],
]

const loadMessage = ({ client }: CommandContext, notificationId: number): Promise<Message> =>
  client.call('GET /api/notifications/{notificationId}', { params: { notificationId } })

export function addNotificationCommands(program: Command, io: Io): void {
  const noun = program.command('notification').description('see who was told, and test channels')
  addVerb(noun, io, {
    name: 'list',
    about: 'list messages to people, or show one',
    args: [['[id]', 'id of a message']],
    options: [
      ['--channel <name>', 'only of this channel'],
      ['--open', 'the conditions that are open now, and who heard of them'],
      ...PAGED,
    ],
    choices: [['--status <status>', 'only of this status', STATUSES]],
    examples: [
      'notification list',
      'notification list 12',
      'notification list --status failed',
      'notification list --open',
    ],
    run: listMessages,
  })
  addVerb(noun, io, {
    name: 'channels',
    about: 'list channels, and what each hears of',
    examples: ['notification channels'],
    run: async ({ client, show }) => {
      const whole = await client.call('GET /api/channels')
      const empty = 'No channels: set MATOOLKIT_NOTIFICATIONS_FILE.'
      await show.list({ whole, rows: whole.channels, columns: CHANNELS, empty })
      if (show.format === 'table') await showSection(show, 'What they hear of', whole.rules, RULES)
    },
  })
  addVerb(noun, io, {
    name: 'test',
    about: 'send a test message to a channel',
    args: [['<channel>', 'name of the channel']],
    options: [['--wait', 'wait for the outcome, up to a minute']],
    examples: ['notification test night-shift --wait'],
    run: testChannel,
  })
}

const listMessages = async (
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> => {
  if (id !== undefined) return showMessage(context, await loadMessage(context, idOf('message', id)))
  if (flags.open)
    return showPages(context, 'GET /api/conditions', {
      given: {},
      columns: CONDITIONS,
      empty: 'No condition is open.',
    })
  return showPages(context, 'GET /api/notifications', {
    given: {
      query: { channel: textFlag(flags, 'channel'), status: choiceFlag(flags, 'status', STATUSES) },
    },
    columns: MESSAGES,
    empty: 'No messages.',
  })
}

const itemText = ({ state, title, text, since, command }: Message['items'][number]): string =>
  `${state} since ${since}: ${title}. ${text}. Next: ${command}`

const showMessage = ({ show }: CommandContext, message: Message): Promise<void> =>
  show.one(message, [
    ['message', 'id'],
    ['message id', 'messageId'],
    ['channel', 'channel'],
    ['status', 'status'],
    ['attempts', 'attempts'],
    ['created', 'createdAt'],
    ['due', 'dueAt'],
    ['ended', 'endedAt'],
    ['error', 'error'],
    ['says', ({ items }) => items.map(itemText).join('\n')],
  ])

async function testChannel(
  context: CommandContext,
  [channel]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, clock, io } = context
  const params = { channel: channel! }
  let message: Message = await client.call('POST /api/channels/{channel}/test', {
    params,
    body: {},
  })
  const until = +clock.now() + (flags.wait ? WAIT_MS : 0)
  while (message.status === 'waiting' && +clock.now() < until) {
    await clock.wait(POLL_MS)
    message = await loadMessage(context, message.id)
  }
  await showMessage(context, message)
  if (message.status === 'failed') io.exitCode = EXIT.failed
  if (message.status === 'waiting')
    io.err(`An orchestrator sends it: matoolkit notification list ${message.id}`)
}
