// `matoolkit deadletters …`: messages that could not be handled and wait for a person.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import {
  type CommandContext,
  type Flags,
  loadPages,
  pathSegment,
  sayMore,
  textFlag,
} from '../command-context.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, Row } from '../terminal/show.ts'
import { askReason } from './batch/actions.ts'
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
const ID = ['<id>', 'its id, as listed'] as const
const pathOf = (id: string | undefined): string => `/api/dead-letters/${pathSegment(id ?? '')}`

export function addDeadLetterCommands(program: Command, io: Io): void {
  const noun = program.command('deadletters').description('look after messages nobody could handle')
  addVerb(noun, io, {
    name: 'list',
    about: 'list them, oldest first',
    options: [['--worker <id>', 'only the jobs of this worker'], ...PAGED],
    choices: [['--topic <name>', 'only of this topic', ['orchestrator-events', 'worker-results']]],
    examples: ['deadletters list', 'deadletters list --worker contoso-worker'],
    run: listLetters,
  })
  addVerb(noun, io, {
    name: 'show',
    about: 'show one with its body',
    args: [ID],
    examples: ['deadletters show 17'],
    run: async ({ client, show }, [id]) => {
      const { body } = await client.get(pathOf(id))
      const fields = LETTERS.map(([title, value]) => [title.toLowerCase(), value] as Column)
      await show.one(body, [...fields, ['message', 'messageId'], ['body', 'body']])
    },
  })
  for (const [verb, about, words] of [
    ['replay', 'send it once more', 'is sent once more'],
    ['discard', 'never send it again; it is kept as a record', 'is never sent again'],
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

/** Of one subscription, or of all there are: the two of the orchestrator and one of each worker. */
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
  await context.show.list({ whole, rows, columns: LETTERS, empty: 'There are no dead letters.' })
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
