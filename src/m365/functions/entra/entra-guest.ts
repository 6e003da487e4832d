// Guests: invite an internal user to sign in from another tenant, and convert a guest to an internal user. Both can be
// repeated: an invited user is not invited again, and a user converted to the right name is left alone.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { FunctionRefused } from '../failure.ts'
import { never, whenChanged } from '../inverse.ts'
import { address, isSameText, optional, userId } from '../parameters.ts'
import { retryUntilFound } from '../replication.ts'
import { findUser, readUser, textOf, textOrNull } from './entra-directory.ts'
import { password } from './entra-user.ts'
import { invitationParameters, sendInvitation } from './invitation.ts'
import { passwordFor } from './password.ts'

const invitation = z.strictObject({
  UserId: userId,
  InvitedUserEmailAddress: address,
  ...invitationParameters,
})
type Invitation = z.infer<typeof invitation>

const invited = z.object({
  Id: z.string().nullable().describe('Id of the invitation; null when it was sent earlier.'),
  InvitedUserEmailAddress: z.string(),
  InvitedUserDisplayName: z.string().nullable(),
  InviteRedeemUrl: z
    .string()
    .nullable()
    .describe('Known only to the run that sent the invitation.'),
  Status: z.string(),
  InvitedUserId: z.string(),
  InvitedUserType: z.string(),
  Changed: z.boolean(),
})
type Invited = z.infer<typeof invited>

const GUEST = ['id', 'displayName', 'mail', 'userType', 'externalUserState']

