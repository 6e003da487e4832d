// `matoolkit mcp`: names and flags. The code is loaded when the command runs.
import type { Command } from 'commander'
import { addVerb } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'

export function addMcpCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'mcp',
    about: 'give an assistant tools that only read',
    options: [['--allow-admin', 'start although the sign-in may change things']],
    isText: true,
    more: `Speaks the Model Context Protocol over stdin and stdout: an assistant starts it, docs/assistants.md
has the settings. Every tool is a GET request with your sign-in, so use one with the role Reader.

Exit code: 0 when the assistant closes its input.`,
    examples: ['mcp'],
    run: async (context) => {
      const { serveTools } = await import('../mcp/serve-tools.ts')
      await serveTools(context)
    },
  })
}
