// Every command there is, by its first word. Only the one that is asked for is loaded: `matoolkit --version` must not wait for
// databases and web servers. To add one: write src/cli/<noun>.ts with a function like `addRunbook`, and a line here.
import type { AddCommands } from './program.ts'

export interface Noun {
  /** What the noun's own file says of it; a test compares the two. */
  readonly about: string
  load(): Promise<AddCommands>
}

export const NOUNS: Readonly<Record<string, Noun>> = {
  demo: {
    about: 'watch an example migration from its first step to its last, in memory',
    load: async () => (await import('./demo-command.ts')).addDemo,
  },
  up: {
    about: 'run everything on this machine: database, scheduler, orchestrator, worker and API',
    load: async () => (await import('./up-command.ts')).addUp,
  },
  serve: {
    about: 'run some or all roles of matoolkit in this process, until it is stopped',
    load: async () => (await import('./serve-command.ts')).addServe,
  },
  runbook: {
    about: 'check runbooks before they are used',
    load: async () => (await import('./runbook.ts')).addRunbook,
  },
  function: {
    about: 'see what workers can do',
    load: async () => (await import('./function.ts')).addFunction,
  },
  scheduler: {
    about: 'ask data sources who moves and when',
    load: async () => (await import('./scheduler.ts')).addScheduler,
  },
  sandbox: {
    about: 'run a small Microsoft 365 on this machine, to rehearse against',
    load: async () => (await import('./sandbox.ts')).addSandbox,
  },
}

/** What the arguments need: one noun in full and the others by name, so that help and guesses at spelling know them all. */
export function commandsFor(args: readonly string[]): Promise<AddCommands[]> {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'))
  const wanted = first === 'help' ? second : first
  return Promise.all(
    Object.entries(NOUNS).map(([name, { about, load }]) =>
      name === wanted ? load() : (program) => void program.command(name).description(about),
    ),
  )
}

export const allCommands = (): Promise<AddCommands[]> =>
  Promise.all(Object.values(NOUNS).map(({ load }) => load()))
