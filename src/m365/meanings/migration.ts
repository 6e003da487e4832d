// Errors of mailbox moves between tenants, as a migration user or a migration batch names them.
import type { ErrorEntry } from './entry.ts'

const MOVE = 'learn.microsoft.com/microsoft-365/enterprise/cross-tenant-mailbox-migration'
const OBSERVED = 'github.com/davidhend/tenant-migration-platform docs/TROUBLESHOOTING.md'
const SUPPORT = 'learn.microsoft.com/exchange/troubleshoot'

const PREPARATION: readonly ErrorEntry[] = [
  {
    id: 'move-licence-missing',
    when: {
      says: /CrossTenantMigrationWithoutLicense|No license was found for the source recipient/i,
    },
    example:
      "Error: CrossTenantMigrationWithoutLicensePermanentException: No license was found for the source recipient, '65c3c3ea-2b9a-44d0-a685-9bfe300f8c87', or the target recipient, '65c3c3ea-2b9a-44d0-a685-9bfe300f8c87'. A Cross-tenant User Data Migration license is required to move a mailbox between tenants.",
    means: 'The person has no licence for moves between tenants, in neither tenant.',
    actor: 'tenant_administrator',
    todo: 'Buy "Cross Tenant User Data Migration" and assign it: Add-EntraUserLicense.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-out-of-scope',
    when: { says: /MailboxNotInCrossTenantMigrationScope|does not authorize (?:the )?mailbox/i },
    example:
      'MailboxNotInCrossTenantMigrationScopeException: The source tenant does not authorize mailbox for migration.',
    means: 'The mailbox is not in the group that the source tenant publishes for moves.',
    actor: 'tenant_administrator',
    todo: 'Add the person to the scope group in the source tenant; check MailboxMovePublishedScopes.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-recipient-missing',
    when: { says: /MigrationRecipientNotFound|recipient wasn.t found for .* on the target/i },
    example:
      'MigrationRecipientNotFoundException: A recipient wasn\'t found for "USER" on the target. Create a recipient of the appropriate type for this migration on the target and try again.',
    means: 'The target tenant has no mail user for this person.',
    actor: 'runbook_author',
    todo: 'Run New-ExchangeMailUser before the migration batch.',
    retry: 'after_fix',
    source: 'github.com/MicrosoftDocs/microsoft-365-docs/issues/6139',
  },
  {
    id: 'move-recipient-type',
    when: { says: /migration user type for .* is not correct/i },
    example:
      "The migration user type for 'ada@contoso.com' is not correct. Please ensure it has RecipientTypeDetails:MailUser",
    means: 'The batch names the source mailbox instead of the mail user in the target.',
    actor: 'runbook_author',
    todo: 'Put the target address of the person into EmailAddresses of the batch.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'move-target-has-mailbox',
    when: { says: /already has a primary mailbox/i },
    example: "MigrationPermanentException: Target user 'USER' already has a primary mailbox.",
    means:
      'The person already has a mailbox in the target; it was licensed for Exchange before its GUID was stamped.',
    actor: 'operator',
    todo: 'Remove the Exchange licence, clear the mailbox with Clear-ExchangePreviousMailbox, stamp it with Set-ExchangeMoveTarget.',
    retry: 'after_fix',
    source: 'github.com/MicrosoftDocs/microsoft-365-docs/issues/6139',
  },
  {
    id: 'move-guid-missing',
    when: { says: /MissingExchangeGuidException/i },
    example: 'MissingExchangeGuidException: The target mail user has no ExchangeGuid.',
    means: 'The mail user in the target lacks the ExchangeGuid of the source mailbox.',
    actor: 'runbook_author',
    todo: 'Run Set-ExchangeMoveTarget with the outputs of Get-ExchangeMoveSource.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-guid-unknown',
    when: { says: /Cannot find a recipient that has mailbox GUID/i },
    example:
      "MigrationPermanentException: Cannot find a recipient that has mailbox GUID 'd9e8a2b3-0000-0000-0000-000000000000'.",
    means: 'No recipient has the GUID of the mailbox.',
    actor: 'runbook_author',
    todo: 'Stamp the right ExchangeGuid: Set-ExchangeMoveTarget.',
    retry: 'after_fix',
    source: `${SUPPORT}/move-mailboxes/migrationpermanentexception-when-moving-mailboxes`,
  },
  {
    id: 'move-delivery-address-missing',
    when: { says: /doesn.t have an smtp proxy matching/i },
    example:
      "MigrationPermanentException: The target mailbox doesn't have an SMTP proxy matching 'contoso.mail.onmicrosoft.com'.",
    means: 'The mail user has no address in the delivery domain of the batch.',
    actor: 'runbook_author',
    todo: 'Add one: Set-ExchangeMoveTarget, or Add-ExchangeSecondaryEmail.',
    retry: 'after_fix',
    source: `${SUPPORT}/move-or-migrate-mailboxes/no-smtp-proxy-matching`,
  },
  {
    id: 'move-row-invalid',
    when: { says: /MigrationCSVRowValidation|0x80070057/i },
    example: 'MigrationCSVRowValidationException: An unexpected error occurred. (0x80070057)',
    means:
      'Exchange refuses this person in the batch: the mail user is not prepared, or the endpoint cannot sign in.',
    actor: 'tenant_administrator',
    todo: 'Check the mail user with Get-MailUser and the endpoint with Test-MigrationServerAvailability.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'move-hold',
    when: { says: /mailbox .*is on (?:litigation |any )?hold|MailboxOnHold/i },
    example: "MigrationPermanentException: The mailbox 'ada' is on litigation hold.",
    means: 'The source mailbox is on hold; Microsoft does not move it.',
    actor: 'tenant_administrator',
    todo: 'Release the hold, or leave this person out.',
    retry: 'after_fix',
    source: MOVE,
    isUnconfirmed: true,
  },
]

