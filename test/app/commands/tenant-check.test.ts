// `matoolkit doctor tenant` against sandbox tenants: every line ok where a tenant is set up, and what to do where it is not. It changes nothing.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { openSandbox } from '../../../sandbox/sandbox.ts'
import { DEFAULT_SKUS } from '../../../sandbox/skus.ts'
import { DEFAULT_CLIENT_ID, DEFAULT_SECRET, type Seed } from '../../../sandbox/state.ts'
import { addDoctorCommands } from '../../../src/app/commands/doctor.ts'
import { runTenantCheck, type TenantCheckFlags } from '../../../src/app/commands/tenant-check.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { run } from '../../../src/cli/program/program.ts'
import { OUTPUT_FORMATS } from '../../../src/cli/terminal/show.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { WIDE } from '../../cli/against-api.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { configFor } from '../../m365/functions/setting.ts'
import { id } from '../../m365/functions/tenants.ts'

type TenantSeed = Seed['tenants'][number]
const RUNBOOK = join(import.meta.dirname, '../../../examples/full-migration.yaml')
const SCOPE = id(400)
const outbound = {
  name: 'To Contoso',
  domainNames: [id(1)],
  moveCapability: 'RemoteOutbound' as const,
  applicationId: id(9),
}
const inbound = { name: 'From Fabrikam', domainNames: [id(2)], moveCapability: 'Inbound' as const }
const scope = { id: SCOPE, displayName: 'Movers', kind: 'mailEnabledSecurity' as const }

const RIGHTS = STANDARD_FUNCTIONS.flatMap(({ permissions }) => permissions.graph ?? [])
const app = (more: object = {}) => [
  {
    clientId: DEFAULT_CLIENT_ID,
    secret: DEFAULT_SECRET,
    roles: [...RIGHTS, 'Policy.Read.AuthenticationMethod', 'Exchange.ManageAsApp'],
    ...more,
  },
]

const contoso = (more: Partial<TenantSeed> = {}): TenantSeed => ({
  id: id(1),
  domains: ['contoso.example', 'contoso.onmicrosoft.com'],
  migrationEndpoints: [
    { name: 'fabrikam', remoteTenant: 'fabrikam.example', applicationId: id(9) },
  ],
  organizationRelationships: [inbound],
  applications: app(),
  ...more,
})
const fabrikam = (more: Partial<TenantSeed> = {}): TenantSeed => ({
  id: id(2),
  domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
  organizationRelationships: [outbound],
  groups: [{ ...scope, mail: 'movers@fabrikam.example' }],
  moveScopeGroupId: SCOPE,
  applications: app(),
  ...more,
})

interface Told {
  readonly exit: number | undefined
  readonly out: string
  /** State and sentences by check. */
  readonly lines: Readonly<Record<string, string>>
}

/** Runs the command with the settings of a worker of the first tenant. */
async function check(
  tenants: readonly TenantSeed[],
  flags: TenantCheckFlags,
  env: Record<string, string> = {},
): Promise<Told> {
  const sandbox = await openSandbox({ clock: realClock(), seed: { tenants } })
  try {
    const [first] = tenants
    const io = recordingIo({ width: WIDE })
    const config = configFor(sandbox.url, first!.id!, {
      MATOOLKIT_SIGN_IN: 'secret',
      MATOOLKIT_APP_SECRET: DEFAULT_SECRET,
      MATOOLKIT_ORGANIZATION: first!.domains[1]!,
      ...env,
    })
    await runTenantCheck({ output: 'json', ...flags }, io, config)
    assert.deepEqual(sandbox.journal.effects, [], 'it only reads')
    const out = io.outText()
    const isJson = (flags.output ?? 'json') === 'json'
    const { checks } = isJson ? (JSON.parse(out) as { checks: Line[] }) : { checks: [] }
    const lines = checks.map(({ name, state, about, advice }) => [
      name,
      [state, about, advice].filter(Boolean).join(' | '),
    ])
    return { exit: io.exitCode, out, lines: Object.fromEntries(lines) as Told['lines'] }
  } finally {
    await sandbox.close()
  }
}

interface Line {
  readonly name: string
  readonly state: string
  readonly about: string
  readonly advice: string
}

const both = (here: Partial<TenantSeed> = {}) => [contoso(here), fabrikam()]
const AS_WORKER = { MATOOLKIT_WORKER_ID: 'contoso-worker' }
const AS_SOURCE = { MATOOLKIT_WORKER_ID: 'fabrikam-worker' }

