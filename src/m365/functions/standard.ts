// The standard functions of every worker. To add your own, see docs/custom-functions.md.
import type { WorkerFunction } from '../../worker/functions/catalogue.ts'
import { getDomainReferences } from './entra/domain-references.ts'
import {
  setEntraUserAttribute,
  setEntraUserManager,
  testEntraAttributeMatch,
} from './entra/entra-attribute.ts'
import { setEntraUserAttributes } from './entra/entra-attributes.ts'
import {
  addEntraGroupMember,
  removeEntraGroupMember,
  testEntraGroupMembership,
} from './entra/entra-group.ts'
import { convertEntraB2bToInternal, newEntraB2bInvitation } from './entra/entra-guest.ts'
import { testEntraInvitationRedeemed } from './entra/entra-invitation-test.ts'
import { addEntraUserLicense, removeEntraUserLicense } from './entra/entra-licence.ts'
import { getEntraLicenseCount } from './entra/entra-licence-count.ts'
import { testEntraLicense } from './entra/entra-licence-test.ts'
import { newEntraGuest } from './entra/entra-new-guest.ts'
import { newEntraTemporaryAccessPass, resetEntraPassword } from './entra/entra-sign-in.ts'
import {
  disableEntraUser,
  enableEntraUser,
  newEntraUser,
  removeEntraUser,
  restoreEntraUser,
  revokeEntraUserSessions,
  setEntraUserUpn,
} from './entra/entra-user.ts'
import { removeUserDomain, restoreUserDomain } from './entra/user-domain.ts'
import {
  addExchangeSecondaryEmail,
  removeExchangeSecondaryEmail,
  setExchangeExternalAddress,
  setExchangePrimaryEmail,
} from './exchange/exchange-address.ts'
import { setExchangeAutoReply } from './exchange/exchange-auto-reply.ts'
import {
  removeExchangeCalendarPermission,
  setExchangeCalendarPermission,
} from './exchange/exchange-calendar.ts'
import { setExchangeForwarding } from './exchange/exchange-forwarding.ts'
import { addExchangeGroupMember, removeExchangeGroupMember } from './exchange/exchange-group.ts'
import {
  setExchangeMailUserGuids,
  testExchangeAttributeMatch,
  testExchangeGroupMembership,
} from './exchange/exchange-mail-user.ts'
import {
  addExchangeMailboxPermission,
  removeExchangeMailboxPermission,
} from './exchange/exchange-mailbox-permission.ts'
import { getExchangeMoveSource } from './exchange/exchange-move-source.ts'
import { newExchangeMailUser, setExchangeMoveTarget } from './exchange/exchange-move-target.ts'
import { testExchangeNamesFree } from './exchange/exchange-name-holders.ts'
import { clearExchangePreviousMailbox, removeExchangeMailUser } from './exchange/exchange-purge.ts'
import {
  convertExchangeMailboxToShared,
  enableExchangeArchive,
  setExchangeHiddenFromAddressLists,
  setExchangeLitigationHold,
} from './exchange/exchange-settings.ts'
import { sendMessage } from './messages/message.ts'
import { sendNotification } from './messages/notification.ts'
import { sendSignInDetails } from './messages/sign-in-details.ts'
import {
  newCrossTenantMigrationJob,
  startCrossTenantMigrationJob,
  stopCrossTenantMigrationJob,
} from './moves/cross-tenant-job.ts'
import { testCrossTenantMigrationJob } from './moves/cross-tenant-job-test.ts'
import { addMigrationUser } from './moves/migration-addition.ts'
import { newMigrationBatch, removeMigrationBatch } from './moves/migration-batch.ts'
import { testMigrationUser } from './moves/migration-progress.ts'
import {
  completeMigrationUser,
  removeOneMigration,
  setOneMigration,
  startOneMigration,
  stopOneMigration,
} from './moves/migration-user.ts'
import { testExchangeMoveReadiness } from './moves/move-readiness.ts'
import {
  startOneDriveMove,
  stopOneDriveMove,
  testOneDriveMove,
  testOneDriveMoveReadiness,
} from './moves/onedrive-move.ts'

const FUNCTIONS: readonly WorkerFunction[] = [
  newEntraUser,
  setEntraUserUpn,
  setEntraUserAttribute,
  setEntraUserAttributes,
  setEntraUserManager,
  enableEntraUser,
  disableEntraUser,
  revokeEntraUserSessions,
  resetEntraPassword,
  newEntraTemporaryAccessPass,
  removeEntraUser,
  restoreEntraUser,
  addEntraGroupMember,
  removeEntraGroupMember,
  addEntraUserLicense,
  removeEntraUserLicense,
  newEntraB2bInvitation,
  convertEntraB2bToInternal,
  newEntraGuest,
  removeUserDomain,
  restoreUserDomain,
  getDomainReferences,
  testExchangeNamesFree,
  testEntraAttributeMatch,
  testEntraGroupMembership,
  testEntraLicense,
  getEntraLicenseCount,
  testEntraInvitationRedeemed,
  getExchangeMoveSource,
  newExchangeMailUser,
  setExchangeMoveTarget,
  testExchangeMoveReadiness,
  removeExchangeMailUser,
  clearExchangePreviousMailbox,
  addExchangeSecondaryEmail,
  removeExchangeSecondaryEmail,
  setExchangePrimaryEmail,
  setExchangeExternalAddress,
  setExchangeMailUserGuids,
  setExchangeForwarding,
  addExchangeGroupMember,
  removeExchangeGroupMember,
  addExchangeMailboxPermission,
  removeExchangeMailboxPermission,
  setExchangeCalendarPermission,
  removeExchangeCalendarPermission,
  setExchangeAutoReply,
  setExchangeHiddenFromAddressLists,
  convertExchangeMailboxToShared,
  enableExchangeArchive,
  setExchangeLitigationHold,
  newMigrationBatch,
  removeMigrationBatch,
  addMigrationUser,
  completeMigrationUser,
  setOneMigration,
  startOneMigration,
  stopOneMigration,
  removeOneMigration,
  testMigrationUser,
  testExchangeAttributeMatch,
  testExchangeGroupMembership,
  testOneDriveMoveReadiness,
  startOneDriveMove,
  stopOneDriveMove,
  testOneDriveMove,
  newCrossTenantMigrationJob,
  startCrossTenantMigrationJob,
  stopCrossTenantMigrationJob,
  testCrossTenantMigrationJob,
  sendNotification,
  sendSignInDetails,
  sendMessage,
]

/** A test changes nothing by nature: the rollback of its step reverses the steps before it, so it must run when the test fails. */
const isTest = ({ name }: WorkerFunction): boolean => name.startsWith('Test-')

export const STANDARD_FUNCTIONS: readonly WorkerFunction[] = FUNCTIONS.map((one) =>
  isTest(one) ? one : { ...one, actsOnlyOnTenant: true },
)
