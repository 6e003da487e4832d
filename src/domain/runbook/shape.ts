// The runbook's keys, each with its type, its default and a sentence about it: one table, from which come the structural check
// (runbook-structure.ts), the JSON Schema that editors use (runbook-schema.ts) and the reference in docs/runbook.md.
// What one value alone can get wrong is here; rules between values are in runbook-rules.ts and runbook-variables.ts.
import {
  DURATION_PATTERN,
  OFFSET_PATTERN,
  parseDurationSec,
  parseOffsetMinutes,
} from '../duration.ts'
import type { ProblemCode, ProblemDetails } from './problems.ts'

export type Shape =
  | { readonly is: 'text'; readonly format: TextFormat }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'choice'; readonly of: readonly string[] }
  | { readonly is: 'list'; readonly item: Shape; readonly min: number }
  | {
      readonly is: 'map'
      readonly called: string
      readonly keys: Readonly<Record<string, RunbookField>>
    }
  /** A map whose keys the author chooses. */
  | { readonly is: 'named'; readonly key: TextFormat; readonly item: Shape }
  /** Any JSON value; its texts are templates. */
  | { readonly is: 'json' }

export interface RunbookField {
  readonly shape: Shape
  readonly required: boolean
  readonly about: string
  readonly default?: string | number
}

export interface TextFormat {
  /** What is expected, for messages: "a duration such as 15m". */
  readonly expected: string
  readonly pattern?: string
  readonly maxLength?: number
  check(text: string): ShapeFault | null
}

export interface ShapeFault {
  readonly code: ProblemCode
  readonly details?: ProblemDetails
}

export const SOURCE_TYPES = ['dataverse', 'databricks', 'postgres', 'sqlserver', 'csv'] as const
export const MULTI_VALUED_FORMATS = [
  'semicolon_delimited',
  'comma_delimited',
  'json_array',
] as const
export const BACKOFFS = ['fixed', 'exponential'] as const
export const REMOVALS_AFTER_START = ['hold', 'run'] as const

/** Secrets of the program itself (DATABASE_URL and the like) must not be reachable from a runbook. */
export const CONNECTION_PREFIXES = ['DATAVERSE_', 'DATABRICKS_', 'MATOOLKIT_SOURCE_'] as const

export const DEFAULTS = {
  timeoutSec: 3_600,
  maxRemovalPercent: 20,
  maxFailedPercent: 30,
  removalsAfterStart: 'hold',
  backoff: 'fixed',
} as const

const MAX_RETRIES = 100
/** A job's deadline is its message's time to live, and the bus keeps messages for seven days. */
const MAX_TIMEOUT_SEC = 7 * 86_400

// --- Formats of texts ----------------------------------------------------------------------------

function matching(expected: string, code: ProblemCode, pattern: string): TextFormat {
  const regexp = new RegExp(pattern)
  return { expected, pattern, check: (text) => (regexp.test(text) ? null : { code }) }
}

const FREE: TextFormat = { expected: 'text', check: () => null }

const NAME = matching('a name', 'BAD_NAME', '^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$')
const WORKER = matching('a worker id', 'BAD_WORKER_ID', '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$')

const FUNCTION: TextFormat = {
  expected: 'the name of a function',
  check: (text) =>
    text.includes('{{') || /^[a-zA-Z][a-zA-Z0-9_.-]{0,127}$/.test(text)
      ? null
      : { code: 'BAD_FUNCTION' },
}

const VARIABLE: TextFormat = {
  expected: 'the name of a variable or column',
  pattern: '^[^\\s{}]([^{}]*[^\\s{}])?$',
  maxLength: 128,
  check: (text) =>
    text.length > 128 || text !== text.trim() || /[{}]/.test(text)
      ? { code: 'BAD_VARIABLE' }
      : null,
}

const FIELD: TextFormat = { expected: "the name of a result's field", check: () => null }

