// `matoolkit automation …`: switches the automatic query of a runbook on and off.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { type CommandContext, textFlag } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { AUTOMATION_TICK } from './tick.ts'
import { addVerb, REASON, RUNBOOK_ARG } from './verb.ts'

const FIELDS: readonly Column<Answer<'GET /api/runbooks/{name}/automation'>>[] = [
  ['runbook', 'runbookName'],
  ['automation', ({ automationEnabled }) => (automationEnabled ? 'on' : 'off')],
  ['turned on', 'enabledAt'],
  ['by', 'enabledBy'],
  ['turned off', 'disabledAt'],
  ['by', 'disabledBy'],
]

export function addAutomationCommands(program: Command, io: Io): void {
  const noun = program.command('automation').description('turn automatic source queries on or off')
  addVerb(noun, io, {
    name: 'status',
    about: 'show whether automation is on',
    args: [RUNBOOK_ARG],
    examples: ['automation status user-migration'],
    run: async ({ client, show }, [name]) =>
      show.one(
        await client.call('GET /api/runbooks/{name}/automation', { params: { name: name! } }),
        FIELDS,
      ),
  })
  addVerb(noun, io, AUTOMATION_TICK)
  for (const enabled of [true, false]) {
    const verb = enabled ? 'enable' : 'disable'
    addVerb(noun, io, {
      name: verb,
      about: enabled ? 'turn automation on' : 'turn automation off; running batches continue',
      args: [RUNBOOK_ARG],
      options: [REASON],
      examples: [`automation ${verb} user-migration`],
      run: (context, [name], flags) =>
        setAutomation(context, name!, enabled, textFlag(flags, 'reason')),
    })
  }
}

async function setAutomation(
  { client, show }: CommandContext,
  name: string,
  enabled: boolean,
  reason: string | undefined,
): Promise<void> {
  const given = { params: { name }, body: { enabled, ...(reason !== undefined && { reason }) } }
  await show.one(await client.call('PUT /api/runbooks/{name}/automation', given), FIELDS)
}
