// Every setting, once: its name, what it may be, its default and what it is for. Read once at start into one frozen object; all
// mistakes are reported together, each as a sentence. This is the only file that reads the environment. The environment wins
// over the config file, which wins over the default; the tables in docs/configuration.md and .env.example come from here.
import { readFileSync } from 'node:fs'
import { CLIENT_SETTINGS, type ClientEnv } from './client-settings.ts'
import { CONNECTION_PREFIXES } from './domain/runbook/shape.ts'
import { nearest } from './domain/spelling.ts'
import { MatoolkitError, messageOf } from './errors.ts'
import {
  aPath,
  aText,
  httpsUrl,
  httpUrl,
  listSetting,
  oneOf,
  postgresUrl,
  type Setting,
  setting,
  wholeNumber,
  workerId,
} from './setting-kinds.ts'
import { WORKER_SETTINGS } from './worker-settings.ts'

export const ROLES = ['scheduler', 'orchestrator', 'worker', 'api'] as const
export type Role = (typeof ROLES)[number]

const TRANSPORT_NAMES = ['postgres'] as const
export type TransportName = (typeof TRANSPORT_NAMES)[number]

const CONFIG_FILE = 'MATOOLKIT_CONFIG_FILE'

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
  roles: setting('MATOOLKIT_ROLES', listSetting(oneOf(ROLES), `a list of ${ROLES.join(', ')}`), {
    default: ROLES,
    defaultShown: ROLES.join(','),
    description: 'Which parts run in this process.',
  }),
  transport: setting<TransportName>('MATOOLKIT_TRANSPORT', oneOf(TRANSPORT_NAMES), {
    default: 'postgres',
    description: 'The transport of the messages. `postgres`: the database itself.',
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
    listSetting(workerId, 'a list of worker ids (letters, digits, "_", ".", "-"; at most 63)'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description:
        'Ids of workers that never announce themselves, read when the orchestrator starts. Jobs for other unannounced workers wait.',
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
  tickIntervalSec: setting('MATOOLKIT_TICK_INTERVAL_SEC', wholeNumber(10, 86_400), {
    default: 300,
    description:
      'How long after the start of one tick the data source of a runbook is asked again. Phases, polls and retries do not wait for it.',
  }),
  tickLanes: setting('MATOOLKIT_TICK_LANES', wholeNumber(1, 32), {
    default: 4,
    description: 'How many data sources one scheduler asks at the same time.',
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
  apiHost: setting('MATOOLKIT_API_HOST', aText, {
    default: '127.0.0.1',
    description:
      'The address the API listens on. Another than the loopback needs MATOOLKIT_OIDC_ISSUERS.',
  }),
  apiPort: setting('MATOOLKIT_API_PORT', wholeNumber(0, 65_535), {
    default: 7420,
    description: 'The port the API listens on; 0 takes any that is free.',
  }),
  apiTokenFile: setting('MATOOLKIT_API_TOKEN_FILE', aPath, {
    default: '.matoolkit/api-token',
    description:
      'Where the token lies that lets the owner of the file use the API on this machine; made at the first start.',
  }),
  apiReadsPerMin: setting('MATOOLKIT_API_READS_PER_MIN', wholeNumber(1, 1_000_000), {
    default: 600,
    description: 'How often one caller may read in a minute.',
  }),
  apiWritesPerMin: setting('MATOOLKIT_API_WRITES_PER_MIN', wholeNumber(1, 1_000_000), {
    default: 120,
    description: 'How often one caller may change something in a minute.',
  }),
  apiTrustedHops: setting('MATOOLKIT_API_TRUSTED_HOPS', wholeNumber(0, 10), {
    default: 0,
    description:
      'How many proxies in front of the API may say where a request came from. 1 on Azure Container Apps.',
  }),
  apiCorsOrigins: setting(
    'MATOOLKIT_API_CORS_ORIGINS',
    listSetting(httpsUrl('an origin'), 'a list of origins such as https://console.contoso.com'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'Web pages of these origins may call the API from a browser.',
    },
  ),
  oidcIssuers: setting(
    'MATOOLKIT_OIDC_ISSUERS',
    listSetting(httpsUrl('an issuer'), 'a list of addresses with https'),
    {
      default: [] as readonly string[],
      defaultShown: 'none: local sign-in',
      description:
        'Whose access tokens are accepted, spelled as in the tokens: `https://login.microsoftonline.com/{tenant}/v2.0`, and `https://sts.windows.net/{tenant}/` if version 1 is to be accepted too.',
    },
  ),
  oidcAudiences: setting('MATOOLKIT_OIDC_AUDIENCES', listSetting(aText, 'a list of audiences'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description:
      'What tokens must be made out to: the client id of the API’s app registration, and `api://{client id}` for version 1.',
  }),
  oidcScope: setting('MATOOLKIT_OIDC_SCOPE', aText, {
    default: 'access_as_user',
    description: 'The scope that a person’s token must have been given for.',
  }),
  oidcClientId: setting<string | null>('MATOOLKIT_OIDC_CLIENT_ID', aText, {
    default: null,
    description: 'The client id that the command line and the dashboard sign in with.',
  }),
  oidcApps: setting('MATOOLKIT_OIDC_APPS', listSetting(aText, 'a list of client ids'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description: 'Applications that may call the API without a person, by their client ids.',
  }),
  readPolicy: setting<'reader' | 'authenticated'>(
    'MATOOLKIT_READ_POLICY',
    oneOf(['reader', 'authenticated']),
    {
      default: 'reader',
      description:
        'Who may read. `reader`: the roles Reader and Admin. `authenticated`: everybody who is signed in.',
    },
  ),
  ...WORKER_SETTINGS,
  ...CLIENT_SETTINGS,
  logLevel: setting('MATOOLKIT_LOG_LEVEL', oneOf(['silent', 'error', 'warn', 'info', 'debug']), {
    default: 'info',
    description: 'The least important lines that are logged.',
  }),
  auditKeptDays: setting<number | null>('MATOOLKIT_AUDIT_KEPT_DAYS', wholeNumber(30, 36_500), {
    default: null,
    defaultShown: 'for ever',
    description:
      'How long the audit is kept. Rows from before that many days are deleted; the chain of hashes stays whole.',
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

/** What this process's environment says to the command line, as it stands there: the client has a file of its own beside it. */
export function readClientEnv(): ClientEnv {
  const asked = { ...CLIENT_SETTINGS, tenantId: SETTINGS.tenantId }
  const given = Object.entries(asked).map(([key, { name }]) => [key, process.env[name]?.trim()])
  return Object.fromEntries(given.filter(([, value]) => value))
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
