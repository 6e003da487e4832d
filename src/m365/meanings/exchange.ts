// Errors of Exchange Online over its admin API: roles, recipients, addresses, parameters, load.
import type { ErrorEntry, ErrorSigns } from './entry.ts'

const OBSERVED = 'github.com/davidhend/tenant-migration-platform docs/TROUBLESHOOTING.md'
const MOVE = 'learn.microsoft.com/microsoft-365/enterprise/cross-tenant-mailbox-migration'
const EXO_HELPER = 'github.com/GreyCorbel/ExoHelper'

const exchange = (more: Omit<ErrorSigns, 'service'>): ErrorSigns => ({
  service: 'Exchange Online',
  ...more,
})

const ACCESS: readonly ErrorEntry[] = [
  {
    id: 'exchange-app-unknown',
    when: exchange({ status: [401] }),
    example: 'Exchange Online returned 401 Unauthorized: no reason given.',
    means: 'Exchange does not know the app, although Entra does.',
    actor: 'tenant_administrator',
    todo: 'Run New-ServicePrincipal in Exchange and give the app the Exchange Administrator role.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'exchange-role-missing',
    when: exchange({ code: /^CmdletAccessDeniedException$/ }),
    example:
      'Exchange Online returned 403 CmdletAccessDeniedException: Some of the parameters specified with the "Get-AcceptedDomain" cmdlet aren\'t present in the role definition for the current user. Check the management roles assigned to you, and try again.',
    means: 'The Exchange role of the app does not allow this cmdlet or parameter.',
    actor: 'tenant_administrator',
    todo: 'Give the app the role that `matoolkit function list` lists.',
    retry: 'after_fix',
    source: 'github.com/timmcmic/DLConversionV2/issues/101',
  },
  {
    id: 'exchange-write-scope',
    when: exchange({ says: /out of the current user.s write scope/i }),
    example:
      "Exchange Online returned 400 InvalidOperationException: The operation on mailbox failed because it's out of the current user's write scope.",
    means: 'The role of the app does not cover this recipient.',
    actor: 'tenant_administrator',
    todo: 'Widen the management scope of the role; synchronised recipients are changed in Active Directory.',
    retry: 'after_fix',
    source: 'github.com/OfficeDev/Office-Add-in-samples/issues/139',
  },
  {
    id: 'exchange-forbidden',
    when: exchange({ status: [403] }),
    example:
      'Exchange Online returned 403 Unexplained: The cmdlet does not exist, or no Exchange role of the app allows it.',
    means: 'No Exchange role of the app allows the cmdlet.',
    actor: 'tenant_administrator',
    todo: 'Give the app the role that `matoolkit function list` lists; it works within an hour.',
    retry: 'after_fix',
    source: 'learn.microsoft.com/powershell/exchange/app-only-auth-powershell-v2',
    isGeneral: true,
  },
]