export const newEntraB2bInvitation = defineM365Function({
  name: 'New-EntraB2BInvitation',
  answeredTrue: true,
  description:
    'Invites an internal user to sign in with an account of another tenant, with the same id and groups. Not supported for a user with a mailbox or mail user: change its address in Exchange instead.',
  parameters: invitation,
  result: invited,
  permissions: { graph: ['User.Invite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  creates: true,
  undo: 'Convert-EntraB2BToInternal.',
  undoneBy: ['Convert-EntraB2BToInternal'],
  effectOf: whenChanged((_, { InvitedUserEmailAddress }) =>
    never(
      InvitedUserEmailAddress,
      'The invitation was sent. Convert-EntraB2BToInternal makes the account internal again, with a new password.',
    ),
  ),
  run: async (call: M365Call<Invitation>): Promise<Invited> => {
    const { UserId, InvitedUserEmailAddress } = call.params
    const user = await readUser(call, UserId, GUEST)
    const mail = textOf(user.mail)
    if (!isSameText(mail, InvitedUserEmailAddress)) {
      throw new FunctionRefused(
        `Entra invites an existing user only at their own mail address. That of "${UserId}" is ${mail ? `"${mail}"` : 'empty'}, ` +
          `not "${InvitedUserEmailAddress}". Set it first: Set-EntraUserAttribute with mail.`,
      )
    }
    if (user.externalUserState) return alreadyInvited(call.params, user)
    const id = textOf(user.id)
    try {
      return await invite(call, id)
    } catch (error) {
      if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
      const now = await retryUntilFound(call, async () => {
        const found = await findUser(call, id, GUEST)
        return found?.externalUserState ? found : null
      })
      if (now === null) throw error
      return { ...alreadyInvited(call.params, now), Changed: true }
    }
  },
})

function alreadyInvited(params: Invitation, user: JsonObject): Invited {
  return {
    Id: null,
    InvitedUserEmailAddress: params.InvitedUserEmailAddress,
    InvitedUserDisplayName: textOrNull(user.displayName),
    InviteRedeemUrl: null,
    // A user's state in the terms of an invitation.
    Status: user.externalUserState === 'Accepted' ? 'Completed' : textOf(user.externalUserState),
    InvitedUserId: textOf(user.id),
    InvitedUserType: textOrNull(user.userType) ?? params.InvitedUserType,
    Changed: false,
  }
}

async function invite(call: M365Call<Invitation>, id: string): Promise<Invited> {
  const { params } = call
  const made = await sendInvitation(call, params, { invitedUser: { id } })
  return {
    Id: textOrNull(made.id),
    InvitedUserEmailAddress: params.InvitedUserEmailAddress,
    InvitedUserDisplayName: textOrNull(made.invitedUserDisplayName),
    InviteRedeemUrl: textOrNull(made.inviteRedeemUrl),
    Status: textOf(made.status),
    InvitedUserId: id,
    InvitedUserType: textOrNull(made.invitedUserType) ?? params.InvitedUserType,
    Changed: true,
  }
}

const conversion = z.strictObject({
  UserId: userId,
  NewUserPrincipalName: address,
  Mail: optional(address),
  Password: password,
  ForceChangePasswordNextSignIn: z.boolean().default(true),
})
type Conversion = z.infer<typeof conversion>

const converted = z.object({
  UserId: z.string(),
  PreviousUPN: z.string(),
  NewUserPrincipalName: z.string(),
  DisplayName: z.string().nullable(),
  Mail: z.string().nullable(),
  PreviousUserType: z.string().nullable(),
  ConvertedToInternalUserDateTime: z.string().nullable(),
  PasswordSecret: z.string().nullable().describe('Reference of the password in the vault.'),
  Changed: z.boolean(),
})

const EXTERNAL = [
  'id',
  'displayName',
  'userPrincipalName',
  'userType',
  'mail',
  'externalUserState',
  'onPremisesSyncEnabled',
]

export const convertEntraB2bToInternal = defineM365Function({
  name: 'Convert-EntraB2BToInternal',
  answeredTrue: true,
  description:
    'Converts a guest to an internal member of the tenant with its own name and password.',
  parameters: conversion,
  result: converted,
  permissions: { graph: ['User-ConvertToInternal.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'New-EntraB2BInvitation, while the guest account still exists.',
  undoneBy: ['New-EntraB2BInvitation'],
  effectOf: whenChanged((_, { NewUserPrincipalName }) =>
    never(
      NewUserPrincipalName,
      'Only the person can make it external again: by accepting an invitation.',
    ),
  ),
  isBeta: true,
  run: async (call: M365Call<Conversion>): Promise<z.infer<typeof converted>> => {
    const { params } = call
    const user = await readUser(call, params.UserId, EXTERNAL)
    const id = textOf(user.id)
    // A user synchronised from Active Directory has name and password there; Entra refuses others.
    const isSynced = user.onPremisesSyncEnabled === true
    const kept = isSynced
      ? null
      : await passwordFor(call, params.NewUserPrincipalName, params.Password)
    const outcome = await convert(call, id, kept?.value ?? null)
    if (outcome === null && !isSynced) await requireName(call, id)
    // A guest before, internal now, and "already internal": an earlier response was lost.
    const isChange = outcome !== null || Boolean(user.externalUserState)
    return {
      UserId: id,
      PreviousUPN: textOf(user.userPrincipalName),
      NewUserPrincipalName: textOrNull(outcome?.userPrincipalName) ?? params.NewUserPrincipalName,
      DisplayName: textOrNull(outcome?.displayName ?? user.displayName),
      Mail: textOrNull(outcome?.mail ?? user.mail),
      PreviousUserType: textOrNull(user.userType),
      ConvertedToInternalUserDateTime: textOrNull(outcome?.convertedToInternalUserDateTime),
      // A password created in vain was never set.
      PasswordSecret: kept && (isChange || !kept.isNew) ? kept.reference : null,
      Changed: isChange,
    }
  },
})

async function requireName(call: M365Call<Conversion>, id: string): Promise<void> {
  const { UserId, NewUserPrincipalName } = call.params
  const now = textOf((await readUser(call, id, ['userPrincipalName'])).userPrincipalName)
  if (isSameText(now, NewUserPrincipalName)) return
  throw new FunctionRefused(
    `"${UserId}" is already an internal user, named "${now}" instead of "${NewUserPrincipalName}". Rename it with Set-EntraUserUPN.`,
  )
}

/** Null when the user was already internal. */
async function convert(
  { params, tenant, signal }: M365Call<Conversion>,
  id: string,
  secret: string | null,
): Promise<JsonObject | null> {
  try {
    const { body } = await tenant.graph.call({
      method: 'POST',
      version: 'beta',
      path: pathOf`/users/${id}/convertExternalToInternalMemberUser`,
      body:
        secret === null
          ? {}
          : {
              userPrincipalName: params.NewUserPrincipalName,
              passwordProfile: {
                password: secret,
                forceChangePasswordNextSignIn: params.ForceChangePasswordNextSignIn,
              },
              ...(params.Mail === null ? {} : { mail: params.Mail }),
            },
      // A second call says that the user is already internal.
      isIdempotent: true,
      signal,
    })
    return body as JsonObject
  } catch (error) {
    if (
      error instanceof ApiError &&
      error.status === 400 &&
      /already internal/i.test(error.message)
    )
      return null
    throw error
  }
}
