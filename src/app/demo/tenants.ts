// The two tenants of the demonstration, in a sandbox: Fabrikam, where the people of the member file are, and Contoso, where they
// go. Nine people have defects, so that there are failures to see, and the tenants inject faults, so that there is something to
// withstand.

import type { FaultSettings } from '../../../sandbox/faults.ts'
import { guidOf } from '../../../sandbox/identity.ts'
import type { RequestMade } from '../../../sandbox/journal.ts'
import { openSandbox } from '../../../sandbox/sandbox.ts'
import { DEFAULT_SECRET, type Seed } from '../../../sandbox/state.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens } from '../../base/sign-in/token.ts'
import { connectTenant } from '../../m365/client/connect.ts'
import type { M365Tenant } from '../../m365/client/tenant.ts'
import { memoryVault, sandboxConfig } from '../sandbox/sandbox-worker.ts'
import type { FaultReport } from './summary.ts'

/** A row of the member file. */
export interface DemoUser {
  readonly UserPrincipalName: string
  readonly SourceObjectId: string
  readonly DisplayName: string
  readonly MailNickname: string
}

/** Rows of the member file, counted from 0, that fail by design. */
const DEFECTS = {
  /** Not in the group that may be moved. */
  outOfScope: [25, 125],
  /** Contoso already has a user with that name. */
  namesakes: [40, 90, 140],
  /** The mailbox is on hold, which blocks its move. */
  onHold: [60, 110, 160, 190],
} as const
/** A rollback tells the help line of each; only those on hold have an account to remove. */
export const DEFECT_COUNT = Object.values(DEFECTS).flat().length

const FAULTS: FaultSettings = {
  rates: { throttle: 0.001, error: 0.003, 'expired-token': 0.001 },
  // A mail that may have been sent is not sent again, and its step fails. Mails with passes differ in each run, so no seed spares them.
  spared: ['POST /v1.0/users/*/sendMail'],
  seed: 2,
  script: [
    { on: 'New-MailUser', nth: 20, fault: 'drop-after' },
    { on: 'POST /v1.0/groups/*', nth: 50, fault: 'drop-before' },
    { on: 'PATCH /v1.0/users/*', nth: 100, fault: 'drop-after' },
    { on: 'Set-MailUser', nth: 150, fault: 'drop-after' },
    { on: 'Set-MigrationBatch', nth: 80, fault: 'drop-after' },
    { on: 'Set-MigrationUser', nth: 30, fault: 'drop-after' },
  ],
}

/** Shorter than in real tenants, whose delays would dominate the demonstration. */
const TIMING = { replicationLagSec: 2, exchangeLagSec: 5 }

const INTEGRATION_LEAD = 'integration.lead@contoso.example'
const POSTBOX = 'migration@contoso.example'
const NEWCOMERS = '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10'

type TenantSeed = Seed['tenants'][number]
type UserSeed = NonNullable<TenantSeed['users']>[number]

const hasDefect = (kind: keyof typeof DEFECTS, row: number): boolean =>
  (DEFECTS[kind] as readonly number[]).includes(row)

function sourceUser(user: DemoUser, row: number): UserSeed {
  const { UserPrincipalName: upn } = user
  return {
    id: user.SourceObjectId,
    userPrincipalName: upn,
    displayName: user.DisplayName,
    mailNickname: user.MailNickname,
    mail: upn,
    proxyAddresses: [
      `SMTP:${upn}`,
      ...(row % 3 === 0 ? [`x500:/o=Old/cn=${user.MailNickname}`] : []),
    ],
    recipient: {
      kind: 'mailbox',
      archiveGuid: row % 5 === 0 ? guidOf(user.SourceObjectId, 'archive') : null,
      isOnLitigationHold: hasDefect('onHold', row),
    },
  }
}

function sourceTenant(users: readonly DemoUser[]): TenantSeed {
  const inScope = users.filter((_, row) => !hasDefect('outOfScope', row))
  return {
    domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
    users: users.map(sourceUser),
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

function targetTenant(users: readonly DemoUser[]): TenantSeed {
  const namesakes = users.filter((_, row) => hasDefect('namesakes', row))
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
  readonly controlToken: string
  readonly target: M365Tenant
  readonly source: M365Tenant
  faultReport(): FaultReport
  close(): Promise<void>
}

export async function openDemoTenants(
  users: readonly DemoUser[],
  clock: Clock,
): Promise<DemoTenants> {
  const sandbox = await openSandbox({
    clock,
    seed: { tenants: [targetTenant(users), sourceTenant(users)] },
    timing: TIMING,
    faults: FAULTS,
  })
  const [target, source] = sandbox
    .state()
    .tenants.map(({ id, domains }) =>
      connectedTo(sandboxConfig(sandbox.url, id, domains[1]!), clock),
    )
  return {
    url: sandbox.url,
    controlToken: sandbox.controlToken,
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

const connectedTo = (config: Config, clock: Clock): M365Tenant =>
  connectTenant({
    config,
    clock,
    secrets: memoryVault(),
    credential: { secret: DEFAULT_SECRET },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    // No jitter: two runs are alike.
    random: () => 0.5,
  })

function faultsIn(requests: readonly RequestMade[]): Map<string, number> {
  const faulty = requests.flatMap(({ fault }) => fault ?? [])
  const byKind = Map.groupBy(faulty, (kind) => kind)
  return new Map([...byKind].map(([kind, times]) => [kind, times.length]))
}

/** Changes that must not happen twice. */
const ONCE = [
  'mail user created',
  'migration batch created',
  'migration users added',
  'mailbox moved',
  'mail sent',
]

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
