// `matoolkit notification …`: messages to people, open conditions, channels, and a test of one.
import type { Command } from 'commander'
import { EXIT } from '../../base/errors/errors.ts'
import {
  type CommandContext,
  type Flags,
  pathSegment,
  showPages,
  textFlag,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, Row } from '../terminal/show.ts'
import { addVerb, PAGED } from './verb.ts'

const POLL_MS = 1_000
const WAIT_MS = 60_000

const titleOf = (row: Row): string => {
  const [first, ...others] = row.items as unknown as Row[]
  const more = others.length + Number(row.leftOut)
  const state = first?.state === 'cleared' ? 'Cleared: ' : ''
  return `${state}${String(first?.title ?? '')}${more > 0 ? ` and ${more} more` : ''}`
}

const MESSAGES: readonly Column[] = [
  ['ID', 'id', 'whole'],
  ['CHANNEL', 'channel'],
  ['STATUS', 'status'],
  ['TRIES', 'attempts', 'spare'],
  ['CREATED', 'createdAt'],
  ['DUE', 'dueAt', 'spare'],
  ['MESSAGE', titleOf],
  ['ERROR', 'error', 'spare'],
]

const CONDITIONS: readonly Column[] = [
  ['KIND', 'kind'],
  ['BATCH', 'batchId'],
  ['SINCE', 'since'],
  ['CONDITION', 'title'],
  ['CHANNELS', (row) => (row.channels as unknown as string[]).join(', '), 'spare'],
  ['MESSAGES', (row) => (row.messages as unknown as Row[]).map(({ id }) => id).join(', '), 'spare'],
  ['NEXT', 'command'],
]

const CHANNELS: readonly Column[] = [
  ['CHANNEL', 'name'],
  ['TYPE', 'type'],
  ['LAST SENT', 'lastSentAt'],
  ['WAITING', 'waiting'],
  ['FAILING SINCE', 'failingSince'],
  ['ERROR', 'error'],
]

const listText = (value: unknown, none: string): string => {
  const words = value as readonly string[] | null
  return words === null || words.length === 0 ? none : words.join(', ')
}

const RULES: readonly Column[] = [
  ['CONDITIONS', ({ conditions }) => listText(conditions, 'all')],
  ['CHANNELS', ({ channels }) => listText(channels, '')],
  ['RUNBOOKS', ({ runbooks }) => listText(runbooks, 'all')],
  ['WRITTEN IN', 'from'],
]

const messagePath = (id: string): string => `/api/notifications/${pathSegment(id)}`

export function addNotificationCommands(program: Command, io: Io): void {
  const noun = program.command('notification').description('see who was told, and test channels')
  addVerb(noun, io, {
    name: 'list',
    about: 'list messages to people, newest first',
    options: [['--channel <name>', 'only of this channel'], ...PAGED],
    choices: [['--status <status>', 'only of this status', ['waiting', 'sent', 'failed']]],
    examples: ['notification list', 'notification list --status failed'],
    run: listMessages,
  })
  addVerb(noun, io, {
    name: 'show',
    about: 'show a message and what became of it',
    args: [['<id>', 'id of the message']],
    examples: ['notification show 12'],
    run: async (context, [id]) => {
      const { body } = await context.client.get<Row>(messagePath(id!))
      await showMessage(context, body)
    },
  })
  addVerb(noun, io, {
    name: 'conditions',
    about: 'list conditions that are open now',
    options: PAGED,
    examples: ['notification conditions'],
    run: (context) =>
      showPages(context, {
        path: '/api/conditions',
        rows: 'conditions',
        columns: CONDITIONS,
        empty: 'No condition is open.',
      }),
  })
  addVerb(noun, io, {
    name: 'channels',
    about: 'list channels and which fail',
    examples: ['notification channels'],
    run: async ({ client, show }) => {
      const { body } = await client.get<{ channels: Row[] }>('/api/channels')
      const empty = 'No channels: set MATOOLKIT_NOTIFICATIONS_FILE.'
      await show.list({ whole: body as never, rows: body.channels, columns: CHANNELS, empty })
    },
  })
  addVerb(noun, io, {
    name: 'rules',
    about: 'list which channel hears of what',
    examples: ['notification rules'],
    run: async ({ client, show }) => {
      const { body } = await client.get<{ rules: Row[] }>('/api/notification-rules')
      const empty = 'No rules: nobody is told. See docs/notifications.md.'
      await show.list({ whole: body as never, rows: body.rules, columns: RULES, empty })
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

const listMessages = (
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> => {
  const [channel, status] = [textFlag(flags, 'channel'), textFlag(flags, 'status')]
  return showPages(context, {
    path: '/api/notifications',
    query: { ...(channel && { channel }), ...(status && { status }) },
    rows: 'notifications',
    columns: MESSAGES,
    empty: 'No messages.',
  })
}

const itemText = ({ state, title, text, since, command }: Row): string =>
  `${String(state)} since ${String(since)}: ${String(title)}. ${String(text)}. Next: ${String(command)}`

const showMessage = ({ show }: CommandContext, body: Row): Promise<void> =>
  show.one(body as never, [
    ['message', 'id'],
    ['message id', 'messageId'],
    ['channel', 'channel'],
    ['status', 'status'],
    ['attempts', 'attempts'],
    ['created', 'createdAt'],
    ['due', 'dueAt'],
    ['ended', 'endedAt'],
    ['error', 'error'],
    ['says', (row) => (row.items as unknown as Row[]).map(itemText).join('\n')],
  ])

async function testChannel(
  context: CommandContext,
  [channel]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, clock, io } = context
  const path = `/api/channels/${pathSegment(channel!)}/test`
  let { body } = await client.post<Row>(path, {})
  const until = +clock.now() + (flags.wait ? WAIT_MS : 0)
  while (body.status === 'waiting' && +clock.now() < until) {
    await clock.wait(POLL_MS)
    body = (await client.get<Row>(messagePath(String(body.id)))).body
  }
  await showMessage(context, body)
  if (body.status === 'failed') io.exitCode = EXIT.failed
  if (body.status === 'waiting')
    io.err(`An orchestrator sends it: matoolkit notification show ${String(body.id)}`)
}
