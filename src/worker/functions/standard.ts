// The standard functions of every worker. To add your own, see docs/custom-functions.md.
import type { WorkerFunction } from '../catalogue.ts'
import {
  newCrossTenantMigrationJob,
  startCrossTenantMigrationJob,
  stopCrossTenantMigrationJob,
} from './cross-tenant-job.ts'
import { testCrossTenantMigrationJob } from './cross-tenant-job-test.ts'
import { getDomainReferences } from './domain-references.ts'
import {
  setEntraUserAttribute,
  setManagerOfEntraUser,
  testEntraAttributeMatch,
} from './entra-attribute.ts'
import { setEntraUserAttributes } from './entra-attributes.ts'
import {
  addEntraGroupMember,
  removeEntraGroupMember,
  testEntraGroupMembership,
} from './entra-group.ts'
import { convertEntraB2bToInternal, newEntraB2bInvitation } from './entra-guest.ts'
import { testEntraInvitationRedeemed } from './entra-invitation-test.ts'
import { addEntraUserLicense, removeEntraUserLicense } from './entra-licence.ts'
import { getEntraLicenseCount } from './entra-licence-count.ts'
import { testEntraLicense } from './entra-licence-test.ts'
import { newEntraGuest } from './entra-new-guest.ts'
import { newEntraTemporaryAccessPass, resetEntraPassword } from './entra-sign-in.ts'
import {
  disableEntraUser,
  enableEntraUser,
  newEntraUser,
  removeEntraUser,
  restoreEntraUser,
  revokeEntraUserSessions,
  setEntraUserUpn,
} from './entra-user.ts'
import {
  addExchangeSecondaryEmail,
  removeExchangeSecondaryEmail,
  setExchangeExternalAddress,
  setExchangePrimaryEmail,
} from './exchange-address.ts'
import { setExchangeAutoReply } from './exchange-auto-reply.ts'
import {
  removeExchangeCalendarPermission,
  setExchangeCalendarPermission,
} from './exchange-calendar.ts'
import { setExchangeForwarding } from './exchange-forwarding.ts'
import { addExchangeGroupMember, removeExchangeGroupMember } from './exchange-group.ts'
import {
  setExchangeMailUserGuids,
  testExchangeAttributeMatch,
  testExchangeGroupMembership,
} from './exchange-mail-user.ts'
import {
  addExchangeMailboxPermission,
  removeExchangeMailboxPermission,
} from './exchange-mailbox-permission.ts'
import { getExchangeMoveSource } from './exchange-move-source.ts'
import { newExchangeMailUser, setExchangeMoveTarget } from './exchange-move-target.ts'
import { clearExchangePreviousMailbox, removeExchangeMailUser } from './exchange-purge.ts'
import {
  convertExchangeMailboxToShared,
  enableExchangeArchive,
  setExchangeHiddenFromAddressLists,
  setExchangeLitigationHold,
} from './exchange-settings.ts'
import { effectOfStandard } from './inverses.ts'
import { sendMessage } from './message.ts'
import { addMigrationUser } from './migration-addition.ts'
import { newMigrationBatch, removeMigrationBatch } from './migration-batch.ts'
import { testMigrationUser } from './migration-progress.ts'
import {
  completeMigrationUser,
  removeOneMigration,
  setOneMigration,
  startOneMigration,
  stopOneMigration,
} from './migration-user.ts'
import { testExchangeMoveReadiness } from './move-readiness.ts'
import { sendNotification } from './notification.ts'
import {
  startOneDriveMove,
  stopOneDriveMove,
  testOneDriveMove,
  testOneDriveMoveReadiness,
} from './onedrive-move.ts'
import { removeUserDomain, restoreUserDomain } from './user-domain.ts'

const FUNCTIONS: readonly WorkerFunction[] = [
  newEntraUser,
  setEntraUserUpn,
  setEntraUserAttribute,
  setEntraUserAttributes,
  setManagerOfEntraUser,
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
  sendMessage,
]

/** A test changes nothing by nature: the rollback of its step reverses the steps before it, so it must run when the test fails. */
const isTest = ({ name }: WorkerFunction): boolean => name.startsWith('Test-')

function withEffect(one: WorkerFunction): WorkerFunction {
  const effectOf = effectOfStandard(one.name)
  return effectOf ? { ...one, effectOf } : one
}

export const STANDARD_FUNCTIONS: readonly WorkerFunction[] = FUNCTIONS.map(withEffect).map((one) =>
  isTest(one) ? one : { ...one, actsOnlyOnTenant: true },
)
