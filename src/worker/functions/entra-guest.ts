// Guests: an account of the tenant is invited to be used from another one, and a guest becomes an account of the tenant for good.
// Both can be run again: who was invited is not invited again, and who was converted to the wanted name is left as they are.
import { z } from 'zod'
import { defineFunction, type FunctionCall } from '../catalogue.ts'
import { ApiError, type JsonObject, pathOf } from '../m365/api.ts'
import { findUser, readUser, textOf, textOrNull } from './entra-directory.ts'
import { password } from './entra-user.ts'
import { FunctionRefused } from './failure.ts'
import { address, isSameText, optional, userId } from './parameters.ts'
import { passwordFor } from './password.ts'
import { lookAgain } from './replication.ts'

const MESSAGE_CHARS_MAX = 10_000

const invitation = z.strictObject({
  UserId: userId,
  InvitedUserEmailAddress: address,
  InviteRedirectUrl: z.url({ protocol: /^https$/ }).default('https://myapps.microsoft.com'),
  SendInvitationMessage: z.boolean().default(true),
  CustomizedMessageBody: optional(z.string().max(MESSAGE_CHARS_MAX)),
  InvitedUserType: z.enum(['Guest', 'Member']).default('Guest'),
})
type Invitation = z.infer<typeof invitation>

const invited = z.object({
  Id: z.string().nullable().describe('Of the invitation; null when it was sent earlier.'),
  InvitedUserEmailAddress: z.string(),
  InvitedUserDisplayName: z.string().nullable(),
  InviteRedeemUrl: z.string().nullable().describe('Only known to the run that invited.'),
  Status: z.string(),
  InvitedUserId: z.string(),
  InvitedUserType: z.string(),
  Changed: z.boolean(),
})
type Invited = z.infer<typeof invited>

const GUEST = ['id', 'displayName', 'mail', 'userType', 'externalUserState']

export const newEntraB2bInvitation = defineFunction({
  name: 'New-EntraB2BInvitation',
  description:
    'Invites an existing internal user to sign in with an account of another tenant. Id, groups and mailbox stay theirs.',
  parameters: invitation,
  result: invited,
  permissions: { graph: ['User.Invite.All', 'User.Read.All'] },
  isIdempotent: true,
  undo: 'Convert-EntraB2BToInternal.',
  run: async (call: FunctionCall<Invitation>): Promise<Invited> => {
    const { UserId, InvitedUserEmailAddress } = call.params
    const user = await readUser(call, UserId, GUEST)
    const mail = textOf(user.mail)
    if (!isSameText(mail, InvitedUserEmailAddress)) {
      throw new FunctionRefused(
        `The mail address of "${UserId}" is ${mail ? `"${mail}"` : 'empty'}, and Entra invites an existing user only when it is ` +
          `the invited one, "${InvitedUserEmailAddress}". Set it first: Set-EntraUserAttribute with mail.`,
      )
    }
    if (user.externalUserState) return alreadyInvited(call.params, user)
    const id = textOf(user.id)
    try {
      return await invite(call, id)
    } catch (error) {
      if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
      const now = await lookAgain(call, async () => {
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
    // The words of an invitation for the words of a user.
    Status: user.externalUserState === 'Accepted' ? 'Completed' : textOf(user.externalUserState),
    InvitedUserId: textOf(user.id),
    InvitedUserType: textOrNull(user.userType) ?? params.InvitedUserType,
    Changed: false,
  }
}

async function invite(
  { params, tenant, signal }: FunctionCall<Invitation>,
  id: string,
): Promise<Invited> {
  const { CustomizedMessageBody: text } = params
  const { body } = await tenant.graph.call({
    method: 'POST',
    path: '/invitations',
    body: {
      invitedUserEmailAddress: params.InvitedUserEmailAddress,
      inviteRedirectUrl: params.InviteRedirectUrl,
      sendInvitationMessage: params.SendInvitationMessage,
      invitedUserType: params.InvitedUserType,
      ...(text === null ? {} : { invitedUserMessageInfo: { customizedMessageBody: text } }),
      invitedUser: { id },
    },
    signal,
  })
  const made = body as JsonObject
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
  PasswordSecret: z.string().nullable().describe('Where the vault keeps the password.'),
  Changed: z.boolean(),
})

const EXTERNAL = [
  ...['id', 'displayName', 'userPrincipalName', 'userType', 'mail'],
  ...['externalUserState', 'onPremisesSyncEnabled'],
]

export const convertEntraB2bToInternal = defineFunction({
  name: 'Convert-EntraB2BToInternal',
  description: 'Makes a guest an internal member of the tenant, with a name and password of it.',
  parameters: conversion,
  result: converted,
  permissions: { graph: ['User-ConvertToInternal.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  undo: 'New-EntraB2BInvitation, as long as the guest account still exists.',
  run: async (call: FunctionCall<Conversion>): Promise<z.infer<typeof converted>> => {
    const { params } = call
    const user = await readUser(call, params.UserId, EXTERNAL)
    const id = textOf(user.id)
    // Whoever is synchronised from an Active Directory has name and password there, and Entra refuses others.
    const isSynced = user.onPremisesSyncEnabled === true
    const kept = isSynced
      ? null
      : await passwordFor(call, params.NewUserPrincipalName, params.Password)
    const outcome = await convert(call, id, kept?.value ?? null)
    if (outcome === null && !isSynced) await requireName(call, id)
    // A guest before and internal now, though the answer says "already": an answer was lost on the way.
    const isChange = outcome !== null || Boolean(user.externalUserState)
    return {
      UserId: id,
      PreviousUPN: textOf(user.userPrincipalName),
      NewUserPrincipalName: textOrNull(outcome?.userPrincipalName) ?? params.NewUserPrincipalName,
      DisplayName: textOrNull(outcome?.displayName ?? user.displayName),
      Mail: textOrNull(outcome?.mail ?? user.mail),
      PreviousUserType: textOrNull(user.userType),
      ConvertedToInternalUserDateTime: textOrNull(outcome?.convertedToInternalUserDateTime),
      // One that was made for nothing was never set.
      PasswordSecret: kept && (isChange || !kept.isNew) ? kept.reference : null,
      Changed: isChange,
    }
  },
})

async function requireName(call: FunctionCall<Conversion>, id: string): Promise<void> {
  const { UserId, NewUserPrincipalName } = call.params
  const now = textOf((await readUser(call, id, ['userPrincipalName'])).userPrincipalName)
  if (isSameText(now, NewUserPrincipalName)) return
  throw new FunctionRefused(
    `"${UserId}" is an internal user already, named "${now}" and not "${NewUserPrincipalName}". Rename with Set-EntraUserUPN.`,
  )
}

/** Null when the user was internal already. */
async function convert(
  { params, tenant, signal }: FunctionCall<Conversion>,
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
      // The second time it says that the user is internal already.
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
