// Every command there is, by its first word. Only the one that is asked for is loaded: `matoolkit --version` must not wait for
// databases and web servers. To add one: write src/cli/<noun>.ts with a function like `addRunbook`, and a line here.
import type { AddCommands } from '../../cli/program.ts'

export interface Noun {
  /** What the noun's own file says of it; a test compares the two. */
  readonly about: string
  load(): Promise<AddCommands>
}

export const NOUNS: Readonly<Record<string, Noun>> = {
  demo: {
    about: 'watch an example migration from its first step to its last, in memory',
    load: async () => (await import('./demo.ts')).addDemo,
  },
  up: {
    about: 'run everything on this machine: database, scheduler, orchestrator, worker and API',
    load: async () => (await import('./up.ts')).addUp,
  },
  serve: {
    about: 'run some or all roles of matoolkit in this process, until it is stopped',
    load: async () => (await import('./serve.ts')).addServe,
  },
  runbook: {
    about: 'check, publish and look at runbooks',
    load: async () => (await import('../../cli/commands/runbook/runbook.ts')).addRunbook,
  },
  automation: {
    about: 'let queries of runbooks run by themselves',
    load: async () => (await import('../../cli/commands/automation.ts')).addAutomation,
  },
  query: {
    about: 'try the queries of runbooks',
    load: async () => (await import('../../cli/commands/query.ts')).addQuery,
  },
  template: {
    about: 'get templates of member files',
    load: async () => (await import('../../cli/commands/query.ts')).addTemplate,
  },
  batch: {
    about: 'look after batches and their members',
    load: async () => (await import('../../cli/commands/batch/batch.ts')).addBatch,
  },
  member: {
    about: 'look at one person',
    load: async () => (await import('../../cli/commands/insight.ts')).addMemberCommands,
  },
  step: {
    about: 'look at one step',
    load: async () => (await import('../../cli/commands/step.ts')).addStep,
  },
  failures: {
    about: 'what failed and why, errors of one kind taken together',
    load: async () => (await import('../../cli/commands/insight.ts')).addFailuresCommands,
  },
  stuck: {
    about: 'what does not go on, and why',
    load: async () => (await import('../../cli/commands/insight.ts')).addStuckCommands,
  },
  events: {
    about: 'what happened in a batch, newest first',
    load: async () => (await import('../../cli/commands/insight.ts')).addEventsCommands,
  },
  removals: {
    about: 'decide about removals that are held',
    load: async () => (await import('../../cli/commands/review.ts')).addRemovals,
  },
  latecomers: {
    about: 'decide about members who came too late',
    load: async () => (await import('../../cli/commands/review.ts')).addLatecomers,
  },
  moves: {
    about: 'decide about members who stand in another wave',
    load: async () => (await import('../../cli/commands/review.ts')).addMoves,
  },
  'source-issues': {
    about: 'rows of a data source that could not be used, and changes that were not made',
    load: async () => (await import('../../cli/commands/insight.ts')).addSourceIssuesCommands,
  },
  deadletters: {
    about: 'look after messages nobody could handle',
    load: async () => (await import('../../cli/commands/dead-letters.ts')).addDeadLetters,
  },
  worker: {
    about: 'see who works',
    load: async () => (await import('../../cli/commands/insight.ts')).addWorkerCommands,
  },
  auth: {
    about: 'sign in to the API, and see as whom',
    load: async () => (await import('../../cli/commands/auth/auth.ts')).addAuth,
  },
  audit: {
    about: 'see who did what',
    load: async () => (await import('../../cli/commands/audit.ts')).addAudit,
  },
  config: {
    about: 'choose the API and the way to sign in',
    load: async () => (await import('../../cli/commands/config.ts')).addConfig,
  },
  doctor: {
    about: 'check everything between this machine and a migration, and say what to do',
    load: async () => (await import('../../cli/commands/doctor.ts')).addDoctor,
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
  completion: {
    about: 'let your shell complete what you type',
    load: async () => (await import('../../cli/commands/completion.ts')).completionOf(allCommands),
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
