// The settings of the worker: who it is, how it runs, which tenant it works on and how it signs in there, and the limits it keeps.
// A part of the one table in src/config.ts.
import {
  aGuid,
  aHost,
  aKey,
  aPath,
  aText,
  httpsUrl,
  listSetting,
  oneOf,
  setting,
  wholeNumber,
  workerId,
} from './setting-kinds.ts'

const CLOUDS = ['public', 'usgov', 'usdod', 'china'] as const
export type CloudName = (typeof CLOUDS)[number]

const SIGN_INS = ['certificate', 'federated', 'secret'] as const

const serviceUrl = httpsUrl('an address with https')

const RUNTIME = {
  workerId: setting<string | null>('MATOOLKIT_WORKER_ID', workerId, {
    default: null,
    description: 'Which jobs this worker takes: those whose step names it as `worker_id`.',
  }),
  maxParallelism: setting('MATOOLKIT_MAX_PARALLELISM', wholeNumber(1, 64), {
    default: 4,
    description: 'How many jobs the worker runs at the same time.',
  }),
  workerPollSec: setting('MATOOLKIT_WORKER_POLL_SEC', wholeNumber(1, 60), {
    default: 1,
    description: 'How often the worker looks for jobs when nothing tells it that one came.',
  }),
  idleExitSec: setting('MATOOLKIT_IDLE_EXIT_SEC', wholeNumber(0, 86_400), {
    default: 300,
    description:
      'A process that is only a worker ends after so long without a job, so that the platform can scale it to nothing. 0: never.',
  }),
  shutdownGraceSec: setting('MATOOLKIT_SHUTDOWN_GRACE_SEC', wholeNumber(6, 3_600), {
    default: 30,
    description:
      'How long the platform waits between asking to stop and killing. Running jobs get 5 s less; then they are given back.',
  }),
  healthPort: setting('MATOOLKIT_HEALTH_PORT', wholeNumber(0, 65_535), {
    default: 8_080,
    description: 'Where a worker without the API answers `/live` and `/ready`. 0: nowhere.',
  }),
  functionsFolder: setting<string | null>('MATOOLKIT_FUNCTIONS_FOLDER', aPath, {
    default: null,
    description: 'The folder with functions of your own; docs/custom-functions.md shows how.',
  }),
}

const TENANT = {
  tenantId: setting<string | null>('MATOOLKIT_TENANT_ID', aGuid, {
    default: null,
    description: 'The Microsoft 365 tenant that the worker’s functions work on.',
  }),
  organization: setting<string | null>('MATOOLKIT_ORGANIZATION', aHost, {
    default: null,
    description: 'The initial domain of that tenant, such as contoso.onmicrosoft.com.',
  }),
  appId: setting<string | null>('MATOOLKIT_APP_ID', aGuid, {
    default: null,
    description: 'The client id of the app that the worker signs in as.',
  }),
  signIn: setting<(typeof SIGN_INS)[number]>('MATOOLKIT_SIGN_IN', oneOf(SIGN_INS), {
    default: 'certificate',
    description:
      'How it shows that it is the app. `certificate`: from MATOOLKIT_CERTIFICATE_FILE or the Key Vault. `federated`: by this machine’s managed identity, which the app trusts. `secret`: for tests.',
  }),
  certificateFile: setting<string | null>('MATOOLKIT_CERTIFICATE_FILE', aPath, {
    default: null,
    description: 'A file with the certificate and its private key, PEM or PFX.',
  }),
  certificateName: setting('MATOOLKIT_CERTIFICATE_NAME', aText, {
    default: 'worker-app-cert',
    description: 'The name of the certificate in the Key Vault, when there is no file.',
  }),
  certificatePassword: setting<string | null>('MATOOLKIT_CERTIFICATE_PASSWORD', aText, {
    default: null,
    description: 'The password of the certificate, if it has one.',
    secret: true,
  }),
  appSecret: setting<string | null>('MATOOLKIT_APP_SECRET', aText, {
    default: null,
    description: 'The client secret for MATOOLKIT_SIGN_IN=secret.',
    secret: true,
  }),
  identityClientId: setting<string | null>('MATOOLKIT_IDENTITY_CLIENT_ID', aGuid, {
    default: null,
    defaultShown: 'the machine’s own',
    description: 'Which of the machine’s managed identities asks for tokens.',
  }),
  cloud: setting<CloudName>('MATOOLKIT_CLOUD', oneOf(CLOUDS), {
    default: 'public',
    description: 'Which of Microsoft’s clouds the tenant is in.',
  }),
  loginUrl: setting<string | null>('MATOOLKIT_LOGIN_URL', serviceUrl, {
    default: null,
    defaultShown: 'the cloud’s',
    description: 'Where tokens come from; a sandbox tenant has its own address.',
  }),
  graphUrl: setting<string | null>('MATOOLKIT_GRAPH_URL', serviceUrl, {
    default: null,
    defaultShown: 'the cloud’s',
    description: 'Where Microsoft Graph is.',
  }),
  exchangeUrl: setting<string | null>('MATOOLKIT_EXCHANGE_URL', serviceUrl, {
    default: null,
    defaultShown: 'the cloud’s',
    description: 'Where Exchange Online is.',
  }),
}

