// The examples of migrations, run in two sandbox tenants: what they promise is in the tenants afterwards. A person who was rolled back is
// migrated by a second attempt.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import type { Seed } from '../../sandbox/state.ts'
import { findMembersByKey } from '../../src/db/state/members.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { rescheduleBatch } from '../../src/engine/orders/batch-actions.ts'
import type { GivenMember } from '../../src/engine/orders/create.ts'
import { approveGate } from '../../src/engine/orders/gates.ts'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import { batchOf, because, order } from './looking.ts'
import { tenantAt, workersIn } from './tenant-workers.ts'
import { START, story, type World } from './world.ts'

const GROUP = '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10'
const OPERATOR = '0b9d7c55-1e2f-4f6a-8d3b-7c6a5e4d3b21'
const HOUR = 3_600
const WORKERS = { 'contoso-worker': 0, 'fabrikam-worker': 1 }
const guid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

type TenantSeed = Seed['tenants'][number]

const contoso = (more: Partial<TenantSeed> = {}): TenantSeed => ({
  domains: ['contoso.example', 'contoso.onmicrosoft.com'],
  migrationEndpoints: [{ name: 'fabrikam', remoteTenant: 'fabrikam.example' }],
  groups: [{ id: GROUP, displayName: 'Newcomers', members: [OPERATOR] }],
  ...more,
  users: [
    { id: OPERATOR, userPrincipalName: 'integration.lead@contoso.example' },
    { userPrincipalName: 'migration@contoso.example', recipient: { kind: 'mailbox' } },
    ...(more.users ?? []),
  ],
})

const sourceUser = (name: string, isOnLitigationHold = false, rights = {}) => ({
  id: idInFabrikam(name),
  userPrincipalName: `${name}@fabrikam.example`,
  proxyAddresses: [
    `SMTP:${name}@fabrikam.example`,
    `x500:/o=Old/cn=${name}`,
    `x500:/o=A/cn=${name}`,
  ],
  recipient: { kind: 'mailbox' as const, isOnLitigationHold, ...rights },
})

const idInFabrikam = (name: string): string => guid(800 + name.charCodeAt(0))

interface Told {
  readonly world: World
  readonly sandbox: Sandbox
  readonly batchId: number
  /** Lets whole hours pass. */
  hours(count: number): Promise<void>
  userOf(
    tenant: number,
    upn: string,
  ): ReturnType<Sandbox['state']>['tenants'][number]['users'][number]
  effects(): string[]
}

async function example(
  file: string,
  seed: Seed,
  members: readonly GivenMember[],
  startsInHours: number,
  tell: (told: Told) => Promise<void>,
): Promise<void> {
  await story({}, async (world) => {
    const timing = { replicationLagSec: 0, exchangeLagSec: 0 }
    const sandbox = await openSandbox({ clock: world.clock, seed, timing })
    try {
      for (const workerId of Object.keys(WORKERS)) {
        const hello = { workerId, version: '1', slots: 100, functions: [] }
        await world.db.transaction((tx) => recordWorker(tx, hello, START))
      }
      world.workers = Object.keys(WORKERS)
      world.answer = workersIn(world, sandbox, WORKERS)
      const path = join(import.meta.dirname, '../../examples', file)
      const { name } = (await world.publish(readFileSync(path, 'utf8'))) as { name?: string }
      const runbookName = name ?? file.replace('.yaml', '')
      const startsInMin = startsInHours * 60
      const batchId = await world.batch(runbookName, members, { startsInMin })
      await tell({
        world,
        sandbox,
        batchId,
        hours: async (count) => {
          for (let hour = 0; hour < count; hour++) await world.pass(HOUR)
        },
        userOf: (tenant, upn) =>
          sandbox.state().tenants[tenant]!.users.find((one) => one.userPrincipalName === upn)!,
        effects: () => sandbox.journal.effects.map(({ what }) => what),
      })
    } finally {
      await sandbox.close()
    }
  })
}

