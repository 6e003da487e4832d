// The reference runbook for 200 people in two sandbox tenants, whose people a source names, while five things happen that happen in every
// migration. What must not have happened is asserted too: to colleagues in both tenants, and to what is stored.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { openSandbox, type Sandbox } from '../../../sandbox/sandbox.ts'
import type { Seed, User } from '../../../sandbox/state.ts'
import { findMembersByKey } from '../../../src/db/state/members.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import { approveGate } from '../../../src/engine/orders/gates.ts'
import { removeMembers } from '../../../src/engine/orders/member-actions.ts'
import { order } from '../../stories/looking.ts'
import { type Programme, startProgramme } from '../../stories/programme.ts'
import { tenantAt, workersIn } from '../../stories/tenant-workers.ts'
import { START, story, type World } from '../../stories/world.ts'

const PEOPLE = 200
const DAY_SEC = 86_400
const NEWCOMERS = '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10'
const E3 = '6fd2c87f-b296-42f0-b197-1e91e994b900'
const WORKERS = { 'contoso-worker': 0, 'fabrikam-worker': 1 }
const yaml = readFileSync(
  join(import.meta.dirname, '../../../examples/full-migration.yaml'),
  'utf8',
)

const name = (number: number): string => `person${number}`
const guid = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
/** Who is disturbed, and by what. */
const [GUEST, NAMESAKE, DEPARTMENT, MARRIED, HELD, SLOW] = [3, 7, 11, 12, 13, 17]
const STAY = [GUEST, NAMESAKE, MARRIED, HELD, SLOW]
const GIGABYTE = 1024 ** 3

type UserSeed = NonNullable<Seed['tenants'][number]['users']>[number]

const inFabrikam = (number: number): UserSeed => ({
  id: guid(number),
  userPrincipalName: `${name(number)}@fabrikam.example`,
  mailNickname: name(number),
  proxyAddresses: [`SMTP:${name(number)}@fabrikam.example`, `x500:/o=Old/cn=${name(number)}`],
  recipient: {
    kind: 'mailbox',
    // Nearly all of a large mailbox is copied by the day before.
    sizeBytes: number === SLOW ? 99 * GIGABYTE : GIGABYTE,
    // The person whose name a stranger has in Contoso may send as the next one.
    sendAs: number === NAMESAKE + 1 ? [`${name(NAMESAKE)}@fabrikam.example`] : [],
  },
})

/** They have nothing to do with the migration. */
const bystander = (domain: string, who: string, more: Partial<UserSeed> = {}): UserSeed => ({
  userPrincipalName: `${who}@${domain}`,
  mailNickname: who,
  proxyAddresses: [`SMTP:${who}@${domain}`],
  assignedLicenses: [{ skuId: E3 }],
  recipient: { kind: 'mailbox', sendOnBehalf: [`lead@${domain}`] },
  ...more,
})

/** A colleague of Contoso with the alias, the names and the address that person 7 is to get, and a guest who is person 3. */
const COLLEAGUE = bystander('contoso.example', name(NAMESAKE), {
  userPrincipalName: `${name(NAMESAKE)}@contoso.onmicrosoft.com`,
})
const GUEST_ACCOUNT: UserSeed = {
  userPrincipalName: `${name(GUEST)}_fabrikam.example#EXT#@contoso.onmicrosoft.com`,
  mailNickname: `${name(GUEST)}_fabrikam.example#EXT#`,
  userType: 'Guest',
  creationType: 'Invitation',
  externalUserState: 'Accepted',
  mail: `${name(GUEST)}@fabrikam.example`,
  proxyAddresses: [`SMTP:${name(GUEST)}@fabrikam.example`],
  recipient: { kind: 'mailUser', externalEmailAddress: `${name(GUEST)}@fabrikam.example` },
}

const numbers = Array.from({ length: PEOPLE }, (_, at) => at + 1)
const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example', 'contoso.onmicrosoft.com'],
      migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
      users: [
        { userPrincipalName: 'integration.lead@contoso.example' },
        bystander('contoso.example', 'migration'),
        bystander('contoso.example', 'lead'),
        COLLEAGUE,
        GUEST_ACCOUNT,
      ],
      groups: [{ id: NEWCOMERS, displayName: 'Newcomers', members: [COLLEAGUE.userPrincipalName] }],
    },
    {
      domains: ['fabrikam.example'],
      users: [
        ...numbers.map(inFabrikam),
        bystander('fabrikam.example', 'lead'),
        bystander('fabrikam.example', 'stays'),
      ],
      groups: [
        {
          displayName: 'Scope',
          kind: 'mailEnabledSecurity',
          mail: 'migration-scope@fabrikam.example',
          members: numbers.map((number) => `${name(number)}@fabrikam.example`),
        },
      ],
    },
  ],
}