describe('matoolkit doctor tenant', () => {
  it('says ok to every line of a target that has what the example runbook uses', async () => {
    const { exit, lines } = await check(both(), { target: true, runbook: RUNBOOK }, AS_WORKER)
    assert.notEqual(exit, EXIT.failed, JSON.stringify(lines))
    const states = new Set(Object.values(lines).map((line) => line.split(' ')[0]))
    assert.deepEqual([...states], ['ok'], JSON.stringify(lines))
    assert.match(lines['migration endpoint fabrikam']!, /reaches fabrikam.example with app .*009$/)
    assert.match(lines['licence CROSS_TENANT_USER_DATA_MIGRATION']!, /10,000 left for 200 people/)
    assert.match(lines['organisation relationship']!, /From Fabrikam \(Inbound\)/)
  })

  it('says ok to a source with relationship, app and scope group', async () => {
    const { exit, lines } = await check([fabrikam()], { source: true })
    assert.notEqual(exit, EXIT.failed, JSON.stringify(lines))
    assert.match(lines['scope group']!, /^ok \| Movers$/)
    assert.match(lines.permissions!, /^ok \| enough for \d+ functions$/)
  })

  it('asks only about what is used: nothing of mailbox moves without a side', async () => {
    const { lines } = await check(both(), { people: 5 })
    assert.deepEqual(Object.keys(lines), [
      'sign-in',
      'permissions',
      'administrators',
      'Exchange role',
      'domains',
      'forwarding',
      'access pass policy',
    ])
  })

  it('ends at a sign-in that is refused', async () => {
    const { exit, lines } = await check(both(), { target: true }, { MATOOLKIT_APP_SECRET: 'no' })
    assert.equal(exit, EXIT.failed)
    assert.deepEqual(Object.keys(lines), ['sign-in'])
    assert.match(lines['sign-in']!, /^failed .*AADSTS7000215.* \| Check MATOOLKIT_TENANT_ID/)
  })

  it('names each missing permission with the functions that need it', async () => {
    const roles = ['User.ReadWrite.All', 'Exchange.ManageAsApp']
    const applications = app({ roles })
    const flags = { target: true as const, runbook: RUNBOOK }
    const { exit, lines } = await check(both({ applications }), flags, AS_WORKER)
    assert.equal(exit, EXIT.failed)
    assert.match(
      lines['permission Mail.Send']!,
      /needed by Send-Notification, Send-SignInDetails \| Add the appl/,
    )
    assert.equal(lines['permission User.RevokeSessions.All'], undefined, 'not used by this worker')
    assert.match(lines.licences!, /^warning .*cannot be read/)
  })

  it('tells a missing Exchange role, and asks Exchange nothing more', async () => {
    for (const [directoryRoles, role] of [
      [[], 'Exchange Administrator'],
      [['Exchange Recipient Administrator'], 'Exchange Administrator'],
    ] as const) {
      const applications = app({ directoryRoles })
      const { exit, lines } = await check(both({ applications }), { target: true })
      assert.equal(exit, EXIT.failed)
      assert.match(lines['Exchange role']!, new RegExp(`Assign the Entra role ${role}`))
      assert.equal(lines.domains, undefined)
    }
  })
})

describe('matoolkit doctor tenant, what a tenant guards', () => {
  it('says who may change administrators', async () => {
    const without = await check(both(), {})
    assert.match(
      without.lines.administrators!,
      /^ok \| .*EntraUser.* fail with 403 .*assign Privileged Authentication Administrator/,
    )
    const directoryRoles = ['Exchange Administrator', 'Privileged Authentication Administrator']
    const { lines } = await check(both({ applications: app({ directoryRoles }) }), {})
    assert.equal(lines.administrators, 'ok | the app may change people with admin roles')
  })

  it('says whether mail may be forwarded to others', async () => {
    for (const [autoForwardingMode, says] of [
      ['On', /^ok \| .*Default On$/],
      ['Automatic', /^warning .*means Off in most tenants.*AutoForwardingMode On/],
      ['Off', /^failed .*Default Off \| .*550 5\.7\.520/],
    ] as const) {
      const { lines } = await check(both({ autoForwardingMode }), {})
      assert.match(lines.forwarding!, says)
    }
  })
})