it('user-migration: a new mailbox, mail forwarded there; a failure is rolled back alone', () => {
  const seed: Seed = {
    tenants: [
      contoso({
        users: [{ userPrincipalName: 'ben@contoso.example', recipient: { kind: 'mailbox' } }],
      }),
      { domains: ['fabrikam.example'], users: [sourceUser('ada'), sourceUser('ben')] },
    ],
  }
  const members = ['ada', 'ben'].map((name, at) => ({
    key: guid(at + 1),
    data: {
      SourceObjectId: guid(at + 1),
      DisplayName: name,
      MailNickname: `${name}.new`,
      SourceUpn: `${name}@fabrikam.example`,
      TargetUpn: `${name}@contoso.example`,
      Aliases: [`${name}.one@contoso.example`, `${name}.two@contoso.example`],
    },
  }))
  return example('user-migration.yaml', seed, members, 6 * 24, async (told) => {
    const { hours, userOf, world, batchId } = told
    await hours(14 * 24)
    const ada = userOf(0, 'ada@contoso.example')
    assert.equal(ada.accountEnabled, true)
    assert.deepEqual(ada.proxyAddresses, [
      'SMTP:ada@contoso.example',
      'smtp:ada.new@contoso.onmicrosoft.com',
      'smtp:ada.one@contoso.example',
      'smtp:ada.two@contoso.example',
    ])
    const forwarded = userOf(1, 'ada@fabrikam.example').recipient!.forwardingSmtpAddress
    assert.equal(forwarded, 'ada@contoso.example')
    // Ben's address belongs to somebody else: nothing of theirs was touched, and his mail stays where it is.
    assert.equal(userOf(0, 'ben.new@contoso.onmicrosoft.com').accountEnabled, false)
    assert.equal(userOf(1, 'ben@fabrikam.example').recipient!.forwardingSmtpAddress, null)
    const batch = await batchOf(world, batchId)
    assert.partialDeepStrictEqual(batch, { status: 'completed' })
  })
})

// Ada's mailbox is on hold from the start; Cleo's from two days before the cut-over, when it has been copied already.
it('full-migration: a hold before the copy takes the account back, a later one keeps the copy, both people move at a second attempt, with passes and rights', () => {
  const names = ['ada', 'ben', 'cleo']
  const seed: Seed = {
    tenants: [
      contoso(),
      {
        domains: ['fabrikam.example'],
        users: [
          sourceUser('ada', true, { sendAs: ['ben@fabrikam.example'] }),
          sourceUser('ben', false, { sendOnBehalf: ['cleo'] }),
          sourceUser('cleo'),
        ],
        groups: [
          {
            displayName: 'Scope',
            kind: 'mailEnabledSecurity' as const,
            mail: 'migration-scope@fabrikam.example',
            members: names.map((name) => `${name}@fabrikam.example`),
          },
        ],
      },
    ],
  }
  const members = names.map((name) => ({
    key: `${name}@fabrikam.example`,
    data: {
      UserPrincipalName: `${name}@fabrikam.example`,
      DisplayName: name,
      MailNickname: name,
      SourceObjectId: idInFabrikam(name),
      Department: 'Sales',
      TargetUpn: `${name}@contoso.example`,
    },
  }))
  return example('full-migration.yaml', seed, members, 15 * 24, async (told) => {
    const { world, sandbox, batchId, hours, userOf, effects } = told
    const { signal } = new AbortController()
    const hold = (Identity: string, LitigationHoldEnabled: boolean) =>
      tenantAt(world, sandbox, 1).exchange.run(
        'Set-Mailbox',
        { Identity, LitigationHoldEnabled },
        { signal },
      )
    const failures = async () => (await because(world, 'fail')).join('\n')
    await hours(13 * 24)
    assert.match(await failures(), /is on hold.*Release the holds/)
    assert.equal(userOf(0, 'ada@contoso.onmicrosoft.com'), undefined)
    assert.ok(!effects().includes('migration user removed'), 'nothing was copied of Ada')
    await hold('cleo@fabrikam.example', true)
    await hours(2 * 24 - 12)
    assert.equal((await failures()).match(/is on hold.*Release the holds/g)!.length, 2)
    const kept = userOf(0, 'cleo@contoso.onmicrosoft.com')
    assert.deepEqual([kept.recipient!.kind, kept.accountEnabled], ['mailUser', false])
    assert.ok(!effects().includes('migration user removed'), 'the copy of Cleo is kept')
    const held = ['ada@fabrikam.example', 'cleo@fabrikam.example']
    for (const one of held) await hold(one, false)
    for (const [one, fromStepName] of [
      [held[0]!, 'pre-stage/read-mailbox'],
      [held[1]!, 'verify/read-mailbox-again'],
    ] as const) {
      const [member] = await findMembersByKey(world.db, batchId, [one])
      await retryMembers(world.engine, {
        ...order(batchId),
        memberIds: [member!.id],
        fromStepName,
      })
    }
    await approveGate(world.engine, { ...order(batchId), phaseName: 'cutover' })
    await hours(9 * 24)
    for (const name of names) {
      const here = userOf(0, `${name}@contoso.example`)
      assert.deepEqual([here.recipient!.kind, here.accountEnabled], ['mailbox', true], name)
      assert.equal(userOf(1, `${name}@fabrikam.example`).recipient!.kind, 'mailUser', name)
    }
    const count = (what: string) => effects().filter((one) => one === what).length
    assert.deepEqual(
      [count('mail user created'), count('mail user purged'), count('migration batch created')],
      [4, 1, 1],
      'nobody was created twice but Ada, whose copy had not begun',
    )
    assert.deepEqual([count('mailbox moved'), count('migration user removed')], [3, 0])
    const inContoso = (name: string) => userOf(0, `${name}@contoso.example`)
    assert.deepEqual(inContoso('ada').recipient!.sendAs, ['ben@contoso.example'])
    assert.deepEqual(inContoso('ben').recipient!.sendOnBehalf, ['cleo'])
    assert.deepEqual(inContoso('cleo').recipient!.sendAs, [], 'nobody else has a right')
    const passes = sandbox.journal.effects
      .filter(({ what }) => what === 'mail sent')
      .filter(({ details }) => /^First sign-in/.test((details as { subject: string }).subject))
    assert.equal(passes.length, 3, 'one pass for each, to the manager')
    const isOpenAtSource = (name: string) => userOf(1, `${name}@fabrikam.example`).accountEnabled
    assert.ok(names.every(isOpenAtSource), 'closed a month later, not before')
    await world.pass(22 * 24 * HOUR)
    await hours(6)
    assert.ok(!names.some(isOpenAtSource))
    assert.equal(count('migration user removed'), 3)
    for (const name of names) assert.equal(inContoso(name).recipient!.kind, 'mailbox', name)
  })
})

