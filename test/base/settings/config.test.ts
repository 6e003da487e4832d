import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import {
  type Config,
  readConfig,
  readConnectionVariable,
  SETTINGS,
} from '../../../src/base/settings/config.ts'

const root = join(import.meta.dirname, '../../..')

function configOf(env: Record<string, string>, fileText?: string): Config {
  const read = readConfig(env, fileText)
  assert.ok('config' in read, JSON.stringify(read))
  return read.config
}

function problemsOf(env: Record<string, string>, fileText?: string): readonly string[] {
  const read = readConfig(env, fileText)
  assert.ok('problems' in read, 'there should be a problem')
  return read.problems
}

const DEFAULTS: Config = {
  configFile: null,
  otlpEndpoint: null,
  otlpHeaders: null,
  traceRatio: 1,
  serviceName: 'matoolkit',
  insightsConnection: null,
  insightsSignIn: null,
  databaseUrl: null,
  databaseSignIn: 'password',
  dataDir: '.matoolkit/data',
  minFreeMb: 512,
  poolSize: 10,
  roles: ['scheduler', 'orchestrator', 'worker', 'api'],
  transport: 'postgres',
  serviceBusNamespace: null,
  serviceBusProtocol: 'amqp',
  serviceBusConnection: null,
  maxOutstanding: 1_000,
  queueLimitSec: 21_600,
  declaredWorkers: [],
  jobKeyFile: null,
  auditHeadsFile: null,
  evidenceKey: null,
  evidenceKeyFile: null,
  jobKeys: [],
  sourceFolder: null,
  sourceTimeoutSec: 300,
  tickIntervalSec: 300,
  identityEndpoint: null,
  identityHeader: null,
  workloadTokenFile: null,
  workloadClientId: null,
  workloadTenantId: null,
  apiHost: '127.0.0.1',
  apiPort: 7420,
  apiTokenFile: '.matoolkit/api-token',
  apiReadsPerMin: 600,
  apiTrustedHops: 0,
  apiPublicPath: '/',
  apiCorsOrigins: [],
  oidcIssuers: [],
  oidcAudiences: [],
  oidcClientId: null,
  oidcApps: [],
  readPolicy: 'reader',
  archive: '.matoolkit/archive',
  batchesKeptDays: null,
  personsKeptDays: null,
  notificationsFile: null,
  windowsFile: null,
  auditKeptDays: null,
  workerId: null,
  maxParallelism: 4,
  idleExitSec: 300,
  shutdownGraceSec: 30,
  healthPort: 8_080,
  functionsFolder: null,
  pwsh: 'pwsh',
  tenantId: null,
  organization: null,
  appId: null,
  signIn: 'certificate',
  certificateFile: null,
  certificateName: 'worker-app-cert',
  certificatePassword: null,
  appSecret: null,
  identityClientId: null,
  cloud: 'public',
  loginUrl: null,
  graphUrl: null,
  exchangeUrl: null,
  workerReplicas: 1,
  graphUnitsPerSec: 250,
  graphWritesPerSec: 15,
  invitationsPerSec: 20,
  exchangeParallelism: 32,
  keyVaultUrl: null,
  secretsFolder: '.matoolkit/secrets',
  secretsKey: null,
  webhookHosts: [],
  homeFolder: null,
  profile: null,
  apiUrl: null,
  issuer: null,
  clientId: null,
  apiScope: null,
  output: null,
  zone: null,
  clientSecret: null,
  token: null,
  logLevel: 'info',
  logFormat: 'auto',
}

