// A column with several values, or none: added, tested and taken away in one step each.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { story, succeeds } from './story.ts'
import { ADA, EVERYBODY, NEWCOMERS, OBRIEN } from './tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const BOX = 'box@contoso.example'

interface Column {
  readonly of: string
  readonly values: readonly string[]
  readonly add: readonly [name: string, parameter: string, more: Record<string, Json>]
  readonly remove: string
  readonly test?: readonly [name: string, parameter: string, more: Record<string, Json>]
}

const COLUMNS: readonly Column[] = [
  {
    of: 'addresses',
    values: ['smtp:one@contoso.example', 'two@contoso.example', 'x500:/o=Old/cn=two'],
    add: ['Add-ExchangeSecondaryEmail', 'EmailAddress', { Identity: KIM }],
    remove: 'Remove-ExchangeSecondaryEmail',
    test: [
      'Test-ExchangeAttributeMatch',
      'ExpectedValue',
      { Identity: KIM, AttributeName: 'EmailAddresses', IsMultiValue: true },
    ],
  },
  {
    of: 'distribution groups',
    values: ['all@contoso.example', 'scope@contoso.example'],
    add: ['Add-ExchangeGroupMember', 'GroupIdentity', { MemberIdentity: BOX }],
    remove: 'Remove-ExchangeGroupMember',
    test: ['Test-ExchangeGroupMembership', 'GroupIdentity', { MemberIdentity: BOX }],
  },
  {
    of: 'groups',
    values: [NEWCOMERS, EVERYBODY],
    add: ['Add-EntraGroupMember', 'GroupId', { UserId: OBRIEN }],
    remove: 'Remove-EntraGroupMember',
    test: ['Test-EntraGroupMembership', 'GroupId', { UserId: OBRIEN }],
  },
  {
    of: 'licences',
    values: ['AAD_PREMIUM', 'CROSS_TENANT_USER_DATA_MIGRATION'],
    add: ['Add-EntraUserLicense', 'SkuId', { UserId: OBRIEN }],
    remove: 'Remove-EntraUserLicense',
    test: ['Test-EntraLicense', 'SkuId', { UserId: OBRIEN }],
  },
  {
    of: 'people who may send as a mailbox',
    values: [KIM],
    add: ['Add-ExchangeMailboxPermission', 'SendAs', { Identity: BOX }],
    remove: 'Remove-ExchangeMailboxPermission',
  },
]

describe('a column of', () => {
  for (const { of, values, add, remove, test } of COLUMNS) {
    const [name, parameter, more] = add
    story(
      `${of} is added, tested and removed in one step each; again, nothing happens`,
      async (s) => {
        const given = { ...more, [parameter]: [...values] }
        const isThere = async () =>
          test && (await succeeds(s, test[0], { ...test[2], [test[1]]: [...values] })).complete
        await succeeds(s, name, given)
        if (test) assert.equal(await isThere(), true)
        const after = s.effects().length
        assert.equal((await succeeds(s, name, given)).Changed, false)
        assert.equal(s.effects().length, after)
        assert.equal((await succeeds(s, remove, given)).Changed, true)
        if (test) assert.equal(await isThere(), false)
        assert.equal((await succeeds(s, remove, given)).Changed, false)
      },
    )

    story(`${of} without a value does nothing, in either direction`, async (s) => {
      for (const value of [[], '', null])
        for (const one of [name, remove])
          assert.equal((await succeeds(s, one, { ...more, [parameter]: value })).Changed, false)
      assert.deepEqual(s.effects(), [])
    })
  }
})

describe('several groups', () => {
  const both = { GroupId: [NEWCOMERS, EVERYBODY], UserId: OBRIEN }

  story('are left only where the step joined them', async (s) => {
    await succeeds(s, 'Add-EntraGroupMember', { ...both, GroupId: EVERYBODY })
    const joined = await succeeds(s, 'Add-EntraGroupMember', both)
    assert.deepEqual(joined.GroupId, [NEWCOMERS])
    await succeeds(s, 'Remove-EntraGroupMember', { ...both, GroupId: joined.GroupId! })
    const { complete } = await succeeds(s, 'Test-EntraGroupMembership', {
      ...both,
      GroupId: EVERYBODY,
    })
    assert.equal(complete, true)
  })

  story('are all tested, and none may be left for the opposite', async (s) => {
    await succeeds(s, 'Add-EntraGroupMember', { ...both, GroupId: EVERYBODY })
    for (const Expected of [true, false]) {
      const asked = { ...both, Expected }
      const { complete } = await succeeds(s, 'Test-EntraGroupMembership', asked)
      assert.equal(complete, false, 'a member of one of two')
    }
    const { error } = await s.run('Test-EntraGroupMembership', { ...both, GroupId: [] })
    assert.equal(error?.type, 'UnfitParameters', 'a test of nothing does not pass')
  })
})

describe('several licences', () => {
  story('are assigned in one request, and the undo leaves those from before', async (s) => {
    const wanted = { UserId: ADA, SkuId: ['AAD_PREMIUM'], UsageLocation: 'US' }
    await succeeds(s, 'Add-EntraUserLicense', wanted)
    const more = { ...wanted, SkuId: ['AAD_PREMIUM', 'CROSS_TENANT_USER_DATA_MIGRATION'] }
    const { SkuId } = await succeeds(s, 'Add-EntraUserLicense', more)
    await succeeds(s, 'Remove-EntraUserLicense', { UserId: ADA, SkuId: SkuId! })
    const left = await succeeds(s, 'Test-EntraLicense', { UserId: ADA, SkuId: 'AAD_PREMIUM' })
    assert.equal(left.complete, true)
    assert.equal(s.effects().filter((one) => one === 'licences changed').length, 3)
  })
})