const ARCHIVE: readonly ErrorEntry[] = [
  {
    id: 'move-archive-not-found',
    when: { says: /AuxArchiveNotFoundInTargetRecipient/i },
    example: 'AuxArchiveNotFoundInTargetRecipientException',
    means:
      'The person came into the scope group only after the batch began, and has a further archive.',
    actor: 'operator',
    todo: 'Add the person to the scope group, remove the migration user, add it to a new batch.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-archive-grew',
    when: { says: /SourceAuxArchiveIsProvisionedDuringCrossTenantMove/i },
    example: 'SourceAuxArchiveIsProvisionedDuringCrossTenantMovePermanentException',
    means: 'The archive got a further part during the move.',
    actor: 'operator',
    todo: 'Remove the migration user and add it to a new batch.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-archive-disabled',
    when: { says: /UserAlreadyHasDemotedArchive/i },
    example: 'UserAlreadyHasDemotedArchiveException',
    means: 'The person had an archive that was disabled.',
    actor: 'tenant_administrator',
    todo: 'Delete the disabled archive for good, or enable it and stamp its ArchiveGuid.',
    retry: 'after_fix',
    source: MOVE,
  },
]

const RUNNING: readonly ErrorEntry[] = [
  {
    id: 'move-in-other-batch',
    when: {
      says: /UserDuplicateInOtherBatch|already included in another migration batch|UserAlreadyBeingMigrated/i,
    },
    example:
      'UserDuplicateInOtherBatchException: The user is already included in another migration batch.',
    means: 'Another migration batch has this person.',
    actor: 'operator',
    todo: 'Remove the person from the other batch, or remove that batch: Remove-MigrationBatch.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-already-moving',
    when: { says: /SourceMailboxAlreadyBeingMoved|User is already being moved/i },
    example:
      'SourceMailboxAlreadyBeingMovedPermanentException: The source mailbox is already being moved.',
    means: 'The source mailbox has another move, perhaps one of Microsoft itself.',
    actor: 'microsoft',
    todo: 'Wait until it ends, or remove that move request; then retry.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-mailbox-relocated',
    when: { says: /MailboxIsNotInExpectedDB/i },
    example: 'MailboxIsNotInExpectedDBException',
    means: 'Microsoft moved the mailbox to another database meanwhile.',
    actor: 'operator',
    todo: 'Remove the migration user and add it to a new batch.',
    retry: 'after_fix',
    source: MOVE,
  },
  {
    id: 'move-needs-approval',
    when: { says: /NeedsApproval/ },
    example: 'The migration user ada@contoso.com has the status NeedsApproval.',
    means: 'The move waits for a person: a licence is missing, or skipped items need approval.',
    actor: 'tenant_administrator',
    todo: 'Assign the licence for moves between tenants; approve the skipped items.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'move-bad-items',
    when: { says: /TooManyBadItems/i },
    example:
      'TooManyBadItemsPermanentException: Failed to find a principal from the source forest or target forest.',
    means: 'Too many items or permissions cannot be moved.',
    actor: 'operator',
    todo: 'Look at the skipped items, then approve them or raise the limit.',
    retry: 'after_fix',
    source: 'techcommunity.microsoft.com/t5/exchange-team-blog/…/ba-p/606807',
  },
  {
    id: 'move-consistency-low',
    when: { says: /data consistency score/i },
    example: 'The data consistency score (Investigate) for this request is too low.',
    means: 'So much content is skipped that Microsoft asks for a decision.',
    actor: 'operator',
    todo: 'Look at the skipped items, then approve them.',
    retry: 'after_fix',
    source:
      'techcommunity.microsoft.com/t5/exchange-team-blog/troubleshooting-failed-migrations/ba-p/1746234',
  },
  {
    id: 'move-large-items',
    when: { says: /TooManyLargeItems|exceeded the maximum number of large items/i },
    example:
      'TooManyLargeItemsPermanentException: The mailbox exceeded the maximum number of large items that were specified for this request.',
    means: 'Messages are larger than the target accepts.',
    actor: 'operator',
    todo: 'Save those messages elsewhere and delete them, or approve their loss.',
    retry: 'after_fix',
    source: `${SUPPORT}/move-or-migrate-mailboxes/mailbox-exceeded-maximum-number-of-large-itmes`,
  },
  {
    id: 'move-stalled',
    when: { says: /StalledDueTo/i },
    example: 'The move is StalledDueTo_Target: DiskLatency.',
    means: 'Microsoft slows the move down to protect its servers.',
    actor: 'microsoft',
    todo: 'Wait: it continues without you.',
    retry: 'never',
    source: 'github.com/microsoft/CSS-Exchange migration analysis',
  },
  {
    id: 'move-too-many-moves',
    when: { says: /maximum number of active MRS connections/i },
    example:
      "Mailbox Replication Proxy Service can't process this request because it has reached the maximum number of active MRS connections allowed.",
    means: 'Too many mailboxes move at once.',
    actor: 'microsoft',
    todo: 'Wait until others end, then retry; move fewer people at once.',
    retry: 'now',
    source: `${SUPPORT}/move-mailboxes/mailbox-migration-reached-maximum-number`,
  },
  {
    id: 'move-connection-broke',
    when: { says: /CommunicationErrorTransientException/i },
    example:
      'Transient error CommunicationErrorTransientException has occurred. The system will retry.',
    means: 'The connection between the tenants broke for a moment.',
    actor: 'nobody',
    todo: 'Wait: Microsoft tries again.',
    retry: 'never',
    source: 'github.com/microsoft/CSS-Exchange migration analysis',
  },
  {
    id: 'move-not-converted',
    when: { says: /Failed to convert the source mailbox/i },
    example:
      "Failed to convert the source mailbox 'Primary (d9e8a2b3-0000-0000-0000-000000000000)' to mail-enabled user after the move.",
    means: 'The mailbox has moved, but the source did not become a mail user.',
    actor: 'tenant_administrator',
    todo: 'Convert the source account by hand, with the new address as its external address.',
    retry: 'never',
    source: 'github.com/microsoft/CSS-Exchange migration analysis',
  },
]