const CUTOVER = new Date(+START + 15 * DAY_SEC * 1_000).toISOString()
const rowsNow = (change: (number: number) => Record<string, string> = () => ({})) =>
  numbers.map((number) => ({
    UserPrincipalName: `${name(number)}@fabrikam.example`,
    SourceObjectId: guid(number),
    DisplayName: `Person ${number}`,
    Department: 'Sales',
    MailNickname: name(number),
    TargetUpn: `${name(number)}@contoso.example`,
    CutoverTime: CUTOVER,
    ...change(number),
  }))

/** Everybody who does not move, with their groups, in both tenants. */
const othersIn = (sandbox: Sandbox): unknown =>
  sandbox.state().tenants.map(({ users, groups }) =>
    users.filter(isOther).map((one) => ({
      ...one,
      groups: groups.filter(({ members }) => members.includes(one.id)).map((group) => group.mail),
    })),
  )

const SEEDED = [COLLEAGUE, GUEST_ACCOUNT].map((one) => one.userPrincipalName)
const isOther = ({ userPrincipalName: upn }: User): boolean =>
  SEEDED.includes(upn) || !/^(?:person\d+|married)@/.test(upn)

/** What the tenants and the engine say about a person. */
function lookOf(world: World, sandbox: Sandbox) {
  const tenant = (at: number) => sandbox.state().tenants[at]!
  return {
    inContoso: (number: number) =>
      tenant(0).users.find(
        (one) => !isOther(one) && one.userPrincipalName.startsWith(`${name(number)}@`),
      ),
    inFabrikam: (number: number) => tenant(1).users.find(({ id }) => id === guid(number))!,
    moveOf: (number: number) =>
      tenant(0)
        .migrationBatches.flatMap(({ mailboxMoves }) => mailboxMoves)
        .find(({ address }) => address === `${name(number)}@contoso.example`),
    whyFailed: async (number: number) => {
      const rows = await world.db.query<{ because: string }>(
        `select e.because from events e join batch_members m on m.id = e.batch_member_id
          where m.key_folded = $1 and e.event in ('fail', 'time_out') order by e.id`,
        [`${name(number)}@fabrikam.example`],
      )
      return rows.map(({ because }) => because).join('\n')
    },
  }
}
type Look = ReturnType<typeof lookOf>

const moved = numbers.filter((number) => !STAY.includes(number))

function assertMoved({ inContoso, inFabrikam }: Look): void {
  for (const number of moved) {
    const here = inContoso(number)!
    assert.deepEqual([here.recipient?.kind, here.accountEnabled], ['mailbox', true], name(number))
    assert.equal(here.userPrincipalName, `${name(number)}@contoso.example`)
    assert.equal(inFabrikam(number).recipient?.kind, 'mailUser')
  }
}

/** Copies, accounts and rights are as they were; no one was signed out or locked out. */
function assertStayed({ inContoso, inFabrikam, moveOf }: Look): void {
  for (const number of [MARRIED, HELD, SLOW]) {
    const { recipient, accountEnabled } = inContoso(number)!
    assert.deepEqual([recipient?.kind, accountEnabled], ['mailUser', false], name(number))
    assert.match(moveOf(number)!.status, /^Sync/, 'the copy is kept')
  }
  for (const number of STAY) {
    const { recipient, accountEnabled, signInSessionsValidFromDateTime } = inFabrikam(number)
    const state = [recipient?.kind, accountEnabled, signInSessionsValidFromDateTime]
    assert.deepEqual(state, ['mailbox', true, null], name(number))
  }
  for (const number of [GUEST, NAMESAKE]) assert.equal(inContoso(number), undefined)
  assert.deepEqual(inContoso(NAMESAKE + 1)!.recipient!.sendAs, [], 'not the colleague')
}

