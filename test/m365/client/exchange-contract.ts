// What every way to Exchange must do alike: the REST endpoint, and Microsoft's module in PowerShell. Tests of the ways pass themselves.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { it, type TestContext } from 'node:test'
import { CMDLETS } from '../../../sandbox/exchange/cmdlets.ts'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import { DEFAULT_CLIENT_ID, type Seed } from '../../../sandbox/state.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import { readCertificate, type SigningCertificate } from '../../../src/base/sign-in/certificate.ts'
import { tokenEndpointsOf } from '../../../src/base/sign-in/clouds.ts'
import { makeTokens } from '../../../src/base/sign-in/token.ts'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { type ConnectedTenant, connectTenant } from '../../../src/m365/client/connect.ts'
import { changeOfList } from '../../../src/m365/client/tenant.ts'
import { ApiError } from '../../../src/worker/http/api.ts'
import { rsaCertificate } from '../../kit/rsa-certificate.ts'
import { configFor, memorySecrets } from '../functions/setting.ts'
import { SEED } from '../functions/tenants.ts'

export interface Way {
  readonly name: string
  /** Settings that choose it. */
  readonly env: Readonly<Record<string, string>>
  clock(): Clock
  /** Null where it can be tried, otherwise why not. */
  whyNot?(): Promise<string | null>
}

export interface World {
  readonly sandbox: Sandbox
  readonly tenant: ConnectedTenant
  run(cmdlet: string, parameters?: JsonObject, more?: RunOptions): Promise<readonly JsonObject[]>
  /** The error of a cmdlet that must fail. */
  refusal(cmdlet: string, parameters?: JsonObject): Promise<ApiError>
  effects(): string[]
}

interface RunOptions {
  readonly select?: readonly string[]
  readonly isIdempotent?: boolean
  readonly signal?: AbortSignal
}

const KIM = "kim.o'brien@contoso.example"
const MANY = 1_203
const never = new AbortController().signal
/** Of the worker's app. */
export const own = rsaCertificate()
/** Of no app. */
export const unknown = rsaCertificate()

export const certificateOf = ({ keyPem, certPem }: typeof own): Promise<SigningCertificate> =>
  readCertificate({ bytes: Buffer.from(keyPem + certPem), password: '' })

function seed(): Seed {
  const [contoso] = structuredClone(SEED).tenants as unknown as Seed['tenants']
  const people = Array.from({ length: MANY }, (_, n) => ({
    userPrincipalName: `person${n}@contoso.example`,
    recipient: { kind: 'mailUser' as const },
  }))
  const everybody = {
    displayName: 'Many',
    kind: 'distribution' as const,
    mail: 'many@contoso.example',
    members: people.map(({ userPrincipalName }) => userPrincipalName),
  }
  const application = {
    clientId: DEFAULT_CLIENT_ID,
    certificates: [own.certPem],
    directoryRoles: ['Exchange Administrator'],
  }
  const { users = [], groups = [] } = contoso!
  const tenant = { ...contoso!, users: [...users, ...people], groups: [...groups, everybody] }
  return { tenants: [{ ...tenant, applications: [application] }] }
}

/** The cmdlets that stand-ins of Microsoft's module offer, with their parameters. */
export const sandboxCmdlets = (): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(CMDLETS).map(([name, one]) => [name, one.parameters])),
  )

