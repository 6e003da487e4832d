// One row per function: its parameters, its result on the first and second run, its effects in the tenant, what it refuses.
// situations.test.ts runs over this table; a function without a row fails it.
import type { Json } from '../../../src/base/text/json.ts'
import { ENTRA_CASES } from './entra-cases.ts'
import { EXCHANGE_CASES } from './exchange-cases.ts'
import { FILE_CASES } from './file-cases.ts'
import { MAIL_CASES } from './mail-cases.ts'
import {
  ADA,
  ARCHIVE_GUID,
  BOX,
  GONE,
  GUEST,
  id,
  LEAD,
  MAILBOX_GUID,
  NEWCOMERS,
  NOBODY,
  OBRIEN,
  OBRIEN_DN,
  OUTSIDER,
} from './tenants.ts'

export type Params = Readonly<Record<string, Json>>

export interface Case {
  readonly params: Params
  /** Expected part of the result. */
  readonly gives: Params
  /** What differs on a second run with the same parameters. */
  readonly again: Params
  /** Effects of the first run in the tenant's journal. */
  readonly effects: readonly string[]
  /** The second run has the same effects again. All others have none. */
  readonly isRepeated?: true
  /** Unfit parameters, replacing those above. */
  readonly wrong: Params
  /** Parameters that name something missing; null when there is nothing to name. */
  readonly missing: { readonly params: Params; readonly says: RegExp } | null
}

const KIM = "kim.o'brien@contoso.example"
const noUser = { UserId: NOBODY }
const noRecipient = { Identity: 'nobody@contoso.example' }
const NO_USER = /has no user "00000000-0000-4000-8000-000000000999"/
const NO_BATCH = /No migration batch contains "nobody@contoso\.example"/
const NO_RECIPIENT = /has no recipient "nobody@contoso\.example"/
const ENTERPRISEPACK = '6fd2c87f-b296-42f0-b197-1e91e994b900'

