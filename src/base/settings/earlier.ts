// Settings of the earlier system and what replaces each. A process that still has one, without its replacement, must not start: it would
// open an empty embedded database, or wait for jobs of nobody.
import { sameName } from '../text/same-name.ts'

interface EarlierSetting {
  /** `*` stands for any text. */
  readonly name: string
  /** Any of them is enough; empty when nothing is needed any more. */
  readonly now: readonly string[]
  /** What to write, or why nothing: completes "set …" or "…". */
  readonly advice: string
}

const DATABASE = 'a PostgreSQL server, the same for all roles'
const FIXED_NAMES = ['orchestrator-events', 'worker-jobs', 'worker-results', 'orchestrator']
const FIXED = `the names are fixed: ${FIXED_NAMES.join(', ')}`

const row = (name: string, now: string | null, advice: string): EarlierSetting => ({
  name,
  now: now === null ? [] : now.split(' '),
  advice,
})

/** A namespace alone would be named and not used. */
const TRANSPORT = 'MATOOLKIT_TRANSPORT'
const BUS = 'servicebus, and the same value as MATOOLKIT_SERVICEBUS_NAMESPACE'

/** Only the earlier system has such names. */
const EARLIER_SETTINGS: readonly EarlierSetting[] = [
  ...['Scheduler', 'Orchestrator', 'AdminApi'].flatMap((app) => [
    row(`${app}__SqlConnectionString`, 'DATABASE_URL', DATABASE),
    row(`${app}__ServiceBusNamespace`, TRANSPORT, BUS),
    row(`${app}__*Name`, null, FIXED),
    row(`${app}__*`, null, 'nothing reads it'),
  ]),
  row('ServiceBusConnection__fullyQualifiedNamespace', TRANSPORT, BUS),
  row(
    'AzureAd__TenantId',
    'MATOOLKIT_OIDC_ISSUERS',
    'https://login.microsoftonline.com/{tenant id}/v2.0',
  ),
  row('AzureAd__Instance', 'MATOOLKIT_OIDC_ISSUERS', 'the instance, the tenant id and /v2.0'),
  row(
    'AzureAd__Audience',
    'MATOOLKIT_OIDC_AUDIENCES',
    'the same value, and the client id if tokens carry that',
  ),
  row(
    'AzureAd__ClientId',
    'MATOOLKIT_OIDC_CLIENT_ID',
    'the app with which the command line signs people in',
  ),
  row('AzureWebJobsStorage__*', null, 'there is no storage account'),
]

/** The earlier worker's names; others use some of them too, so they count only next to WORKER_ID. */
const EARLIER_WORKER_SETTINGS: readonly EarlierSetting[] = [
  row('WORKER_ID', 'MATOOLKIT_WORKER_ID', 'the same value'),
  row('SERVICE_BUS_NAMESPACE', TRANSPORT, BUS),
  row('KEY_VAULT_NAME', 'MATOOLKIT_KEY_VAULT_URL', 'https://{name}.vault.azure.net'),
  row('TARGET_TENANT_ID', 'MATOOLKIT_TENANT_ID', 'the same value'),
  row('TARGET_ORGANIZATION', 'MATOOLKIT_ORGANIZATION', 'the same value'),
  row('APP_ID', 'MATOOLKIT_APP_ID', 'the same value'),
  row('CERT_NAME', 'MATOOLKIT_CERTIFICATE_NAME', 'the same value'),
  row(
    'MAX_PARALLELISM',
    'MATOOLKIT_MAX_PARALLELISM',
    'the same value; each call of a PowerShell module is a process',
  ),
  row('IDLE_TIMEOUT_SECONDS', 'MATOOLKIT_IDLE_EXIT_SEC', 'the same value'),
  row('SHUTDOWN_GRACE_SECONDS', 'MATOOLKIT_SHUTDOWN_GRACE_SEC', 'the same value'),
  row('HEALTH_CHECK_PORT', 'MATOOLKIT_HEALTH_PORT', 'the same value'),
  row('CUSTOM_MODULES_PATH', 'MATOOLKIT_FUNCTIONS_FOLDER', 'the same value'),
  row('APPINSIGHTS_CONNECTION_STRING', 'APPLICATIONINSIGHTS_CONNECTION_STRING', 'the same value'),
  row('MAX_RETRY_COUNT', null, 'a throttled call is made five times in all'),
  row('BASE_RETRY_DELAY_SECONDS', null, 'the first delay is 2 s'),
  row('MAX_RETRY_DELAY_SECONDS', null, 'the longest delay is 120 s'),
  row('JOBS_TOPIC_NAME', null, FIXED),
  row('RESULTS_TOPIC_NAME', null, FIXED),
  row('DOTNET_LIB_PATH', null, 'the worker needs no .NET libraries'),
  row('STANDARD_MODULE_PATH', null, 'the standard functions are built in'),
]

const WORKER_MARK = 'WORKER_ID'

type Texts = Readonly<Record<string, string | undefined>>

export interface FoundEarlier {
  readonly name: string
  /** Such as `set DATABASE_URL instead (…)`. */
  readonly advice: string
}

/**
 * The earlier settings in the environment that nothing replaces yet; `has` tells whether a setting of today is given. Those that need no
 * replacement are told with the others: by themselves they do no harm, unless they name a topic that nobody here listens to.
 */
export function earlierSettingsIn(env: Texts, has: (name: string) => boolean): FoundEarlier[] {
  const names = Object.keys(env).filter((name) => env[name]?.trim())
  const known = names.some((name) => sameName(name, WORKER_MARK))
    ? [...EARLIER_SETTINGS, ...EARLIER_WORKER_SETTINGS]
    : EARLIER_SETTINGS
  const found = names.sort().flatMap((name) => {
    const earlier = known.find((one) => isNamed(name, one.name))
    return earlier && !earlier.now.some(has) ? [{ name, earlier }] : []
  })
  const isHarmless = (name: string, earlier: EarlierSetting) =>
    earlier.advice === FIXED ? FIXED_NAMES.includes(env[name]!.trim()) : earlier.now.length === 0
  if (found.every(({ name, earlier }) => isHarmless(name, earlier))) return []
  return found.map(({ name, earlier }) => ({ name, advice: adviceOf(earlier) }))
}

const adviceOf = ({ now: [first], advice }: EarlierSetting): string =>
  first === undefined ? `remove it: ${advice}` : `set ${first} instead (${advice})`

/** .NET reads its settings without case, and `:` is `__` where a shell allows it. */
function isNamed(given: string, pattern: string): boolean {
  const name = given.replaceAll(':', '__')
  const [first = '', last] = pattern.split('*')
  if (last === undefined) return sameName(name, pattern)
  return (
    sameName(name.slice(0, first.length), first) &&
    sameName(name.slice(name.length - last.length), last)
  )
}