describe('reading the configuration', () => {
  it('needs no setting at all', () => {
    assert.deepEqual(configOf({ PATH: '/bin', HOME: '/root' }), DEFAULTS)
  })

  it('prefers the environment over the file and the file over the default', () => {
    const file = JSON.stringify({
      MATOOLKIT_POOL_SIZE: 20,
      MATOOLKIT_MAX_OUTSTANDING: '100',
      MATOOLKIT_ROLES: ['api'],
      DATABASE_URL: 'postgresql://file',
    })
    const config = configOf(
      { MATOOLKIT_POOL_SIZE: '30', MATOOLKIT_ROLES: ' worker, scheduler,worker, ' },
      file,
    )
    assert.deepEqual(
      [config.poolSize, config.maxOutstanding, config.roles, config.databaseUrl, config.logLevel],
      [30, 100, ['worker', 'scheduler'], 'postgresql://file', 'info'],
    )
  })

  it('counts an empty variable as not set', () => {
    const config = configOf(
      { DATABASE_URL: '', MATOOLKIT_POOL_SIZE: '  ' },
      '{"MATOOLKIT_POOL_SIZE": 5}',
    )
    assert.deepEqual([config.databaseUrl, config.poolSize], [null, 5])
  })

  it('is deeply frozen', () => {
    const config = configOf({ MATOOLKIT_DECLARED_WORKERS: 'legacy-1' })
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.roles))
    assert.throws(() => (config.declaredWorkers as string[]).push('x'), TypeError)
  })

  it('ignores variables for data sources', () => {
    configOf({ MATOOLKIT_SOURCE_HR: 'postgres://hr', DATAVERSE_URL: 'x' })
  })
})

const WRONG: [env: Record<string, string>, sentence: string][] = [
  [
    { MATOOLKIT_ARCHIVE: 'https://account.blob.core.windows.net' },
    'MATOOLKIT_ARCHIVE is "https://account.blob.core.windows.net", but must be a path, or a container such as https://account.blob.core.windows.net/archive.',
  ],
  [
    { MATOOLKIT_MIN_FREE_MB: '10' },
    'MATOOLKIT_MIN_FREE_MB is "10", but must be a whole number from 64 to 1000000.',
  ],
  [
    { MATOOLKIT_POOL_SIZE: 'ten' },
    'MATOOLKIT_POOL_SIZE is "ten", but must be a whole number from 1 to 200.',
  ],
  [
    { MATOOLKIT_POOL_SIZE: '0' },
    'MATOOLKIT_POOL_SIZE is "0", but must be a whole number from 1 to 200.',
  ],
  [
    { MATOOLKIT_POOL_SIZE: '1e2' },
    'MATOOLKIT_POOL_SIZE is "1e2", but must be a whole number from 1 to 200.',
  ],
  [
    { MATOOLKIT_POOL_SIZE: '-5' },
    'MATOOLKIT_POOL_SIZE is "-5", but must be a whole number from 1 to 200.',
  ],
  [
    { MATOOLKIT_LOG_LEVEL: 'wran' },
    'MATOOLKIT_LOG_LEVEL is "wran", but must be one of silent, error, warn, info, debug. Did you mean "warn"?',
  ],
  [
    { MATOOLKIT_ROLES: 'worker,schedular' },
    'MATOOLKIT_ROLES is "worker,schedular", but must be a list of scheduler, orchestrator, worker, api. Did you mean "scheduler"?',
  ],
  [
    { MATOOLKIT_ROLES: ',' },
    'MATOOLKIT_ROLES is ",", but must be a list of scheduler, orchestrator, worker, api.',
  ],
  [
    { MATOOLKIT_TRANSPORT: 'kafka' },
    'MATOOLKIT_TRANSPORT is "kafka", but must be one of postgres, servicebus.',
  ],
  [
    { MATOOLKIT_DECLARED_WORKERS: 'good,bad id' },
    'MATOOLKIT_DECLARED_WORKERS is "good,bad id", but must be a list of worker ids (letters, digits, "_", ".", "-"; at most 63).',
  ],
  [
    { MATOOLKIT_POOLSIZE: '5' },
    'MATOOLKIT_POOLSIZE is not a setting. Did you mean "MATOOLKIT_POOL_SIZE"?',
  ],
  [{ MATOOLKIT_WHATEVER_ELSE: '5' }, 'MATOOLKIT_WHATEVER_ELSE is not a setting. Remove it.'],
  [
    { DATABASE_URL: 'mysql://u:hunter2@h/d' },
    'DATABASE_URL has an invalid value (not shown): it must be an address such as postgres://user:password@host:5432/database.',
  ],
]