const RECIPIENTS: readonly ErrorEntry[] = [
  {
    id: 'exchange-object-missing',
    when: exchange({ code: /^ManagementObjectNotFoundException$|^MapiObjectNotFoundException$/ }),
    example:
      "Exchange Online returned 404 ManagementObjectNotFoundException: The operation couldn't be performed because object 'x' couldn't be found on 'SYYP282A05DC002.AUSPxxxx005.PROD.OUTLOOK.COM'.",
    means: 'Exchange has no such recipient, group or batch.',
    actor: 'operator',
    todo: 'Check the address; a new account or licence takes minutes to reach Exchange.',
    retry: 'after_fix',
    source: 'github.com/Microsoft365DSC/Microsoft365DSC/issues/2998',
  },
  {
    id: 'exchange-address-taken',
    when: { says: /ProxyAddressExistsException|proxy address .* is already being used/i },
    example:
      'Exchange Online returned 400 ProxyAddressExistsException: The proxy address "SMTP:ada@contoso.com" is already being used by the proxy addresses or LegacyExchangeDN. Please choose another proxy address.',
    means: 'Another recipient has this address, perhaps a deleted one.',
    actor: 'operator',
    todo: 'Remove the address there: Remove-ExchangeSecondaryEmail, or Remove-ExchangeMailUser for a deleted one. It is free about an hour later.',
    retry: 'after_fix',
    source: 'github.com/MicrosoftDocs/OfficeDocs-Exchange/issues/1821',
  },
  {
    id: 'exchange-domain-not-accepted',
    when: { says: /NotAcceptedDomainException|not an accepted domain/i },
    example:
      "Exchange Online returned 400 NotAcceptedDomainException: You can't use the domain because it's not an accepted domain for your organization.",
    means: 'An address is in a domain that the tenant does not own.',
    actor: 'runbook_author',
    todo: 'Remove that address: Remove-ExchangeSecondaryEmail; or add the domain to the tenant.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'exchange-address-conflict',
    when: exchange({ says: /Reason: ObjectConflict/i }),
    example:
      'Exchange Online returned 400 RecipientTaskException: The value specified for property EmailAddresses is incorrect. Reason: ObjectConflict',
    means: 'An address is the sign-in name or address of another account in Entra.',
    actor: 'operator',
    todo: 'Find that account and take the address from it.',
    retry: 'after_fix',
    source: 'github.com/vilega/O365Troubleshooters/issues/215',
  },
  {
    id: 'exchange-identity-exists',
    when: exchange({ says: /ManagedMemberExists|existing identity (?:was )?found/i }),
    example:
      'Exchange Online returned 400 WLCDManagedMemberExistsException: Unable to create the mail user: an existing identity was found for "ada@contoso.com".',
    means: 'An account or a deleted mail user has this name, often from an earlier attempt.',
    actor: 'operator',
    todo: 'Purge it with Remove-ExchangeMailUser, or bring it back with Restore-EntraUser.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'exchange-user-behind',
    when: exchange({ says: /AAD user backing it/i }),
    example:
      'Exchange Online returned 400 RecipientTaskException: The mail user "ada" still has an AAD user backing it.',
    means: 'The deleted mail user still has an account in Entra.',
    actor: 'operator',
    todo: 'Delete the account permanently first: Remove-EntraUser, then empty the deleted users.',
    retry: 'after_fix',
    source: OBSERVED,
  },
]

