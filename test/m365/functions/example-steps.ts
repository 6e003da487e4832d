// The step that docs/reference/steps.yaml shows for each function: the parameters of its row in cases.ts, which the tests run, with columns of a
// member file and outputs of earlier steps in place of the people there. A test validates each and fits it to the function.
import { stringify } from 'yaml'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import {
  parametersSchema,
  resultSchema,
  type WorkerFunction,
} from '../../../src/worker/functions/catalogue.ts'
import { caseOf, type Params } from './cases.ts'

const WAVE = 'wave {{_batch_id}}'
const MAILBOX_USERS = {
  FullAccess: undefined,
  AutoMapping: undefined,
  SendAs: '{{person:SendAs}}',
  SendOnBehalf: '{{person:SendOnBehalf}}',
}
const ONEDRIVE = {
  SourceUserPrincipalName: '{{UserPrincipalName}}',
  TargetUserPrincipalName: '{{TargetUpn}}',
  TargetOrganizationHost: 'https://contoso-my.sharepoint.com',
}

/** By parameter, where it has the same meaning everywhere. */
const USUAL: Params = {
  UserId: '{{AccountId}}',
  Identity: '{{TargetUpn}}',
  MemberIdentity: '{{TargetUpn}}',
  DisplayName: '{{DisplayName}}',
  MailNickname: '{{MailNickname}}',
  JobId: '{{JobId}}',
  UserPrincipalName: '{{TargetUpn}}',
  NewUserPrincipalName: '{{TargetUpn}}',
  ExchangeGuid: '{{ExchangeGuid}}',
  ArchiveGuid: '{{ArchiveGuid}}',
  Holds: '{{Holds}}',
  X500Addresses: '{{X500Addresses}}',
  SourceAddresses: '{{SourceAddresses}}',
  SizeBytes: '{{SizeBytes}}',
  User: '{{CalendarEditors}}',
  EmailAddress: '{{OldAddresses}}',
  InvitedUserEmailAddress: '{{UserPrincipalName}}',
  BatchName: WAVE,
  Name: WAVE,
  TargetDeliveryDomain: 'contoso.onmicrosoft.com',
  EmailAddresses: '{{TargetUpn}}',
  ExternalEmailAddress: '{{UserPrincipalName}}',
  CompleteAfter: '{{_batch_start_time}}',
}

