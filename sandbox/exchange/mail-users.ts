// Mail users made and removed by cmdlet. New-MailUser makes account and mail user in one call, and only where nobody has the names:
// an account without mail and a deleted mail user are both in its way.

import { domainOf, primaryOf } from '../addresses.ts'
import { recordEffect, recordUserEffect, type SandboxCall } from '../call.ts'
import { passwordHashOf } from '../graph/user-properties.ts'
import { NO_GUID } from '../identity.ts'
import type { JsonObject } from '../json.ts'
import { CmdletRefusal, GraphRefusal } from '../refusal.ts'
import { forget, softDelete, softDeletedNamed } from '../soft-deleted.ts'
import { newRecipient, newUser, type SoftDeletedMailUser, type User } from '../state.ts'
import { noObject, type Parameters } from './parameters.ts'
import {
  cmdletRecipient,
  getRecipients,
  NOTHING,
  type Output,
  type RecipientUser,
  recipientOf,
} from './recipients.ts'

const refused = (exception: string, message: string): CmdletRefusal =>
  new CmdletRefusal(400, `Microsoft.Exchange.Management.Tasks.${exception}`, message)

export function newMailUser(call: SandboxCall, parameters: Parameters): Output {
  const { tenant, world, now } = call
  const upn = parameters.required('MicrosoftOnlineServicesID')
  const external = requiredAddress(parameters, 'ExternalEmailAddress')
  const passwordHash = passwordOf(parameters)
  const isGiven = tenant.state.dialect.newMailUserPrimary === 'given'
  const primary = (isGiven ? parameters.address('PrimarySmtpAddress') : null) ?? external
  const alias = parameters.text('Alias') ?? upn.split('@')[0]!
  requireFree(call, [upn, external, primary])
  if (!tenant.hasDomain(domainOf(upn)))
    throw refused('UnexpectedDomainException', `"${upn}" isn't in an accepted domain.`)
  const at = now.toISOString()
  const made = newUser(tenant.id, { userPrincipalName: upn, id: tenant.newId('user', upn) })
  const user: User = {
    ...made,
    displayName: parameters.text('DisplayName') ?? parameters.required('Name'),
    mailNickname: alias,
    mail: primary,
    proxyAddresses: [`SMTP:${primary}`],
    attributes: namesOf(parameters),
    passwordHash,
    createdDateTime: at,
    visibleAt: world.after(now, world.timing.replicationLagSec),
    recipient: {
      ...newRecipient(made.id, world.after(now, world.timing.exchangeLagSec)),
      externalEmailAddress: external,
    },
  }
  tenant.add(user)
  recordUserEffect(call, 'mail user created', user)
  return { items: [cmdletRecipient(user as RecipientUser)] }
}

function requiredAddress(parameters: Parameters, name: string): string {
  parameters.required(name)
  return parameters.address(name)!
}

const namesOf = (parameters: Parameters): User['attributes'] => {
  const [given, sur] = [parameters.text('FirstName'), parameters.text('LastName')]
  return {
    ...(given === null ? {} : { givenName: given }),
    ...(sur === null ? {} : { surname: sur }),
  }
}

/** A plain text, which Exchange's REST endpoint turns into a SecureString. */
function passwordOf(parameters: Parameters): string {
  try {
    return passwordHashOf({ password: parameters.required('Password') })
  } catch (error) {
    if (!(error instanceof GraphRefusal)) throw error
    throw refused('WLCDPasswordInvalidException', error.message)
  }
}

function requireFree(call: SandboxCall, names: readonly string[]): void {
  const { tenant } = call
  const [upn] = names
  const holder = tenant.user(upn!)
  if (holder)
    throw refused(
      'WLCDManagedMemberExistsException',
      `Unable to create the mail user: an existing identity was found for "${upn}".`,
    )
  const taken = names.find((name) => tenant.ownerOf(`smtp:${name}`) !== undefined)
  if (taken !== undefined)
    throw new CmdletRefusal(
      400,
      'Microsoft.Exchange.Data.Directory.ProxyAddressExistsException',
      `The proxy address "SMTP:${taken}" is already being used by the proxy addresses or LegacyExchangeDN of another object. Please choose another proxy address.`,
    )
  const deleted = names.find((name) => softDeletedNamed(tenant, name).length > 0)
  if (deleted !== undefined)
    throw refused(
      'WLCDManagedMemberExistsException',
      `Unable to create the mail user: an existing identity was found for "${deleted}", a deleted mail user.`,
    )
}

/** Deletes the account; with PermanentlyDelete, what Exchange has kept of a deleted one. */
export function removeMailUser(call: SandboxCall, parameters: Parameters): Output {
  const identity = parameters.required('Identity')
  if (!parameters.flag('PermanentlyDelete')) {
    const user = recipientOf(call, identity, 'mailUser')
    softDelete(call.tenant, user, call.now.toISOString())
    recordUserEffect(call, 'user deleted', user)
    return NOTHING
  }
  const [found] = softDeletedNamed(call.tenant, identity)
  if (!found) throw noObject(call, identity)
  if (found.userId !== null)
    throw refused(
      'RecipientTaskException',
      `The mail user "${found.mailNickname}" still has an AAD user backing it. Delete that user permanently first.`,
    )
  const isHeld = call.tenant.state.organizationHolds.some((hold) => hold.startsWith('mbx'))
  if (isHeld && !found.isExcludedFromHolds)
    throw refused(
      'RecipientTaskException',
      'Unable to permanently delete mail enabled user. The mail enabled user has litigation hold or In-Place hold applied on it.',
    )
  forget(call.tenant, (one) => one === found)
  const on = { id: found.guid, name: found.userPrincipalName }
  recordEffect(call, 'mail user purged', on)
  return NOTHING
}

export function getMailUsers(call: SandboxCall, parameters: Parameters): Output {
  if (!parameters.flag('SoftDeletedMailUser')) return getRecipients(call, parameters, 'mailUser')
  const identity = parameters.text('Identity')
  const all = call.tenant.state.softDeletedMailUsers
  const found = identity === null ? all : softDeletedNamed(call.tenant, identity)
  if (identity !== null && found.length === 0) throw noObject(call, identity)
  return { items: found.map(cmdletSoftDeleted) }
}

const cmdletSoftDeleted = (one: SoftDeletedMailUser): JsonObject => ({
  Identity: `Soft Deleted Objects\\${one.mailNickname}`,
  Alias: one.mailNickname,
  Guid: one.guid,
  ExternalDirectoryObjectId: one.userId ?? '',
  UserPrincipalName: one.userPrincipalName,
  PrimarySmtpAddress: primaryOf(one.proxyAddresses) ?? '',
  EmailAddresses: [...one.proxyAddresses],
  ExternalEmailAddress: one.externalEmailAddress && `SMTP:${one.externalEmailAddress}`,
  ExchangeGuid: one.exchangeGuid ?? NO_GUID,
  ArchiveGuid: one.archiveGuid ?? NO_GUID,
  RecipientTypeDetails: 'MailUser',
})
