// Every command there is, by its first word. Only the one that is asked for is loaded: `matoolkit --version` must not wait for
// databases and web servers. To add one: write src/cli/<noun>.ts with a function like `addRunbook`, and a line here.
import type { AddCommands } from '../../cli/program.ts'

export interface NounLoader {
  /** What the noun's own file says of it; a test compares the two. */
  readonly about: string
  /** Replaced by another noun: it works, but help does not list it. */
  readonly isHidden?: true
  load(): Promise<AddCommands>
}

export const NOUNS: Readonly<Record<string, NounLoader>> = {
  demo: {
    about: 'watch an example migration from its first step to its last, in memory',
    load: async () => (await import('./demo.ts')).addDemoCommands,
  },
  up: {
    about: 'run everything on this machine: database, scheduler, orchestrator, worker and API',
    load: async () => (await import('./up.ts')).addUpCommands,
  },
  serve: {
    about: 'run some or all roles of matoolkit in this process, until it is stopped',
    load: async () => (await import('./serve.ts')).addServeCommands,
  },
  runbook: {
    about: 'check, publish and look at runbooks',
    load: async () => (await import('../../cli/commands/runbook/runbook.ts')).addRunbookCommands,
  },
  automation: {
    about: 'let queries of runbooks run by themselves',
    load: async () => (await import('../../cli/commands/automation.ts')).addAutomationCommands,
  },
  query: {
    about: 'try the queries of runbooks',
    load: async () => (await import('../../cli/commands/query.ts')).addQueryCommands,
  },
  template: {
    about: 'get templates of member files',
    load: async () => (await import('../../cli/commands/query.ts')).addTemplateCommands,
  },
  batch: {
    about: 'look after batches and their members',
    load: async () => (await import('../../cli/commands/batch/batch.ts')).addBatchCommands,
  },
  member: {
    about: 'look at one person',
    load: async () => (await import('../../cli/commands/insight.ts')).addMemberCommands,
  },
  step: {
    about: 'look at one step',
    load: async () => (await import('../../cli/commands/step.ts')).addStepCommands,
  },
  failures: {
    about: 'what failed and why, errors of one kind taken together',
    load: async () => (await import('../../cli/commands/insight.ts')).addFailureCommands,
  },
  stuck: {
    about: 'what does not go on, and why',
    load: async () => (await import('../../cli/commands/insight.ts')).addStuckCommands,
  },
  events: {
    about: 'what happened in a batch, newest first',
    load: async () => (await import('../../cli/commands/insight.ts')).addEventCommands,
  },
  review: {
    about: 'decide on changes from data sources',
    load: async () => (await import('../../cli/commands/review.ts')).addReviewCommands,
  },
  removals: {
    about: 'decide on removals; now "review"',
    isHidden: true,
    load: async () => (await import('../../cli/commands/review-aliases.ts')).addRemovalCommands,
  },
  latecomers: {
    about: 'decide on latecomers; now "review"',
    isHidden: true,
    load: async () => (await import('../../cli/commands/review-aliases.ts')).addLatecomerCommands,
  },
  moves: {
    about: 'decide on moves; now "review"',
    isHidden: true,
    load: async () => (await import('../../cli/commands/review-aliases.ts')).addMoveCommands,
  },
  'source-issues': {
    about: 'rows of a data source that could not be used, and changes that were not made',
    load: async () => (await import('../../cli/commands/insight.ts')).addSourceIssueCommands,
  },
  deadletters: {
    about: 'look after messages nobody could handle',
    load: async () => (await import('../../cli/commands/dead-letters.ts')).addDeadLetterCommands,
  },
  worker: {
    about: 'see who works',
    load: async () => (await import('../../cli/commands/insight.ts')).addWorkerCommands,
  },
  auth: {
    about: 'sign in to the API, and see as whom',
    load: async () => (await import('../../cli/commands/auth/auth.ts')).addAuthCommands,
  },
  audit: {
    about: 'see who did what',
    load: async () => (await import('../../cli/commands/audit.ts')).addAuditCommands,
  },
  config: {
    about: 'choose the API and the way to sign in',
    load: async () => (await import('../../cli/commands/config.ts')).addConfigCommands,
  },
  doctor: {
    about: 'check everything between this machine and a migration, and say what to do',
    load: async () => (await import('../../cli/commands/doctor.ts')).addDoctorCommands,
  },
  function: {
    about: 'see what workers can do',
    load: async () => (await import('./function.ts')).addFunctionCommands,
  },
  scheduler: {
    about: 'ask data sources who moves and when',
    load: async () => (await import('./scheduler.ts')).addSchedulerCommands,
  },
  sandbox: {
    about: 'run a small Microsoft 365 on this machine, to rehearse against',
    load: async () => (await import('./sandbox.ts')).addSandboxCommands,
  },
  completion: {
    about: 'let your shell complete what you type',
    load: async () =>
      (await import('../../cli/commands/completion.ts')).addCompletionCommands(allCommands),
  },
}

/** What the arguments need: one noun in full and the others by name, so that help and guesses at spelling know them all. */
export function commandsFor(args: readonly string[]): Promise<AddCommands[]> {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'))
  const wanted = first === 'help' ? second : first
  return Promise.all(
    Object.entries(NOUNS).map(([name, { about, load, isHidden: hidden = false }]) =>
      name === wanted
        ? load()
        : (program) => void program.command(name, { hidden }).description(about),
    ),
  )
}

export const allCommands = (): Promise<AddCommands[]> =>
  Promise.all(Object.values(NOUNS).map(({ load }) => load()))
