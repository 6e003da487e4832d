// Every command by its first word. Only the requested noun is loaded: `matoolkit --version` must not wait for databases and web
// servers. To add a noun, write src/cli/commands/<noun>.ts with a function such as `addRunbookCommands`, and add it here, in its group.
import { globalFlagsLast } from '../../cli/program/global-flags.ts'
import type { AddCommands } from '../../cli/program/program.ts'

/** The headings of `matoolkit --help`, in order: what an operator needs at night comes first. */
const NOUN_GROUPS = {
  daily: 'Every day:',
  runbooks: 'Runbooks and data sources:',
  system: 'System:',
  start: 'Start it:',
  client: 'This command line:',
} as const

export interface NounLoader {
  /** Same as in the noun's own file; a test compares the two. */
  readonly about: string
  readonly group: keyof typeof NOUN_GROUPS
  /** It works, but help does not list it. */
  readonly isHidden?: true
  load(): Promise<AddCommands>
}

export const NOUNS: Readonly<Record<string, NounLoader>> = {
  up: {
    about: 'start everything on this machine',
    group: 'start',
    load: async () => (await import('./up.ts')).addUpCommands,
  },
  serve: {
    about: 'start chosen roles, for servers',
    group: 'start',
    load: async () => (await import('./serve.ts')).addServeCommands,
  },
  db: {
    about: 'set up, back up, restore and tidy the database',
    group: 'system',
    load: async () => {
      const { addRestoredCommand } = await import('../../cli/commands/restored.ts')
      const { addDbCommands } = await import('./db.ts')
      return (program, io) => addRestoredCommand(addDbCommands(program, io), io)
    },
  },
  runbook: {
    about: 'validate, publish and inspect runbooks',
    group: 'runbooks',
    load: async () => {
      const { addRunbookCommands } = await import('../../cli/commands/runbook/runbook.ts')
      const { addRehearseCommand } = await import('./rehearse.ts')
      return (program, io) => {
        addRunbookCommands(program, io)
        addRehearseCommand(program, io)
      }
    },
  },
  automation: {
    about: 'turn automatic source queries on or off',
    group: 'runbooks',
    load: async () => (await import('../../cli/commands/automation.ts')).addAutomationCommands,
  },
  query: {
    about: 'show the people a data source returns',
    group: 'runbooks',
    load: async () => (await import('../../cli/commands/query.ts')).addQueryCommands,
  },
  template: {
    about: 'get member file templates',
    group: 'runbooks',
    load: async () => (await import('../../cli/commands/template.ts')).addTemplateCommands,
  },
  status: {
    about: 'show whether action is needed, and what runs',
    group: 'daily',
    load: async () => (await import('../../cli/commands/status.ts')).addStatusCommands,
  },
  handover: {
    about: 'hand over the shift in one text',
    group: 'daily',
    load: async () => (await import('../../cli/commands/handover.ts')).addHandoverCommands,
  },
  batch: {
    about: 'manage batches and their members',
    group: 'daily',
    load: async () => {
      const { addBatchCommands } = await import('../../cli/commands/batch/batch.ts')
      const { addRehearseBatchCommand } = await import('./rehearse.ts')
      return (program, io) => {
        addBatchCommands(program, io)
        addRehearseBatchCommand(program, io)
      }
    },
  },
  member: {
    about: 'find and inspect members',
    group: 'daily',
    load: async () => (await import('../../cli/commands/member.ts')).addMemberCommands,
  },
  step: {
    about: 'inspect a step',
    group: 'daily',
    load: async () => (await import('../../cli/commands/step.ts')).addStepCommands,
  },
  failures: {
    about: 'list failures grouped by error',
    group: 'daily',
    load: async () => (await import('../../cli/commands/failures.ts')).addFailureCommands,
  },
  hold: {
    about: 'stop sending: everything, or a part',
    group: 'daily',
    load: async () => (await import('../../cli/commands/hold.ts')).addHoldCommands,
  },
  resume: {
    about: 'end a hold',
    group: 'daily',
    load: async () => (await import('../../cli/commands/hold.ts')).addResumeCommands,
  },
  events: {
    about: 'list what happened in a batch',
    group: 'daily',
    load: async () => (await import('../../cli/commands/events.ts')).addEventCommands,
  },
  review: {
    about: 'decide on changes from data sources',
    group: 'daily',
    load: async () => (await import('../../cli/commands/review.ts')).addReviewCommands,
  },
  source: {
    about: 'list data sources with their ticks',
    group: 'runbooks',
    load: async () => (await import('../../cli/commands/source.ts')).addSourceCommands,
  },
  actions: {
    about: 'list changes of many members, or one',
    group: 'daily',
    load: async () => (await import('../../cli/commands/action.ts')).addActionCommands,
  },
  notification: {
    about: 'see who was told, and test channels',
    group: 'system',
    load: async () => (await import('../../cli/commands/notification.ts')).addNotificationCommands,
  },
  deadletters: {
    about: 'manage messages that could not be handled',
    group: 'system',
    load: async () => (await import('../../cli/commands/dead-letters.ts')).addDeadLetterCommands,
  },
  worker: {
    about: 'inspect workers',
    group: 'system',
    load: async () => (await import('../../cli/commands/worker.ts')).addWorkerCommands,
  },
  auth: {
    about: 'sign in to the API',
    group: 'client',
    load: async () => (await import('../../cli/commands/auth/auth.ts')).addAuthCommands,
  },
  audit: {
    about: 'inspect and verify the audit log',
    group: 'system',
    load: async () => (await import('../../cli/commands/audit.ts')).addAuditCommands,
  },
  evidence: {
    about: 'check evidence packs and their key',
    group: 'system',
    load: async () => (await import('../../cli/commands/evidence.ts')).addEvidenceCommands,
  },
  config: {
    about: 'manage profiles and client settings',
    group: 'client',
    load: async () => (await import('../../cli/commands/config.ts')).addConfigCommands,
  },
  doctor: {
    about: 'check the system, a tenant or Service Bus',
    group: 'system',
    load: async () => (await import('./doctor.ts')).addDoctorCommands,
  },
  function: {
    about: 'inspect worker functions',
    group: 'runbooks',
    load: async () => (await import('./function.ts')).addFunctionCommands,
  },
  sandbox: {
    about: 'run a simulated Microsoft 365 for rehearsals',
    group: 'start',
    load: async () => (await import('./sandbox.ts')).addSandboxCommands,
  },
  complete: {
    about: 'list names and ids for shells',
    group: 'client',
    isHidden: true,
    load: async () => (await import('../../cli/commands/complete.ts')).addCompleteCommands,
  },
  completion: {
    about: 'print a shell completion script',
    group: 'client',
    load: async () =>
      (await import('../../cli/commands/completion.ts')).addCompletionCommands(allCommands),
  },
}