/** A tenant that a worker reaches this way. It signs in with a certificate; a newer one is not yet known to the app. */
export async function within(
  { env, clock: clockOf }: Pick<Way, 'env' | 'clock'>,
  tell: (world: World) => Promise<void>,
  credential = { candidates: async () => [await certificateOf(unknown), await certificateOf(own)] },
): Promise<void> {
  const clock = clockOf()
  const sandbox = await openSandbox({ clock, seed: seed() })
  process.env.SANDBOX_URL = sandbox.url
  process.env.SANDBOX_CMDLETS = sandboxCmdlets()
  const config = configFor(sandbox.url, sandbox.state().tenants[0]!.id, env)
  const tenant = connectTenant({
    config,
    clock,
    secrets: memorySecrets(),
    credential: { certificate: credential },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    random: () => 0,
  })
  const run: World['run'] = (cmdlet, parameters = {}, options = {}) =>
    tenant.exchange.run(cmdlet, parameters, { signal: never, ...options })
  const refusal: World['refusal'] = async (cmdlet, parameters) => {
    const error = await run(cmdlet, parameters).then(
      () => assert.fail(`${cmdlet} did not fail`),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof ApiError, String(error))
    return error
  }
  const effects = () => sandbox.journal.effects.map(({ what }) => what)
  try {
    await tenant.signIn()
    await tell({ sandbox, tenant, run, refusal, effects })
  } finally {
    tenant.close()
    delete process.env.SANDBOX_URL
    delete process.env.SANDBOX_CMDLETS
    await sandbox.close()
  }
}

/** The same moment is the same date, however many digits its seconds have. */
const withDates = (rows: readonly JsonObject[]): unknown =>
  JSON.parse(JSON.stringify(rows), (_, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)
      ? +new Date(value)
      : value,
  )

const READS: readonly (readonly [string, JsonObject])[] = [
  ['Get-MailUser', { Identity: KIM }],
  ['Get-Recipient', { Identity: KIM }],
  ['Get-Mailbox', { ResultSize: 'Unlimited' }],
  ['Get-DistributionGroup', { Identity: 'all@contoso.example' }],
  ['Get-MigrationEndpoint', {}],
  ['Get-AcceptedDomain', {}],
  ['Get-OrganizationConfig', {}],
]

