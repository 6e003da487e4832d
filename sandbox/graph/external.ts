// External users: invitations for new guests and existing users, and conversion to an internal user.

import { domainOf, isAddress, isSameAddress } from '../addresses.ts'
import {
  created,
  ok,
  recordUserEffect,
  type SandboxCall,
  type SandboxResponse,
  updateMail,
} from '../call.ts'
import { guidOf } from '../identity.ts'
import type { Json, JsonObject } from '../json.ts'
import { badRequest, GraphRefusal, notFound } from '../refusal.ts'
import { newUser, type User } from '../state.ts'
import { passwordHashOf } from './user-properties.ts'
import { userOf } from './users.ts'

const INVITED_LOCAL = /^(?![.-])[^~!#$%^&*()+=[\]{}\\/|;:"<>?,\s@]+(?<![.-])$/

export function invite(call: SandboxCall): SandboxResponse {
  const { body } = call
  const email = body.invitedUserEmailAddress
  const url = body.inviteRedirectUrl
  if (!isAddress(email) || !INVITED_LOCAL.test(email.slice(0, email.lastIndexOf('@'))))
    throw invitationError('The invited user email address is not valid.')
  if (typeof url !== 'string' || !URL.canParse(url))
    throw invitationError('The invite redirect URL is missing or not valid.')
  const existing = (body.invitedUser as JsonObject | undefined)?.id
  const user =
    typeof existing === 'string' ? inviteExisting(call, existing, email) : inviteNew(call, email)
  recordUserEffect(call, 'invitation sent', user, {
    to: email,
    message: body.sendInvitationMessage === true,
  })
  updateMail(call, user)
  return created(invitationOf(call, user, email, url))
}

const invitationError = (message: string) => new GraphRefusal(400, 'BadRequest', message)

function inviteExisting(call: SandboxCall, id: string, email: string): User {
  const user = call.tenant.visibleUser(id, call.now)
  if (!user) throw notFound(id)
  if (user.mail === null || !isSameAddress(user.mail, email))
    throw invitationError(
      'The mail property of the invited user does not match the invited user email address.',
    )
  if (user.convertedToInternalUserDateTime !== null)
    throw new GraphRefusal(
      412,
      'PreconditionFailed',
      'The user state is neither accepted nor pending: the user was converted to an internal user.',
    )
  markPending(call, user)
  return user
}

/** A user who has accepted stays so. */
function markPending(call: SandboxCall, user: User): void {
  if (user.externalUserState !== 'Accepted') call.tenant.change(user, pending(call))
}

const pending = ({ now }: SandboxCall): Partial<User> => ({
  externalUserState: 'PendingAcceptance',
  externalUserStateChangeDateTime: now.toISOString(),
})

function inviteNew(call: SandboxCall, email: string): User {
  const { tenant, world, now, body } = call
  if (tenant.hasDomain(domainOf(email)))
    throw invitationError('Invitee is in inviter tenant. Invite is not needed.')
  const known =
    tenant.findUser(email) ?? tenant.users().find(({ mail }) => isSameAddress(mail ?? '', email))
  if (known && known.externalUserState !== null) {
    markPending(call, known)
    return known
  }
  if (known)
    throw invitationError(
      `The invited user already exists in the directory as object ID: ${known.id}. They can use that account to sign in to shared apps and resources.`,
    )
  const upn = `${email.replace('@', '_')}#EXT#@${tenant.initialDomain}`
  const displayName = body.invitedUserDisplayName
  const user: User = {
    ...newUser(tenant.id, { id: tenant.newId('user', upn), userPrincipalName: upn, mail: email }),
    displayName: typeof displayName === 'string' ? displayName : email.split('@')[0]!,
    userType: body.invitedUserType === 'Member' ? 'Member' : 'Guest',
    creationType: 'Invitation',
    createdDateTime: now.toISOString(),
    visibleAt: world.after(now, world.timing.replicationLagSec),
    ...pending(call),
  }
  tenant.add(user)
  recordUserEffect(call, 'user created', user)
  return user
}

function invitationOf(call: SandboxCall, user: User, email: string, url: string): Json {
  const id = guidOf(call.tenant.id, 'invitation', user.id, call.now.toISOString())
  return {
    id,
    inviteRedeemUrl: `https://login.microsoftonline.com/redeem?rd=${encodeURIComponent(url)}&ticket=${id}`,
    invitedUserDisplayName: user.displayName,
    invitedUserEmailAddress: email,
    invitedUserType: user.userType,
    resetRedemption: false,
    sendInvitationMessage: call.body.sendInvitationMessage === true,
    inviteRedirectUrl: url,
    status: user.externalUserState === 'Accepted' ? 'Completed' : 'PendingAcceptance',
    invitedUser: { id: user.id, userPrincipalName: user.userPrincipalName },
  }
}

const isExternal = (user: User): boolean =>
  user.externalUserState !== null || user.creationType === 'Invitation'

export function convertToInternal(call: SandboxCall): SandboxResponse {
  const { tenant, body, now } = call
  const user = userOf(call)
  const { userPrincipalName: upn, mail } = body
  if (!isExternal(user))
    throw badRequest(
      'The user authentication is already internal and is not eligible for conversion.',
    )
  if (typeof upn !== 'string' || upn === '')
    throw badRequest(
      'The userPrincipalName is empty. Provide a userPrincipalName of a verified domain.',
    )
  tenant.requireVerified(upn)
  if (mail !== undefined && !isAddress(mail))
    throw badRequest('The mail is empty or not valid. Provide a mail address.')
  const passwordHash = passwordHashOf(body.passwordProfile ?? null)
  tenant.change(user, {
    userPrincipalName: upn,
    passwordHash,
    ...(mail === undefined ? {} : { mail }),
    userType: 'Member',
    creationType: null,
    externalUserState: null,
    externalUserStateChangeDateTime: null,
    convertedToInternalUserDateTime: now.toISOString(),
  })
  recordUserEffect(call, 'user converted', user)
  updateMail(call, user)
  return ok({
    displayName: user.displayName,
    userPrincipalName: user.userPrincipalName,
    mail: user.mail,
    convertedToInternalUserDateTime: user.convertedToInternalUserDateTime,
  })
}
