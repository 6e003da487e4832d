// Every setting, once: its name, what it may be, its default and what it is for. Read once at start into one frozen object; all
// mistakes are reported together, each as a sentence. This is the only file that reads the environment. The environment wins
// over the config file, which wins over the default; the tables in docs/configuration.md and .env.example come from here.
import { readFileSync } from 'node:fs'
import { CONNECTION_PREFIXES } from './domain/runbook-shape.ts'
import { nearest } from './domain/spelling.ts'
import { MatoolkitError, messageOf } from './errors.ts'

export const ROLES = ['scheduler', 'orchestrator', 'worker', 'api'] as const
export type Role = (typeof ROLES)[number]

/** What a setting may be. `read` gives undefined for a text that does not fit; `meant` guesses at what was meant. */
interface Kind<T> {
  /** Ends the sentence "must be …". */
  readonly mustBe: string
  read(text: string): T | undefined
  meant?(text: string): string | null
}

interface Setting<T> extends Kind<T> {
  readonly name: string
  readonly default: T
  /** How the default reads in the docs, when its value alone would not say. */
  readonly defaultShown?: string
  readonly description: string
  /** The value is never shown, neither in a sentence nor in the docs. */
  readonly secret?: true
}

function wholeNumber(min: number, max: number): Kind<number> {
  return {
    mustBe: `a whole number from ${min} to ${max}`,
    read: (text) => {
      const value = Number(text)
      return /^\d{1,15}$/.test(text) && value >= min && value <= max ? value : undefined
    },
  }
}

function oneOf<T extends string>(choices: readonly T[]): Kind<T> {
  return {
    mustBe: choices.length === 1 ? `"${choices[0]}"` : `one of ${choices.join(', ')}`,
    read: (text) => choices.find((choice) => choice === text),
    meant: (text) => nearest(text, choices),
  }
}

/** A list with commas, at least one item; blanks around an item, empty items and repetitions do not count. */
function listOf<T extends string>(item: Kind<T>, mustBe: string): Kind<readonly T[]> {
  const partsOf = (text: string) => {
    const parts = text.split(',').map((part) => part.trim())
    return [...new Set(parts)].filter((part) => part !== '')
  }
  const isWrong = (part: string) => item.read(part) === undefined
  return {
    mustBe,
    read: (text) => {
      const parts = partsOf(text)
      return parts.length === 0 || parts.some(isWrong) ? undefined : (parts as T[])
    },
    meant: (text) => {
      const wrong = partsOf(text).find(isWrong)
      return (wrong !== undefined && item.meant?.(wrong)) || null
    },
  }
}

const aPath: Kind<string> = { mustBe: 'a path', read: (text) => text }

const aText: Kind<string> = { mustBe: 'a text', read: (text) => text }

const httpUrl: Kind<string> = {
  mustBe: 'an address such as http://localhost:42356/msi/token',
  read: (text) => (/^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined),
}

const postgresUrl: Kind<string> = {
  mustBe: 'an address such as postgres://user:password@host:5432/database',
  read: (text) => {
    const url = URL.parse(text)
    return url?.protocol === 'postgres:' || url?.protocol === 'postgresql:' ? text : undefined
  },
}

const WORKER_ID = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/
const workerId: Kind<string> = {
  mustBe: 'a worker id',
  read: (text) => (WORKER_ID.test(text) ? text : undefined),
}

const CONFIG_FILE = 'MATOOLKIT_CONFIG_FILE'

const setting = <T>(name: string, kind: Kind<T>, rest: Omit<Setting<T>, 'name' | keyof Kind<T>>) =>
  ({ name, ...kind, ...rest }) as Setting<T>

