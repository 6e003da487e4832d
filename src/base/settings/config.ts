// Every setting: name, kind, default and description. Read once at start into one frozen object; all problems are reported
// together. Only this file reads the environment, which wins over the config file, which wins over the default.
// docs/configuration.md and .env.example are generated from here.
import { readFileSync } from 'node:fs'
import { NOTIFY_PREFIX } from '../../domain/notifications/read-settings.ts'
import { CONNECTION_PREFIXES } from '../../domain/runbook/text-formats.ts'
import { MatoolkitError, messageOf } from '../errors/errors.ts'
import { nearest } from '../text/spelling.ts'
import { CLIENT_SETTINGS, type ClientEnv } from './client.ts'
import { EVIDENCE_SETTINGS } from './evidence.ts'
import {
  aGuid,
  aHost,
  aKey,
  aPath,
  aText,
  emulatorConnection,
  httpsUrl,
  httpUrl,
  listSetting,
  oneOf,
  postgresUrl,
  publicPath,
  type Setting,
  setting,
  wholeNumber,
  workerId,
} from './kinds.ts'
import { TELEMETRY_SETTINGS } from './telemetry.ts'
import { WORKER_SETTINGS } from './worker.ts'

export const ROLES = ['scheduler', 'orchestrator', 'worker', 'api'] as const
export type Role = (typeof ROLES)[number]

const TRANSPORT_NAMES = ['postgres', 'servicebus', 'https'] as const
export type TransportName = (typeof TRANSPORT_NAMES)[number]

/** Azure's exporter would report to Microsoft about itself; only the environment tells it not to. */
export function quietExporters(): void {
  process.env.APPLICATION_INSIGHTS_NO_STATSBEAT ??= '1'
  process.env.APPLICATIONINSIGHTS_SDKSTATS_DISABLED ??= '1'
}

const CONFIG_FILE = 'MATOOLKIT_CONFIG_FILE'

