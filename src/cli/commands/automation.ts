// `matoolkit automation …`: the switch that lets a runbook's query run by itself.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { type CommandContext, pathSegment, textFlag } from '../command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { addVerb } from './verb.ts'

const FIELDS: readonly Column[] = [
  ['runbook', 'runbookName'],
  ['automation', ({ automationEnabled }) => (automationEnabled ? 'on' : 'off')],
  ['turned on', 'enabledAt'],
  ['by', 'enabledBy'],
  ['turned off', 'disabledAt'],
  ['by', 'disabledBy'],
]
const RUNBOOK = ['<runbook>', 'the name of the runbook'] as const
const REASON = ['--reason <text>', 'why; kept in the audit'] as const

const pathOf = (name: string | undefined): string =>
  `/api/runbooks/${pathSegment(name ?? '')}/automation`

export function addAutomationCommands(program: Command, io: Io): void {
  const noun = program
    .command('automation')
    .description('let queries of runbooks run by themselves')
  addVerb(noun, io, {
    name: 'status',
    about: 'say whether the automation is on, and who decided that',
    args: [RUNBOOK],
    examples: ['automation status user-migration'],
    run: async ({ client, show }, [name]) =>
      show.one((await client.get(pathOf(name))).body, FIELDS),
  })
  for (const enabled of [true, false]) {
    const verb = enabled ? 'enable' : 'disable'
    addVerb(noun, io, {
      name: verb,
      about: enabled
        ? 'let the query run by itself from now on'
        : 'stop the query; batches under way go on',
      args: [RUNBOOK],
      options: [REASON],
      examples: [`automation ${verb} user-migration`],
      run: (context, [name], flags) => turn(context, name, enabled, textFlag(flags, 'reason')),
    })
  }
}

async function turn(
  { client, show }: CommandContext,
  name: string | undefined,
  enabled: boolean,
  reason: string | undefined,
): Promise<void> {
  const body: Json = { enabled, ...(reason !== undefined && { reason }) }
  await show.one((await client.put(pathOf(name), { body })).body, FIELDS)
}