/** Undefined leaves a parameter out. */
const SPECIAL: Readonly<Record<string, Readonly<Record<string, Json | undefined>>>> = {
  'Set-EntraUserAttribute': { AttributeName: 'department', Value: '{{Department}}' },
  'Set-EntraUserAttributes': {
    Attributes: {
      department: '{{Department}}',
      businessPhones: '{{Phones}}',
      'onPremisesExtensionAttributes.extensionAttribute1': WAVE,
    },
  },
  'Set-EntraUserManager': { ManagerId: '{{ManagerUpn}}' },
  'New-EntraTemporaryAccessPass': { StartDateTime: '{{_batch_start_time}}' },
  'Add-EntraUserLicense': { SkuId: 'SPE_E3' },
  'Remove-EntraUserLicense': { SkuId: 'SPE_E3' },
  'Test-EntraLicense': { SkuId: 'SPE_E3' },
  'Get-EntraLicenseCount': { SkuId: 'SPE_E3' },
  'New-EntraB2BInvitation': { CustomizedMessageBody: undefined },
  'New-EntraGuest': { CustomizedMessageBody: undefined, SendInvitationMessage: undefined },
  'Remove-UserDomain': { UserId: '{{SourceObjectId}}', Domain: 'fabrikam.example' },
  'Restore-UserDomain': {
    UserId: '{{SourceObjectId}}',
    UserPrincipalName: '{{PreviousUpn}}',
    PrimarySmtpAddress: '{{PreviousPrimary}}',
    Mail: '{{PreviousMail}}',
    EmailAddresses: '{{RemovedAddresses}}',
  },
  'Get-DomainReferences': { Domain: 'fabrikam.example', Limit: undefined },
  'Test-EntraAttributeMatch': { AttributeName: 'department', ExpectedValue: '{{Department}}' },
  'Test-ExchangeAttributeMatch': {
    AttributeName: 'EmailAddresses',
    ExpectedValue: '{{TargetUpn}}',
  },
  'Get-ExchangeMoveSource': { Identity: '{{UserPrincipalName}}' },
  'New-ExchangeMailUser': {
    UserPrincipalName: '{{MailNickname}}@contoso.onmicrosoft.com',
    PrimarySmtpAddress: '{{TargetUpn}}',
    Alias: '{{MailNickname}}',
    LastName: undefined,
  },
  'Remove-ExchangeMailUser': { AllowExisting: undefined },
  'Set-ExchangePrimaryEmail': { Identity: '{{AccountId}}', NewPrimaryEmail: '{{TargetUpn}}' },
  'Set-ExchangeForwarding': { ForwardingSmtpAddress: '{{UserPrincipalName}}' },
  'Add-ExchangeMailboxPermission': MAILBOX_USERS,
  'Remove-ExchangeMailboxPermission': MAILBOX_USERS,
  'Set-ExchangeAutoReply': { StartTime: '{{_batch_start_time}}' },
  'Test-OneDriveMoveReadiness': ONEDRIVE,
  'Start-OneDriveMove': { ...ONEDRIVE, PreferredStartDateTime: '{{_batch_start_time}}' },
  'Stop-OneDriveMove': { SourceUserPrincipalName: '{{UserPrincipalName}}' },
  'Test-OneDriveMove': { SourceUserPrincipalName: '{{UserPrincipalName}}' },
  'New-CrossTenantMigrationJob': { Name: `${WAVE}, {{TargetUpn}}`, UserIds: '{{AccountId}}' },
  'Test-CrossTenantMigrationJob': { WaitFor: 'Validated' },
  'Test-ExchangeNamesFree': { Names: ['{{TargetUpn}}', '{{MailNickname}}'] },
  'Send-SignInDetails': {
    From: 'migration@contoso.example',
    Secret: '{{AccessPassSecret}}',
    To: '{{PrivateMail}}',
    Body: 'Dear {{DisplayName}}, sign in as {{TargetUpn}}. Your access pass: [secret]',
  },
  'Send-Notification': { From: 'migration@contoso.example', To: '{{TargetUpn}}' },
}

/** They run in the tenant that people leave. */
const AT_SOURCE = [
  'Get-ExchangeMoveSource',
  'Remove-UserDomain',
  'Restore-UserDomain',
  'Get-DomainReferences',
  'Test-OneDriveMoveReadiness',
  'Start-OneDriveMove',
  'Stop-OneDriveMove',
  'Test-OneDriveMove',
]

export function exampleStep(definition: WorkerFunction): string {
  const { name } = definition
  const { properties = {} } = parametersSchema(definition) as { properties?: JsonObject }
  const { params } = caseOf(name)
  const usual = Object.entries(USUAL).filter(([key]) => Object.hasOwn(params, key))
  const shown = { ...params, ...Object.fromEntries(usual), ...SPECIAL[name] }
  const isPolled = Object.hasOwn((resultSchema(definition).properties ?? {}) as object, 'complete')
  const step = {
    name: name.replaceAll(/([a-z])([A-Z])/g, '$1-$2').toLowerCase(),
    worker_id: AT_SOURCE.includes(name) ? 'fabrikam-worker' : 'contoso-worker',
    function: name,
    params: Object.fromEntries(
      Object.entries(shown)
        .filter(([, value]) => value !== '' && value !== null && value !== undefined)
        .map(([key, value]) => [key, typed(value!, properties[key])]),
    ),
    ...(isPolled ? { poll: { interval: '15m', timeout: '1d' } } : {}),
  }
  return stringify([step], { lineWidth: 0 }).trimEnd()
}

/** The cases write some values as texts, as a CSV file does; an example writes them as they are. */
function typed(value: Json, schema: Json | undefined): Json {
  const kinds = JSON.stringify(schema ?? {})
  if (kinds.includes('"boolean"') && /^(?:true|false)$/.test(String(value)))
    return String(value) === 'true'
  return kinds.includes('"integer"') && /^\d+$/.test(String(value)) ? Number(value) : value
}
