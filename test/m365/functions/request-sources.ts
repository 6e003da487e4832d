// Where each call of requests.http is documented: Microsoft's page, the fields that it was read for, the least permission of an app, a public
// program that sends the same call, and what the page leaves open. Read against microsoft-graph-docs-contrib@47f6520 and
// office-docs-powershell@93336da (August 2026); the pages of v1.0 of crossTenantMigrationJobs on learn.microsoft.com. A call or a field that is not listed here fails a test: read its page first.

export interface CallSource {
  /** Graph: the page below learn.microsoft.com/graph/api. */
  readonly page?: string
  /** Parameters, properties of the body and options of the query that the page was read for. */
  readonly fields: readonly string[]
  /** Graph: the least that the page names for an app. */
  readonly permission?: string
  /** Public programs that send the same call. */
  readonly seenIn?: readonly string[]
  /** What no document settles, and what is done about it. */
  readonly open?: string
}

const CIPP = 'KelvinTegelaar/CIPP-API'
const PLATFORM = 'davidhend/tenant-migration-platform'

export const GRAPH_SOURCES: Readonly<Record<string, CallSource>> = {
  'GET /v1.0/users/{id}': {
    page: 'user-get',
    fields: ['$select'],
    permission: 'User.Read.All',
  },
  'POST /v1.0/users': {
    page: 'user-post-users',
    fields: [
      'accountEnabled',
      'displayName',
      'mailNickname',
      'passwordProfile',
      'userPrincipalName',
    ],
    permission: 'User.Create',
  },
  'PATCH /v1.0/users/{id}': {
    page: 'user-update',
    fields: [
      'accountEnabled',
      'businessPhones',
      'department',
      'onPremisesExtensionAttributes',
      'passwordProfile',
      'usageLocation',
      'userPrincipalName',
    ],
    permission:
      'User.ReadUpdate.All; by property User.EnableDisableAccount.All with User.Read.All, User-PasswordProfile.ReadWrite.All, User-Phone.ReadWrite.All, User-Mail.ReadWrite.All',
    open: 'whether an app that resets passwords also needs the role User Administrator',
  },
  'GET /v1.0/users/{id}/manager': {
    page: 'user-list-manager',
    fields: ['$select'],
    permission: 'none for apps, by the page',
    open: 'the page closes it to apps, programs use it with User.Read.All: where it is refused, the manager is set without a look',
  },
  'PUT /v1.0/users/{id}/manager/$ref': {
    page: 'user-post-manager',
    fields: ['@odata.id'],
    permission: 'User.ReadWrite.All',
  },
  'POST /v1.0/users/{id}/revokeSignInSessions': {
    page: 'user-revokesigninsessions',
    fields: [],
    permission: 'User.RevokeSessions.All',
  },
  'POST /v1.0/users/{id}/authentication/temporaryAccessPassMethods': {
    page: 'authentication-post-temporaryaccesspassmethods',
    fields: ['isUsableOnce', 'lifetimeInMinutes', 'startDateTime'],
    permission: 'UserAuthMethod-TAP.ReadWrite.All',
    open: 'the page lists a permission to read as the least one; for administrators it names roles of people only',
  },
  'DELETE /v1.0/users/{id}': {
    page: 'user-delete',
    fields: [],
    permission: 'User.ReadWrite.All',
  },
  'POST /v1.0/directory/deletedItems/{id}/restore': {
    page: 'directory-deleteditems-restore',
    fields: [],
    permission: 'User.DeleteRestore.All',
  },
  'POST /v1.0/groups/{id}/members/$ref': {
    page: 'group-post-members',
    fields: ['@odata.id'],
    permission: 'GroupMember.ReadWrite.All',
  },
  'GET /v1.0/groups/{id}/members': {
    page: 'group-list-members',
    fields: ['$select', '$top'],
    permission: 'GroupMember.Read.All',
    open: 'the page takes query options as advanced queries only; programs send these two without the header',
  },
  'PATCH /v1.0/groups/{id}': {
    page: 'group-post-members',
    fields: ['members@odata.bind'],
    permission: 'GroupMember.ReadWrite.All',
  },
  'DELETE /v1.0/groups/{id}/members/{id}/$ref': {
    page: 'group-delete-members',
    fields: [],
    permission: 'GroupMember.ReadWrite.All',
  },
  'GET /v1.0/subscribedSkus': {
    page: 'subscribedsku-list',
    fields: [],
    permission: 'LicenseAssignment.Read.All',
  },
  'POST /v1.0/users/{id}/assignLicense': {
    page: 'user-assignlicense',
    fields: ['addLicenses', 'removeLicenses'],
    permission: 'LicenseAssignment.ReadWrite.All',
  },
  'POST /v1.0/invitations': {
    page: 'invitation-post',
    fields: [
      'inviteRedirectUrl',
      'invitedUser',
      'invitedUserDisplayName',
      'invitedUserEmailAddress',
      'invitedUserMessageInfo',
      'invitedUserType',
      'sendInvitationMessage',
    ],
    permission: 'User.Invite.All',
  },
  'POST /beta/users/{id}/convertExternalToInternalMemberUser': {
    page: 'user-convertexternaltointernalmemberuser',
    fields: ['passwordProfile', 'userPrincipalName'],
    permission: 'User-ConvertToInternal.ReadWrite.All',
  },
  'GET /v1.0/users': {
    page: 'user-list',
    fields: ['$filter', '$select'],
    permission: 'User.Read.All',
  },
  'GET /v1.0/domains/{id}/domainNameReferences': {
    page: 'domain-list-domainnamereferences',
    fields: ['$select'],
    permission: 'Domain.Read.All',
  },
  'POST /v1.0/users/{id}/checkMemberGroups': {
    page: 'directoryobject-checkmembergroups',
    fields: ['groupIds'],
    permission: 'User.ReadBasic.All and GroupMember.Read.All',
  },
  'GET /v1.0/groups/{id}/transitiveMembers': {
    page: 'group-list-transitivemembers',
    fields: ['$select', '$top'],
    permission: 'GroupMember.Read.All',
    open: 'the page takes query options as advanced queries only; programs send these two without the header',
  },
  'GET /v1.0/users/{id}/licenseDetails': {
    page: 'user-list-licensedetails',
    fields: [],
    permission: 'none for apps, by the page',
    open: 'others report that apps may read it; where it is refused, the plans of the user tell',
  },
  'DELETE /v1.0/directory/deletedItems/{id}': {
    page: 'directory-deleteditems-delete',
    fields: [],
    permission: 'User.DeleteRestore.All',
  },
  'POST /beta/solutions/sharePoint/migrations/crossOrganizationMigrationTasks': {
    page: 'sharepointmigrationtask-update',
    fields: ['parameters'],
    permission: 'SharePointCrossTenantMigration.Manage.All',
    open: 'its note wants the whole structure, its examples send the parameters alone, as here',
  },
  'GET /beta/solutions/sharePoint/migrations/crossOrganizationMigrationTasks/getBySourceUserPrincipalName(sourcePrincipalName={name})':
    {
      page: 'sharepointmigrationtask-getbysourceuserprincipalname',
      fields: [],
      permission: 'SharePointCrossTenantMigration.Read.All',
    },
  'POST /beta/solutions/sharePoint/migrations/crossOrganizationMigrationTasks/{id}/cancel': {
    page: 'sharepointmigrationtask-cancel',
    fields: [],
    permission: 'SharePointCrossTenantMigration.Manage.All',
    open: 'what a late cancel answers',
  },
  'GET /v1.0/solutions/migrations/crossTenantMigrationJobs': {
    page: 'migrationsroot-list-crosstenantmigrationjobs',
    fields: [],
    permission: 'CrossTenantContentMigration.Read.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'POST /v1.0/solutions/migrations/crossTenantMigrationJobs': {
    page: 'migrationsroot-post-crosstenantmigrationjobs',
    fields: [
      'completeAfterDateTime',
      'displayName',
      'exchangeSettings',
      'resourceType',
      'resources',
      'sourceTenantId',
    ],
    permission: 'CrossTenantContentMigration.ReadWrite.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'POST /v1.0/solutions/migrations/crossTenantMigrationJobs/{id}/validate': {
    page: 'crosstenantmigrationjob-validate',
    fields: [],
    permission: 'CrossTenantContentMigration.ReadWrite.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'GET /v1.0/solutions/migrations/crossTenantMigrationJobs/{id}': {
    page: 'crosstenantmigrationjob-get',
    fields: [],
    permission: 'CrossTenantContentMigration.Read.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'POST /v1.0/solutions/migrations/crossTenantMigrationJobs/{id}/migrate': {
    page: 'crosstenantmigrationjob-migrate',
    fields: [],
    permission: 'CrossTenantContentMigration.ReadWrite.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'POST /v1.0/solutions/migrations/crossTenantMigrationJobs/{id}/cancel': {
    page: 'crosstenantmigrationjob-cancel',
    fields: [],
    permission: 'CrossTenantContentMigration.ReadWrite.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'GET /v1.0/solutions/migrations/crossTenantMigrationJobs/{id}/users/{id}': {
    page: 'crosstenantmigrationtask-get',
    fields: [],
    permission: 'CrossTenantContentMigration.Read.All',
    open: 'the beta page closes it to apps, that of v1.0 names the permission',
  },
  'POST /v1.0/users/{id}/sendMail': {
    page: 'user-sendmail',
    fields: ['message', 'saveToSentItems'],
    permission: 'Mail.Send',
    open: '`singleValueExtendedProperties` of the message: the page shows it for other ways to create a mail',
  },
  'GET /v1.0/users/{id}/mailFolders/sentitems/messages': {
    page: 'singlevaluelegacyextendedproperty-get',
    fields: ['$filter', '$select', '$top'],
    permission: 'Mail.Read',
    open: 'how soon a sent mail is in Sent Items; no page says it',
  },
}