export const CASES: Readonly<Record<string, Case>> = {
  ...EXCHANGE_CASES,
  ...ENTRA_CASES,
  ...FILE_CASES,
  ...MAIL_CASES,
  'New-EntraUser': {
    params: {
      DisplayName: "Nora O'Hara",
      UserPrincipalName: "nora.o'hara@contoso.example",
      MailNickname: "nora.o'hara",
      AccountEnabled: 'false',
    },
    gives: { UserPrincipalName: "nora.o'hara@contoso.example", Created: true },
    again: { Created: false },
    effects: ['user created'],
    wrong: { UserPrincipalName: 'nora' },
    missing: { params: { UserPrincipalName: 'nora@elsewhere.example' }, says: /verified/i },
  },
  'Set-EntraUserUPN': {
    params: { UserId: ADA, NewUserPrincipalName: 'ada.lovelace@contoso.example' },
    gives: { Changed: true, PreviousUserPrincipalName: 'ada@contoso.example' },
    again: { Changed: false, PreviousUserPrincipalName: 'ada.lovelace@contoso.example' },
    effects: ['user changed'],
    wrong: { NewUserPrincipalName: 'ada lovelace' },
    missing: { params: noUser, says: NO_USER },
  },
  'Set-EntraUserAttribute': {
    params: { UserId: 'ada@contoso.example', AttributeName: 'DEPARTMENT', Value: 'Sales' },
    gives: { Changed: true, AttributeName: 'department', PreviousValue: null },
    again: { Changed: false, PreviousValue: 'Sales' },
    effects: ['user changed'],
    wrong: { AttributeName: 'passwordProfile' },
    missing: { params: noUser, says: NO_USER },
  },
  'Set-EntraUserManager': {
    params: { UserId: KIM, ManagerId: 'lead@contoso.example' },
    gives: { UserId: OBRIEN, ManagerId: LEAD, PreviousManagerId: null, Changed: true },
    again: { PreviousManagerId: LEAD, Changed: false },
    effects: ['manager set'],
    wrong: { ManagerId: ['x'] },
    missing: { params: { ManagerId: NOBODY }, says: NO_USER },
  },
  'Enable-EntraUser': {
    params: { UserId: ADA },
    gives: { AccountEnabled: true, Changed: true },
    again: { Changed: false },
    effects: ['user changed'],
    wrong: { UserId: null },
    missing: { params: noUser, says: NO_USER },
  },
  'Disable-EntraUser': {
    params: { UserId: KIM },
    gives: { UserId: OBRIEN, AccountEnabled: false, Changed: true },
    again: { Changed: false },
    effects: ['user changed'],
    wrong: { User: KIM },
    missing: { params: noUser, says: NO_USER },
  },
  'Revoke-EntraUserSessions': {
    params: { UserId: KIM },
    gives: { UserId: OBRIEN, Revoked: true },
    again: {},
    effects: ['sessions revoked'],
    isRepeated: true,
    wrong: { UserId: [KIM] },
    missing: { params: noUser, says: NO_USER },
  },
  'Remove-EntraUser': {
    params: { UserId: ADA, UserPrincipalName: 'ADA@contoso.example' },
    gives: { UserId: ADA, Changed: true },
    again: { Changed: false },
    effects: ['user deleted'],
    wrong: { UserId: 'ada@contoso.example' },
    missing: { params: noUser, says: NO_USER },
  },
  'Restore-EntraUser': {
    params: { UserId: GONE },
    gives: { UserPrincipalName: 'gone@contoso.example', Changed: true },
    again: { Changed: false },
    effects: ['user restored'],
    wrong: { UserId: 'gone@contoso.example' },
    missing: { params: noUser, says: NO_USER },
  },
  'Add-EntraGroupMember': {
    params: { GroupId: [NEWCOMERS], UserId: KIM },
    gives: { UserId: OBRIEN, Changed: true },
    again: { GroupId: [], Changed: false },
    effects: ['member added'],
    wrong: { GroupId: 'newcomers' },
    missing: { params: { GroupId: NOBODY }, says: /has no group "0{8}-.*999"/ },
  },
  'Remove-EntraGroupMember': {
    params: { GroupId: NEWCOMERS, UserId: 'lead@contoso.example' },
    gives: { UserId: LEAD, Changed: true },
    again: { GroupId: [], Changed: false },
    effects: ['member removed'],
    wrong: { GroupId: '../users' },
    missing: { params: { GroupId: NOBODY }, says: /has no group "0{8}-.*999"/ },
  },
  'Add-EntraUserLicense': {
    params: {
      UserId: ADA,
      SkuId: ['aad_premium', 'CROSS_TENANT_USER_DATA_MIGRATION'],
      UsageLocation: 'US',
    },
    gives: { Changed: true },
    again: { UsageLocationSet: false, SkuId: [], Changed: false },
    effects: ['user changed', 'licences changed'],
    wrong: { UsageLocation: 'USA' },
    missing: {
      params: { SkuId: 'NO_SUCH_SKU' },
      says: /has no licence "NO_SUCH_SKU"\. Use one of: /,
    },
  },
  'Remove-EntraUserLicense': {
    params: { UserId: BOX, SkuId: ENTERPRISEPACK },
    gives: { SkuId: [ENTERPRISEPACK], Changed: true },
    again: { Previous: [], SkuId: [], Changed: false },
    effects: ['licences changed', 'mailbox disconnected'],
    wrong: { SkuId: [''] },
    missing: { params: noUser, says: NO_USER },
  },
  'New-EntraB2BInvitation': {
    params: {
      UserId: OUTSIDER,
      InvitedUserEmailAddress: 'max@fabrikam.example',
      SendInvitationMessage: 'false',
      CustomizedMessageBody: 'Welcome',
    },
    gives: { InvitedUserId: OUTSIDER, Status: 'PendingAcceptance', Changed: true },
    again: { Id: null, InviteRedeemUrl: null, Changed: false },
    effects: ['invitation sent'],
    wrong: { InvitedUserType: 'Visitor' },
    missing: { params: noUser, says: NO_USER },
  },
  'Convert-EntraB2BToInternal': {
    params: { UserId: GUEST, NewUserPrincipalName: 'eve@contoso.example' },
    gives: {
      UserId: GUEST,
      PreviousUPN: 'eve_fabrikam.example#EXT#@contoso.onmicrosoft.com',
      NewUserPrincipalName: 'eve@contoso.example',
      PreviousUserType: 'Guest',
      Changed: true,
    },
    again: {
      PreviousUPN: 'eve@contoso.example',
      PreviousUserType: 'Member',
      ConvertedToInternalUserDateTime: null,
      Changed: false,
    },
    effects: ['user converted'],
    wrong: { ForceChangePasswordNextSignIn: 'maybe' },
    missing: { params: noUser, says: NO_USER },
  },
  'Test-EntraAttributeMatch': {
    params: { UserId: KIM, AttributeName: 'DisplayName', ExpectedValue: "kim o'brien" },
    gives: { complete: true, data: { Match: true, CurrentValue: "Kim O'Brien" } },
    again: {},
    effects: [],
    wrong: { IsMultiValue: 'perhaps' },
    missing: { params: noUser, says: NO_USER },
  },
  'Test-EntraGroupMembership': {
    params: { GroupId: NEWCOMERS, UserId: 'lead@contoso.example' },
    gives: { complete: true, data: { IsMember: true } },
    again: {},
    effects: [],
    wrong: { GroupId: 'newcomers' },
    missing: { params: { GroupId: NOBODY }, says: /has no group/ },
  },
  'Get-ExchangeMoveSource': {
    params: { Identity: 'box@contoso.example' },
    gives: {
      UserId: BOX,
      PrimarySmtpAddress: 'box@contoso.example',
      ArchiveGuid: null,
      SizeBytes: 3_221_225_472,
      ItemCount: 1_200,
      Holds: ['LitigationHoldEnabled', 'UniH1'],
      FullAccess: ['lead@contoso.example'],
      SendAs: [KIM],
      SendOnBehalf: [],
      LeftOut: ['lead'],
    },
    again: {},
    effects: [],
    wrong: { Identity: '' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'New-ExchangeMailUser': {
    params: {
      UserPrincipalName: "nora.o'hara@contoso.example",
      ExternalEmailAddress: "nora.o'hara@fabrikam.example",
      PrimarySmtpAddress: 'nora@contoso.example',
      Alias: "nora.o'hara",
      DisplayName: "Nora O'Hara",
      LastName: "O'Hara",
    },
    gives: { PrimarySmtpAddress: 'nora@contoso.example', Created: true },
    again: { Created: false },
    effects: ['mail user created'],
    wrong: { PrimarySmtpAddress: 'nora' },
    missing: {
      params: { UserPrincipalName: 'nora@elsewhere.example' },
      says: /isn't in an accepted domain/,
    },
  },
  'Set-ExchangeMoveTarget': {
    params: {
      Identity: KIM,
      ExchangeGuid: MAILBOX_GUID,
      ArchiveGuid: ARCHIVE_GUID,
      X500Addresses: [`X500:${OBRIEN_DN}`, 'x500:/o=Old/cn=kim', 'x500:/o=Older/cn=kim'],
      TargetDeliveryDomain: 'Contoso.onmicrosoft.com',
    },
    gives: {
      DeliveryAddress: "kim.o'brien@contoso.onmicrosoft.com",
      Dropped: [],
      Changed: true,
    },
    again: { Changed: false },
    effects: ['mail user changed'],
    wrong: { X500Addresses: ['/o=Old'] },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Test-ExchangeMoveReadiness': {
    params: {
      Identity: KIM,
      ExchangeGuid: id(500),
      X500Addresses: [`X500:${OBRIEN_DN}`, 'x500:/o=Old/cn=kim'],
      TargetDeliveryDomain: 'contoso.onmicrosoft.com',
      SourceAddresses: ["SMTP:kim.o'brien@fabrikam.example"],
      Holds: ['UniH1'],
      SizeBytes: 3_221_225_472,
      SourceEndpoint: 'fabrikam',
    },
    gives: { complete: false, data: { Ready: false, Moved: false } },
    again: {},
    effects: [],
    wrong: { X500Addresses: [] },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Remove-ExchangeMailUser': {
    params: { UserId: OBRIEN, UserPrincipalName: KIM, AllowExisting: true },
    gives: { UserId: OBRIEN, Changed: true },
    again: { Changed: false },
    effects: ['user deleted', 'user purged', 'mail user purged'],
    wrong: { UserPrincipalName: '' },
    // Removing a missing object is a success.
    missing: null,
  },
  'Clear-ExchangePreviousMailbox': {
    params: { Identity: 'former@contoso.example' },
    gives: { Changed: true },
    again: { Changed: false },
    effects: ['previous mailbox cleared'],
    wrong: { Identity: ['x'] },
    missing: {
      params: { Identity: 'nobody@contoso.example' },
      says: /has no user "nobody@contoso\.example"/,
    },
  },
  'Add-ExchangeSecondaryEmail': {
    params: { Identity: KIM, EmailAddress: ['SMTP:obrien@contoso.example', 'x500:/o=Old/cn=kim'] },
    gives: { Changed: true },
    again: { EmailAddress: [], Changed: false },
    effects: ['mail user changed'],
    wrong: { EmailAddress: 'smtp:' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Remove-ExchangeSecondaryEmail': {
    params: { Identity: KIM, EmailAddress: 'kim@contoso.example' },
    gives: { EmailAddress: ['kim@contoso.example'], Changed: true },
    again: { EmailAddress: [], Changed: false },
    effects: ['mail user changed'],
    wrong: { EmailAddress: ['kim'] },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangePrimaryEmail': {
    params: { Identity: KIM, NewPrimaryEmail: 'kim@contoso.example' },
    gives: { PreviousPrimaryEmail: KIM, Changed: true },
    again: { PreviousPrimaryEmail: 'kim@contoso.example', Changed: false },
    effects: ['mail user changed'],
    wrong: { NewPrimaryEmail: `x500:${OBRIEN_DN}` },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeExternalAddress': {
    params: { Identity: KIM, ExternalEmailAddress: 'kim@partner.example' },
    gives: { PreviousExternalEmailAddress: "kim.o'brien@fabrikam.example", Changed: true },
    again: { PreviousExternalEmailAddress: 'kim@partner.example', Changed: false },
    effects: ['mail user changed'],
    wrong: { ExternalEmailAddress: 'kim' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeMailUserGuids': {
    params: { Identity: KIM, ExchangeGuid: MAILBOX_GUID, ArchiveGuid: ARCHIVE_GUID },
    gives: { ExchangeGuid: MAILBOX_GUID, ArchiveGuid: ARCHIVE_GUID, Changed: true },
    again: { Changed: false },
    effects: ['mail user changed'],
    wrong: { ArchiveGuid: 'none' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Set-ExchangeForwarding': {
    params: {
      Identity: 'box@contoso.example',
      ForwardingSmtpAddress: "kim.o'brien@fabrikam.example",
      DeliverToMailboxAndForward: 'true',
    },
    gives: {
      DeliverToMailboxAndForward: true,
      PreviousForwardingSmtpAddress: null,
      Changed: true,
    },
    again: {
      PreviousForwardingSmtpAddress: "kim.o'brien@fabrikam.example",
      Changed: false,
      PreviousDeliverToMailboxAndForward: true,
      External: 'NotChecked',
    },
    effects: ['mailbox changed'],
    wrong: { DeliverToMailboxAndForward: 'both' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'New-MigrationBatch': {
    params: {
      Name: "wave 1, O'Brien",
      SourceEndpoint: 'fabrikam',
      TargetDeliveryDomain: 'contoso.onmicrosoft.com',
      EmailAddresses: KIM,
      CompleteAfter: '2030-03-01T20:00:00+01:00',
    },
    gives: { Name: "wave 1, O'Brien", Created: true, Changed: true },
    again: { Created: false, Changed: false },
    effects: ['migration batch created'],
    wrong: { EmailAddresses: [] },
    missing: { params: { SourceEndpoint: 'nowhere' }, says: /'nowhere' couldn't be found/ },
  },
  'Remove-MigrationBatch': {
    params: { Name: 'under way' },
    gives: { Name: 'under way', Changed: true, complete: true },
    again: { Changed: false },
    effects: ['migration batch stopped', 'migration batch removed'],
    wrong: { Name: '' },
    // Removing a missing object is a success.
    missing: null,
  },
  'Add-MigrationUser': {
    params: {
      Identity: KIM,
      BatchName: 'under way',
      SourceEndpoint: 'fabrikam',
      TargetDeliveryDomain: 'contoso.onmicrosoft.com',
    },
    gives: { BatchName: 'under way', Changed: true },
    again: { Changed: false },
    effects: ['migration users added'],
    wrong: { Identity: 'kim' },
    missing: {
      params: { BatchName: 'new', SourceEndpoint: 'nowhere' },
      says: /'nowhere' couldn't be found/,
    },
  },
  'Complete-MigrationUser': {
    params: { Identity: 'synced@contoso.example' },
    gives: { Status: 'Synced', Changed: true },
    again: { Status: 'Completing', Changed: false },
    effects: ['migration user dated'],
    wrong: { Identity: null },
    missing: { params: noRecipient, says: NO_BATCH },
  },
  'Set-MigrationUser': {
    params: {
      Identity: 'box@contoso.example',
      CompleteAfter: '2030-03-05T00:00:00Z',
      ApproveSkippedItems: 'true',
    },
    gives: { Status: 'Syncing' },
    again: {},
    effects: ['migration user dated', 'skipped items approved'],
    wrong: { CompleteAfter: null, ApproveSkippedItems: false },
    missing: { params: noRecipient, says: NO_BATCH },
  },
  'Start-MigrationUser': {
    params: { Identity: 'stopped@contoso.example' },
    gives: { Status: 'Stopped', Changed: true },
    // Without a licence it fails at once, and is started again.
    again: { Status: 'Failed' },
    effects: ['migration user started'],
    isRepeated: true,
    wrong: { Identity: '' },
    missing: { params: noRecipient, says: NO_BATCH },
  },
  'Stop-MigrationUser': {
    params: { Identity: 'box@contoso.example' },
    gives: { Status: 'Stopped', Changed: true, complete: true },
    again: { Changed: false },
    effects: ['migration user stopped'],
    wrong: { Identity: ['a@b.example'] },
    missing: { params: noRecipient, says: NO_BATCH },
  },
  'Remove-MigrationUser': {
    params: { Identity: 'box@contoso.example' },
    gives: { Changed: true, complete: true },
    again: { Changed: false },
    effects: ['migration user stopped', 'migration user removed'],
    wrong: { Identity: 'box' },
    // Removing a missing object is a success.
    missing: null,
  },
  'Test-MigrationUser': {
    params: { Identity: 'box@contoso.example' },
    gives: { complete: false, data: { Status: 'Syncing' } },
    again: {},
    effects: [],
    wrong: { WaitFor: 'Everything' },
    missing: { params: noRecipient, says: NO_BATCH },
  },
  'Test-ExchangeAttributeMatch': {
    params: {
      Identity: KIM,
      AttributeName: 'emailaddresses',
      ExpectedValue: 'KIM@contoso.example',
      IsMultiValue: 'true',
    },
    gives: { complete: true, data: { Match: true } },
    again: {},
    effects: [],
    wrong: { Expected: 'false?' },
    missing: { params: noRecipient, says: NO_RECIPIENT },
  },
  'Test-ExchangeGroupMembership': {
    params: { GroupIdentity: 'all@contoso.example', MemberIdentity: KIM },
    gives: { complete: true, data: { IsMember: true } },
    again: {},
    effects: [],
    wrong: { MemberIdentity: '' },
    missing: {
      params: { GroupIdentity: 'nobody@contoso.example' },
      says: /no distribution group "nobody@contoso\.example"/,
    },
  },
}

export function caseOf(name: string): Case {
  if (!Object.hasOwn(CASES, name))
    throw new Error(
      `${name} has no row in CASES: add one to the file of its subject in test/m365/functions/`,
    )
  return CASES[name]!
}