function duration(max: string): TextFormat {
  const maxSec = parseDurationSec(max)!
  return {
    expected: 'a duration such as 30s, 15m, 4h or 7d',
    pattern: DURATION_PATTERN,
    check(text) {
      const seconds = parseDurationSec(text)
      return seconds === null || seconds > maxSec
        ? { code: 'BAD_DURATION', details: { max } }
        : null
    },
  }
}

const OFFSET: TextFormat = {
  expected: 'an offset such as T-5d, T-0 or T+7d',
  pattern: OFFSET_PATTERN,
  check: (text) => (parseOffsetMinutes(text) === null ? { code: 'BAD_OFFSET' } : null),
}

const CONNECTION_PATTERN = `^(${CONNECTION_PREFIXES.join('|')})[A-Z0-9_]{1,100}$`
const connectionRegexp = new RegExp(CONNECTION_PATTERN)
const CONNECTION: TextFormat = {
  expected: 'the name of an environment variable',
  pattern: CONNECTION_PATTERN,
  check: (text) =>
    connectionRegexp.test(text)
      ? null
      : { code: 'BAD_CONNECTION', details: { prefixes: CONNECTION_PREFIXES.join(', ') } },
}

// A file is looked for below a folder that the operator configures; a runbook cannot point out of it.
const PATH: TextFormat = {
  expected: 'a relative path',
  check: (text) =>
    /^[/~]|\\|^[a-zA-Z]:/.test(text) || text.split('/').includes('..')
      ? { code: 'BAD_PATH' }
      : null,
}

const TIME_ZONE: TextFormat = {
  expected: 'an IANA time zone such as Europe/Berlin',
  check: (text) => (isTimeZone(text) ? null : { code: 'BAD_TIME_ZONE' }),
}

function isTimeZone(text: string): boolean {
  // Intl also takes "+02:00", which has no daylight saving time and is not what an author of a time zone means.
  if (!/^[a-zA-Z]/.test(text)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) !== null
  } catch {
    return false
  }
}

// --- The table -----------------------------------------------------------------------------------

const text = (format: TextFormat): Shape => ({ is: 'text', format })
const list = (item: Shape, min = 0): Shape => ({ is: 'list', item, min })
const named = (key: TextFormat, item: Shape): Shape => ({ is: 'named', key, item })
const integer = (min: number, max: number): Shape => ({ is: 'integer', min, max })
const choice = (of: readonly string[]): Shape => ({ is: 'choice', of })
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

const RETRY = map('retry', {
  max_retries: required(
    integer(0, MAX_RETRIES),
    'How often a failed step is tried again after its first attempt; 0 turns retries off.',
  ),
  interval: optional(
    text(duration('365d')),
    'How long to wait before a retry, ±10 %. Required when max_retries is above 0.',
  ),
  backoff: optional(
    choice(BACKOFFS),
    '`fixed` waits the interval each time, `exponential` doubles it each time.',
    DEFAULTS.backoff,
  ),
  max_interval: optional(
    text(duration('365d')),
    'The longest wait that exponential backoff may reach; a day if not given (or the interval, if that is longer).',
  ),
})

const POLL = map('poll', {
  interval: required(text(duration('365d')), 'How long to wait before asking again.'),
  timeout: required(
    text(duration('365d')),
    'How long to keep asking before the step counts as failed; not shorter than the interval.',
  ),
})

const STEP_KEYS = {
  name: required(text(NAME), 'The name of the step, unique in its list.'),
  worker_id: required(text(WORKER), 'The worker that runs the function.'),
  function: required(text(FUNCTION), 'The function to run; may be a template.'),
  params: optional(
    named(FREE, { is: 'json' }),
    'The parameters of the function: any YAML values; texts are templates.',
  ),
  output_params: optional(
    named(VARIABLE, text(FIELD)),
    "Variable: field of the function's result. Later steps use the variable as `{{Variable}}`.",
  ),
  on_failure: optional(
    text(NAME),
    'The rollback to run when the step has failed for good. Not on rollback and removal steps.',
  ),
  poll: optional(POLL, 'Run the function again and again until it reports completion.'),
  retry: optional(RETRY, 'Replaces the global retry for this step, as a whole.'),
  timeout: optional(
    text(duration(`${MAX_TIMEOUT_SEC / 86_400}d`)),
    'How long one job may take, from sending it to its result.',
    '1h',
  ),
}

