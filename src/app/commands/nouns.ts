// Every command by its first word. Only the requested noun is loaded: `matoolkit --version` must not wait for databases and web
// servers. To add a noun, write src/cli/commands/<noun>.ts with a function such as `addRunbookCommands`, and add it here.
import type { AddCommands } from '../../cli/program.ts'

export interface NounLoader {
  /** Same as in the noun's own file; a test compares the two. */
  readonly about: string
  /** Replaced by another noun: it works, but help does not list it. */
  readonly isHidden?: true
  load(): Promise<AddCommands>
}

export const NOUNS: Readonly<Record<string, NounLoader>> = {
  demo: {
    about: 'watch an example migration from start to end',
    load: async () => (await import('./demo.ts')).addDemoCommands,
  },
  up: {
    about: 'start everything on this machine',
    load: async () => (await import('./up.ts')).addUpCommands,
  },
  serve: {
    about: 'start chosen roles, for servers',
    load: async () => (await import('./serve.ts')).addServeCommands,
  },
  runbook: {
    about: 'validate, publish and inspect runbooks',
    load: async () => (await import('../../cli/commands/runbook/runbook.ts')).addRunbookCommands,
  },
  automation: {
    about: 'turn automatic source queries on or off',
    load: async () => (await import('../../cli/commands/automation.ts')).addAutomationCommands,
  },
  query: {
    about: 'show the people a data source returns',
    load: async () => (await import('../../cli/commands/query.ts')).addQueryCommands,
  },
  template: {
    about: 'get member file templates',
    load: async () => (await import('../../cli/commands/template.ts')).addTemplateCommands,
  },
  batch: {
    about: 'manage batches and their members',
    load: async () => (await import('../../cli/commands/batch/batch.ts')).addBatchCommands,
  },
  member: {
    about: 'inspect a member',
    load: async () => (await import('../../cli/commands/member.ts')).addMemberCommands,
  },
  step: {
    about: 'inspect a step',
    load: async () => (await import('../../cli/commands/step.ts')).addStepCommands,
  },
  failures: {
    about: 'list failures grouped by error',
    load: async () => (await import('../../cli/commands/failures.ts')).addFailureCommands,
  },
  stuck: {
    about: 'show blocked work and why',
    load: async () => (await import('../../cli/commands/stuck.ts')).addStuckCommands,
  },
  events: {
    about: 'list what happened in a batch',
    load: async () => (await import('../../cli/commands/events.ts')).addEventCommands,
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
    about: 'list unusable data source rows',
    load: async () => (await import('../../cli/commands/source-issues.ts')).addSourceIssueCommands,
  },
  deadletters: {
    about: 'manage messages that could not be handled',
    load: async () => (await import('../../cli/commands/dead-letters.ts')).addDeadLetterCommands,
  },
  worker: {
    about: 'inspect workers',
    load: async () => (await import('../../cli/commands/worker.ts')).addWorkerCommands,
  },
  auth: {
    about: 'sign in to the API',
    load: async () => (await import('../../cli/commands/auth/auth.ts')).addAuthCommands,
  },
  audit: {
    about: 'inspect and verify the audit log',
    load: async () => (await import('../../cli/commands/audit.ts')).addAuditCommands,
  },
  config: {
    about: 'manage profiles and client settings',
    load: async () => (await import('../../cli/commands/config.ts')).addConfigCommands,
  },
  doctor: {
    about: 'check configuration, API, workers and data sources',
    load: async () => (await import('../../cli/commands/doctor.ts')).addDoctorCommands,
  },
  function: {
    about: 'inspect worker functions',
    load: async () => (await import('./function.ts')).addFunctionCommands,
  },
  scheduler: {
    about: 'run the scheduler by hand',
    load: async () => (await import('./scheduler.ts')).addSchedulerCommands,
  },
  sandbox: {
    about: 'run a simulated Microsoft 365 for rehearsals',
    load: async () => (await import('./sandbox.ts')).addSandboxCommands,
  },
  completion: {
    about: 'print a shell completion script',
    load: async () =>
      (await import('../../cli/commands/completion.ts')).addCompletionCommands(allCommands),
  },
}

/** The requested noun in full and all others by name, so that help and spelling hints know every noun. */
export function commandsFor(args: readonly string[]): Promise<AddCommands[]> {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'))
  const requested = first === 'help' ? second : first
  return Promise.all(
    Object.entries(NOUNS).map(([name, { about, load, isHidden: hidden = false }]) =>
      name === requested
        ? load()
        : (program) => void program.command(name, { hidden }).description(about),
    ),
  )
}

export const allCommands = (): Promise<AddCommands[]> =>
  Promise.all(Object.values(NOUNS).map(({ load }) => load()))
