// Errors of Microsoft Graph: permissions, directory objects, mail, throttling.
import { type ErrorEntry, type ErrorSigns, graphSays } from './entry.ts'
import { LICENCE_ERRORS } from './graph-licence.ts'

const ERRORS = 'learn.microsoft.com/graph/errors'
const THROTTLING = 'learn.microsoft.com/graph/throttling'
const AUTH = 'learn.microsoft.com/graph/resolve-auth-errors'

const graph = (more: Omit<ErrorSigns, 'service'>): ErrorSigns => ({
  service: 'Microsoft Graph',
  ...more,
})
const code = (text: RegExp): ErrorSigns => graph({ code: text })

const ACCESS: readonly ErrorEntry[] = [
  {
    id: 'graph-permission-missing',
    when: code(/^Authorization_RequestDenied$/),
    example:
      'Microsoft Graph returned 403 Authorization_RequestDenied: Insufficient privileges to complete the operation.',
    means:
      'The app lacks a Graph permission for this call, or the person has an admin role, and the app no higher one.',
    actor: 'tenant_administrator',
    todo: 'Grant the permission that `matoolkit function list` lists and give admin consent. If only people with admin roles fail, change them by hand, or assign the role Privileged Authentication Administrator to the app (User Administrator for lesser roles).',
    retry: 'after_fix',
    source: `${AUTH}, learn.microsoft.com/graph/api/resources/users#who-can-perform-sensitive-actions`,
  },
  {
    id: 'graph-app-unknown',
    when: code(/^Authorization_IdentityNotFound$/),
    example:
      'Microsoft Graph returned 401 Authorization_IdentityNotFound: The identity of the calling application could not be established.',
    means: 'The tenant does not know the app.',
    actor: 'tenant_administrator',
    todo: 'Give admin consent to the app in this tenant, or correct MATOOLKIT_TENANT_ID.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/5413',
  },
  {
    id: 'graph-token-refused',
    when: graph({ status: [401], code: /^(?!Authorization_IdentityNotFound$)/ }),
    example:
      'Microsoft Graph returned 401 InvalidAuthenticationToken: Access token has expired or is not yet valid.',
    means: 'Graph refused the token twice, the second one fresh.',
    actor: 'operator',
    todo: 'Check MATOOLKIT_CLOUD, the tenant id and the clock of the worker.',
    retry: 'after_fix',
    source: AUTH,
  },
  {
    id: 'graph-conditional-access',
    when: graphSays(/insufficient_claims/i),
    example: 'Microsoft Graph returned 403 Forbidden: error=insufficient_claims',
    means: 'A conditional access policy blocks the app.',
    actor: 'tenant_administrator',
    todo: 'Exclude the app from the policy, or allow the address of the worker.',
    retry: 'after_fix',
    source: ERRORS,
  },
  {
    id: 'graph-payment-required',
    when: graph({ status: [402] }),
    example: 'Microsoft Graph returned 402 PaymentRequired: The payment requirements are not met.',
    means: 'This API is metered and the tenant pays for it with no subscription.',
    actor: 'tenant_administrator',
    todo: 'Set up billing for metered Graph APIs.',
    retry: 'after_fix',
    source: ERRORS,
  },
]