const LIMITS = {
  workerReplicas: setting('MATOOLKIT_WORKER_REPLICAS', wholeNumber(1, 100), {
    default: 1,
    description:
      'How many processes work on the tenant with the same app; each keeps to its part of the limits below.',
  }),
  graphUnitsPerSec: setting('MATOOLKIT_GRAPH_UNITS_PER_SEC', wholeNumber(1, 15_000), {
    default: 250,
    description: 'Resource units of Microsoft Graph a second; a small tenant has 350.',
  }),
  graphWritesPerSec: setting('MATOOLKIT_GRAPH_WRITES_PER_SEC', wholeNumber(1, 1_000), {
    default: 15,
    description: 'Changes through Microsoft Graph a second; an app has 20 in a tenant.',
  }),
  invitationsPerSec: setting('MATOOLKIT_INVITATIONS_PER_SEC', wholeNumber(1, 1_000), {
    default: 20,
    description: 'Invitations a second; a tenant has 30 for all apps.',
  }),
  exchangeParallelism: setting('MATOOLKIT_EXCHANGE_PARALLELISM', wholeNumber(1, 64), {
    default: 4,
    description: 'Cmdlets that run in Exchange Online at the same time.',
  }),
  callAttempts: setting('MATOOLKIT_CALL_ATTEMPTS', wholeNumber(1, 20), {
    default: 5,
    description: 'How often a call is sent at most when the service is busy.',
  }),
  backoffBaseSec: setting('MATOOLKIT_BACKOFF_BASE_SEC', wholeNumber(1, 60), {
    default: 2,
    description: 'The first pause before a call is repeated; it doubles. A Retry-After wins.',
  }),
  backoffMaxSec: setting('MATOOLKIT_BACKOFF_MAX_SEC', wholeNumber(1, 3_600), {
    default: 120,
    description: 'The longest such pause, without the jitter of up to 30 %.',
  }),
}

const SECRETS = {
  keyVaultUrl: setting<string | null>('MATOOLKIT_KEY_VAULT_URL', serviceUrl, {
    default: null,
    defaultShown: 'none: a folder of this machine',
    description:
      'The Key Vault for secrets that functions make and runbooks name, and for the certificate.',
  }),
  secretsFolder: setting('MATOOLKIT_SECRETS_FOLDER', aPath, {
    default: '.matoolkit/secrets',
    description: 'Where secrets are kept, encrypted, when there is no Key Vault.',
  }),
  secretsKey: setting<string | null>('MATOOLKIT_SECRETS_KEY', aKey, {
    default: null,
    defaultShown: 'a file in the folder, made at first use',
    description: 'The key they are encrypted with.',
    secret: true,
  }),
  webhookHosts: setting(
    'MATOOLKIT_WEBHOOK_HOSTS',
    listSetting(aHost, 'a list of hosts such as hooks.contoso.com'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'The only hosts that notifications may be posted to.',
    },
  ),
}

export const WORKER_SETTINGS = { ...RUNTIME, ...TENANT, ...LIMITS, ...SECRETS }
