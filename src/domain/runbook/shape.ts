// The keys of a runbook with type, default and description. The structural check (structure.ts), the JSON Schema (schema.ts)
// and docs/runbook.md come from this table. It checks single values; rules between values are in rules.ts and variables.ts.
import { CONNECTION_PREFIXES } from '../../base/text/reserved-names.ts'
import { CONDITION_KINDS } from '../notifications/conditions.ts'
import { WEEKDAYS } from '../notifications/quiet-hours.ts'
import {
  CLOCK_TIME,
  CONNECTION,
  DATE,
  duration,
  FIELD,
  FREE,
  FUNCTION,
  LANGUAGE,
  NAME,
  OFFSET,
  PATH,
  PERCENT,
  type TextFormat,
  TIME_ZONE,
  VARIABLE,
  WORKER,
} from './text-formats.ts'

export type Shape =
  | { readonly is: 'text'; readonly format: TextFormat }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'boolean' }
  | Choice
  | { readonly is: 'list'; readonly item: Shape; readonly min: number }
  | {
      readonly is: 'map'
      readonly called: string
      readonly keys: Readonly<Record<string, RunbookField>>
    }
  /** A map with keys chosen by the author. */
  | { readonly is: 'named'; readonly key: TextFormat; readonly item: Shape }
  /** Any JSON value; its texts are templates. */
  | { readonly is: 'json' }

/** One of some words, in any case. `also` maps further words to the one they stand for. */
export interface Choice<Word extends string = string> {
  readonly is: 'choice'
  readonly of: readonly Word[]
  readonly also: Readonly<Record<string, Word>>
}

/** The word that a text stands for, or null. */
export function chosen<Word extends string>({ of, also }: Choice<Word>, text: string): Word | null {
  const word = text.toLowerCase()
  return of.find((known) => known === word) ?? (Object.hasOwn(also, word) ? also[word]! : null)
}

export interface RunbookField {
  readonly shape: Shape
  readonly required: boolean
  readonly about: string
  readonly default?: string | number
}

export const SOURCE_TYPES = ['dataverse', 'databricks', 'postgres', 'sqlserver', 'csv'] as const
export const MULTI_VALUED_FORMATS = [
  'semicolon_delimited',
  'comma_delimited',
  'json_array',
] as const
export const BACKOFFS = ['fixed', 'exponential'] as const
export const REMOVALS_AFTER_START = ['hold', 'run'] as const
const BODY_FORMATS = ['text', 'html'] as const

export const DEFAULTS = {
  timeoutSec: 3_600,
  maxRemovalPercent: 20,
  maxFailedPercent: 30,
  approvals: 1,
  approvalSurvives: 0,
  format: 'semicolon_delimited',
  removalsAfterStart: 'hold',
  backoff: 'fixed',
  messageFormat: 'text',
} as const

const MAX_RETRIES = 100
/** A job's deadline is its message's time to live; the bus keeps messages for seven days. */
const MAX_TIMEOUT_SEC = 7 * 86_400

// --- The table -----------------------------------------------------------------------------------

const text = (format: TextFormat): Shape => ({ is: 'text', format })
const list = (item: Shape, min = 0): Shape => ({ is: 'list', item, min })
const named = (key: TextFormat, item: Shape): Shape => ({ is: 'named', key, item })
const integer = (min: number, max: number): Shape => ({ is: 'integer', min, max })
const choice = <Word extends string>(
  of: readonly Word[],
  also: Record<string, Word> = {},
): Choice<Word> => ({ is: 'choice', of, also })
const map = (called: string, keys: Record<string, RunbookField>): Shape => ({
  is: 'map',
  called,
  keys,
})
const required = (shape: Shape, about: string): RunbookField => ({ shape, required: true, about })
const optional = (shape: Shape, about: string, value?: string | number): RunbookField => ({
  shape,
  required: false,
  about,
  ...(value === undefined ? {} : { default: value }),
})