export const SETTINGS = {
  configFile: setting<string | null>(CONFIG_FILE, aPath, {
    default: null,
    description:
      'JSON file with settings under the same names. Can be set only in the environment.',
  }),
  databaseUrl: setting<string | null>('DATABASE_URL', postgresUrl, {
    default: null,
    defaultShown: 'the embedded database',
    description:
      'PostgreSQL server (15 or newer). Without it an embedded database runs in this process.',
    secret: true,
  }),
  databaseSignIn: setting('MATOOLKIT_DATABASE_SIGN_IN', oneOf(['password', 'identity']), {
    default: 'password',
    description:
      'How to sign in to PostgreSQL: with the password of DATABASE_URL, or as the managed or workload identity of this process (Azure).',
  }),
  dataDir: setting('MATOOLKIT_DATA_DIR', aPath, {
    default: '.matoolkit/data',
    description:
      'Folder of the embedded database, relative to the current folder. Allows one process at a time.',
  }),
  minFreeMb: setting('MATOOLKIT_MIN_FREE_MB', wholeNumber(64, 1_000_000), {
    default: 512,
    description:
      'Free space for the embedded database. With less everything is held, and no snapshot is taken.',
  }),
  snapshotIntervalMin: setting('MATOOLKIT_SNAPSHOT_INTERVAL_MIN', wholeNumber(5, 10_080), {
    default: 60,
    description: 'Interval between two snapshots of the embedded database.',
  }),
  poolSize: setting('MATOOLKIT_POOL_SIZE', wholeNumber(1, 200), {
    default: 10,
    description: 'Maximum connections of this process to the PostgreSQL server.',
  }),
  statementTimeoutSec: setting('MATOOLKIT_STATEMENT_TIMEOUT_SEC', wholeNumber(1, 3_600), {
    default: 60,
    description:
      'Time limit of a database statement; a longer one is cancelled and its work retried.',
  }),
  maxClockSkewSec: setting('MATOOLKIT_MAX_CLOCK_SKEW_SEC', wholeNumber(1, 3_600), {
    default: 30,
    description:
      'Allowed difference between the clocks of this machine and the database before an error is reported.',
  }),
  roles: setting('MATOOLKIT_ROLES', listSetting(oneOf(ROLES), `a list of ${ROLES.join(', ')}`), {
    default: ROLES,
    defaultShown: ROLES.join(','),
    description: 'Roles that run in this process.',
  }),
  transport: setting<TransportName>('MATOOLKIT_TRANSPORT', oneOf(TRANSPORT_NAMES), {
    default: 'postgres',
    description:
      'The transport of the messages, the same in every process. `postgres`: the database itself; `servicebus`: Azure Service Bus. `https`: only in a process that is a worker and nothing else; it reaches the bus through MATOOLKIT_API_URL.',
  }),
  serviceBusNamespace: setting<string | null>('MATOOLKIT_SERVICEBUS_NAMESPACE', aHost, {
    default: null,
    defaultShown: 'none',
    description:
      'Host of the Service Bus namespace, such as contoso.servicebus.windows.net. Signed in by the managed identity.',
  }),
  serviceBusConnection: setting<string | null>(
    'MATOOLKIT_SERVICEBUS_CONNECTION',
    emulatorConnection,
    {
      default: null,
      defaultShown: 'none',
      description:
        'Connection string of the Service Bus emulator, instead of a namespace. For development and tests.',
      secret: true,
    },
  ),
  serviceBusAdminUrl: setting('MATOOLKIT_SERVICEBUS_ADMIN_URL', httpUrl, {
    default: 'http://localhost:5300',
    description: 'Where the management of the Service Bus emulator listens, for `bus check`.',
  }),
  chunkSize: setting('MATOOLKIT_CHUNK_SIZE', wholeNumber(1, 5_000), {
    default: 500,
    description: 'Maximum messages received from the bus and handled together.',
  }),
  maxOutstanding: setting('MATOOLKIT_MAX_OUTSTANDING', wholeNumber(1, 1_000_000), {
    default: 1_000,
    description:
      'Maximum unsettled jobs per worker id; the rest wait. Fewer are sent to a slow worker: one per slot and those it finishes in 2 seconds.',
  }),
  queueLimitSec: setting('MATOOLKIT_QUEUE_LIMIT_SEC', wholeNumber(60, 604_800), {
    default: 21_600,
    description:
      "How long a job may wait for a worker, besides its step's timeout. A job that none has started by then is sent again.",
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
  jobKeyFile: setting<string | null>('MATOOLKIT_JOB_KEY_FILE', aPath, {
    default: null,
    defaultShown: 'none: jobs are not signed; `up` creates a key',
    description:
      'File with the keys that sign jobs, 32 bytes in base64 each, one per line. The first signs, all are accepted. The same in every process; see docs/security.md.',
  }),
  jobKeys: setting(
    'MATOOLKIT_JOB_KEY',
    listSetting(aKey, 'a list of keys, 32 bytes in base64 each'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'The same keys in the environment; they come before those of the file.',
      secret: true,
    },
  ),
  sourceFolder: setting<string | null>('MATOOLKIT_SOURCE_FOLDER', aPath, {
    default: null,
    defaultShown: 'none; with `up` the folder in which it was started',
    description:
      'Folder for the files of csv data sources. A runbook names a file or folder inside it.',
  }),
  sourceTimeoutSec: setting('MATOOLKIT_SOURCE_TIMEOUT_SEC', wholeNumber(5, 3_600), {
    default: 300,
    description:
      'Time limit of a data source query; a longer one is cancelled, and the next tick tries again.',
  }),
  tickIntervalSec: setting('MATOOLKIT_TICK_INTERVAL_SEC', wholeNumber(10, 86_400), {
    default: 300,
    description:
      'Interval between the starts of two ticks of a runbook. Phases, polls and retries do not depend on it.',
  }),
  tickLanes: setting('MATOOLKIT_TICK_LANES', wholeNumber(1, 32), {
    default: 4,
    description:
      'Ticks of one scheduler that read and apply rows at the same time. A tick that waits for its source does not count.',
  }),
  identityEndpoint: setting<string | null>('IDENTITY_ENDPOINT', httpUrl, {
    default: null,
    defaultShown: 'the metadata service of Azure virtual machines',
    description: 'Token endpoint of the managed identity. Azure Container Apps sets it.',
  }),
  identityHeader: setting<string | null>('IDENTITY_HEADER', aText, {
    default: null,
    description: 'Header value that IDENTITY_ENDPOINT requires. Azure Container Apps sets it.',
    secret: true,
  }),
  workloadTokenFile: setting<string | null>('AZURE_FEDERATED_TOKEN_FILE', aPath, {
    default: null,
    description:
      'File with the token of a workload identity. Azure Kubernetes Service sets it; it stands for the managed identity then.',
  }),
  workloadClientId: setting<string | null>('AZURE_CLIENT_ID', aGuid, {
    default: null,
    description: 'Client id of the workload identity; used with AZURE_FEDERATED_TOKEN_FILE only.',
  }),
  workloadTenantId: setting<string | null>('AZURE_TENANT_ID', aGuid, {
    default: null,
    description: 'Tenant of the workload identity; used with AZURE_FEDERATED_TOKEN_FILE only.',
  }),
  apiHost: setting('MATOOLKIT_API_HOST', aText, {
    default: '127.0.0.1',
    description:
      'Address the API listens on. Any other than loopback requires MATOOLKIT_OIDC_ISSUERS.',
  }),
  apiPort: setting('MATOOLKIT_API_PORT', wholeNumber(0, 65_535), {
    default: 7420,
    description: 'Port the API listens on; 0 picks a free one.',
  }),
  apiTokenFile: setting('MATOOLKIT_API_TOKEN_FILE', aPath, {
    default: '.matoolkit/api-token',
    description:
      'File with the local API token: new at each start, removed at the end. Its owner may use the API on this machine.',
  }),
  apiReadsPerMin: setting('MATOOLKIT_API_READS_PER_MIN', wholeNumber(1, 1_000_000), {
    default: 600,
    description: 'Reads per caller and minute.',
  }),
  apiWritesPerMin: setting('MATOOLKIT_API_WRITES_PER_MIN', wholeNumber(1, 1_000_000), {
    default: 120,
    description: 'Changes per caller and minute.',
  }),
  apiWorkerCallsPerMin: setting('MATOOLKIT_API_WORKER_CALLS_PER_MIN', wholeNumber(60, 1_000_000), {
    default: 6_000,
    description:
      'Calls per minute of a worker id that takes its jobs through the API (MATOOLKIT_TRANSPORT=https).',
  }),
  apiTrustedHops: setting('MATOOLKIT_API_TRUSTED_HOPS', wholeNumber(0, 10), {
    default: 0,
    description: 'Trusted proxies in front of the API. Use 1 on Azure Container Apps.',
  }),
  apiPublicPath: setting('MATOOLKIT_API_PUBLIC_PATH', publicPath, {
    default: '/',
    description: 'Path under which a proxy shows API and dashboard.',
  }),
  apiCorsOrigins: setting(
    'MATOOLKIT_API_CORS_ORIGINS',
    listSetting(httpsUrl('an origin'), 'a list of origins such as https://console.contoso.com'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'Origins of web pages that may call the API from a browser.',
    },
  ),
  oidcIssuers: setting(
    'MATOOLKIT_OIDC_ISSUERS',
    listSetting(httpsUrl('an issuer'), 'a list of addresses with https'),
    {
      default: [] as readonly string[],
      defaultShown: 'none: local sign-in',
      description:
        'Accepted token issuers, spelled as in the tokens: `https://login.microsoftonline.com/{tenant}/v2.0`, and `https://sts.windows.net/{tenant}/` for version 1 tokens.',
    },
  ),
  oidcAudiences: setting('MATOOLKIT_OIDC_AUDIENCES', listSetting(aText, 'a list of audiences'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description:
      'Accepted token audiences: the client id of the API’s app registration, and `api://{client id}` for version 1 tokens.',
  }),
  oidcScope: setting('MATOOLKIT_OIDC_SCOPE', aText, {
    default: 'access_as_user',
    description: 'Scope that a person’s token must have.',
  }),
  oidcClientId: setting<string | null>('MATOOLKIT_OIDC_CLIENT_ID', aText, {
    default: null,
    description:
      'Public client with which the command line and the dashboard sign in. Outside Entra ID a token is a person’s only if it was issued to it.',
  }),
  oidcApps: setting('MATOOLKIT_OIDC_APPS', listSetting(aText, 'a list of client ids'), {
    default: [] as readonly string[],
    defaultShown: 'none',
    description: 'Client ids of applications that may call the API without a person.',
  }),
  readPolicy: setting<'reader' | 'authenticated'>(
    'MATOOLKIT_READ_POLICY',
    oneOf(['reader', 'authenticated']),
    {
      default: 'reader',
      description:
        'Who may read. `reader`: the roles Reader and Admin. `authenticated`: everyone who is signed in.',
    },
  ),
  notificationsFile: setting<string | null>('MATOOLKIT_NOTIFICATIONS_FILE', aPath, {
    default: null,
    defaultShown: 'none: nobody is told',
    description:
      'YAML file with the channels and rules of notifications, the same for every orchestrator and API. See docs/notifications.md.',
  }),
  windowsFile: setting<string | null>('MATOOLKIT_WINDOWS_FILE', aPath, {
    default: null,
    defaultShown: 'none: only the windows of runbooks count',
    description:
      'YAML file with the change windows of the system, the same for every orchestrator and API. See docs/change-windows.md.',
  }),
  ...EVIDENCE_SETTINGS,
  ...TELEMETRY_SETTINGS,
  ...WORKER_SETTINGS,
  ...CLIENT_SETTINGS,
  logLevel: setting('MATOOLKIT_LOG_LEVEL', oneOf(['silent', 'error', 'warn', 'info', 'debug']), {
    default: 'info',
    description: 'Lowest level that is logged.',
  }),
  auditKeptDays: setting<number | null>('MATOOLKIT_AUDIT_KEPT_DAYS', wholeNumber(30, 36_500), {
    default: null,
    defaultShown: 'forever',
    description: 'Days to keep the audit. Older rows are deleted; the hash chain stays valid.',
  }),
  batchesKeptDays: setting<number | null>('MATOOLKIT_BATCHES_KEPT_DAYS', wholeNumber(8, 36_500), {
    default: null,
    defaultShown: 'forever',
    description:
      'Days to keep ended batches. Older ones are archived to files and purged; their counters stay.',
  }),
  personsKeptDays: setting<number | null>('MATOOLKIT_PERSONS_KEPT_DAYS', wholeNumber(8, 36_500), {
    default: null,
    defaultShown: 'as long as the batch',
    description:
      'Days to keep the personal data of ended batches. Then it is erased; counts, events and audit stay.',
  }),
  archiveDir: setting('MATOOLKIT_ARCHIVE_DIR', aPath, {
    default: '.matoolkit/archive',
    description: 'Folder of the archives of ended batches. They hold personal data.',
  }),
  auditHeadsFile: setting<string | null>('MATOOLKIT_AUDIT_HEADS_FILE', aPath, {
    default: null,
    description:
      'File to which each head of the audit is appended as it is sealed, for `audit verify --against`. Keep it where database administrators cannot write.',
  }),
  auditHeadsUrl: setting<string | null>(
    'MATOOLKIT_AUDIT_HEADS_URL',
    httpsUrl('an address with https'),
    {
      default: null,
      description: 'Webhook to which the heads of the audit are posted as they are sealed.',
      secret: true,
    },
  ),
  logFormat: setting('MATOOLKIT_LOG_FORMAT', oneOf(['auto', 'json', 'pretty']), {
    default: 'auto',
    description: 'Format of log lines. `auto`: `pretty` on a terminal, `json` elsewhere.',
  }),
}

type SettingKey = keyof typeof SETTINGS
export type Config = Readonly<{
  [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}>

/** Prefix of connection variables for runbooks: not our settings, never reported as unknown. */
const SOURCE_PREFIX = 'MATOOLKIT_SOURCE_'
const MAX_FILE_CHARS = 100_000

type Texts = Readonly<Record<string, string | undefined>>
export type ConfigOrProblems =
  | { readonly config: Config }
  | { readonly problems: readonly string[] }

/** Builds the configuration from the environment and the config file's text, or returns all problems. */
export function readConfig(env: Texts, fileText?: string): ConfigOrProblems {
  const problems: string[] = []
  const file = fileText === undefined ? {} : readFile(fileText, problems)
  reportUnknown(env, problems)
  const values: Record<string, unknown> = {}
  for (const [key, definition] of Object.entries<Setting<unknown>>(SETTINGS)) {
    // Shells and compose files write "not set" as an empty variable.
    const fromEnv = env[definition.name]?.trim()
    const text = fromEnv || file[definition.name]?.trim()
    values[key] = text
      ? readSetting(definition, text, fromEnv ? '' : ' in the config file', problems)
      : definition.default
  }
  if (problems.length > 0) return { problems }
  return { config: deepFreeze(values as Config) }
}

function readSetting(
  definition: Setting<unknown>,
  text: string,
  place: string,
  problems: string[],
): unknown {
  const value = definition.read(text)
  if (value === undefined) {
    const shown = definition.secret ? ' has an invalid value (not shown): it' : ` is "${text}", but`
    problems.push(
      `${definition.name}${place}${shown} must be ${definition.mustBe}.${didYouMean(definition.meant?.(text))}`,
    )
  }
  return value
}

const NAMES = Object.values(SETTINGS).map(({ name }) => name)
const didYouMean = (guess: string | null | undefined) => (guess ? ` Did you mean "${guess}"?` : '')

function reportUnknown(env: Texts, problems: string[]): void {
  for (const name of Object.keys(env).sort()) {
    const isOthers = name.startsWith(SOURCE_PREFIX) || name.startsWith(NOTIFY_PREFIX)
    if (!name.startsWith('MATOOLKIT_') || isOthers || NAMES.includes(name)) continue
    problems.push(`${name} is not a setting.${didYouMean(nearest(name, NAMES)) || ' Remove it.'}`)
  }
}

function readFile(text: string, problems: string[]): Texts {
  if (text.length > MAX_FILE_CHARS) {
    problems.push(`The config file has ${text.length} characters; the limit is ${MAX_FILE_CHARS}.`)
    return {}
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message quotes the text near the error, which may be a password.
    problems.push('The config file is not valid JSON. Check it with an editor that knows JSON.')
    return {}
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    problems.push('The config file must contain one JSON object: { "NAME": value, … }.')
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
  if (name === CONFIG_FILE) return `${name} is not allowed in the config file itself. Remove it.`
  if (!NAMES.includes(name)) {
    const advice = didYouMean(nearest(name, NAMES)) || ' Remove it.'
    return `"${name}" in the config file is not a setting.${advice}`
  }
  const isText = (item: unknown) => typeof item === 'string' || typeof item === 'number'
  if (isText(value) || (Array.isArray(value) && value.every(isText))) return null
  return `${name} in the config file must be a text, a number or a list of texts.`
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (part && typeof part === 'object') deepFreeze(part)
  return Object.freeze(value)
}

/**
 * The connection of a data source, from the environment. A runbook chooses the name, so only allowed prefixes are read: no
 * runbook can make us send DATABASE_URL to a server of its choice.
 */
export function readConnectionVariable(name: string): string | undefined {
  const isAllowed = CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))
  return isAllowed ? process.env[name] : undefined
}

/** A secret of a notification channel, from the environment. The file of channels chooses the name, so only this prefix is read. */
export const readNotifyVariable = (name: string): string | undefined =>
  name.startsWith(NOTIFY_PREFIX) ? process.env[name] : undefined

/** Node's own options, those of its command line last: they win. */
export const nodeOptions = (): string =>
  [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ')

/** For programs of others that we start: without our settings and secrets. */
export const environmentWithoutSettings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:MATOOLKIT_|DATABASE_URL$|PG)/i.test(name)),
  )

/** The client settings in the environment, unparsed; the client merges them with its own file. */
export function readClientEnv(): ClientEnv {
  const settings = { ...CLIENT_SETTINGS, tenantId: SETTINGS.tenantId }
  const given = Object.entries(settings).map(([key, { name }]) => [key, process.env[name]?.trim()])
  return Object.fromEntries(given.filter(([, value]) => value))
}

/** Reads the environment and the config file it names. Throws CONFIG_INVALID with all problems. */
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