const SETUP: readonly ErrorEntry[] = [
  {
    id: 'move-endpoint-secret',
    when: { says: /(?:Migration|MailboxReplication).*AADSTS70002\d\d/is },
    example:
      'MigrationPermanentException: AADSTS7000215: Invalid client secret provided. Ensure the secret being sent in the request is the client secret value.',
    means: 'The migration endpoint has an old client secret; the worker itself is signed in.',
    actor: 'tenant_administrator',
    todo: 'Replace the migration endpoint in the target tenant by one with the current secret.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'move-trust-missing',
    when: { says: /MailboxReplicationService.*Access is denied/is },
    example:
      'The call to https://outlook.office.com/EWS/mrsproxy MailboxReplicationService.ProxyService/OAuth failed. --> Access is denied.',
    means: 'The source tenant does not trust the target for moves, or not yet.',
    actor: 'tenant_administrator',
    todo: 'Check the organisation relationships on both sides; a new one takes hours.',
    retry: 'after_fix',
    source: OBSERVED,
  },
  {
    id: 'move-endpoint-unreachable',
    when: {
      says: /MigrationServerConnectionFailed(?!.*does not authorize)|connection to the server .* could not be completed(?!.*does not authorize)/is,
    },
    example:
      "MigrationServerConnectionFailedException: The connection to the server 'outlook.office365.com' could not be completed.",
    means: 'The migration endpoint cannot reach or sign in to the source tenant.',
    actor: 'tenant_administrator',
    todo: 'Check the endpoint: Test-MigrationServerAvailability in the target tenant.',
    retry: 'after_fix',
    source: 'github.com/microsoft/cross-tenant/issues/96',
  },
  {
    id: 'move-too-many-batches',
    when: { says: /MaximumNumberOfBatches|maximum number of (?:migration )?batches/i },
    example:
      'Exchange Online returned 400 MaximumNumberOfBatchesReachedException: The maximum number of migration batches is already running. Please remove a batch before you add another one.',
    means: 'The tenant has as many migration batches as Exchange allows, about 100.',
    actor: 'operator',
    todo: 'Remove finished batches: Remove-MigrationBatch; use one batch a wave.',
    retry: 'after_fix',
    source:
      'techcommunity.microsoft.com/blog/exchange/the-100-migration-batches-limit-and-how-to-not-run-into-it/609393',
  },
  {
    id: 'migration-job-name-used',
    when: { says: /duplicateDisplayNameJob/ },
    example:
      'Microsoft Graph returned 422 BadArgument: Error in data field displayName: duplicateDisplayNameJob.',
    means: 'A migration job of this name exists, perhaps a cancelled one.',
    actor: 'runbook_author',
    todo: 'Give another Name.',
    retry: 'after_fix',
    source:
      'learn.microsoft.com/troubleshoot/microsoft-365/admin/orchestrated-migration/resolve-orchestrated-migration-errors',
  },
  {
    id: 'migration-job-date-past',
    when: { says: /completeAfterDateTime.*minThresholdFailed/s },
    example:
      'Microsoft Graph returned 422 BadArgument: Error in data field completeAfterDateTime: minThresholdFailed.',
    means: 'The date of the migration job is not in the future.',
    actor: 'operator',
    todo: 'Give a later CompleteAfter.',
    retry: 'after_fix',
    source:
      'learn.microsoft.com/troubleshoot/microsoft-365/admin/orchestrated-migration/resolve-orchestrated-migration-errors',
  },
  {
    id: 'move-batch-running',
    when: { says: /CannotRemoveMigrationBatch|migration batch .* is running\. Stop it first/i },
    example:
      'Exchange Online returned 400 CannotRemoveMigrationBatchException: The migration batch "wave-1" is running. Stop it first.',
    means: 'A running migration batch cannot be removed; stopping it takes minutes.',
    actor: 'operator',
    todo: 'Retry in some minutes.',
    retry: 'now',
    source: 'learn.microsoft.com/powershell/module/exchange/remove-migrationbatch',
    isUnconfirmed: true,
  },
]

export const MIGRATION_ERRORS: readonly ErrorEntry[] = [
  ...PREPARATION,
  ...ARCHIVE,
  ...RUNNING,
  ...SETUP,
]
