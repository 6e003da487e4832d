// The settings of the worker: identity, runtime, tenant, sign-in and limits. Part of the table in src/base/settings/config.ts.
import {
  aGuid,
  aHost,
  aKey,
  aPath,
  aText,
  httpsUrl,
  listSetting,
  oneOf,
  type SettingKind,
  setting,
  wholeNumber,
  workerId,
} from './kinds.ts'

const CLOUDS = ['public', 'usgov', 'usdod', 'china'] as const
export type CloudName = (typeof CLOUDS)[number]

const SIGN_INS = ['certificate', 'federated', 'secret'] as const

const serviceUrl = httpsUrl('an address with https')
const exchangeUrl: SettingKind<string> = {
  mustBe: `${serviceUrl.mustBe}, or "powershell"`,
  read: (text) => (text === 'powershell' ? text : serviceUrl.read(text)),
}

const RUNTIME = {
  workerId: setting<string | null>('MATOOLKIT_WORKER_ID', workerId, {
    default: null,
    description: 'Id of this worker. It takes the jobs of steps with this `worker_id`.',
  }),
  maxParallelism: setting('MATOOLKIT_MAX_PARALLELISM', wholeNumber(1, 64), {
    default: 4,
    description: 'Jobs that the worker runs at the same time.',
  }),
  idleExitSec: setting('MATOOLKIT_IDLE_EXIT_SEC', wholeNumber(0, 86_400), {
    default: 300,
    description:
      'A process with only the worker role exits after this time without a job, so that the platform can scale to zero. 0: never.',
  }),
  shutdownGraceSec: setting('MATOOLKIT_SHUTDOWN_GRACE_SEC', wholeNumber(6, 3_600), {
    default: 30,
    description:
      'Time between the platform’s stop signal and the kill. Running jobs get 5 s less, then they are abandoned.',
  }),
  healthPort: setting('MATOOLKIT_HEALTH_PORT', wholeNumber(0, 65_535), {
    default: 8_080,
    description:
      'Port of `/health`, `/ready` and `/metrics` for a process without the API. 0: none.',
  }),
  functionsFolder: setting<string | null>('MATOOLKIT_FUNCTIONS_FOLDER', aPath, {
    default: null,
    description: 'Folder with custom functions; see docs/custom-functions.md.',
  }),
  pwsh: setting('MATOOLKIT_PWSH', aText, {
    default: 'pwsh',
    description: 'PowerShell program that runs the PowerShell modules in that folder.',
  }),
}

