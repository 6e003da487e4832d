// `matoolkit template …`: member file templates.
import type { Command } from 'commander'
import { writeNewFile } from '../input/files.ts'
import { textFlag } from '../program/command-context.ts'
import { type Io, safeFor, withoutLineEnd } from '../terminal/io.ts'
import { addVerb, RUNBOOK_ARG } from './verb.ts'

export function addTemplateCommands(program: Command, io: Io): void {
  const noun = program.command('template').description('get member file templates')
  addVerb(noun, io, {
    name: 'download',
    about: 'write a member file template as CSV',
    args: [RUNBOOK_ARG],
    options: [
      ['--file <path>', 'file to write, - for stdout (default: {runbook}_template.csv)'],
      ['--force', 'replace an existing file'],
    ],
    more: 'The template has the columns that the runbook needs, and a sample row.',
    examples: ['template download user-migration', 'template download user-migration --file -'],
    run: async ({ client, show, io: output }, [name], flags) => {
      const given = { params: { name: name! } }
      const template = await client.raw('GET /api/runbooks/{name}/template', given, {
        accept: '*/*',
      })
      const text = await template.text()
      const file = textFlag(flags, 'file') ?? `${name}_template.csv`
      if (file === '-') return output.out(safeFor(output, withoutLineEnd(text)))
      await writeNewFile(file, text, flags.force === true)
      await show.one({ file, columns: text.split('\r\n')[0]! }, [
        ['file', 'file'],
        ['columns', 'columns'],
      ])
    },
  })
}