/** Every row of every table, as text. */
async function everythingStored({ db }: World): Promise<string> {
  const tables = await db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  assert.ok(tables.length > 20)
  const texts: string[] = []
  for (const { name: table } of tables) {
    const rows = await db.query<{ row: string }>(
      `select to_jsonb(t)::text as row from "${table}" t`,
    )
    texts.push(...rows.map(({ row }) => row))
  }
  return texts.join('\n')
}

async function assertPassesAreHandedOut(world: World, sandbox: Sandbox): Promise<void> {
  const passes = sandbox.journal.effects.flatMap(({ what, details }) => {
    const { subject, text } = details as { subject?: string; text?: string }
    return what === 'mail sent' && subject?.startsWith('First sign-in') ? [String(text)] : []
  })
  assert.equal(passes.length, moved.length, 'one pass for each person who moved')
  const stored = await everythingStored(world)
  assert.match(stored, /access-pass-/, 'the reference is stored')
  for (const text of passes) {
    const value = /today: (\S+)$/.exec(text)![1]!
    assert.ok(value.length >= 8 && !stored.includes(value), 'the value is not')
  }
}

const afterHr = (number: number): Record<string, string> =>
  number === DEPARTMENT
    ? { Department: 'Finance' }
    : number === MARRIED
      ? { DisplayName: 'Person Twelve', TargetUpn: 'married@contoso.example' }
      : {}

async function tell(programme: Programme, sandbox: Sandbox): Promise<void> {
  const look = lookOf(programme, sandbox)
  const before = othersIn(sandbox)
  const unharmed = (when: string) => assert.deepEqual(othersIn(sandbox), before, when)
  programme.rows = rowsNow()
  await programme.tickUntil(3 * 24, 12)
  unharmed('after the pre-stage')
  assert.match(await look.whyFailed(GUEST), /GuestMailUser.*do not delete it: convert it/)
  assert.match(await look.whyFailed(NAMESAKE), /belongs to someone here/)

  programme.rows = rowsNow(afterHr)
  await programme.tickUntil(12 * 24, 12)
  const hold = { Identity: `${name(HELD)}@fabrikam.example`, LitigationHoldEnabled: true }
  const { exchange } = tenantAt(programme, sandbox, 1)
  await exchange.run('Set-Mailbox', hold, { signal: new AbortController().signal })
  await programme.tickUntil(15 * 24 - 1, 1)
  assert.match(await look.whyFailed(HELD), /is on hold/)
  assert.equal(look.moveOf(SLOW)?.status, 'Syncing')
  const [batch] = await programme.db.query<{ id: number }>('select id from batches')
  const batchId = batch!.id
  await approveGate(programme.engine, { ...order(batchId), phaseName: 'cutover' })
  await programme.tickUntil(15 * 24 + 12, 1)
  unharmed('after the cut-over')
  assertMoved(look)
  assertStayed(look)

  await programme.tickUntil(19 * 24, 12)
  await assertPassesAreHandedOut(programme, sandbox)

  // They leave the wave. The colleague and the guest of their names are others.
  const keys = [GUEST, NAMESAKE, HELD].map((number) => `${name(number)}@fabrikam.example`)
  const leaving = await findMembersByKey(programme.db, batchId, keys)
  const memberIds = leaving.map(({ id }) => id)
  await removeMembers(programme.engine, { ...order(batchId), by: 'operator', memberIds })
  await programme.tickUntil(50 * 24, 24)
  unharmed('after the clean-up')
  const isOpen = (number: number) => look.inFabrikam(number).accountEnabled
  assert.ok(STAY.every(isOpen))
  assert.ok(!moved.some(isOpen))
}

it('harms no one when a department changes, a guest exists, a hold appears, a colleague has the alias and a copy is not done', () =>
  story({}, async (world) => {
    const timing = { replicationLagSec: 0, exchangeLagSec: 0, mailboxMoveSyncSec: 3 * DAY_SEC }
    const sandbox = await openSandbox({ clock: world.clock, seed: SEED, timing })
    try {
      for (const workerId of Object.keys(WORKERS)) {
        const hello = { workerId, version: '1', slots: 1_000, functions: [] }
        await world.db.transaction((tx) => recordWorker(tx, hello, START))
      }
      world.workers = Object.keys(WORKERS)
      world.answer = workersIn(world, sandbox, WORKERS)
      await tell(await startProgramme(world, yaml), sandbox)
    } finally {
      await sandbox.close()
    }
  }))