const REQUESTS: readonly ErrorEntry[] = [
  {
    id: 'exchange-parameter-set',
    when: exchange({ says: /AmbiguousParameterSet|Parameter set cannot be resolved/i }),
    example:
      'Exchange Online returned 400 AmbiguousParameterSetException: Parameter set cannot be resolved using the specified named parameters.',
    means: 'The cmdlet does not take these parameters together.',
    actor: 'runbook_author',
    todo: 'Correct the custom function; New-MailUser needs MicrosoftOnlineServicesID and Password.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'exchange-parameter-unfit',
    when: exchange({
      code: /^(?:ParameterBinding\w*Exception|ParameterTransformationException|DataValidationException)$/,
    }),
    example:
      "Exchange Online returned 400 ParameterBindingValidationException: Cannot validate argument on parameter 'Identity'.",
    means: 'A value does not fit its parameter.',
    actor: 'runbook_author',
    todo: 'Correct the parameter that the message names.',
    retry: 'after_fix',
    source: 'github.com/Microsoft365DSC/Microsoft365DSC/issues/4446',
  },
  {
    id: 'exchange-wrong-server',
    when: exchange({ says: /doesn't have write permission to target DC/i }),
    example:
      "Exchange Online returned 500 ADOperationException: Source server:MN2PR18MB3197.namprd18.prod.outlook.com doesn't have write permission to target DC:BLAPR02A06DC004.NAMPR02A006.PROD.OUTLOOK.COM.",
    means: 'Microsoft routed the cmdlet to a server of another forest.',
    actor: 'operator',
    todo: 'Retry; if it stays, check that MATOOLKIT_TENANT_ID names this tenant.',
    retry: 'now',
    source: 'github.com/mardahl/ExchangeOnlineScripts/issues/2',
  },
  {
    id: 'exchange-member-already',
    when: exchange({ code: /^MemberAlreadyExistsException$/ }),
    example:
      'Exchange Online returned 400 MemberAlreadyExistsException: The recipient "ada" is already a member of the group "Movers".',
    means: 'The person is already in the group.',
    actor: 'nobody',
    todo: 'Mark the step as done.',
    retry: 'never',
    source: 'learn.microsoft.com/powershell/module/exchange/add-distributiongroupmember',
    isUnconfirmed: true,
  },
]

const LOAD: readonly ErrorEntry[] = [
  {
    id: 'exchange-too-many-at-once',
    when: exchange({ says: /too many concurrent|maximum number of concurrent requests/i }),
    example:
      'Exchange Online returned 429 Unexplained: You have reached the maximum number of concurrent requests per tenant. Please wait and try again',
    means: 'The tenant runs as many cmdlets at once as Exchange allows.',
    actor: 'operator',
    todo: 'Retry; lower MATOOLKIT_EXCHANGE_PARALLELISM, or pause other tools.',
    retry: 'now',
    source: EXO_HELPER,
  },
  {
    id: 'exchange-throttled',
    when: exchange({ status: [429], says: /^(?!.*maximum number of concurrent)/i }),
    example: 'Exchange Online returned 429 TooManyRequests: no reason given.',
    means: 'Exchange got too many requests and kept refusing until the attempts ran out.',
    actor: 'microsoft',
    todo: 'Wait some minutes, then retry.',
    retry: 'now',
    source: EXO_HELPER,
  },
  {
    id: 'exchange-server-busy',
    when: exchange({ says: /ServerBusy|MicroDelay|BackoffException/i }),
    example: 'Exchange Online returned 500 ServerBusyException: Server Busy',
    means: 'The Exchange server is overloaded.',
    actor: 'microsoft',
    todo: 'Wait some minutes, then retry.',
    retry: 'now',
    source: 'names known from remote PowerShell',
    isUnconfirmed: true,
  },
  {
    id: 'exchange-directory-write',
    when: exchange({ code: /^UnableToWriteToAadException$/ }),
    example:
      'Exchange Online returned 500 UnableToWriteToAadException: An Azure Active Directory call was made to keep object in sync between Azure Active Directory and Exchange Online. However, it failed.',
    means: 'Exchange could not write the change to Entra.',
    actor: 'microsoft',
    todo: 'Retry; if it stays, change the value in Entra.',
    retry: 'now',
    source: EXO_HELPER,
  },
  {
    id: 'exchange-unavailable',
    when: exchange({ status: [500, 502, 503, 504] }),
    example: 'Exchange Online returned 504 Unexplained: Gateway Timeout',
    means: 'Exchange has a fault or does not answer in time.',
    actor: 'microsoft',
    todo: 'Retry; if it stays, look at the service health of the tenant.',
    retry: 'now',
    source: OBSERVED,
    isGeneral: true,
  },
  {
    id: 'exchange-request-refused',
    when: exchange({ status: [200, 400, 404, 409] }),
    example: 'Exchange Online returned 400 RecipientTaskException: The value is not valid.',
    means: 'Exchange does not accept this request.',
    actor: 'runbook_author',
    todo: 'Correct what the message names.',
    retry: 'after_fix',
    source: 'github.com/KelvinTegelaar/CIPP-API New-ExoRequest.ps1',
    isGeneral: true,
  },
]

export const EXCHANGE_ERRORS: readonly ErrorEntry[] = [
  ...ACCESS,
  ...RECIPIENTS,
  ...REQUESTS,
  ...LOAD,
]