describe('matoolkit doctor tenant, the other tenant and the script', () => {
  it('a relationship with a third tenant does not count, and the advice names the block that mends it', async () => {
    const asked = { target: true as const, runbook: RUNBOOK }
    const right = await check(both(), { ...asked, partner: id(2) }, AS_WORKER)
    assert.match(right.lines['organisation relationship']!, /^ok \| From Fabrikam \(Inbound\)$/)
    const { exit, lines } = await check(both(), { ...asked, partner: id(77) }, AS_WORKER)
    assert.equal(exit, EXIT.failed)
    assert.match(
      lines['organisation relationship']!,
      /^failed \| none of 1 relationship allows moves \(Inbound\) with tenant .*077.*Block 5 of --script/,
    )
  })

  const printed = async (flags: TenantCheckFlags, env: Record<string, string>) => {
    const io = recordingIo({ width: WIDE })
    // No server listens there: nothing is asked.
    await runTenantCheck(flags, io, configFor('http://127.0.0.1:9', id(1), env))
    return io.outText()
  }

  it('prints PowerShell with this migration’s values and exactly the permissions of the runbook, and asks no tenant', async () => {
    const script = await printed(
      { target: true, runbook: RUNBOOK, partner: id(2), script: true },
      AS_WORKER,
    )
    for (const value of [`$Tenant = '${id(1)}'`, `$Partner = '${id(2)}'`, "$Endpoint = 'fabrikam'"])
      assert.ok(script.includes(value), value)
    assert.match(
      script,
      /New-OrganizationRelationship .* -MailboxMoveCapability Inbound -DomainNames \$Partner/,
    )
    const [, granted = ''] = /'00000003-0000-0000-c000-000000000000' @\((.*)\)/.exec(script) ?? []
    for (const right of ['Mail.Send', 'UserAuthMethod-TAP.ReadWrite.All', 'Policy.Read.Authent'])
      assert.ok(granted.includes(`'${right}`), right)
    assert.ok(
      !granted.includes('SharePoint') && !granted.includes('CrossTenant'),
      'nothing that it does not use',
    )
    assert.ok(!script.includes('RemoteOutbound'), 'the other side has a script of its own')
  })

  it('the source publishes its scope group, and no value ends its quotes', async () => {
    const script = await printed(
      { source: true, runbook: RUNBOOK, partner: "x'; Remove-Mailbox *; '", script: true },
      AS_SOURCE,
    )
    assert.match(script, /\$ScopeGroup = 'migration-scope@fabrikam.example'/)
    assert.match(
      script,
      /Connect-ExchangeOnline[\s\S]*New-ServicePrincipal -AppId \$App.AppId -ObjectId \$Principal.Id/,
    )
    assert.match(script, /RemoteOutbound .*-MailboxMovePublishedScopes \$ScopeGroup/)
    assert.ok(script.includes("$Partner = 'x''; Remove-Mailbox *; '''"))
  })

  it('asks for a side', async () => {
    await assert.rejects(printed({ script: true }, AS_WORKER), /Add --source or --target/)
  })
})

