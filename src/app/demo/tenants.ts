// The two tenants of the demonstration, in a sandbox: Fabrikam, where the people of the member file are, and Contoso, where they
// go, each with the worker's own connection to it. For some people something is not as it should be, so that there are failures
// to see; and the tenants are busy now and then, cut connections and end tokens, so that there is something to withstand.
import type { Clock } from '../../clock.ts'
import { type Config, readConfig } from '../../config.ts'
import type { FaultSettings } from '../../sandbox/faults.ts'
import type { RequestMade } from '../../sandbox/journal.ts'
import { openSandbox } from '../../sandbox/sandbox.ts'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../sandbox/state.ts'
import { makeTokens } from '../../sign-in/token.ts'
import type { Secrets, Tenant } from '../../worker/m365/api.ts'
import { connectTenant, tokenEndpointsOf } from '../../worker/m365/connect.ts'
import type { FaultReport } from './summary.ts'

/** Somebody who moves, as the member file has them. */
export interface DemoUser {
  readonly UserPrincipalName: string
  readonly SourceObjectId: string
  readonly DisplayName: string
  readonly MailNickname: string
  readonly ExchangeGuid: string
  readonly ArchiveGuid: string
  readonly LegacyExchangeDn: string
}

/** Rows of the member file, counted from 0, for whom it goes wrong. */
const TROUBLED = {
  /** Nobody put them into the group of those who may be moved. */
  outOfScope: [25, 125],
  /** Contoso has somebody of that name already. */
  namesakes: [40, 90, 140],
  /** Their mailbox was moved once before and has an address from then, which the runbook does not carry over. */
  movedBefore: [60, 110, 160, 190],
} as const
export const TROUBLED_COUNT = Object.values(TROUBLED).flat().length

const FAULTS: FaultSettings = {
  rates: { throttle: 0.001, error: 0.003, 'expired-token': 0.001 },
  script: [
    { on: 'POST /v1.0/users', nth: 20, fault: 'drop-after' },
    { on: 'POST /v1.0/groups/*', nth: 50, fault: 'drop-before' },
    { on: 'PATCH /v1.0/users/*', nth: 100, fault: 'drop-after' },
    { on: 'Set-MailUser', nth: 150, fault: 'drop-after' },
    { on: 'New-MigrationBatch', nth: 80, fault: 'drop-after' },
    { on: 'POST /v1.0/invitations', nth: 30, fault: 'drop-after' },
  ],
}

/** Shorter than in the real ones, whose delays would be most of what there is to see. */
const TIMING = { replicationLagSec: 2, exchangeLagSec: 5 }

const INTEGRATION_LEAD = 'integration.lead@contoso.example'
const POSTBOX = 'migration@contoso.example'
const NEWCOMERS = '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10'

type TenantSeed = Seed['tenants'][number]
type UserSeed = NonNullable<TenantSeed['users']>[number]

const isTroubled = (how: keyof typeof TROUBLED, row: number): boolean =>
  (TROUBLED[how] as readonly number[]).includes(row)

function sourceUser(mover: DemoUser, row: number): UserSeed {
  const { UserPrincipalName: upn } = mover
  return {
    id: mover.SourceObjectId,
    userPrincipalName: upn,
    displayName: mover.DisplayName,
    mailNickname: mover.MailNickname,
    mail: upn,
    proxyAddresses: [
      `SMTP:${upn}`,
      ...(isTroubled('movedBefore', row) ? [`x500:/o=Old/cn=${mover.MailNickname}`] : []),
    ],
    recipient: {
      kind: 'mailbox',
      exchangeGuid: mover.ExchangeGuid,
      archiveGuid: mover.ArchiveGuid || null,
      legacyExchangeDn: mover.LegacyExchangeDn,
    },
  }
}

function sourceTenant(movers: readonly DemoUser[]): TenantSeed {
  const inScope = movers.filter((_, row) => !isTroubled('outOfScope', row))
  return {
    domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
    users: movers.map(sourceUser),
    groups: [
      {
        displayName: 'Migration scope',
        kind: 'mailEnabledSecurity',
        mail: 'migration-scope@fabrikam.example',
        members: inScope.map(({ UserPrincipalName }) => UserPrincipalName),
      },
    ],
  }
}