export const SETTINGS = {
  configFile: setting<string | null>(CONFIG_FILE, aPath, {
    default: null,
    description:
      'A JSON file with settings under the same names. Only the environment can name it.',
  }),
  databaseUrl: setting<string | null>('DATABASE_URL', postgresUrl, {
    default: null,
    defaultShown: 'the embedded database',
    description:
      'The PostgreSQL server (15 or newer). Without it the database runs inside this process.',
    secret: true,
  }),
  dataDir: setting('MATOOLKIT_DATA_DIR', aPath, {
    default: '.matoolkit/data',
    description:
      'The folder of the embedded database, under the current folder unless absolute. One process at a time.',
  }),
  poolSize: setting('MATOOLKIT_POOL_SIZE', wholeNumber(1, 200), {
    default: 10,
    description: 'The most connections this process opens to the PostgreSQL server.',
  }),
  statementTimeoutSec: setting('MATOOLKIT_STATEMENT_TIMEOUT_SEC', wholeNumber(1, 3_600), {
    default: 60,
    description: 'A database statement that takes longer is cancelled and its work repeated.',
  }),
  maxClockSkewSec: setting('MATOOLKIT_MAX_CLOCK_SKEW_SEC', wholeNumber(1, 3_600), {
    default: 30,
    description:
      'How far this machine’s clock may be from the database’s before it is reported as unfit.',
  }),
  roles: setting('MATOOLKIT_ROLES', listOf(oneOf(ROLES), `a list of ${ROLES.join(', ')}`), {
    default: ROLES,
    defaultShown: ROLES.join(','),
    description: 'Which parts run in this process.',
  }),
  transport: setting('MATOOLKIT_TRANSPORT', oneOf(['postgres']), {
    default: 'postgres',
    description: 'What carries the messages. `postgres`: the database itself.',
  }),
  chunkSize: setting('MATOOLKIT_CHUNK_SIZE', wholeNumber(1, 5_000), {
    default: 500,
    description: 'The most messages taken from the bus and handled together.',
  }),
  maxOutstanding: setting('MATOOLKIT_MAX_OUTSTANDING', wholeNumber(1, 1_000_000), {
    default: 1_000,
    description: 'The most jobs of one worker id that are sent and not yet settled; the rest wait.',
  }),
  foreignWorkers: setting(
    'MATOOLKIT_FOREIGN_WORKERS',
    listOf(workerId, 'a list of worker ids (letters, digits, "_", ".", "-"; at most 63)'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description:
        'Workers that never announce themselves. Jobs for a worker neither heard of nor listed here are not sent.',
    },
  ),
  sourceFolder: setting<string | null>('MATOOLKIT_SOURCE_FOLDER', aPath, {
    default: null,
    description:
      'The folder for the files of csv data sources. A runbook names a file or a folder below it.',
  }),
  sourceTimeoutSec: setting('MATOOLKIT_SOURCE_TIMEOUT_SEC', wholeNumber(5, 3_600), {
    default: 300,
    description:
      'A query of a data source that takes longer is cancelled; the next tick asks again.',
  }),
  identityEndpoint: setting<string | null>('IDENTITY_ENDPOINT', httpUrl, {
    default: null,
    defaultShown: 'the metadata service of Azure’s virtual machines',
    description:
      'Where the managed identity is asked for tokens. Azure Container Apps sets it; nobody else needs to.',
  }),
  identityHeader: setting<string | null>('IDENTITY_HEADER', aText, {
    default: null,
    description: 'What IDENTITY_ENDPOINT wants to see in return. Azure Container Apps sets it too.',
    secret: true,
  }),
  logLevel: setting('MATOOLKIT_LOG_LEVEL', oneOf(['silent', 'error', 'warn', 'info', 'debug']), {
    default: 'info',
    description: 'The least important lines that are logged.',
  }),
  logFormat: setting('MATOOLKIT_LOG_FORMAT', oneOf(['auto', 'json', 'pretty']), {
    default: 'auto',
    description: 'How lines look. `auto`: `pretty` on a terminal, `json` elsewhere.',
  }),
}

