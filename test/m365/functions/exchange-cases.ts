// Rows of cases.ts for functions that change distribution groups and mailboxes.
import type { Case } from './cases.ts'

const KIM = "kim.o'brien@contoso.example"
const noRecipient = { Identity: 'nobody@contoso.example' }
const NO_RECIPIENT = /has no recipient "nobody@contoso\.example"/

export const EXCHANGE_CASES: Readonly<Record<string, Case>> = {
  'Add-ExchangeGroupMember': {
    params: {
      GroupIdentity: ['all@contoso.example', 'scope@contoso.example'],
      MemberIdentity: KIM,
    },
    gives: { GroupIdentity: ['scope@contoso.example'], Changed: true },
    again: { GroupIdentity: [], Changed: false },
    effects: ['member added'],
    wrong: { GroupIdentity: [''] },
    missing: {
      params: { GroupIdentity: 'nobody@contoso.example' },
      says: /no distribution group "nobody@contoso\.example"/,
    },
  },
  'Remove-ExchangeGroupMember': {
    params: { GroupIdentity: 'all@contoso.example', MemberIdentity: KIM },
    gives: { GroupIdentity: ['all@contoso.example'], Changed: true },
    again: { GroupIdentity: [], Changed: false },
    effects: ['member removed'],
    wrong: { MemberIdentity: '' },
    missing: {
      params: { MemberIdentity: 'nobody@contoso.example' },
      says: NO_RECIPIENT,
    },
  },
  'Test-ExchangeNamesFree': {
    params: { Names: ['nora@contoso.example', 'nora.new'] },
    gives: { complete: true },
    again: {},
    effects: [],
    wrong: { Names: '' },
    missing: null,
  },
  'Add-ExchangeMailboxPermission': {
    params: {
      Identity: 'box@contoso.example',
      FullAccess: ['kim@contoso.example'],
      SendAs: KIM,
      SendOnBehalf: [KIM],
      AutoMapping: 'false',
    },
    gives: {
      FullAccess: ['kim@contoso.example'],
      SendAs: [],
      SendOnBehalf: [KIM],
      Changed: true,
    },
    again: { FullAccess: [], SendOnBehalf: [], Changed: false },
    effects: ['FullAccess granted', 'mailbox changed'],
    wrong: { AutoMapping: 'maybe' },
    missing: { params: { SendOnBehalf: 'nobody@contoso.example' }, says: NO_RECIPIENT },
  },
  'Remove-ExchangeMailboxPermission': {
    params: { Identity: 'box@contoso.example', FullAccess: '', SendAs: [KIM] },
    gives: { FullAccess: [], SendAs: [KIM], SendOnBehalf: [], Changed: true },
    again: { SendAs: [], Changed: false },
    effects: ['SendAs taken away'],
    wrong: { AutoMapping: true },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeCalendarPermission': {
    params: {
      Identity: 'box@contoso.example',
      User: [KIM, 'box@contoso.example'],
      AccessRight: 'Editor',
    },
    gives: {
      Previous: [
        { User: KIM, AccessRight: 'Reviewer' },
        { User: 'box@contoso.example', AccessRight: null },
      ],
      Changed: true,
    },
    again: { User: [], Previous: [], Changed: false },
    effects: ['calendar rights changed', 'calendar rights changed'],
    wrong: { AccessRight: 'Everything' },
    missing: { params: { User: 'nobody@contoso.example' }, says: NO_RECIPIENT },
  },
  'Remove-ExchangeCalendarPermission': {
    params: { Identity: 'box@contoso.example', User: KIM },
    gives: { Previous: [{ User: KIM, AccessRight: 'Reviewer' }], Changed: true },
    again: { User: [], Previous: [], Changed: false },
    effects: ['calendar rights changed'],
    wrong: { User: [''] },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeAutoReply': {
    params: {
      Identity: 'box@contoso.example',
      State: 'Scheduled',
      InternalMessage: 'I have moved.',
      ExternalAudience: 'Known',
      StartTime: '2030-03-01T20:00:00+01:00',
      EndTime: '2030-04-01T00:00:00Z',
    },
    gives: { PreviousState: 'Disabled', PreviousInternalMessage: '', Changed: true },
    again: {
      PreviousStartTime: '2030-03-01T19:00:00.000Z',
      PreviousEndTime: '2030-04-01T00:00:00.000Z',
      PreviousState: 'Scheduled',
      PreviousInternalMessage: 'I have moved.',
      PreviousExternalMessage: 'I have moved.',
      PreviousExternalAudience: 'Known',
      Changed: false,
    },
    effects: ['automatic replies changed'],
    wrong: { EndTime: '' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeHiddenFromAddressLists': {
    params: { Identity: KIM },
    gives: { Hidden: true, Changed: true },
    again: { Changed: false },
    effects: ['mail user changed'],
    wrong: { Hidden: 'perhaps' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Convert-ExchangeMailboxToShared': {
    params: { Identity: 'box@contoso.example' },
    gives: { Type: 'Shared', PreviousType: 'Regular', Changed: true },
    again: { PreviousType: 'Shared', Changed: false },
    effects: ['mailbox changed'],
    wrong: { Type: 'Room' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Enable-ExchangeArchive': {
    params: { Identity: 'box@contoso.example' },
    gives: { Changed: true },
    again: { Changed: false },
    effects: ['archive enabled'],
    wrong: { Identity: '' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeLitigationHold': {
    params: { Identity: 'box@contoso.example', Enabled: 'false' },
    gives: { Enabled: false, Changed: true },
    again: { Changed: false },
    effects: ['mailbox changed'],
    wrong: { Enabled: 'perhaps' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
}