function targetTenant(movers: readonly DemoUser[]): TenantSeed {
  const namesakes = movers.filter((_, row) => isTroubled('namesakes', row))
  return {
    domains: ['contoso.example', 'contoso.onmicrosoft.com'],
    migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
    groups: [{ id: NEWCOMERS, displayName: 'Newcomers' }],
    users: [
      { userPrincipalName: INTEGRATION_LEAD, displayName: 'Integration Lead' },
      {
        userPrincipalName: POSTBOX,
        mail: POSTBOX,
        proxyAddresses: [`SMTP:${POSTBOX}`],
        recipient: { kind: 'mailbox' },
      },
      ...namesakes.map(({ MailNickname, DisplayName }) => ({
        userPrincipalName: `${MailNickname}@contoso.onmicrosoft.com`,
        displayName: DisplayName,
        attributes: { department: 'Research' },
      })),
    ],
  }
}

export interface DemoTenants {
  readonly url: string
  readonly target: Tenant
  readonly source: Tenant
  faultReport(): FaultReport
  close(): Promise<void>
}

export async function openDemoTenants(
  movers: readonly DemoUser[],
  clock: Clock,
): Promise<DemoTenants> {
  const sandbox = await openSandbox({
    clock,
    seed: { tenants: [targetTenant(movers), sourceTenant(movers)] },
    timing: TIMING,
    faults: FAULTS,
  })
  const [target, source] = sandbox
    .state()
    .tenants.map(({ id, domains }) => connectedTo(configFor(sandbox.url, id, domains[1]!), clock))
  return {
    url: sandbox.url,
    target: target!,
    source: source!,
    faultReport: () => ({
      requests: sandbox.journal.requestsMade,
      faults: faultsIn(sandbox.journal.requests),
      repeated: repeatedIn(sandbox.journal.effects),
    }),
    close: () => sandbox.close(),
  }
}

const connectedTo = (config: Config, clock: Clock): Tenant =>
  connectTenant({
    config,
    clock,
    secrets: memoryVault(),
    credential: { secret: DEFAULT_SECRET },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    // In the middle, so that two runs are alike.
    random: () => 0.5,
  })

/** The ordinary settings of a worker; only the addresses are not Microsoft's. */
function configFor(url: string, tenantId: string, organization: string): Config {
  const read = readConfig({
    MATOOLKIT_TENANT_ID: tenantId,
    MATOOLKIT_ORGANIZATION: organization,
    MATOOLKIT_APP_ID: DEFAULT_CLIENT_ID,
    MATOOLKIT_LOGIN_URL: url,
    MATOOLKIT_GRAPH_URL: url,
    MATOOLKIT_EXCHANGE_URL: url,
  })
  if ('problems' in read) throw new Error(read.problems.join(' '))
  return read.config
}

/** Gone with the process, as everything here. */
function memoryVault(): Secrets {
  const kept = new Map<string, string>()
  return {
    put: async (name, value) => {
      kept.set(name, value)
      return name
    },
    get: async (reference) => kept.get(reference) ?? '',
    find: async (name) => (kept.has(name) ? name : null),
  }
}

function faultsIn(requests: readonly RequestMade[]): Map<string, number> {
  const faulty = requests.flatMap(({ fault }) => fault ?? [])
  const byKind = Map.groupBy(faulty, (kind) => kind)
  return new Map([...byKind].map(([kind, times]) => [kind, times.length]))
}

/** What nobody wants twice. */
const ONCE = ['user created', 'migration batch created', 'invitation sent', 'mail sent']

interface Effect {
  readonly what: string
  readonly id: string
  readonly name: string
  readonly details: unknown
}

function repeatedIn(effects: readonly Effect[]): string[] {
  const watched = effects.filter(({ what }) => ONCE.includes(what))
  const alike = Map.groupBy(watched, ({ what, id, details }) => JSON.stringify([what, id, details]))
  return [...alike.values()]
    .filter((times) => times.length > 1)
    .map((times) => `${times[0]!.what} ${times.length} times: ${times[0]!.name}`)
}
