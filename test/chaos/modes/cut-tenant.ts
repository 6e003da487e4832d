// The connection to the tenant is cut, silent or slow, again and again, and workers die meanwhile: the real functions over the real
// client against a sandbox behind a faulty proxy. The sandbox's journal is the judge: every change once, for every member.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../../src/clock.ts'
import type { Db } from '../../../src/db/db.ts'
import { createBatch } from '../../../src/engine/create.ts'
import { publishRunbook } from '../../../src/engine/publish.ts'
import { openSandbox, type Sandbox } from '../../../src/sandbox/sandbox.ts'
import { seeded } from '../../seeded.ts'
import { missingAcknowledged, unhealthy } from '../checks.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor } from '../process.ts'
import { startProxy, type TcpProxy } from '../proxy.ts'
import { WORKER_ID } from '../runbooks.ts'
import { brokenInvariantsOf, makeWatcher } from '../watcher.ts'
import {
  batchAfterBatch,
  type ChaosOptions,
  type ChaosSetup,
  givenUp,
  harmOf,
  heal,
  openSetup,
  settle,
  type Verdict,
} from '../world.ts'

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
    steps:${step('create', 'New-EntraUser', 'UserPrincipalName: "{{Upn}}", DisplayName: "{{Nick}}", MailNickname: "{{Nick}}"', '\n        output_params: { AccountId: Id }')}${step('department', 'Set-EntraUserAttribute', 'UserId: "{{AccountId}}", AttributeName: department, Value: Sales')}
  - name: cutover
    offset: T-0
    steps:${step('join', 'Add-EntraGroupMember', `GroupId: "${GROUP_ID}", UserId: "{{AccountId}}"`)}${step('licence', 'Add-EntraUserLicense', 'UserId: "{{AccountId}}", SkuId: AAD_PREMIUM, UsageLocation: US')}
`
/** What the tenant must show for each member: account, department, group, usage location and licence. */
const CHANGES_EACH = 5

interface Cut {
  readonly sandbox: Sandbox
  readonly proxy: TcpProxy
  readonly setup: ChaosSetup
  readonly fleet: Fleet
}

async function createTenantBatch(db: Db, members: number): Promise<number> {
  const sourceTime = clock.now()
  const { batchId } = await createBatch(chaosDoor(db, clock), {
    runbookName: TENANT,
    sourceTime,
    members: Array.from({ length: members }, (_, index) => {
      const nick = `u${sourceTime.getTime()}x${index}`
      const key = `${nick}@contoso.example`
      return { key, data: { Upn: key, Nick: nick } }
    }),
    createdBy: 'chaos',
  })
  return batchId
}

const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 3_000
const CUT_MAX_MS = 8_000
const CUTS = ['reset', 'stall', 'cut', 'trickle'] as const

async function cutTenant({ proxy, fleet }: Cut, seed: number, over: AbortSignal): Promise<void> {
  const pick = seeded(seed)
  while (!over.aborted) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS), over)
    if (over.aborted) return
    const [how, ms] = [CUTS[pick(CUTS.length)]!, 500 + pick(CUT_MAX_MS)]
    const happened = { at: Date.now(), what: `${how} for ${ms} ms`, who: 'tenant', until: 0 }
    fleet.happened.push(happened)
    proxy.become(how)
    await clock.wait(ms / 2, over)
    const workers = fleet.atWork('worker')
    if (pick(2) === 0 && workers.length > 0) fleet.kill(workers[pick(workers.length)]!)
    await clock.wait(ms / 2, over)
    // A silent connection stays silent until somebody ends it; the functions would wait 100 s for it.
    proxy.become('reset')
    proxy.become('pass')
    happened.until = Date.now()
  }
}

async function openCut({ seed }: ChaosOptions): Promise<Cut> {
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
  return { sandbox, proxy, setup, fleet }
}

async function run(options: ChaosOptions): Promise<Verdict> {
  const cut = await openCut(options)
  try {
    await cut.fleet.start()
    return await Promise.race([cutAndHeal(options, cut), givenUp(options.giveUp)])
  } finally {
    await cut.fleet.killAll()
    await cut.proxy.close()
    await cut.sandbox.close()
    await cut.setup.close()
    rmSync(cut.setup.folder, { recursive: true, force: true })
  }
}

async function cutAndHeal(options: ChaosOptions, cut: Cut): Promise<Verdict> {
  const { setup, fleet, sandbox } = cut
  const { db, folder } = setup
  const startedAt = Date.now()
  const watcher = makeWatcher(db, fleet, clock)
  const [over, harmOver] = [new AbortController(), new AbortController()]
  const watching = watcher.watch(over.signal)
  const create = (members: number) => createTenantBatch(db, members)
  const batchIds = [await create(options.members)]
  const harming = cutTenant(cut, options.seed, harmOver.signal)
  const endsAt = startedAt + options.minutes * 60_000
  const ran = await batchAfterBatch(options, { create, watcher, batchIds, endsAt })
  harmOver.abort()
  await harming
  options.say('the tenant is reachable again; healing')
  const healed = await heal(fleet, watcher, ran.openBatchId)
  over.abort()
  await watching
  const findings = [
    ...ran.findings,
    ...healed,
    ...(await settle(fleet, db)),
    ...fleet.findings,
    ...watcher.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingAcknowledged(db, folder)),
    ...(await unhealthy(db)),
    ...(await wrongInTenant(db, sandbox)),
    ...readJournals(folder, 'noticed')
      .filter(({ what }) => what === 'unexpected')
      .map(({ name, message }) => `${name}: ${message}`),
  ]
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    members: batchIds.length * options.members,
    changes: changesOf(sandbox).length,
    requests: sandbox.journal.requestsMade,
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
    invariantSamples: watcher.samples.invariants,
  }
  const { seed, minutes, members } = options
  const again = `npm run chaos -- --mode cut-tenant --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

const changesOf = ({ journal }: Sandbox) =>
  journal.effects.filter(({ clientId }) => clientId !== null)

/** Every member has its account with department, group and licence, and no change was made twice. */
async function wrongInTenant(db: Db, sandbox: Sandbox): Promise<string[]> {
  const members = await db.query<{ key: string; status: string }>(
    `select m.member_key as key, m.status from batch_members m join batches b on b.id = m.batch_id
      where b.runbook_name = '${TENANT}'`,
  )
  const [tenant] = sandbox.state().tenants
  const users = Map.groupBy(tenant!.users, ({ userPrincipalName }) => userPrincipalName)
  const inGroup = new Set(tenant!.groups[0]!.members)
  const wrong = members.flatMap(({ key, status }) => {
    const [user, ...others] = users.get(key) ?? []
    const isWhole =
      user !== undefined &&
      others.length === 0 &&
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

export const cutTenantMode: ChaosMode = {
  name: 'cut-tenant',
  sabotage:
    'the connection to the tenant reset, silent, cut in the middle or slow for up to 8 s, again and again; workers killed meanwhile',
  holds:
    'every member completes, the tenant has every change exactly once, every acknowledged result is stored, all invariants, no dead letter',
  run,
}