describe('matoolkit doctor tenant, the set-up of mailbox moves', () => {
  const target = (here: Partial<TenantSeed>, env: Record<string, string> = {}) =>
    check(both(here), { target: true, runbook: RUNBOOK }, { ...AS_WORKER, ...env })

  it('names what a target lacks, each with what to do', async () => {
    const { exit, lines } = await target({
      domains: ['contoso.example', 'contoso.mail.example'],
      migrationEndpoints: [{ name: 'other', remoteTenant: 'fabrikam.example' }],
      organizationRelationships: [{ ...inbound, isMoveEnabled: false }],
      skus: DEFAULT_SKUS.map((sku) => ({ ...sku, enabledUnits: 20 })),
    })
    assert.equal(exit, EXIT.failed)
    assert.match(lines['domain contoso.onmicrosoft.com']!, /Correct TargetDeliveryDomain/)
    assert.match(lines['organisation relationship']!, /none of 1 relationship.*Set-Organization/)
    assert.match(lines['migration endpoint fabrikam']!, /the tenant has other/)
    const licence = lines['licence CROSS_TENANT_USER_DATA_MIGRATION']!
    assert.match(licence, /20 of 20 left for 200 people \| Buy 180 more licences/)
  })

  it('names an endpoint without an app, and one whose app the source does not name', async () => {
    const endpoint = { name: 'fabrikam', remoteTenant: 'fabrikam.example' }
    const bare = await target({ migrationEndpoints: [{ ...endpoint, applicationId: null }] })
    assert.match(
      bare.lines['migration endpoint fabrikam']!,
      /^failed \| names no migration app .*Block 4/,
    )
    const other = await target({ migrationEndpoints: [{ ...endpoint, applicationId: id(8) }] })
    assert.match(
      other.lines['migration endpoint fabrikam']!,
      /^failed .*Access is denied.*app .*008.*Block 4/,
    )
  })

  it('names an organisation that is not customised, on either side, and the block that does it', async () => {
    const dehydrated = { isDehydrated: true }
    const { exit, lines } = await target(dehydrated)
    assert.equal(exit, EXIT.failed)
    const says = /^failed \| .*IsDehydrated.*Enable-OrganizationCustomization.*Block 2 of --script/
    assert.match(lines['organisation customisation']!, says)
    assert.match(lines['migration endpoint fabrikam']!, /^ok/, 'the rest is asked all the same')
    const source = await check([fabrikam(dehydrated)], { source: true })
    assert.match(source.lines['organisation customisation']!, says)
  })

  it('names a policy under which nobody gets a pass, or only one that works once', async () => {
    for (const [accessPasses, says] of [
      ['off', /^failed \| they are disabled: each is refused .*Block 6 of --script/],
      ['once', /^warning \| a pass works once.*Block 6 of --script/],
      ['on', /^ok \| enabled, more than once, at most 480 minutes$/],
    ] as const) {
      const { lines } = await target({ accessPasses })
      assert.match(lines['access pass policy']!, says)
    }
    const source = await check([fabrikam()], { source: true, runbook: RUNBOOK }, AS_SOURCE)
    assert.equal(source.lines['access pass policy'], undefined, 'no pass is made there')
  })

  it('names a missing endpoint, and an endpoint that leads nowhere', async () => {
    const none = await target({ migrationEndpoints: [] })
    assert.match(none.lines['migration endpoint']!, /there is none \| Make it with New-Migration/)
    const nowhere = { migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'gone.example' }] }
    const { lines } = await target(nowhere)
    assert.match(lines['migration endpoint fabrikam']!, /^warning .*its test was refused/)
  })

  it('counts licences without people where the CSV lies only on the server', async () => {
    const alone = join(mkdtempSync(join(tmpdir(), 'matoolkit-')), 'full-migration.yaml')
    copyFileSync(RUNBOOK, alone)
    const { lines } = await check(both(), { target: true, runbook: alone }, AS_WORKER)
    const licence = lines['licence CROSS_TENANT_USER_DATA_MIGRATION']!
    assert.equal(licence, 'ok | 10,000 of 10,000 left')
    rmSync(dirname(alone), { recursive: true })
  })

  it('warns where the licence for the move is not in this tenant', async () => {
    const skus = [DEFAULT_SKUS[0]!]
    const { lines } = await check(both({ skus }), { target: true })
    assert.match(lines['licence Cross Tenant User Data Migration']!, /^warning .*source tenant/)
  })

  it('names what a source lacks', async () => {
    const source = (more: Partial<TenantSeed>) => check([fabrikam(more)], { source: true })
    const bare = await source({
      organizationRelationships: [{ ...outbound, applicationId: null }],
      moveScopeGroupId: null,
    })
    assert.equal(bare.exit, EXIT.failed)
    assert.match(bare.lines['migration app']!, /names no app \| Consent to the app/)
    assert.match(bare.lines['scope group']!, /publishes no one \| Make a mail-enabled security/)
    const list = { ...scope, kind: 'distribution' as const, mail: 'movers@fabrikam.example' }
    const { lines } = await source({ groups: [list] })
    assert.match(lines['scope group']!, /is a MailUniversalDistributionGroup \| Publish a mail-en/)
    const wrongWay = await source({ organizationRelationships: [inbound] })
    assert.match(wrongWay.lines['organisation relationship']!, /allows moves \(RemoteOutbound\)/)
  })
})

describe('matoolkit doctor tenant, as a command', () => {
  it('prints advice below the table, and answers in every format', async () => {
    const flags = { source: true as const }
    const tenants = [fabrikam({ organizationRelationships: [] })]
    for (const output of OUTPUT_FORMATS) {
      const { exit, out } = await check(tenants, { ...flags, output })
      assert.equal(exit, EXIT.failed)
      assert.match(out, /none of 0 relationships allows moves/)
    }
    const { out } = await check(tenants, { ...flags, output: 'table' })
    assert.match(out, /^CHECK +STATE +ABOUT\nsign-in +ok/)
  })

  it('refuses both sides at once, and a number of people that is none', async () => {
    const say = async (...args: string[]) => {
      const io = recordingIo({ width: WIDE })
      const code = await run(['doctor', 'tenant', ...args], io, [addDoctorCommands])
      return { code, err: io.errText() }
    }
    const both = await say('--source', '--target')
    assert.equal(both.code, EXIT.usage)
    assert.match(both.err, /either --source or --target/)
    assert.match((await say('--people', 'many')).err, /whole number above 0/)
  })
})