it('announced-wave: each is told in their language, and a new date is corrected once', () => {
  const names = ['ada', 'ben', 'chloe']
  const users = names.map((name) => ({ userPrincipalName: `${name}@contoso.example` }))
  const languages = ['de-AT', 'en', 'fr']
  const members = names.map((name, at) => ({
    key: `${name}@contoso.example`,
    data: {
      UserPrincipalName: `${name}@contoso.example`,
      Mail: `${name}@contoso.example`,
      DisplayName: name,
      PreferredLanguage: languages[at]!,
    },
  }))
  const seed = { tenants: [contoso({ users }), { domains: ['fabrikam.example'] }] }
  return example('announced-wave.yaml', seed, members, 15 * 24, async (told) => {
    const { hours, world, batchId, sandbox } = told
    const mails = () =>
      sandbox.journal.effects
        .filter(({ what }) => what === 'mail sent')
        .map(({ details }) => (details as { subject: string }).subject)
    await hours(25)
    assert.deepEqual(mails(), [
      'Ihr Umzug am Dienstag, 17. März 2026',
      'You move on Tuesday, 17 March 2026',
      'You move on Tuesday, 17 March 2026',
    ])
    const startTime = new Date(+START + 17 * 24 * HOUR * 1_000)
    await rescheduleBatch(world.engine, { ...order(batchId), startTime, allowOverdue: false })
    await hours(2)
    const corrections = [
      'Neuer Termin: Donnerstag, 19. März 2026',
      'New date: Thursday, 19 March 2026',
    ]
    assert.deepEqual(mails().slice(3), [...corrections, corrections[1]])
    await world.pass(16 * 24 * HOUR)
    assert.deepEqual(mails().slice(6), [
      'Ihr Umzug ist morgen',
      'Your move is tomorrow',
      'Your move is tomorrow',
      'Sie sind umgezogen',
      'You have moved',
      'You have moved',
    ])
    assert.partialDeepStrictEqual(await batchOf(world, batchId), { status: 'completed', failed: 0 })
  })
})