const WRONG_FILES: [text: string, sentence: RegExp][] = [
  ['{"DATABASE_URL": "hunter2', /^The config file is not valid JSON\./],
  ['["a"]', /must contain one JSON object/],
  ['null', /must contain one JSON object/],
  [
    '{"MATOOLKIT_POOL_SIZE": true}',
    /^MATOOLKIT_POOL_SIZE in the config file must be a text, a number/,
  ],
  ['{"MATOOLKIT_ROLES": [["api"]]}', /must be a text, a number or a list of texts/],
  [
    '{"MATOOLKIT_POOL_SIZE": 1.5}',
    /^MATOOLKIT_POOL_SIZE in the config file is "1\.5", but must be/,
  ],
  ['{"poolSize": 3}', /^"poolSize" in the config file is not a setting\. Remove it\./],
  ['{"MATOOLKIT_POOL_SIZ": 3}', /Did you mean "MATOOLKIT_POOL_SIZE"\?/],
  ['{"__proto__": 3}', /^"__proto__" in the config file is not a setting/],
  ['{"MATOOLKIT_CONFIG_FILE": "x"}', /is not allowed in the config file itself/],
  [`{"a": "${'x'.repeat(100_000)}"}`, /the limit is 100000/],
]

describe('problems in the configuration', () => {
  for (const [env, sentence] of WRONG) {
    it(sentence, () => assert.deepEqual(problemsOf(env), [sentence]))
  }

  for (const [text, sentence] of WRONG_FILES) {
    it(`file ${text.slice(0, 40)}`, () => {
      const problems = problemsOf({}, text)
      assert.equal(problems.length, 1)
      assert.match(problems[0]!, sentence)
      assert.doesNotMatch(problems[0]!, /hunter2/)
    })
  }

  it('are refused by each setting that does not take any text, under its name', () => {
    const junk = '~ not right ~'
    const strict = Object.values(SETTINGS).filter(({ read }) => read(junk) === undefined)
    assert.ok(strict.length > 50)
    for (const { name, mustBe } of strict) {
      const problems = problemsOf({ [name]: junk })
      assert.equal(problems.length, 1, name)
      assert.ok(problems[0]!.startsWith(`${name} `) && problems[0]!.includes(mustBe), problems[0])
    }
  })

  it('are all reported at once', () => {
    const everything = Object.assign({}, ...WRONG.map(([env]) => env)) as Record<string, string>
    assert.equal(
      problemsOf(everything, '{"nonsense": 1}').length,
      Object.keys(everything).length + 1,
    )
  })

  it('never quote a secret', () => {
    for (const one of Object.values(SETTINGS).filter(({ secret }) => secret)) {
      const read = readConfig({ [one.name]: 'hunter2', MATOOLKIT_POOL_SIZE: 'x' })
      assert.ok('problems' in read)
      assert.doesNotMatch(read.problems.join(), /hunter2/)
    }
  })
})