/** The nouns in the order of their groups. */
const inOrder = (): [string, NounLoader][] =>
  Object.keys(NOUN_GROUPS).flatMap((group) =>
    Object.entries(NOUNS).filter(([, noun]) => noun.group === group),
  )

/** Adds the noun and puts it under the heading of its group. */
const placed =
  (name: string, { group }: NounLoader, add: AddCommands): AddCommands =>
  (program, io) => {
    add(program, io)
    program.commands.find((one) => one.name() === name)?.helpGroup(NOUN_GROUPS[group])
  }

/** The requested noun in full and all others by name, so that help and spelling hints know every noun. */
export function commandsFor(args: readonly string[]): Promise<AddCommands[]> {
  const [first, second] = globalFlagsLast(args).filter((arg) => !arg.startsWith('-'))
  const requested = first === 'help' ? second : first
  return Promise.all(
    inOrder().map(async ([name, noun]) => {
      const { about, isHidden: hidden = false } = noun
      const add: AddCommands =
        name === requested
          ? await noun.load()
          : (program) => void program.command(name, { hidden }).description(about)
      return placed(name, noun, add)
    }),
  )
}

export const allCommands = (): Promise<AddCommands[]> =>
  Promise.all(inOrder().map(async ([name, noun]) => placed(name, noun, await noun.load())))
