// A wave of people: few calls to the tenant serve all of them, everybody gets an own answer, and nobody is touched who must not be.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RequestMade } from '../../../src/sandbox/journal.ts'
import type { Seed } from '../../../src/sandbox/state.ts'
import type { JobResult } from '../../../src/worker/result-cache.ts'
import type { Params } from './cases.ts'
import type { WithinOptions } from './setting.ts'
import { id, NEWCOMERS, UNDER_WAY } from './tenants.ts'
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
        ...{ Identity: addressOf(person), WaitFor: 'Synced', ...named },
      }))
      const { results, requests } = await wave.run('Test-MigrationUser', asked, { isPolled: true })
      assert.deepEqual(statusesOf(results), { succeeded: PEOPLE, failed: 0 })
      for (const [at, one] of results.entries())
        assert.equal(resultOf(one).complete, at % 2 === 0, addressOf(at))
      assert.ok(requests.length <= 10, JSON.stringify(cmdletsOf(requests)))
      assert.deepEqual(Object.keys(cmdletsOf(requests)), ['Get-MigrationUser'])
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

  story('whom Exchange refuses fails alone, after a few more calls', {}, async (wave) => {
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
        ...{ GroupIdentity: LIST, MemberIdentity: addressOf(person) },
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