describe('settings of the earlier system', () => {
  const text = readFileSync(join(root, 'test/fixtures/earlier-system/settings.env'), 'utf8')
  const earlier = Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  )
  const REPLACED = {
    DATABASE_URL: 'postgres://u@h/d',
    MATOOLKIT_TRANSPORT: 'servicebus',
    MATOOLKIT_SERVICEBUS_NAMESPACE: 'matoolkit-sb.servicebus.windows.net',
    MATOOLKIT_OIDC_ISSUERS: 'https://login.microsoftonline.com/t/v2.0',
    MATOOLKIT_OIDC_AUDIENCES: 'api://matoolkit',
    MATOOLKIT_OIDC_CLIENT_ID: 'cli',
    MATOOLKIT_WORKER_ID: 'worker-01',
    MATOOLKIT_IDLE_EXIT_SEC: '300',
    MATOOLKIT_SHUTDOWN_GRACE_SEC: '30',
  }

  for (const name of Object.keys(earlier)) {
    it(`stop a process that still has ${name}, and say what replaces it`, () => {
      const problem = problemsOf(earlier).find((one) => one.startsWith(`${name} is a setting of`))
      assert.match(problem ?? '', /: (?:set [A-Z_]+ instead \(.+\)|remove it: .+)\.$/)
      assert.doesNotMatch(problem!, /sql-scheduler-dev/)
    })
  }

  it('stop nothing once each replacement is set, nor do those that nothing replaces', () => {
    assert.equal(configOf({ ...earlier, ...REPLACED }).workerId, 'worker-01')
    configOf({ AzureWebJobsStorage__accountName: 'st', Scheduler__BatchSize: '5' })
    configOf({ Scheduler__OrchestratorTopicName: 'orchestrator-events' })
  })

  it('that name a bus stop a process that would not use it', () => {
    const { MATOOLKIT_TRANSPORT: _left, ...given } = REPLACED
    const [problem, ...others] = problemsOf({ AdminApi__ServiceBusNamespace: 'x', ...given })
    assert.match(problem!, /^AdminApi__ServiceBusNamespace .* set MATOOLKIT_TRANSPORT instead/)
    assert.deepEqual(others, [])
  })

  it('that name a topic of their own stop a process: nobody here listens to it', () => {
    const given = { Orchestrator__WorkerJobsTopicName: 'jobs', ...REPLACED }
    assert.deepEqual(problemsOf(given), [
      'Orchestrator__WorkerJobsTopicName is a setting of the earlier system: remove it: the names are fixed: orchestrator-events, worker-jobs, worker-results, orchestrator.',
    ])
  })

  it('are read without case, as .NET does, and names that others use count only next to WORKER_ID', () => {
    assert.match(
      problemsOf({ SCHEDULER__SQLCONNECTIONSTRING: 'x' })[0]!,
      /set DATABASE_URL instead/,
    )
    assert.match(
      problemsOf({ 'AdminApi:SqlConnectionString': 'x' })[0]!,
      /^AdminApi:SqlConnectionString is a .* set DATABASE_URL instead/,
    )
    configOf({ APP_ID: 'x', MAX_PARALLELISM: '4', SERVICE_BUS_NAMESPACE: 'x' })
    assert.equal(problemsOf({ APP_ID: 'x', WORKER_ID: 'w' }).length, 2)
  })
})

describe('connection variables', () => {
  it('are read only when their names are allowed', () => {
    const names = ['MATOOLKIT_SOURCE_T1', 'DATAVERSE_T1', 'DATABRICKS_T1', 'DATABASE_URL_T1']
    for (const name of names) process.env[name] = `value of ${name}`
    assert.deepEqual(names.map(readConnectionVariable), [
      'value of MATOOLKIT_SOURCE_T1',
      'value of DATAVERSE_T1',
      'value of DATABRICKS_T1',
      undefined,
    ])
    assert.equal(readConnectionVariable('PATH'), undefined)
    assert.equal(readConnectionVariable('MATOOLKIT_SOURCE_NOT_THERE'), undefined)
    for (const name of names) delete process.env[name]
  })
})

describe('loading the configuration of a process', () => {
  const load = (env: Record<string, string>) => {
    const program = `
      import { loadConfig } from './src/base/settings/config.ts'
      try { console.log(JSON.stringify(loadConfig())) }
      catch (error) { console.log(error.message); process.exitCode = error.exitCode }`
    const child = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
      cwd: root,
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    })
    return { status: child.status, text: child.stdout }
  }

  it('reads the file that the environment names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-config-'))
    try {
      const file = join(folder, 'config.json')
      writeFileSync(file, '{"MATOOLKIT_POOL_SIZE": 7}')
      const { status, text } = load({ MATOOLKIT_CONFIG_FILE: file })
      assert.equal(status, 0)
      const config = JSON.parse(text) as Config
      assert.deepEqual([config.poolSize, config.configFile], [7, file])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('reports all problems, a missing file included, with the exit code for usage errors', () => {
    const { status, text } = load({
      MATOOLKIT_CONFIG_FILE: 'no/such.json',
      MATOOLKIT_POOL_SIZE: 'x',
    })
    assert.equal(status, 2)
    assert.match(text, /has 2 errors\./)
    assert.match(
      text,
      /\n {2}- MATOOLKIT_CONFIG_FILE is "no\/such\.json", which cannot be read: ENOENT/,
    )
    assert.match(text, /\n {2}- MATOOLKIT_POOL_SIZE is "x"/)
  })
})