/** `sql` is what the earlier system called SQL Server. */
export const SOURCE_TYPE = choice(SOURCE_TYPES, { sql: 'sqlserver' })
export const MULTI_VALUED_FORMAT = choice(MULTI_VALUED_FORMATS)
export const BACKOFF = choice(BACKOFFS)
export const REMOVALS = choice(REMOVALS_AFTER_START)

const RETRY = map('retry', {
  max_retries: required(
    integer(0, MAX_RETRIES),
    'Retries after the first attempt of a failed step; 0 turns retries off.',
  ),
  interval: optional(
    text(duration('365d')),
    'Wait before a retry, ±10 %. Required when max_retries is above 0.',
  ),
  backoff: optional(
    BACKOFF,
    '`fixed` always waits the interval, `exponential` doubles it each time.',
    DEFAULTS.backoff,
  ),
  max_interval: optional(
    text(duration('365d')),
    'Longest wait of exponential backoff. Default: one day, or the interval if that is longer.',
  ),
})

const POLL = map('poll', {
  interval: required(text(duration('365d')), 'Wait between two polls.'),
  timeout: required(
    text(duration('365d')),
    'How long to poll before the step fails; at least the interval.',
  ),
})

const NOTIFY = map('notify', {
  message: required(text(NAME), 'Message to send, a name under `messages.templates`.'),
  to: required(text(FREE), 'Address of the person; a template such as `{{Mail}}`.'),
  language: optional(
    text(FREE),
    'Language to choose; a template such as `{{PreferredLanguage}}`. Default: the default language.',
  ),
})

const CONDITION_OF_STEP = map('a condition', {
  variable: required(text(VARIABLE), 'Variable or column that decides.'),
  is: optional({ is: 'json' }, 'The value must be this one; of a list, one entry.'),
  is_not: optional({ is: 'json' }, 'The value must not be this one.'),
  in: optional(list({ is: 'json' }, 1), 'The value must be one of these.'),
  not_in: optional(list({ is: 'json' }, 1), 'The value must be none of these.'),
  present: optional(
    { is: 'boolean' },
    '`true`: there must be a value; `false`: there must be none. Null, an empty text and an empty list are none.',
  ),
})

const STEP_KEYS = {
  name: required(text(NAME), 'Name of the step, unique in its list.'),
  worker_id: required(text(WORKER), 'Worker that runs the function.'),
  when: optional(
    list(CONDITION_OF_STEP, 1),
    'The step is left out for a member unless all of these hold.',
  ),
  function: optional(text(FUNCTION), 'Function to run; may be a template. Set this or notify.'),
  notify: optional(
    NOTIFY,
    'Sends the member a message of the runbook, through the worker. Set this or function.',
  ),
  params: optional(
    named(FREE, { is: 'json' }),
    'Parameters of the function: any YAML values; texts are templates.',
  ),
  output_params: optional(
    named(VARIABLE, text(FIELD)),
    'Maps variables to fields of the result. Later steps use a variable as `{{Variable}}`.',
  ),
  on_failure: optional(
    text(NAME),
    'Rollback to run when the step fails after its last retry. Not allowed on rollback and removal steps.',
  ),
  poll: optional(POLL, 'Repeats the function until it reports completion.'),
  retry: optional(RETRY, 'Replaces the global retry for this step.'),
  timeout: optional(
    text(duration(`${MAX_TIMEOUT_SEC / 86_400}d`)),
    'Time limit of one job, counted from its start. The worker then stops the job, and the retry rule applies. Time in the queue does not count.',
    '1h',
  ),
}

const { on_failure, ...COMPENSATION_STEP_KEYS } = STEP_KEYS
const STEP = map('a step', STEP_KEYS)
const COMPENSATION_STEP = map('a rollback or removal step', COMPENSATION_STEP_KEYS)

const MAX_APPROVALS = 10
const MAX_SURVIVED = 1_000