const { on_failure: _, ...UNDO_STEP_KEYS } = STEP_KEYS
const STEP = map('a step', STEP_KEYS)
const UNDO_STEP = map('an undo step', UNDO_STEP_KEYS)

const PHASE = map('a phase', {
  name: required(text(NAME), 'The name of the phase, unique in the runbook.'),
  offset: required(
    text(OFFSET),
    "When the phase is due, relative to the batch's start time: `T-5d`, `T-4h`, `T-30m`, `T-0`, `T+7d`.",
  ),
  steps: required(list(STEP, 1), 'What to do, in order, for each member.'),
})

const DATA_SOURCE = map('data_source', {
  type: required(choice(SOURCE_TYPES), 'Where the members come from.'),
  connection: optional(
    text(CONNECTION),
    `The environment variable that holds the connection; starts with ${CONNECTION_PREFIXES.map((prefix) => `\`${prefix}\``).join(', ')}. Required unless the type is csv.`,
  ),
  warehouse_id: optional(
    text(CONNECTION),
    'The environment variable that holds the warehouse id. Required for databricks, not possible otherwise.',
  ),
  path: optional(
    text(PATH),
    'The CSV file, relative to the folder for data files. Required for csv, not possible otherwise.',
  ),
  query: optional(
    text(FREE),
    'The query that returns the members. Required unless the type is csv.',
  ),
  primary_key: required(text(VARIABLE), 'The column that identifies a member.'),
  batch_time_column: optional(
    text(VARIABLE),
    "The column with the member's cut-over time. Either this or batch_time.",
  ),
  batch_time: optional(
    choice(['immediate']),
    'Start new members at once instead. Either this or batch_time_column.',
  ),
  time_zone: optional(
    text(TIME_ZONE),
    'The time zone of times that name none, such as Europe/Berlin.',
  ),
  columns: optional(
    list(text(VARIABLE), 1),
    'The columns that the query returns. When given, every variable is checked against them.',
  ),
  multi_valued_columns: optional(
    list(
      map('a multi-valued column', {
        name: required(text(VARIABLE), 'The column.'),
        format: required(choice(MULTI_VALUED_FORMATS), 'How the column holds its values.'),
      }),
    ),
    'Columns that hold several values; they become lists.',
  ),
})

const SAFEGUARDS = map('safeguards', {
  max_removal_percent: optional(
    integer(0, 100),
    'When more of a batch would leave within 24 hours, and more than 3 members, a person must confirm.',
    DEFAULTS.maxRemovalPercent,
  ),
  removals_after_start: optional(
    choice(REMOVALS_AFTER_START),
    'What happens to members who leave after the cut-over began: wait for a person, or run the removal steps.',
    DEFAULTS.removalsAfterStart,
  ),
  max_failed_percent: optional(
    integer(0, 100),
    'When more members of a phase have failed, and more than 10, the batch is held; 100 turns this off.',
    DEFAULTS.maxFailedPercent,
  ),
})

export const RUNBOOK_SHAPE = map('a runbook', {
  name: required(text(NAME), 'The name of the runbook.'),
  description: optional(text(FREE), 'What the runbook is for.'),
  data_source: required(DATA_SOURCE, 'Who moves, and when.'),
  retry: optional(RETRY, 'How failed steps are tried again, unless a step says otherwise.'),
  safeguards: optional(SAFEGUARDS, 'Limits at which the system stops and asks.'),
  init: optional(list(STEP), 'Steps that run once for a batch, before its phases.'),
  phases: required(
    list(PHASE, 1),
    'What happens to each member, and when. Phases run in order of time.',
  ),
  on_member_removed: optional(list(UNDO_STEP), 'Steps for a member who leaves the batch.'),
  rollbacks: optional(
    named(NAME, list(UNDO_STEP, 1)),
    'Named lists of steps that undo; a step names one in on_failure.',
  ),
})
