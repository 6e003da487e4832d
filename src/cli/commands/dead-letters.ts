// `matoolkit deadletters …`: messages that could not be handled. A person replays or discards them.
import type { Command } from 'commander'
import type { ListedRow, RequestOf } from '../../api/client/endpoints.ts'
import {
  type CommandContext,
  choiceFlag,
  type Flags,
  loadPages,
  sayMore,
  textFlag,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import { type Column, fieldsFrom } from '../terminal/show.ts'
import { addVerb, CHANGE, PAGED } from './verb.ts'

type Letter = ListedRow<'GET /api/dead-letters'>

const LETTERS: readonly Column<Letter>[] = [
  ['ID', 'id', 'whole'],
  ['TOPIC', 'topic'],
  ['SUBSCRIPTION', 'subscription', 'spare'],
  ['TYPE', 'type', 'spare'],
  ['TRIES', 'deliveryCount', 'spare'],
  ['SINCE', 'deadLetteredAt'],
  ['REASON', 'reason'],
  ['ABOUT', 'description'],
]
const TOPICS = ['orchestrator-events', 'worker-results'] as const
const ID = ['<id>', 'id of the dead letter'] as const

export function addDeadLetterCommands(program: Command, io: Io): void {
  const noun = program
    .command('deadletters')
    .description('manage messages that could not be handled')
  addVerb(noun, io, {
    name: 'list',
    about: 'list dead letters, or show one',
    args: [['[id]', 'id of the dead letter, with its body']],
    options: [['--worker <id>', 'only jobs of this worker'], ...PAGED],
    choices: [['--topic <name>', 'only of this topic', TOPICS]],
    more: 'The oldest come first.',
    examples: [
      'deadletters list',
      'deadletters list 17',
      'deadletters list --worker contoso-worker',
    ],
    run: (context, [id], flags) =>
      id === undefined ? listLetters(context, flags) : showLetter(context, id),
  })
  for (const [verb, about, words] of [
    ['replay', 'send a dead letter again', 'is sent again'],
    ['discard', 'discard a dead letter; keep the record', 'is discarded and never sent again'],
  ] as const) {
    addVerb(noun, io, {
      name: verb,
      about,
      args: [ID],
      options: CHANGE,
      examples: [`deadletters ${verb} 17 --reason "the worker is fixed"`],
      run: async (context, [id]) => {
        await confirm(context, { what: `Dead letter ${id} ${words}.`, members: 0 })
        const body = { decision: verb, reason: await askReason(context) }
        const given = { params: { deadLetterId: id! }, body }
        const endpoint = 'POST /api/dead-letters/{deadLetterId}'
        await context.show.one(await context.client.call(endpoint, given), [
          ['dead letter', 'id'],
          ['sent as', 'sentAs'],
        ])
      },
    })
  }
}

async function showLetter({ client, show }: CommandContext, deadLetterId: string): Promise<void> {
  const params = { deadLetterId }
  const letter = await client.call('GET /api/dead-letters/{deadLetterId}', { params })
  const fields = fieldsFrom(LETTERS)
  await show.one(letter, [...fields, ['message', 'messageId'], ['body', 'body']])
}

/** One subscription, or all: the orchestrator's two and one per worker. */
async function listLetters(context: CommandContext, flags: Flags): Promise<void> {
  const rows: Letter[] = []
  let next: string | null = null
  for (const query of await subscriptions(context, flags)) {
    const page = await loadPages(context, 'GET /api/dead-letters', { query })
    rows.push(...page.rows)
    next ??= page.whole.next
  }
  const whole = { deadLetters: rows, next }
  await context.show.list({ whole, rows, columns: LETTERS, empty: 'No dead letters.' })
  sayMore(context, whole, rows.length)
}

async function subscriptions(
  { client }: CommandContext,
  flags: Flags,
): Promise<NonNullable<RequestOf<'GET /api/dead-letters'>['query']>[]> {
  const worker = textFlag(flags, 'worker')
  const topic = choiceFlag(flags, 'topic', TOPICS)
  if (worker !== undefined) return [{ topic: 'worker-jobs', worker }]
  if (topic !== undefined) return [{ topic }]
  const { workers } = await client.call('GET /api/workers')
  return [
    { topic: 'orchestrator-events' },
    { topic: 'worker-results' },
    ...workers.map(({ workerId }) => ({ topic: 'worker-jobs' as const, worker: workerId })),
  ]
}
