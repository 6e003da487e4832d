// Rows of cases.ts for functions that change how people of the directory are described and sign in.
import type { Case } from './cases.ts'
import { ADA, BOX, GUEST, NOBODY, OBRIEN } from './tenants.ts'

const noUser = { UserId: NOBODY }
const NO_USER = /has no user "00000000-0000-4000-8000-000000000999"/
const E3 = '6fd2c87f-b296-42f0-b197-1e91e994b900'
const P1 = '078d2b04-f1bd-4111-bbd4-b4b1b354cef4'

export const ENTRA_CASES: Readonly<Record<string, Case>> = {
  'Set-EntraUserAttributes': {
    params: {
      UserId: 'ada@contoso.example',
      Attributes: {
        DEPARTMENT: 'Sales',
        businessPhones: ['+49 1', '+49 2'],
        'onPremisesExtensionAttributes.extensionAttribute1': 'wave 1',
        'onPremisesExtensionAttributes.extensionAttribute2': 'floor 4',
        city: '',
      },
    },
    gives: { UserId: ADA, Changed: true },
    again: { Previous: {}, Changed: false },
    effects: ['user changed'],
    wrong: { Attributes: { passwordProfile: 'x' } },
    missing: { params: noUser, says: NO_USER },
  },
  'Reset-EntraPassword': {
    params: { UserId: 'ada@contoso.example' },
    gives: { UserId: ADA },
    again: {},
    effects: ['user changed'],
    isRepeated: true,
    wrong: { ForceChangePasswordNextSignIn: 'maybe' },
    missing: { params: noUser, says: NO_USER },
  },
  'New-EntraTemporaryAccessPass': {
    params: { UserId: ADA, LifetimeInMinutes: '480', StartDateTime: '2030-03-01T08:00:00Z' },
    gives: { UserId: ADA, LifetimeInMinutes: 480, IsUsableOnce: false },
    again: {},
    effects: ['access pass made'],
    isRepeated: true,
    wrong: { LifetimeInMinutes: 5 },
    missing: { params: noUser, says: NO_USER },
  },
  'Test-EntraLicense': {
    params: { UserId: BOX, SkuId: 'ENTERPRISEPACK', Plans: 'EXCHANGE_S_ENTERPRISE' },
    gives: { complete: true, data: { Match: true, Pending: [] } },
    again: {},
    effects: [],
    wrong: { SkuId: '' },
    missing: { params: { SkuId: 'NO_SUCH_SKU' }, says: /has no licence "NO_SUCH_SKU"/ },
  },
  'Get-EntraLicenseCount': {
    params: { UserId: BOX, SkuId: ['ENTERPRISEPACK', 'aad_premium'] },
    gives: {
      Licenses: [
        { SkuId: E3, SkuPartNumber: 'ENTERPRISEPACK', IsHeld: true, Free: 9_999 },
        { SkuId: P1, SkuPartNumber: 'AAD_PREMIUM', IsHeld: false, Free: 9_999 },
      ],
    },
    again: {},
    effects: [],
    wrong: { SkuId: [] },
    missing: {
      params: { SkuId: 'NO_SUCH_SKU' },
      says: /no licence "NO_SUCH_SKU"\. Use one of: AAD_PREMIUM/,
    },
  },
  'Test-EntraInvitationRedeemed': {
    params: { UserId: GUEST },
    gives: { complete: true, data: { Match: true, State: 'Accepted' } },
    again: {},
    effects: [],
    wrong: { UserId: '' },
    missing: { params: noUser, says: NO_USER },
  },
  'New-EntraGuest': {
    params: {
      InvitedUserEmailAddress: "nora.o'hara@fabrikam.example",
      DisplayName: "Nora O'Hara",
      SendInvitationMessage: 'false',
      CustomizedMessageBody: 'Welcome',
    },
    gives: { State: 'PendingAcceptance', Created: true },
    again: { InviteRedeemUrl: null, CreatedUserId: null, Created: false },
    effects: ['user created', 'invitation sent', 'mail user created'],
    wrong: { InvitedUserEmailAddress: 'nora' },
    missing: {
      params: { InvitedUserEmailAddress: 'max@fabrikam.example' },
      says: /is the address of "max@contoso\.example", an account of this tenant/,
    },
  },
  'Remove-UserDomain': {
    params: { UserId: OBRIEN, Domain: 'Contoso.example' },
    gives: {
      UserPrincipalName: "kim.o'brien@contoso.onmicrosoft.com",
      PrimarySmtpAddress: "kim.o'brien@contoso.onmicrosoft.com",
      PreviousUserPrincipalName: "kim.o'brien@contoso.example",
      PreviousPrimarySmtpAddress: "kim.o'brien@contoso.example",
      PreviousMail: null,
      Removed: ["kim.o'brien@contoso.example", 'kim@contoso.example'],
      Left: [],
      Changed: true,
    },
    again: {
      Added: false,
      PreviousUserPrincipalName: null,
      PreviousPrimarySmtpAddress: null,
      Removed: [],
      Changed: false,
    },
    effects: ['user changed', 'mail user changed'],
    wrong: { UserId: 'ada@contoso.example' },
    missing: { params: noUser, says: NO_USER },
  },
  'Restore-UserDomain': {
    params: {
      UserId: OBRIEN,
      UserPrincipalName: 'kim@contoso.example',
      PrimarySmtpAddress: 'kim@contoso.example',
      Mail: '',
      EmailAddresses: ['obrien@contoso.example', 'kim@contoso.example'],
    },
    gives: { UserId: OBRIEN, Changed: true },
    again: { Changed: false },
    effects: ['user changed', 'mail user changed'],
    wrong: { EmailAddresses: ['kim'] },
    missing: { params: noUser, says: NO_USER },
  },
  'Get-DomainReferences': {
    params: { Domain: 'contoso.example', Limit: '2' },
    gives: { Count: 8, ByType: { user: 6, group: 2 } },
    again: {},
    effects: [],
    wrong: { Domain: 'contoso' },
    missing: {
      params: { Domain: 'elsewhere.example' },
      says: /has no domain "elsewhere\.example"/,
    },
  },
}