const GATE = map('a gate', {
  approvals: optional(
    integer(0, MAX_APPROVALS),
    'People who must approve the start of the phase; the publisher of the version does not count.',
    DEFAULTS.approvals,
  ),
  approval_survives: optional(
    integer(0, MAX_SURVIVED),
    'How many people may join or leave after an approval before it is void.',
    DEFAULTS.approvalSurvives,
  ),
  ready: optional(
    text(PERCENT),
    'Share of the members who must have passed every earlier phase, such as `95%`. Default: not asked.',
  ),
})

const PHASE = map('a phase', {
  name: required(text(NAME), 'Name of the phase, unique in the runbook.'),
  offset: required(
    text(OFFSET),
    "When the phase is due, relative to the batch's start time: `T-5d`, `T-4h`, `T-30m`, `T-0`, `T+7d`.",
  ),
  gate: optional(GATE, 'What must be true before the phase starts; else the batch is held.'),
  ramp: optional(
    list(text(PERCENT), 1),
    'Shares of the members that start one after the other, such as `[5%, 25%, 100%]`.',
  ),
  soak: optional(
    text(duration('30d')),
    'Wait between the end of a share and the start of the next one. Default: none.',
  ),
  max_failed_percent: optional(
    integer(0, 100),
    'If more of the members that a ramp has started fail, the batch is held before the next share. Default: that of safeguards.',
  ),
  steps: required(list(STEP, 1), 'Steps for each member, in order.'),
})