type SettingKey = keyof typeof SETTINGS
export type Config = Readonly<{
  [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}>

/** Names a runbook may use for connections of its data source: not settings of ours, and never reported as unknown. */
const SOURCE_PREFIX = 'MATOOLKIT_SOURCE_'
const MAX_FILE_CHARS = 100_000

type Texts = Readonly<Record<string, string | undefined>>
export type ConfigOrProblems =
  | { readonly config: Config }
  | { readonly problems: readonly string[] }

/** Makes the configuration from the environment and the text of the config file, or says everything that is wrong with them. */
export function readConfig(env: Texts, fileText?: string): ConfigOrProblems {
  const problems: string[] = []
  const file = fileText === undefined ? {} : readFile(fileText, problems)
  reportUnknown(env, problems)
  const values: Record<string, unknown> = {}
  for (const [key, one] of Object.entries<Setting<unknown>>(SETTINGS)) {
    // An empty variable is how shells and compose files say "not set".
    const fromEnv = env[one.name]?.trim()
    const text = fromEnv || file[one.name]?.trim()
    values[key] = text
      ? readOne(one, text, fromEnv ? '' : ' in the config file', problems)
      : one.default
  }
  if (problems.length > 0) return { problems }
  return { config: deepFreeze(values as Config) }
}

function readOne(one: Setting<unknown>, text: string, place: string, problems: string[]): unknown {
  const value = one.read(text)
  if (value === undefined) {
    const shown = one.secret
      ? ' has a value (not shown) that does not fit: it'
      : ` is "${text}", but`
    problems.push(
      `${one.name}${place}${shown} must be ${one.mustBe}.${didYouMean(one.meant?.(text))}`,
    )
  }
  return value
}

const NAMES = Object.values(SETTINGS).map((one) => one.name)
const didYouMean = (guess: string | null | undefined) => (guess ? ` Did you mean "${guess}"?` : '')

function reportUnknown(env: Texts, problems: string[]): void {
  for (const name of Object.keys(env).sort()) {
    if (!name.startsWith('MATOOLKIT_') || name.startsWith(SOURCE_PREFIX) || NAMES.includes(name))
      continue
    problems.push(`${name} is not a setting.${didYouMean(nearest(name, NAMES)) || ' Remove it.'}`)
  }
}

function readFile(text: string, problems: string[]): Texts {
  if (text.length > MAX_FILE_CHARS) {
    problems.push(
      `The config file has ${text.length} characters; at most ${MAX_FILE_CHARS} are read.`,
    )
    return {}
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text around the mistake, which may be a password.
    problems.push('The config file is not valid JSON. Check it with an editor that knows JSON.')
    return {}
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    problems.push('The config file must hold one JSON object: { "NAME": value, … }.')
    return {}
  }
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(parsed)) {
    const problem = fileProblem(name, value)
    if (problem) problems.push(problem)
    else texts[name] = String(value)
  }
  return texts
}

function fileProblem(name: string, value: unknown): string | null {
  if (name === CONFIG_FILE) return `${name} cannot stand in the config file itself. Remove it.`
  if (!NAMES.includes(name)) {
    const advice = didYouMean(nearest(name, NAMES)) || ' Remove it.'
    return `"${name}" in the config file is not a setting.${advice}`
  }
  const isText = (one: unknown) => typeof one === 'string' || typeof one === 'number'
  if (isText(value) || (Array.isArray(value) && value.every(isText))) return null
  return `${name} in the config file must be a text, a number or a list of texts.`
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (part && typeof part === 'object') deepFreeze(part)
  return Object.freeze(value)
}

/**
 * The connection of a data source, straight from this process's environment. A runbook chooses the name, so only names with the
 * prefixes for connections are read: no runbook can make us send DATABASE_URL to a server of its choice.
 */
export function readConnectionVariable(name: string): string | undefined {
  const isAllowed = CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))
  return isAllowed ? process.env[name] : undefined
}

/** Reads this process's environment and the config file it names. Throws CONFIG_INVALID with every mistake there is. */
export function loadConfig(): Config {
  const path = process.env[CONFIG_FILE]?.trim()
  let fileText: string | undefined
  const problems: string[] = []
  try {
    if (path) fileText = readFileSync(path, 'utf8')
  } catch (error) {
    problems.push(`${CONFIG_FILE} is "${path}", which cannot be read: ${messageOf(error)}.`)
  }
  const read = readConfig(process.env, fileText)
  if ('problems' in read) problems.push(...read.problems)
  if ('config' in read && problems.length === 0) return read.config
  const list = problems.map((problem) => `\n  - ${problem}`).join('')
  throw new MatoolkitError('CONFIG_INVALID', { count: problems.length, problems: `${list}\n` })
}
