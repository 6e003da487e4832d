// A wave of people: few calls to the tenant serve all of them, everybody gets an own answer, and nobody is touched who must not be.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RequestMade } from '../../../sandbox/journal.ts'
import type { Seed } from '../../../sandbox/state.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import type { Params } from './cases.ts'
import type { WithinOptions } from './setting.ts'
import { id, NEWCOMERS, NOBODY, UNDER_WAY } from './tenants.ts'
import { type Wave, withinWave } from './wave.ts'

const PEOPLE = 2_000
const WAVE = {
  BatchName: 'wave 1',
  SourceEndpoint: 'fabrikam',
  TargetDeliveryDomain: 'contoso.onmicrosoft.com',
}
const LIST = 'all@contoso.example'

const addressOf = (person: number) => `p${person}@contoso.example`
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)
const idOf = (person: number) => id(10_000 + person)

/** So many people in the target tenant, with a part of them in the group and on the list. */
const peopled = (count: number, members = 0): WithinOptions => ({
  seeded: (seed) => {
    const [target, ...others] = seed.tenants
    const users = numbers(count).map((person) => ({
      id: idOf(person),
      userPrincipalName: addressOf(person),
      mailNickname: `p${person}`,
      mail: addressOf(person),
      proxyAddresses: [`SMTP:${addressOf(person)}`],
      recipient: { kind: 'mailUser' as const, externalEmailAddress: `p${person}@fabrikam.example` },
    }))
    const groups = (target!.groups ?? []).map((group) =>
      group.id === NEWCOMERS || group.mail === LIST
        ? { ...group, members: [...(group.members ?? []), ...numbers(members).map(idOf)] }
        : group,
    )
    const peopledTarget = { ...target!, groups, users: [...(target!.users ?? []), ...users] }
    return { tenants: [peopledTarget, ...others] } as Seed
  },
})

/** So many people in the batch of the wave already. */
const moving = (
  count: number,
  statusOf: (person: number) => 'Synced' | 'Syncing' | 'Failed',
): WithinOptions => ({
  seeded: ({ tenants: [target, ...others] }) => {
    const wave = {
      ...UNDER_WAY,
      id: id(701),
      name: WAVE.BatchName,
      mailboxMoves: numbers(count).map((person) => ({
        ...UNDER_WAY.mailboxMoves[0],
        guid: id(20_000 + person),
        address: addressOf(person),
        status: statusOf(person),
        dueAt: null,
      })),
    }
    return { tenants: [{ ...target!, migrationBatches: [wave] }, ...others] } as Seed
  },
})

const story = (title: string, options: WithinOptions, tell: (wave: Wave) => Promise<void>) =>
  it(title, () => withinWave(options, tell))

const waveOf = ({ setting }: Wave) =>
  setting.sandbox.state().tenants[0]!.migrationBatches.find(({ name }) => name === WAVE.BatchName)!

const statusesOf = (results: readonly JobResult[]) => ({
  succeeded: results.filter(({ status }) => status === 'Success').length,
  failed: results.filter(({ status }) => status === 'Failure').length,
})
const resultOf = ({ result }: JobResult) => result as Record<string, never>
const cmdletsOf = (requests: readonly RequestMade[]) =>
  Object.fromEntries(
    [...Map.groupBy(requests, ({ cmdlet, method, path }) => cmdlet ?? `${method} ${path}`)].map(
      ([name, made]) => [name, made.length],
    ),
  )

describe('a wave of mailbox moves', () => {
  story('is added to its batch in few calls, and once', {}, async (wave) => {
    const all = numbers(PEOPLE).map((person) => ({ ...WAVE, Identity: addressOf(person) }))
    const added = await wave.run('Add-MigrationUser', all)
    assert.deepEqual(statusesOf(added.results), { succeeded: PEOPLE, failed: 0 })
    assert.ok(added.results.every((one) => resultOf(one).Changed))
    assert.ok(added.requests.length <= 25, JSON.stringify(cmdletsOf(added.requests)))
    const writes = added.requests.filter(({ cmdlet }) => !cmdlet?.startsWith('Get-'))
    assert.ok(writes.length <= 4, JSON.stringify(cmdletsOf(writes)))
    assert.equal(waveOf(wave).mailboxMoves.length, PEOPLE)
    assert.equal(waveOf(wave).completeAfter, null)

    const again = await wave.run('Add-MigrationUser', all.slice(0, 100))
    assert.ok(again.results.every((one) => resultOf(one).Changed === (false as never)))
    assert.deepEqual(Object.keys(cmdletsOf(again.requests)), ['Get-MigrationUser'])
    assert.equal(waveOf(wave).mailboxMoves.length, PEOPLE, 'nobody twice')
  })

  const half = moving(PEOPLE, (at) => (at % 2 === 0 ? 'Synced' : 'Syncing'))
  for (const [how, named] of [
    ['by the name of its batch', { BatchName: WAVE.BatchName }],
    ['without that name', {}],
  ] as const)
    story(`is polled in ten calls or fewer, ${how}`, half, async (wave) => {
      const asked = numbers(PEOPLE).map((person) => ({
        Identity: addressOf(person),
        WaitFor: 'Synced',
        ...named,
      }))
      const { results, requests } = await wave.run('Test-MigrationUser', asked, { isPolled: true })
      assert.deepEqual(statusesOf(results), { succeeded: PEOPLE, failed: 0 })
      for (const [at, one] of results.entries())
        assert.equal(resultOf(one).complete, at % 2 === 0, addressOf(at))
      assert.ok(requests.length <= 10, JSON.stringify(cmdletsOf(requests)))
      assert.deepEqual(Object.keys(cmdletsOf(requests)), ['Get-MigrationUser'])
    })
})