const DIRECTORY: readonly ErrorEntry[] = [
  {
    id: 'graph-object-missing',
    when: graph({ code: /^(?:Request_ResourceNotFound|itemNotFound|ResourceNotFound)$/ }),
    example:
      "Microsoft Graph returned 404 Request_ResourceNotFound: Resource 'user@domain.com' does not exist or one of its queried reference-property objects are not present.",
    means: 'The tenant has no such user, group or reference.',
    actor: 'operator',
    todo: 'Correct the id in the data of the person; a new account takes seconds to appear.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/8637',
  },
  {
    id: 'graph-already-member',
    when: graphSays(/added object references already exist/i),
    example:
      "Microsoft Graph returned 400 Request_BadRequest: One or more added object references already exist for the following modified properties: 'members'.",
    means: 'The person is already in the group.',
    actor: 'nobody',
    todo: 'Mark the step as done.',
    retry: 'never',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/8637',
  },
  {
    id: 'graph-upn-taken',
    when: graphSays(/same value for property userPrincipalName already exists/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Another object with the same value for property userPrincipalName already exists.',
    means: 'Another account has this sign-in name.',
    actor: 'operator',
    todo: 'Choose another name in the data, or remove the other account; a deleted one keeps its name for 30 days.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/1508',
  },
  {
    id: 'graph-address-taken',
    when: graphSays(/same value for property (?:proxyAddresses|mail) already exists/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Another object with the same value for property proxyAddresses already exists.',
    means: 'Another user, group or contact has this address.',
    actor: 'operator',
    todo: 'Remove the address from the other object, or choose another one.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/8421',
  },
  {
    id: 'graph-domain-not-verified',
    when: graphSays(/domain portion of the userPrincipalName property is invalid/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: The domain portion of the userPrincipalName property is invalid. You must use one of the verified domain names in your organization.',
    means: 'The domain of the sign-in name is not verified in this tenant.',
    actor: 'tenant_administrator',
    todo: 'Verify the domain in the tenant, or use its onmicrosoft.com name.',
    retry: 'after_fix',
    source: 'error output of hashicorp/terraform-provider-azuread in public repositories',
  },
  {
    id: 'graph-domain-federated',
    when: graphSays(/SourceAnchor is a required property|FederatedUser\.SourceAnchor/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: SourceAnchor is a required property for creation of a federated user.',
    means:
      'People of this domain sign in at another identity provider, so the account needs their id there.',
    actor: 'runbook_author',
    todo: 'Pass OnPremisesImmutableId, or use a name in the onmicrosoft.com domain.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/5070',
  },
  {
    id: 'graph-domain-federated-both',
    when: graphSays(/FederatedUser\.UserPrincipalName/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Unable to update this object because the attribute FederatedUser.UserPrincipalName is not valid.',
    means: 'A sign-in name cannot go from one federated domain to another in one step.',
    actor: 'runbook_author',
    todo: 'Change it to the onmicrosoft.com domain first, then to the new one: two steps with Set-EntraUserUPN.',
    retry: 'after_fix',
    source:
      'blogs.perficient.com/2015/04/14/office-365-script-to-change-upn-between-federated-domains',
    isUnconfirmed: true,
  },
  {
    id: 'graph-upn-invalid',
    when: graphSays(/Property userPrincipalName is invalid/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Property userPrincipalName is invalid.',
    means: 'The sign-in name has forbidden characters or a foreign domain.',
    actor: 'operator',
    todo: 'Correct the name in the data of the person.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/7106',
  },
  {
    id: 'graph-password-weak',
    when: graphSays(/does not comply with password complexity requirements/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: The specified password does not comply with password complexity requirements. Please provide a different password.',
    means: 'The password is too weak for the tenant.',
    actor: 'runbook_author',
    todo: 'Leave Password out of the step: matoolkit makes a strong one.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/msgraph-sdk-java-auth/issues/36',
  },
  {
    id: 'graph-values-invalid',
    when: graphSays(/One or more properties contains? invalid values/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: One or more properties contains invalid values.',
    means: 'A value is not valid; often the sign-in name is in a federated domain.',
    actor: 'runbook_author',
    todo: 'Check each value of the step; create accounts in a managed domain.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/dotnetcore-console-sample/issues/46',
  },
  {
    id: 'graph-synced-from-ad',
    when: graphSays(/on-premises mastered Directory Sync objects/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Unable to update the specified properties for on-premises mastered Directory Sync objects or objects currently undergoing migration.',
    means: 'The account is synchronised from Active Directory and is changed there only.',
    actor: 'tenant_administrator',
    todo: 'Change the value in Active Directory and let it synchronise.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/7301',
  },
  {
    id: 'graph-mastered-by-exchange',
    when: graphSays(/originated within an external service/i),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Unable to update the specified properties for objects that have originated within an external service.',
    means: 'Exchange owns this value; Graph cannot change it.',
    actor: 'runbook_author',
    todo: 'Use an Exchange function, such as Set-ExchangePrimaryEmail or Set-ExchangeExternalAddress.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/12584',
  },
  {
    id: 'graph-directory-full',
    when: graphSays(/directory object quota limit/i),
    example:
      'Microsoft Graph returned 400 Directory_QuotaExceeded: The directory object quota limit for the Tenant has been exceeded.',
    means: 'The tenant or the app has reached its number of directory objects.',
    actor: 'tenant_administrator',
    todo: 'Purge deleted objects, or ask Microsoft to raise the quota.',
    retry: 'after_fix',
    source: 'github.com/Azure-Samples/active-directory-dotnet-graphapi-console/issues/45',
  },
  {
    id: 'graph-object-too-large',
    when: code(/^Directory_ResourceSizeExceeded$/),
    example:
      'Microsoft Graph returned 400 Directory_ResourceSizeExceeded: The size of the object has exceeded its limit. Please reduce the number of values and retry your request',
    means: 'The object has too many values.',
    actor: 'tenant_administrator',
    todo: 'Remove unused values from the object.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/21469',
  },
  {
    id: 'graph-concurrent-change',
    when: code(/^Directory_ConcurrencyViolation$/),
    example:
      'Microsoft Graph returned 409 Directory_ConcurrencyViolation: A conflicting object is being updated. Try again.',
    means: 'Something else changed the object at the same moment, again and again.',
    actor: 'operator',
    todo: 'Retry; if it stays, find the other tool that changes this object.',
    retry: 'now',
    source: ERRORS,
  },
  {
    id: 'graph-query-unsupported',
    when: code(/^Request_UnsupportedQuery$/),
    example:
      "Microsoft Graph returned 400 Request_UnsupportedQuery: Unsupported or invalid query filter clause specified for property 'x'.",
    means: 'Graph does not support this query.',
    actor: 'runbook_author',
    todo: 'Correct the custom function that sends it.',
    retry: 'after_fix',
    source: 'learn.microsoft.com/graph/aad-advanced-queries',
  },
]

const MAIL: readonly ErrorEntry[] = [
  {
    id: 'graph-mailbox-closed',
    when: graphSays(/Access to OData is disabled/i),
    example: 'Microsoft Graph returned 403 ErrorAccessDenied: Access to OData is disabled.',
    means:
      'An application access policy or an EWS policy of Exchange keeps the app out of this mailbox.',
    actor: 'tenant_administrator',
    todo: 'Add the mailbox to the scope group of the policy; it works about an hour later.',
    retry: 'after_fix',
    source: 'learn.microsoft.com/graph/auth-limit-mailbox-access',
  },
  {
    id: 'graph-mailbox-denied',
    when: graphSays(/ErrorAccessDenied: (?!Access to OData)/),
    example:
      'Microsoft Graph returned 403 ErrorAccessDenied: Access is denied. Check credentials and try again.',
    means: 'The app may not use this mailbox.',
    actor: 'tenant_administrator',
    todo: 'Grant Mail.Send with admin consent, or widen its scope in RBAC for Applications.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs-contrib/issues/375',
  },
  {
    id: 'graph-mailbox-missing',
    when: code(
      /^(?:MailboxNotEnabledForRESTAPI|ErrorNonExistentMailbox|MailboxNotSupportedForRESTAPI)$/,
    ),
    example:
      'Microsoft Graph returned 404 MailboxNotEnabledForRESTAPI: The mailbox is either inactive, soft-deleted, or is hosted on-premise.',
    means: 'The sender has no mailbox in this tenant.',
    actor: 'runbook_author',
    todo: 'Set From to a licensed or shared mailbox of the tenant.',
    retry: 'after_fix',
    source:
      'learn.microsoft.com/exchange/troubleshoot/user-and-shared-mailboxes/rest-api-is-not-yet-supported-for-this-mailbox-error',
  },
  {
    id: 'graph-sender-denied',
    when: code(/^ErrorSendAsDenied$/),
    example:
      'Microsoft Graph returned 403 ErrorSendAsDenied: The user account which was used to submit this request does not have the right to send mail on behalf of the specified sending account.',
    means: 'The mailbox may not send as this address.',
    actor: 'runbook_author',
    todo: 'Set From to the primary address of the mailbox.',
    retry: 'after_fix',
    source: 'learn.microsoft.com/graph/outlook-send-mail-from-other-user',
  },
  {
    id: 'graph-sender-invalid',
    when: code(/^ErrorInvalidUser$/),
    example:
      "Microsoft Graph returned 404 ErrorInvalidUser: The requested user 'example@domain.tld' is invalid.",
    means: 'No user has the sender address.',
    actor: 'runbook_author',
    todo: 'Correct From: use the sign-in name or the primary address of the mailbox.',
    retry: 'after_fix',
    source: 'github.com/InnoGE/laravel-msgraph-mail/issues/16',
  },
  {
    id: 'graph-invitation-undeliverable',
    when: graphSays(/Unable to find target address/i),
    example: 'Microsoft Graph returned 500 InternalServerError: Unable to find target address',
    means: 'Microsoft cannot deliver an invitation to this address.',
    actor: 'operator',
    todo: 'Check the address; it must accept mail and be in another tenant.',
    retry: 'after_fix',
    source: 'github.com/microsoftgraph/microsoft-graph-docs/issues/22397',
  },
  {
    id: 'graph-invitation-refused',
    when: graphSays(/can.t be invited to this directory/i),
    example:
      'Microsoft Graph returned 400 BadRequest: This user can’t be invited to this directory. Please try a different email address for the user or create a user account for them in your Azure AD directory.',
    means: 'The tenant does not accept guests with this address.',
    actor: 'tenant_administrator',
    todo: 'Allow the domain in the settings for external collaboration.',
    retry: 'after_fix',
    source: 'github.com/MicrosoftDocs/azure-docs/issues/48061',
  },
]

const SERVICE: readonly ErrorEntry[] = [
  {
    id: 'graph-throttled',
    when: graph({ status: [429] }),
    example: 'Microsoft Graph returned 429 TooManyRequests: Please retry again later.',
    means: 'Graph got too many requests and kept refusing until the attempts ran out.',
    actor: 'microsoft',
    todo: 'Wait some minutes, then retry; lower MATOOLKIT_MAX_PARALLELISM if it returns.',
    retry: 'now',
    source: THROTTLING,
  },
  {
    id: 'graph-locked',
    when: graph({ status: [423] }),
    example: 'Microsoft Graph returned 423 Locked: The resource that is being accessed is locked.',
    means: 'Something else holds the object.',
    actor: 'microsoft',
    todo: 'Wait some minutes, then retry.',
    retry: 'now',
    source: ERRORS,
  },
  {
    id: 'graph-unavailable',
    when: graph({ status: [500, 502, 503, 504] }),
    example:
      'Microsoft Graph returned 503 ServiceUnavailable: The service is temporarily unavailable.',
    means: 'Graph has a fault or is overloaded.',
    actor: 'microsoft',
    todo: 'Retry; if it stays, look at the service health of the tenant.',
    retry: 'now',
    source: ERRORS,
    isGeneral: true,
  },
  {
    id: 'graph-forbidden',
    when: graph({ status: [403] }),
    example: 'Microsoft Graph returned 403 Forbidden: Access is denied to the requested resource.',
    means: 'The app may not do this.',
    actor: 'tenant_administrator',
    todo: 'Compare its permissions with `matoolkit function list`.',
    retry: 'after_fix',
    source: ERRORS,
    isGeneral: true,
  },
  {
    id: 'graph-not-found',
    when: graph({ status: [404] }),
    example: 'Microsoft Graph returned 404 Unexplained: no reason given.',
    means: 'Graph has nothing at this address.',
    actor: 'operator',
    todo: 'Check the ids in the data, MATOOLKIT_GRAPH_URL and the proxy.',
    retry: 'after_fix',
    source: ERRORS,
    isGeneral: true,
  },
  {
    id: 'graph-request-invalid',
    when: graph({ status: [400, 405, 406, 409, 411, 412, 413, 415, 422] }),
    example:
      'Microsoft Graph returned 400 Request_BadRequest: Invalid value specified for property.',
    means: 'Graph does not accept this request.',
    actor: 'runbook_author',
    todo: 'Correct the parameter that the message names.',
    retry: 'after_fix',
    source: ERRORS,
    isGeneral: true,
  },
]

export const GRAPH_ERRORS: readonly ErrorEntry[] = [
  ...ACCESS,
  ...DIRECTORY,
  ...LICENCE_ERRORS,
  ...MAIL,
  ...SERVICE,
]
