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
    wrong: { GroupIdentity: [] },
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
    wrong: { User: [] },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
}