const TENANT = {
  tenantId: setting<string | null>('MATOOLKIT_TENANT_ID', aGuid, {
    default: null,
    description: 'Id of the worker’s Microsoft 365 tenant.',
  }),
  organization: setting<string | null>('MATOOLKIT_ORGANIZATION', aHost('contoso.onmicrosoft.com'), {
    default: null,
    description: 'Initial domain of that tenant.',
  }),
  appId: setting<string | null>('MATOOLKIT_APP_ID', aGuid, {
    default: null,
    description: 'Client id of the app with which the worker signs in.',
  }),
  signIn: setting<(typeof SIGN_INS)[number]>('MATOOLKIT_SIGN_IN', oneOf(SIGN_INS), {
    default: 'certificate',
    description:
      'How the worker signs in. `certificate`: from MATOOLKIT_CERTIFICATE_FILE or Key Vault. `federated`: with this machine’s managed identity, which the app trusts. `secret`: for tests.',
  }),
  certificateFile: setting<string | null>('MATOOLKIT_CERTIFICATE_FILE', aPath, {
    default: null,
    description: 'File with the certificate and its private key, PEM or PFX.',
  }),
  certificateName: setting('MATOOLKIT_CERTIFICATE_NAME', aText, {
    default: 'worker-app-cert',
    description: 'Name of the certificate in Key Vault, used without a file.',
  }),
  certificatePassword: setting<string | null>('MATOOLKIT_CERTIFICATE_PASSWORD', aText, {
    default: null,
    description: 'Password of the certificate, if it has one.',
    secret: true,
  }),
  appSecret: setting<string | null>('MATOOLKIT_APP_SECRET', aText, {
    default: null,
    description: 'Client secret for MATOOLKIT_SIGN_IN=secret.',
    secret: true,
  }),
  identityClientId: setting<string | null>('MATOOLKIT_IDENTITY_CLIENT_ID', aGuid, {
    default: null,
    defaultShown: 'the system-assigned identity',
    description: 'Client id of the managed identity that requests tokens.',
  }),
  cloud: setting<CloudName>('MATOOLKIT_CLOUD', oneOf(CLOUDS), {
    default: 'public',
    description: 'Microsoft cloud of the tenant.',
  }),
  loginUrl: setting<string | null>('MATOOLKIT_LOGIN_URL', serviceUrl, {
    default: null,
    defaultShown: 'the URL of the cloud',
    description: 'URL of the sign-in service; set it for a sandbox.',
  }),
  graphUrl: setting<string | null>('MATOOLKIT_GRAPH_URL', serviceUrl, {
    default: null,
    defaultShown: 'the URL of the cloud',
    description: 'URL of Microsoft Graph.',
  }),
  exchangeUrl: setting<string | null>('MATOOLKIT_EXCHANGE_URL', exchangeUrl, {
    default: null,
    defaultShown: 'the URL of the cloud',
    description:
      'URL of Exchange Online. `powershell`: cmdlets go through Microsoft’s own module in MATOOLKIT_PWSH; see docs/operating.md.',
  }),
}

const LIMITS = {
  workerReplicas: setting('MATOOLKIT_WORKER_REPLICAS', wholeNumber(1, 100), {
    default: 1,
    description:
      'Number of processes with the same app and tenant; each keeps to its share of the limits below.',
  }),
  graphUnitsPerSec: setting('MATOOLKIT_GRAPH_UNITS_PER_SEC', wholeNumber(1, 15_000), {
    default: 250,
    description: 'Microsoft Graph resource units per second; a small tenant has 350.',
  }),
  graphWritesPerSec: setting('MATOOLKIT_GRAPH_WRITES_PER_SEC', wholeNumber(1, 1_000), {
    default: 15,
    description: 'Microsoft Graph changes per second; an app has 20 in a tenant.',
  }),
  invitationsPerSec: setting('MATOOLKIT_INVITATIONS_PER_SEC', wholeNumber(1, 1_000), {
    default: 20,
    description: 'Invitations per second; a tenant has 30 for all apps.',
  }),
  exchangeParallelism: setting('MATOOLKIT_EXCHANGE_PARALLELISM', wholeNumber(1, 64), {
    default: 32,
    description:
      'Concurrent Exchange Online cmdlets, at most: the worker starts with 4 and follows the answers.',
  }),
}

const SECRETS = {
  keyVaultUrl: setting<string | null>('MATOOLKIT_KEY_VAULT_URL', serviceUrl, {
    default: null,
    defaultShown: 'none: a local folder',
    description: 'Key Vault for the secrets of functions and runbooks, and for the certificate.',
  }),
  secretsFolder: setting('MATOOLKIT_SECRETS_FOLDER', aPath, {
    default: '.matoolkit/secrets',
    description: 'Folder for encrypted secrets, used without Key Vault.',
  }),
  secretsKey: setting<string | null>('MATOOLKIT_SECRETS_KEY', aKey, {
    default: null,
    defaultShown: 'a file in the folder, created at first use',
    description: 'Key that encrypts the secrets in the folder.',
    secret: true,
  }),
  webhookHosts: setting(
    'MATOOLKIT_WEBHOOK_HOSTS',
    listSetting(
      aHost('hooks.contoso.com'),
      'a list of hosts such as hooks.contoso.com,hooks.fabrikam.com:8443',
    ),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'Hosts to which notifications may be posted.',
    },
  ),
}

export const WORKER_SETTINGS = { ...RUNTIME, ...TENANT, ...LIMITS, ...SECRETS }
