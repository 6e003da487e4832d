// `matoolkit deadletters …`: messages that could not be handled. A person replays or discards them.
import type { Command } from 'commander'
import type { Json } from '../../base/text/json.ts'
import {
  type CommandContext,
  type Flags,
  loadPages,
  pathSegment,
  sayMore,
  textFlag,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import type { Column, Row } from '../terminal/show.ts'
import { addVerb, CHANGE, PAGED } from './verb.ts'

const LETTERS: readonly Column[] = [
  ['ID', 'id', 'whole'],
  ['TOPIC', 'topic'],
  ['SUBSCRIPTION', 'subscription', 'spare'],
  ['TYPE', 'type', 'spare'],
  ['TRIES', 'deliveryCount', 'spare'],
  ['SINCE', 'deadLetteredAt'],
  ['REASON', 'reason'],
  ['ABOUT', 'description'],
]
const ID = ['<id>', 'id of the dead letter'] as const
const pathOf = (id: string | undefined): string => `/api/dead-letters/${pathSegment(id ?? '')}`

export function addDeadLetterCommands(program: Command, io: Io): void {
  const noun = program
    .command('deadletters')
    .description('manage messages that could not be handled')
  addVerb(noun, io, {
    name: 'list',
    about: 'list dead letters, oldest first',
    options: [['--worker <id>', 'only jobs of this worker'], ...PAGED],
    choices: [['--topic <name>', 'only of this topic', ['orchestrator-events', 'worker-results']]],
    examples: ['deadletters list', 'deadletters list --worker contoso-worker'],
    run: listLetters,
  })
  addVerb(noun, io, {
    name: 'show',
    about: 'show a dead letter with its body',
    args: [ID],
    examples: ['deadletters show 17'],
    run: async ({ client, show }, [id]) => {
      const { body } = await client.get(pathOf(id))
      const fields = LETTERS.map(([title, value]) => [title.toLowerCase(), value] as Column)
      await show.one(body, [...fields, ['message', 'messageId'], ['body', 'body']])
    },
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
        const body = { reason: await askReason(context) }
        const done = await context.client.post(`${pathOf(id)}/${verb}`, { body })
        await context.show.one(done.body, [
          ['dead letter', 'id'],
          ['sent as', 'sentAs'],
        ])
      },
    })
  }
}

/** One subscription, or all: the orchestrator's two and one per worker. */
async function listLetters(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const rows: Row[] = []
  let next: Json = null
  for (const query of await subscriptions(context, flags)) {
    const page = await loadPages(context, { path: '/api/dead-letters', query, rows: 'deadLetters' })
    rows.push(...page.rows)
    next ??= (page.whole as Row).next ?? null
  }
  const whole: Json = { deadLetters: rows as unknown as Json, next }
  await context.show.list({ whole, rows, columns: LETTERS, empty: 'No dead letters.' })
  sayMore(context, whole as Row, rows.length)
}

async function subscriptions(
  { client }: CommandContext,
  flags: Flags,
): Promise<Record<string, string>[]> {
  const worker = textFlag(flags, 'worker')
  const topic = textFlag(flags, 'topic')
  if (worker !== undefined) return [{ topic: 'worker-jobs', worker }]
  if (topic !== undefined) return [{ topic }]
  const { body } = await client.get<{ workers: { workerId: string }[] }>('/api/workers')
  return [
    { topic: 'orchestrator-events' },
    { topic: 'worker-results' },
    ...body.workers.map(({ workerId }) => ({ topic: 'worker-jobs', worker: workerId })),
  ]
}
