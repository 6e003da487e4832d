// A sandbox tenant behind a faulty proxy, with a fleet that works in it by the real functions over the real client. The sandbox's journal
// is the judge of what the tenant holds.
import { join } from 'node:path'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import { Fleet } from './fleet.ts'
import { chaosDoor } from './process.ts'
import { startProxy, type TcpProxy } from './proxy.ts'
import { WORKER_ID } from './runbooks.ts'
import { type ChaosOptions, type ChaosSetup, givenUp, openSetup, type Verdict } from './world.ts'

const clock = realClock()
const GROUP_ID = '00000000-0000-4000-8000-000000000100'
const TENANT = 'tenant'
const ORCHESTRATORS = 2
const WORKERS = 2

const step = (name: string, functionName: string, params: string, more = ''): string => `
      - name: ${name}
        worker_id: ${WORKER_ID}
        function: ${functionName}
        params: { ${params} }${more}`

const YAML = `
name: ${TENANT}
data_source: { type: csv, path: m.csv, primary_key: Upn, batch_time_column: When, columns: [Upn, Nick, When] }
retry: { max_retries: 90, interval: 1s }
safeguards: { max_failed_percent: 100 }
phases:
  - name: prepare
    offset: T-0
    steps:${step('create', 'New-EntraUser', 'UserPrincipalName: "{{Upn}}", DisplayName: "{{Nick}}", MailNickname: "{{Nick}}"', '\n        output_params: { AccountId: Id }')}${step('department', 'Set-EntraUserAttribute', 'UserId: "{{AccountId}}", AttributeName: department, Value: Sales')}${step('address', 'Set-EntraUserAttribute', 'UserId: "{{AccountId}}", AttributeName: mail, Value: "{{Nick}}@fabrikam.example"')}
  - name: cutover
    offset: T-0
    steps:${step('join', 'Add-EntraGroupMember', `GroupId: "${GROUP_ID}", UserId: "{{AccountId}}"`)}${step('licence', 'Add-EntraUserLicense', 'UserId: "{{AccountId}}", SkuId: AAD_PREMIUM, UsageLocation: US')}${step('invite', 'New-EntraB2BInvitation', 'UserId: "{{AccountId}}", InvitedUserEmailAddress: "{{Nick}}@fabrikam.example"')}
`
/**
 * What the tenant must show for each member: account, department, address, group, usage location, licence and invitation. The tenant
 * itself refuses or ignores a second one of each but the last: only repeated invitations show that a worker did not look first.
 */
const CHANGES_EACH = 7

export interface TenantWorld {
  readonly sandbox: Sandbox
  /** Between the workers and the tenant. */
  readonly proxy: TcpProxy
  readonly setup: ChaosSetup
  readonly fleet: Fleet
  /** Ends everything. */
  close(): Promise<void>
}

/** Names of people that no other batch has. */
export function newNicks(count: number): string[] {
  const stem = `u${clock.now().getTime()}`
  return Array.from({ length: count }, (_, index) => `${stem}x${index}`)
}

/** A batch whose cut-over is now. */
export async function createTenantBatch(db: Db, nicks: readonly string[]): Promise<number> {
  const sourceTime = clock.now()
  const { batchId } = await createBatch(chaosDoor(db, clock), {
    runbookName: TENANT,
    sourceTime,
    members: nicks.map((nick) => {
      const key = `${nick}@contoso.example`
      return { key, data: { Upn: key, Nick: nick } }
    }),
    createdBy: 'chaos',
  })
  return batchId
}

/** Opens the world, starts its fleet, and closes everything however `work` ends. */
export async function inTenantWorld(
  { seed, giveUp }: ChaosOptions,
  work: (world: TenantWorld) => Promise<Verdict>,
): Promise<Verdict> {
  const world = await openTenantWorld(seed)
  try {
    await world.fleet.start()
    return await Promise.race([work(world), givenUp(giveUp)])
  } finally {
    await world.close()
  }
}

async function openTenantWorld(seed: number): Promise<TenantWorld> {
  const setup = await openSetup(seed)
  const sandbox = await openSandbox({
    clock,
    timing: { replicationLagSec: 0, exchangeLagSec: 0 },
    seed: {
      tenants: [
        { domains: ['contoso.example'], groups: [{ id: GROUP_ID, displayName: 'Newcomers' }] },
      ],
    },
  })
  await publishRunbook(chaosDoor(setup.db, clock), { yaml: YAML, publishedBy: 'chaos' })
  const proxy = await startProxy(Number(new URL(sandbox.url).port))
  const tenant = {
    url: `http://127.0.0.1:${proxy.port}`,
    tenantId: sandbox.state().tenants[0]!.id,
    vaultFolder: join(setup.folder, 'vault'),
  }
  const fleet = new Fleet([
    ...Array.from({ length: ORCHESTRATORS }, (_, at) =>
      setup.partOf(`orchestrator-${at + 1}`, ['orchestrator']),
    ),
    ...Array.from({ length: WORKERS }, (_, at) =>
      setup.partOf(`worker-${at + 1}`, ['worker'], { tenant }),
    ),
  ])
  const close = async () => {
    await fleet.killAll()
    await proxy.close()
    await sandbox.close()
    await setup.close()
  }
  return { sandbox, proxy, setup, fleet, close }
}

export const changesOf = ({ journal }: Sandbox) =>
  journal.effects.filter(({ clientId }) => clientId !== null)

/** Every member has its own account with department, group and licence, and no change was made twice. */
export async function wrongInTenant(db: Db, sandbox: Sandbox): Promise<string[]> {
  const members = await db.query<{ key: string; status: string; account: string | null }>(
    `select m.member_key as key, m.status, m.worker_data_json->>'AccountId' as account from batch_members m join batches b on b.id = m.batch_id
      where b.runbook_name = '${TENANT}'`,
  )
  const [tenant] = sandbox.state().tenants
  const users = Map.groupBy(tenant!.users, ({ userPrincipalName }) => userPrincipalName)
  const inGroup = new Set(tenant!.groups[0]!.members)
  const wrong = members.flatMap(({ key, status, account }) => {
    const [user, ...others] = users.get(key) ?? []
    const isWhole =
      user !== undefined &&
      others.length === 0 &&
      user.id === account &&
      user.attributes.department === 'Sales' &&
      inGroup.has(user.id)
    // A member who has passed everything stays active; the others are failed or removed.
    return status === 'active' && isWhole ? [] : [`${key} is ${status} and not whole in the tenant`]
  })
  const changes = changesOf(sandbox)
  const same = Map.groupBy(changes, ({ what, id, details }) => JSON.stringify([what, id, details]))
  const twice = [...same].filter(([, times]) => times.length > 1)
  const expected = members.length * CHANGES_EACH
  return [
    ...wrong,
    ...twice.map(([change, times]) => `the tenant did ${change} ${times.length} times`),
    ...(changes.length !== expected ? [`${changes.length} changes, ${expected} expected`] : []),
  ].slice(0, 20)
}