const DATA_SOURCE = map('data_source', {
  type: required(SOURCE_TYPE, 'Type of the data source.'),
  connection: optional(
    text(CONNECTION),
    `Environment variable with the connection; its name starts with ${CONNECTION_PREFIXES.map((prefix) => `\`${prefix}\``).join(', ')}. Required unless the type is csv.`,
  ),
  warehouse_id: optional(
    text(CONNECTION),
    'Environment variable with the warehouse id. Required for databricks, not allowed otherwise.',
  ),
  path: optional(
    text(PATH),
    'CSV file or folder, relative to the folder for data files. Required for csv, not allowed otherwise.',
  ),
  query: optional(text(FREE), 'Query that returns the members. Required unless the type is csv.'),
  primary_key: required(text(VARIABLE), 'Column that identifies a member.'),
  batch_time_column: optional(
    text(VARIABLE),
    'Column with the cut-over time of the member. Set either this or batch_time.',
  ),
  batch_time: optional(
    choice(['immediate']),
    '`immediate` starts new members at once. Set either this or batch_time_column.',
  ),
  time_zone: optional(text(TIME_ZONE), 'Time zone of times without one, such as Europe/Berlin.'),
  columns: optional(
    list(text(VARIABLE), 1),
    'Columns that the query returns. If set, every variable is checked against them.',
  ),
  multi_valued_columns: optional(
    list(
      map('a multi-valued column', {
        name: required(text(VARIABLE), 'Name of the column.'),
        format: optional(MULTI_VALUED_FORMAT, 'Format of the values.', DEFAULTS.format),
      }),
    ),
    'Columns with several values, which become lists.',
  ),
})

const SAFEGUARDS = map('safeguards', {
  max_removal_percent: optional(
    integer(0, 100),
    'If more of a batch would leave within 24 hours, and more than 3 members, the removals wait for review.',
    DEFAULTS.maxRemovalPercent,
  ),
  removals_after_start: optional(
    REMOVALS,
    'Removals after the batch has started: `hold` waits for review, `run` runs the removal steps.',
    DEFAULTS.removalsAfterStart,
  ),
  max_failed_percent: optional(
    integer(0, 100),
    'If more members of a phase fail, and more than 10, the batch is held; 100 turns this off.',
    DEFAULTS.maxFailedPercent,
  ),
})

export const CONDITION = choice(CONDITION_KINDS)

const NOTIFICATION_RULE = map('a notification rule', {
  conditions: optional(list(CONDITION, 1), 'Conditions to announce. Default: all.'),
  channels: required(
    list(text(NAME), 1),
    'Channels to use, by their names in the file that MATOOLKIT_NOTIFICATIONS_FILE names.',
  ),
})

export const WEEKDAY = choice(WEEKDAYS)

export const WINDOWS = map('windows', {
  time_zone: required(text(TIME_ZONE), 'Time zone of hours and freezes, such as Europe/Berlin.'),
  hours: optional(
    list(
      map('hours of a window', {
        days: optional(list(WEEKDAY, 1), 'Days on which they begin. Default: all.'),
        from: required(text(CLOCK_TIME), 'Time of day at which the window opens.'),
        to: required(
          text(CLOCK_TIME),
          'Time of day at which it closes; the same or an earlier one is that of the next day.',
        ),
      }),
      1,
    ),
    'Hours in which tenants may be changed. Default: always, apart from freezes.',
  ),
  freezes: optional(
    list(
      map('a freeze', {
        from: required(text(DATE), 'First day without changes.'),
        to: required(text(DATE), 'Last day without changes.'),
        reason: required(text(FREE), 'Why; shown to people who wait.'),
      }),
      1,
    ),
    'Days without changes.',
  ),
})

export const MESSAGE_FORMAT = choice(BODY_FORMATS)

const MESSAGE = map('a message', {
  correction: optional(
    text(NAME),
    'Message for those who got this one, once the start time in it has changed. Without it, this message must name no time.',
  ),
  format: optional(
    MESSAGE_FORMAT,
    'Format of the bodies; in `html`, inserted values are escaped.',
    DEFAULTS.messageFormat,
  ),
  texts: required(
    named(
      LANGUAGE,
      map('a text', {
        subject: required(text(FREE), 'Subject of the mail, a template.'),
        body: required(text(FREE), 'Body of the mail, a template.'),
      }),
    ),
    'Texts by language, the default language among them.',
  ),
})

const MESSAGES = map('messages', {
  from: required(text(FREE), 'Mailbox that sends.'),
  default_language: required(
    text(LANGUAGE),
    'Language for people without one, or with one that a message does not have.',
  ),
  time_zone: optional(
    text(TIME_ZONE),
    'Time zone of the times in messages. Default: that of the data source, else UTC.',
  ),
  templates: required(named(NAME, MESSAGE), 'Messages by name.'),
})

const PEOPLE = map('people', {
  worker_id: required(
    text(WORKER),
    'Worker of the tenant that people move to; only its steps use `{{person:…}}` and `{{waiting:…}}`.',
  ),
  source: required(
    list(text(FREE), 1),
    'Names of a member in the tenant that they leave: templates for addresses, sign-in names, object ids, or lists of them.',
  ),
  target: required(
    text(FREE),
    'Address or object id of a member in the tenant that they move to: a template such as `{{AccountId}}`.',
  ),
})

export const RUNBOOK_SHAPE = map('a runbook', {
  name: required(text(NAME), 'Name of the runbook.'),
  description: optional(text(FREE), 'Purpose of the runbook.'),
  data_source: required(DATA_SOURCE, 'Source of members and their cut-over times.'),
  retry: optional(RETRY, 'Retries of failed steps; a step may override it.'),
  safeguards: optional(SAFEGUARDS, 'Limits at which changes wait for a person.'),
  notifications: optional(
    list(NOTIFICATION_RULE),
    'Who is notified when something is wrong or has ended, besides the rules of the settings.',
  ),
  windows: optional(WINDOWS, 'When steps that change a tenant may be sent.'),
  messages: optional(MESSAGES, 'Messages to members, sent by steps with notify.'),
  people: optional(
    PEOPLE,
    'How members are called before and after their move, so that steps can name people of the other tenant.',
  ),
  init: optional(list(STEP), 'Steps that run once per batch, before its phases.'),
  phases: required(
    list(PHASE, 1),
    'Phases with the steps for each member. They run in order of time.',
  ),
  on_member_removed: optional(
    list(COMPENSATION_STEP),
    'Removal steps for a member who leaves the batch.',
  ),
  rollbacks: optional(
    named(NAME, list(COMPENSATION_STEP, 1)),
    'Named lists of rollback steps; a step names one in on_failure.',
  ),
})