/** Each has its own page, powershell/module/exchangepowershell/<name>; which roles may run it is not on it. */
export const CMDLET_SOURCES: Readonly<Record<string, CallSource>> = {
  'Get-Recipient': {
    fields: ['Identity'],
    seenIn: [CIPP, PLATFORM],
  },
  'Set-MailUser': {
    fields: [
      'ArchiveGuid',
      'EmailAddresses',
      'ExchangeGuid',
      'ExternalEmailAddress',
      'HiddenFromAddressListsEnabled',
      'Identity',
    ],
    seenIn: [CIPP, PLATFORM],
    open: '`@{Add=…}` for EmailAddresses over REST: the whole list is written',
  },
  'Get-Mailbox': {
    fields: ['Identity'],
    seenIn: [CIPP, PLATFORM],
  },
  'Get-MailboxStatistics': {
    fields: ['Identity'],
    seenIn: [CIPP],
  },
  'Get-MailboxPermission': {
    fields: ['Identity'],
    seenIn: [CIPP],
  },
  'Get-RecipientPermission': {
    fields: ['Identity'],
    seenIn: [CIPP],
  },
  'Get-User': {
    fields: ['Identity'],
    seenIn: [CIPP],
  },
  'New-MailUser': {
    fields: [
      'Alias',
      'DisplayName',
      'ExternalEmailAddress',
      'LastName',
      'MicrosoftOnlineServicesID',
      'Name',
      'Password',
      'PrimarySmtpAddress',
    ],
    seenIn: [CIPP, PLATFORM],
    open: 'whether PrimarySmtpAddress is taken in the cloud: a second write sets it where it was ignored',
  },
  'Get-OrganizationConfig': {
    fields: [],
    seenIn: [CIPP],
  },
  'Get-AcceptedDomain': {
    fields: [],
    seenIn: [CIPP, PLATFORM],
  },
  'Test-MigrationServerAvailability': {
    fields: ['Endpoint', 'TestMailbox'],
    seenIn: [],
    open: 'how it answers for one mailbox: anything but success is a gap',
  },
  'Get-MailUser': {
    fields: ['Identity', 'SoftDeletedMailUser'],
    seenIn: [CIPP, PLATFORM],
    open: 'how a deleted mail user is named',
  },
  'Remove-MailUser': {
    fields: ['Confirm', 'Identity', 'PermanentlyDelete'],
    seenIn: [CIPP, PLATFORM],
  },
  'Set-User': {
    fields: ['Confirm', 'Identity', 'PermanentlyClearPreviousMailboxInfo'],
    seenIn: [CIPP],
  },
  'Get-HostedOutboundSpamFilterPolicy': {
    fields: [],
    seenIn: [CIPP],
    open: 'which of its roles suffice: where it is refused, forwarding is not checked',
  },
  'Set-Mailbox': {
    fields: [
      'DeliverToMailboxAndForward',
      'ForwardingSmtpAddress',
      'GrantSendOnBehalfTo',
      'Identity',
      'LitigationHoldEnabled',
      'Type',
    ],
    seenIn: [CIPP, PLATFORM],
  },
  'Add-DistributionGroupMember': {
    fields: ['BypassSecurityGroupManagerCheck', 'Confirm', 'Identity', 'Member'],
    seenIn: [CIPP, PLATFORM],
  },
  'Remove-DistributionGroupMember': {
    fields: ['BypassSecurityGroupManagerCheck', 'Confirm', 'Identity', 'Member'],
    seenIn: [CIPP],
  },
  'Add-MailboxPermission': {
    fields: ['AccessRights', 'AutoMapping', 'Confirm', 'Identity', 'User'],
    seenIn: [CIPP],
  },
  'Remove-RecipientPermission': {
    fields: ['AccessRights', 'Confirm', 'Identity', 'Trustee'],
    seenIn: [CIPP],
  },
  'Get-MailboxFolderStatistics': {
    fields: ['FolderScope', 'Identity'],
    seenIn: [CIPP],
  },
  'Get-MailboxFolderPermission': {
    fields: ['Identity', 'User'],
    seenIn: [CIPP],
  },
  'Set-MailboxFolderPermission': {
    fields: ['AccessRights', 'Identity', 'User'],
    seenIn: [CIPP],
  },
  'Add-MailboxFolderPermission': {
    fields: ['AccessRights', 'Identity', 'User'],
    seenIn: [CIPP],
  },
  'Remove-MailboxFolderPermission': {
    fields: ['Confirm', 'Identity', 'User'],
    seenIn: [CIPP],
  },
  'Get-MailboxAutoReplyConfiguration': {
    fields: ['Identity'],
    seenIn: [CIPP],
  },
  'Set-MailboxAutoReplyConfiguration': {
    fields: [
      'AutoReplyState',
      'EndTime',
      'ExternalAudience',
      'ExternalMessage',
      'Identity',
      'InternalMessage',
      'StartTime',
    ],
    seenIn: [CIPP],
  },
  'Enable-Mailbox': {
    fields: ['Archive', 'Confirm', 'Identity'],
    seenIn: [CIPP],
  },
  'Get-MigrationBatch': {
    fields: ['Identity'],
    seenIn: [PLATFORM],
  },
  'New-MigrationBatch': {
    fields: [
      'AutoStart',
      'CSVData',
      'CompleteAfter',
      'Name',
      'SourceEndpoint',
      'TargetDeliveryDomain',
    ],
    seenIn: [PLATFORM],
    open: 'the form of CSVData: base64 alone is tried first, then with its type',
  },
  'Stop-MigrationBatch': {
    fields: ['Confirm', 'Identity'],
    seenIn: [],
    open: 'how long it takes',
  },
  'Remove-MigrationBatch': {
    fields: ['Confirm', 'Identity'],
    seenIn: [PLATFORM],
    open: 'how long it takes',
  },
  'Get-MigrationUser': {
    fields: ['BatchId', 'Identity', 'IncludeAssociatedUsers', 'ResultSize'],
    seenIn: [PLATFORM],
    open: '`NeedsApproval`, which was observed, is not among its documented statuses; what else it shows of an associated user',
  },
  'Set-MigrationBatch': {
    fields: ['AddUsers', 'CSVData', 'Identity'],
    seenIn: [],
    open: 'the form of CSVData, as above; whether people who are added start by themselves',
  },
  'Set-MigrationUser': {
    fields: ['ApproveSkippedItems', 'CompleteAfter', 'Identity'],
    seenIn: [],
  },
  'Start-MigrationUser': {
    fields: ['Confirm', 'Identity'],
    seenIn: [],
  },
  'Stop-MigrationUser': {
    fields: ['Confirm', 'Identity'],
    seenIn: [],
    open: 'how long it takes, and whether it wins over a completion',
  },
  'Remove-MigrationUser': {
    fields: ['Confirm', 'Identity'],
    seenIn: [],
    open: 'how long it takes, and whether a move that runs can be removed',
  },
  'Get-DistributionGroupMember': {
    fields: ['Identity', 'ResultSize'],
    seenIn: [CIPP],
  },
}