describe('a wave whose answer was lost', () => {
  for (const on of ['New-MigrationBatch', 'Set-MigrationBatch'])
    for (const fault of ['drop-after', 'error-after'] as const)
      story(`is not added twice: ${on}, ${fault}`, {}, async (wave) => {
        const { sandbox, effects } = wave.setting
        sandbox.setFaults({ script: [{ on, fault }] })
        const all = numbers(100).map((person) => ({ ...WAVE, Identity: addressOf(person) }))
        const { results } = await wave.run('Add-MigrationUser', all)
        assert.deepEqual(statusesOf(results), { succeeded: 100, failed: 0 })
        assert.ok(results.every((one) => resultOf(one).Changed))
        const addresses = waveOf(wave).mailboxMoves.map(({ address }) => address)
        assert.deepEqual([addresses.length, new Set(addresses).size], [100, 100])
        assert.equal(effects().filter((what) => what === 'migration batch created').length, 1)
      })
})

describe('one bad person among a hundred', () => {
  const hundred = (bad: Params): Params[] => {
    const all: Params[] = numbers(99).map((person) => ({ ...WAVE, Identity: addressOf(person) }))
    return all.toSpliced(40, 0, { ...WAVE, ...bad })
  }

  story('who is in another batch stays there, and the others are added', {}, async (wave) => {
    await wave.run('Add-MigrationUser', [{ ...WAVE, BatchName: 'wave 0', Identity: 'x@y.example' }])
    const { results, requests } = await wave.run(
      'Add-MigrationUser',
      hundred({ Identity: 'x@y.example' }),
    )
    assert.deepEqual(statusesOf(results), { succeeded: 99, failed: 1 })
    const { error } = results[40]!
    assert.match(error!.message, /"x@y\.example" is in migration batch "wave 0" already/)
    assert.equal(error!.effect, 'none', 'so no rollback takes the person out of the other batch')
    assert.equal(waveOf(wave).mailboxMoves.length, 99)
    assert.ok(requests.length <= 25, JSON.stringify(cmdletsOf(requests)))
  })

  story('refused by Exchange fails alone, after a few more calls', {}, async (wave) => {
    // An address for us, but not for Exchange: the domain has no dot.
    const { results, requests } = await wave.run('Add-MigrationUser', hundred({ Identity: 'a@b' }))
    assert.deepEqual(statusesOf(results), { succeeded: 99, failed: 1 })
    assert.match(results[40]!.error!.message, /"a@b" isn't an address/)
    assert.equal(waveOf(wave).mailboxMoves.length, 99)
    assert.ok(requests.length <= 100, JSON.stringify(cmdletsOf(requests)))
  })

  const oneFailed = moving(100, (at) => (at === 40 ? 'Failed' : 'Syncing'))
  story('whose move failed is told so, and the others poll on', oneFailed, async (wave) => {
    const { BatchName } = WAVE
    const asked = numbers(100).map((person) => ({ Identity: addressOf(person), BatchName }))
    const missing = { Identity: 'nobody@contoso.example', BatchName }
    const { results, requests } = await wave.run('Test-MigrationUser', [...asked, missing], {
      isPolled: true,
    })
    assert.deepEqual(statusesOf(results), { succeeded: 100, failed: 1 })
    assert.equal(results[40]!.error!.type, 'MigrationStopped')
    const { data } = resultOf(results.at(-1)!) as unknown as { data: Params }
    assert.match(String(data.Reason), /No migration batch contains "nobody@contoso\.example"/)
    assert.ok(requests.length <= 10, JSON.stringify(cmdletsOf(requests)))
  })
})

describe('a group of a thousand', () => {
  story(
    'is read once for all who ask whether they are in it',
    peopled(1_500, 1_000),
    async (wave) => {
      const asked = numbers(1_500).map((person) => ({
        GroupIdentity: LIST,
        MemberIdentity: addressOf(person),
      }))
      const { results, requests } = await wave.run('Test-ExchangeGroupMembership', asked, {
        isPolled: true,
      })
      assert.deepEqual(statusesOf(results), { succeeded: 1_500, failed: 0 })
      const members = results.filter((one) => resultOf(one).complete).length
      assert.equal(members, 1_000)
      assert.ok(requests.length <= 10, JSON.stringify(cmdletsOf(requests)))
    },
  )
})

const asked = (people: readonly number[]) =>
  people.map((person) => ({ GroupId: NEWCOMERS, UserId: idOf(person) }))
const membersOf = ({ setting }: Wave) =>
  setting.sandbox.state().tenants[0]!.groups.find((group) => group.id === NEWCOMERS)!.members
const additions = ({ setting }: Wave) =>
  setting.effects().filter((what) => what === 'member added').length
const changesIn = (results: readonly JobResult[]) =>
  results.filter(({ result }) => (result as Params | null)?.Changed).length
const permissions = { graph: ['GroupMember.ReadWrite.All', 'User.Read.All'] }

describe('an Entra group', () => {
  story(
    'takes twenty new members a request, and says who was none before',
    { ...peopled(300, 40), permissions },
    async (wave) => {
      const { results, requests } = await wave.run('Add-EntraGroupMember', asked(numbers(300)))
      assert.deepEqual(statusesOf(results), { succeeded: 300, failed: 0 })
      assert.equal(changesIn(results), 260)
      assert.equal(changesIn(results.slice(0, 40)), 0)
      assert.equal(additions(wave), 260)
      assert.ok(requests.length <= 25, JSON.stringify(cmdletsOf(requests)))
      assert.equal(requests.filter(({ method }) => method === 'POST').length, 0)
    },
  )

  story('leaves out the one who does not exist', peopled(100), async (wave) => {
    const nobody = { GroupId: NEWCOMERS, UserId: NOBODY }
    // Also asked for twice, as is the first person.
    const all = [...asked(numbers(99)).toSpliced(40, 0, nobody), nobody, ...asked([0])]
    const { results } = await wave.run('Add-EntraGroupMember', all)
    assert.deepEqual(statusesOf(results), { succeeded: 100, failed: 2 })
    for (const at of [40, 100]) {
      assert.match(results[at]!.error!.message, /no group .* or no user/)
      assert.equal(results[at]!.error!.effect, 'none')
    }
    assert.deepEqual([changesIn(results), additions(wave)], [99, 99])
    assert.equal(membersOf(wave).length, 100)
  })

  for (const kind of ['drop-after', 'error-after'] as const)
    story(`adds nobody twice after an unknown outcome: ${kind}`, peopled(60), async (wave) => {
      const on = `PATCH /v1.0/groups/${NEWCOMERS}`
      wave.setting.sandbox.setFaults({ script: [{ on, nth: 2, fault: kind }] })
      const { results } = await wave.run('Add-EntraGroupMember', asked(numbers(60)))
      assert.deepEqual(statusesOf(results), { succeeded: 60, failed: 0 })
      assert.equal(changesIn(results), 60, 'all of them are our doing, and undone with us')
      assert.deepEqual([additions(wave), membersOf(wave).length], [60, 61])
    })

  story('that does not exist fails everybody in few calls', {}, async (wave) => {
    const all = numbers(50).map((person) => ({ GroupId: NOBODY, UserId: idOf(person) }))
    const { results, requests } = await wave.run('Add-EntraGroupMember', all)
    assert.deepEqual(statusesOf(results), { succeeded: 0, failed: 50 })
    for (const { error } of results) assert.equal(error!.effect, 'none')
    assert.ok(requests.length <= 25, JSON.stringify(cmdletsOf(requests)))
  })

  story('is read once for a poll of a thousand', peopled(1_000, 600), async (wave) => {
    const polled = await wave.run('Test-EntraGroupMembership', asked(numbers(1_000)), {
      isPolled: true,
    })
    assert.deepEqual(statusesOf(polled.results), { succeeded: 1_000, failed: 0 })
    assert.equal(polled.results.filter((one) => resultOf(one).complete).length, 600)
    assert.ok(polled.requests.length <= 10, JSON.stringify(cmdletsOf(polled.requests)))
    const absent = asked([1, 2, 999]).map((one) => ({ ...one, Expected: false }))
    const nobody = { GroupId: NEWCOMERS, UserId: NOBODY, Expected: false }
    const gone = await wave.run('Test-EntraGroupMembership', [...absent, nobody], {
      isPolled: true,
    })
    assert.deepEqual(
      gone.results.map((one) => resultOf(one).complete),
      [false, false, true, false],
      'a person who does not exist is not "no member"',
    )
  })
})

describe('people in no batch', () => {
  story('are told so in few calls, with and without its name', {}, async (wave) => {
    for (const BatchName of [WAVE.BatchName, null]) {
      const asked = numbers(200).map((person) => ({ Identity: addressOf(person), BatchName }))
      const { results, requests } = await wave.run('Test-MigrationUser', asked, { isPolled: true })
      assert.deepEqual(statusesOf(results), { succeeded: 200, failed: 0 })
      assert.ok(results.every((one) => resultOf(one).complete === (false as never)))
      assert.ok(requests.length <= 10, JSON.stringify(cmdletsOf(requests)))
    }
  })
})
