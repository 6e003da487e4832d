// What a rehearsal compares to see whether rollbacks restored a person: each change of the account and the mailbox is said.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { stateOf } from '../../../sandbox/seed.ts'
import type { Recipient, State, User } from '../../../sandbox/state.ts'
import { RollbackCheck } from '../../../src/app/rehearsal/rollback-check.ts'

const START = new Date('2030-03-01T08:00:00Z')
const OTHER = '9df6ab8b-ba18-4a02-9906-87b99a870d8f'

const stateBefore = () =>
  stateOf({
    tenants: [
      {
        domains: ['contoso.example'],
        displayName: 'contoso',
        users: [
          {
            userPrincipalName: 'ada@contoso.example',
            mail: 'ada@contoso.example',
            proxyAddresses: ['SMTP:ada@contoso.example'],
            recipient: { kind: 'mailbox' },
          },
        ],
        groups: [{ displayName: 'Sales' }],
      },
    ],
  })

/** What the rehearsal says after a change. */
function differencesAfter(change: (state: State) => void): readonly string[] {
  const state = stateBefore()
  const rollbackCheck = new RollbackCheck()
  rollbackCheck.keep(state, START)
  change(state)
  const member = {
    memberId: 1,
    memberKey: 'ada',
    data: { UserPrincipalName: 'ada@contoso.example' },
    phaseName: 'first',
    failedStep: 'step',
    hasFailedUndo: false,
    phaseStartedAt: START,
  }
  return rollbackCheck.compare([member], state).flatMap(({ differences }) => differences)
}

const ofUser = (change: Partial<User>) => (state: State) =>
  void Object.assign(state.tenants[0]!.users[0]!, change)
const ofRecipient = (change: Partial<Recipient>) => (state: State) =>
  void Object.assign(state.tenants[0]!.users[0]!.recipient!, change)

const REPLY = { internal: 'Moved.', external: '', audience: 'All', start: null, end: null }

const SAID: readonly (readonly [change: (state: State) => void, said: RegExp])[] = [
  [ofUser({ displayName: 'Ada' }), /display name was .* and is "Ada"/],
  [ofUser({ mailNickname: 'ada.adler' }), /mail nickname was/],
  [ofUser({ mail: null }), /mail was "ada@contoso\.example" and is empty/],
  [ofUser({ accountEnabled: false }), /enabled was "true" and is "false"/],
  [ofUser({ userType: 'Guest' }), /type was "Member" and is "Guest"/],
  [ofUser({ attributes: { department: 'Sales' } }), /attributes was/],
  [ofUser({ managerId: OTHER }), /manager was empty/],
  [ofUser({ assignedLicenses: [{ skuId: OTHER, disabledPlans: [], groupId: null }] }), /licences/],
  [ofUser({ recipient: null }), /recipient was "mailbox" and is empty/],
  [ofRecipient({ exchangeGuid: OTHER }), /ExchangeGuid was/],
  [ofRecipient({ archiveGuid: OTHER }), /ArchiveGuid was empty/],
  [ofRecipient({ externalEmailAddress: 'a@fabrikam.example' }), /external address was/],
  [ofRecipient({ isHidden: true }), /hidden was/],
  [ofRecipient({ forwardingSmtpAddress: 'a@fabrikam.example' }), /forwarding was/],
  [ofRecipient({ deliverToMailboxAndForward: true }), /a copy of forwarded mail was/],
  [ofRecipient({ forwardingAddress: 'Bo' }), /forwarding within the tenant was/],
  [ofRecipient({ isOnLitigationHold: true }), /hold was/],
  [ofRecipient({ isShared: true }), /shared was/],
  [ofRecipient({ fullAccess: ['bo@contoso.example'] }), /full access was/],
  [ofRecipient({ sendAs: ['bo@contoso.example'] }), /send as was/],
  [ofRecipient({ sendOnBehalf: ['bo@contoso.example'] }), /send on behalf was/],
  [ofRecipient({ autoReply: { state: 'Enabled', ...REPLY } }), /automatic reply was "Disabled"/],
  [ofRecipient({ calendarRights: [{ userId: OTHER, right: 'Editor' }] }), /calendar permissions/],
  [
    ({ tenants: [tenant] }) => void tenant!.groups[0]!.members.push(tenant!.users[0]!.id),
    /groups was empty and is "Sales"/,
  ],
]

describe('a rehearsal compares a person before and after a rollback and', () => {
  for (const [change, said] of SAID) {
    it(`says what differs: ${said.source.replaceAll(/[\\^$]/g, '')}`, () => {
      const differences = differencesAfter(change)
      assert.ok(
        differences.some((one) => said.test(one)),
        differences.join() || 'nothing is said',
      )
    })
  }

  it('says nothing of what only time changes, or of the stored text of a reply that is off', () => {
    const later = '2030-03-02T08:00:00Z'
    assert.deepEqual(differencesAfter(ofUser({ signInSessionsValidFromDateTime: later })), [])
    assert.deepEqual(
      differencesAfter(ofRecipient({ autoReply: { state: 'Disabled', ...REPLY } })),
      [],
    )
  })
})