/** Tries all of it in the suite that calls. */
export function exchangeContract(way: Way): void {
  const tried = (name: string, tell: (world: World) => Promise<void>) =>
    it(name, async (test: TestContext) => {
      const reason = (await way.whyNot?.()) ?? null
      if (reason !== null) return test.skip(reason)
      await within(way, tell)
    })

  tried('changes what it was told, and reads it back', async ({ run, effects }) => {
    const EmailAddresses = changeOfList({ add: ['smtp:kim-öß@contoso.example'] })
    assert.deepEqual(await run('Set-MailUser', { Identity: KIM, EmailAddresses }), [])
    assert.equal(effects().length, 1, effects().join('\n'))
    const select = ['EmailAddresses', 'Nonsense']
    const [found, ...others] = await run('Get-MailUser', { Identity: KIM }, { select })
    assert.deepEqual([Object.keys(found!), others], [['EmailAddresses'], []])
    const addresses = found!.EmailAddresses as string[]
    assert.ok(addresses.includes('smtp:kim-öß@contoso.example'), addresses.join(' '))
  })

  tried('sends bytes', async ({ run, effects }) => {
    const Data = Buffer.from(`EmailAddress\r\n${KIM}\r\n`).toString('base64')
    await run('New-MigrationBatch', {
      Name: 'the night',
      SourceEndpoint: 'fabrikam',
      TargetDeliveryDomain: 'contoso.onmicrosoft.com',
      CSVData: { '@odata.type': '#Exchange.ByteArrayType', Data },
    })
    assert.ok(effects().includes('migration batch created'), effects().join('\n'))
  })

  tried('answers every read as the REST endpoint does', async ({ run, sandbox }) => {
    await within({ env: {}, clock: way.clock }, async (rest) => {
      for (const [cmdlet, parameters] of READS)
        assert.deepEqual(
          withDates(await run(cmdlet, parameters)),
          withDates(await rest.run(cmdlet, parameters)),
          cmdlet,
        )
    })
    // The other world has its own.
    process.env.SANDBOX_URL = sandbox.url
  })

  tried('gives all pages of a list', async ({ run }) => {
    const given = { Identity: 'many@contoso.example', ResultSize: 'Unlimited' }
    const members = await run('Get-DistributionGroupMember', given, { select: ['Identity'] })
    assert.equal(new Set(members.map(({ Identity }) => Identity)).size, MANY)
  })

  tried('takes a warning for no failure and no output', async ({ run, effects }) => {
    const given = { Identity: 'box@contoso.example', User: KIM, AccessRights: ['FullAccess'] }
    assert.deepEqual(await run('Remove-MailboxPermission', { ...given, Confirm: false }), [])
    assert.deepEqual(effects(), [])
  })

  tried('says that there is no such object, with the exception of the service', async (world) => {
    const error = await world.refusal('Get-MailUser', { Identity: 'nobody@contoso.example' })
    assert.deepEqual(
      [error.code, error.isMissing, error.isOutcomeUnknown, error.attempts],
      ['ManagementObjectNotFoundException', true, false, 1],
    )
    assert.match(error.message, /nobody@contoso\.example/)
  })

  tried('refuses a parameter and a cmdlet that do not exist, and says so', async ({ refusal }) => {
    const parameter = await refusal('Set-MailUser', { Identity: KIM, Nonsense: 1 })
    assert.deepEqual([parameter.status, parameter.isMissing, parameter.attempts], [400, false, 1])
    assert.match(parameter.message, /Nonsense/)
    const cmdlet = await refusal('Get-Nonsense')
    assert.deepEqual([cmdlet.status, cmdlet.isMissing, cmdlet.attempts], [403, false, 1])
    assert.match(cmdlet.message, /The cmdlet does not exist, or no Exchange role of the app/)
  })

  tried('waits as long as a throttled service says, and then does it once', async (world) => {
    const fault = { kind: 'throttle', retryAfterSec: 1 } as const
    world.sandbox.setFaults({ script: [{ on: 'Set-MailUser', fault }] })
    const given = { Identity: KIM, ExternalEmailAddress: 'kim@fabrikam.example' }
    assert.deepEqual(await world.run('Set-MailUser', given), [])
    assert.equal(world.effects().length, 1, world.effects().join('\n'))
    const [throttle] = world.tenant.throttles().filter(({ name }) => name.startsWith('Exchange'))
    assert.equal(throttle!.throttled, 1)
  })

  tried('signs in again when the service no longer takes the token', async (world) => {
    world.sandbox.setFaults({ script: [{ on: 'Get-MailUser', fault: 'expired-token' }] })
    assert.equal((await world.run('Get-MailUser', { Identity: KIM })).length, 1)
  })

  tried('repeats after a lost answer what may be repeated, and nothing else', async (world) => {
    const lost = { fault: 'drop-after' } as const
    world.sandbox.setFaults({
      script: [
        { on: 'Set-MailUser', ...lost },
        { on: 'Add-DistributionGroupMember', ...lost },
      ],
    })
    const given = { Identity: KIM, ExternalEmailAddress: 'kim@fabrikam.example' }
    assert.deepEqual(await world.run('Set-MailUser', given), [])
    const member = { Identity: 'scope@contoso.example', Member: 'person1@contoso.example' }
    const error = await world.refusal('Add-DistributionGroupMember', member)
    assert.deepEqual([error.isOutcomeUnknown, error.attempts], [true, 1])
  })

  tried('ends a cmdlet with its job, and serves the next one', async ({ run, sandbox }) => {
    const fault = { kind: 'slow', delaySec: 3_600 } as const
    sandbox.setFaults({ script: [{ on: 'Get-MailUser', fault }] })
    const job = new AbortController()
    const running = run('Get-MailUser', { Identity: KIM }, { signal: job.signal })
    job.abort(new Error('the job is over'))
    await assert.rejects(running, /the job is over/)
    sandbox.setFaults({})
    assert.equal((await run('Get-MailUser', { Identity: KIM })).length, 1)
  })
}

/** The processes that this one has started and that run still. */
export function childrenNow(): number[] {
  const tasks = readdirSync('/proc/self/task')
  const lists = tasks.map((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8'))
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number))
}
