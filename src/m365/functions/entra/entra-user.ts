// Entra accounts: create, rename, enable, disable, sign out, delete. Each function looks first and reports in `Changed` whether
// it did anything. New-EntraUser adopts an existing account only if this worker's vault knows it: a namesake in the target
// tenant must never receive somebody else's mailbox.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { IF_STILL, NOTHING_CHANGED } from '../../../domain/state/effects.ts'
import { type ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { createOnce } from '../create-once.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { FunctionRefused, NotFound, noUser } from '../failure.ts'
import { by, never, whenChanged, whenOwn } from '../inverse.ts'
import {
  address,
  isGuid,
  isSameText,
  nameParameter,
  objectId,
  optional,
  orNothing,
  userId,
} from '../parameters.ts'
import { findNamed, retryUntilFound } from '../replication.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import { changeUser, findUser, readUser, textOf, textOrNull } from './entra-directory.ts'

const NICKNAME_CHARS_MAX = 64
const PASSWORD_CHARS_MAX = 256

export const password = optional(z.string().min(8).max(PASSWORD_CHARS_MAX)).describe(
  'Preferably {{secret:…}}. If missing, one is created and stored in the vault.',
)

/** The user resource type forbids `$` and `_`. */
const immutableId = optional(
  nameParameter.max(256).regex(/^[^$_]+$/, 'contains $ or _, which Entra forbids'),
)

const newUser = z.strictObject({
  DisplayName: nameParameter.max(256),
  UserPrincipalName: address,
  MailNickname: optional(
    nameParameter.max(NICKNAME_CHARS_MAX).regex(/^[^\s@()\\[\]";:<>,]+$/, 'is not a mail nickname'),
  ).describe('Default: what stands before the @ of the UPN.'),
  Password: password,
  AccountEnabled: z.boolean().default(true),
  ForceChangePasswordNextSignIn: z.boolean().default(true),
  AllowExisting: z
    .boolean()
    .default(false)
    .describe('Use an existing account with this UPN even if something else created it.'),
  OnPremisesImmutableId: immutableId.describe(
    'Required for a UPN in a federated domain: the id of the person at the identity provider.',
  ),
})
type NewUser = z.infer<typeof newUser>

const nicknameOf = ({ MailNickname, UserPrincipalName }: NewUser): string =>
  MailNickname ??
  UserPrincipalName.slice(0, UserPrincipalName.indexOf('@')).slice(0, NICKNAME_CHARS_MAX)

const createdUser = z.object({
  Id: z.string(),
  UserId: z
    .string()
    .describe('The same as Id: runbooks of the earlier system read it by this name.'),
  DisplayName: z.string(),
  UserPrincipalName: z.string(),
  MailNickname: z.string(),
  Created: z.boolean().describe('False when the account already existed.'),
  PasswordSecret: z.string().nullable().describe('Reference of the password in the vault.'),
})
type CreatedUser = z.infer<typeof createdUser>

const IDENTITY = ['id', 'displayName', 'userPrincipalName', 'mailNickname', 'createdDateTime']

export const newEntraUser = defineM365Function({
  name: 'New-EntraUser',
  description:
    'Creates an account. Returns an account that an earlier run created; refuses one created elsewhere.',
  parameters: newUser,
  result: createdUser,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  creates: true,
  undo: 'Remove-EntraUser with the Id.',
  undoneBy: ['Remove-EntraUser'],
  effectOf: whenOwn((_, { Id, UserPrincipalName }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId: Id, UserPrincipalName },
      creates: [Id, UserPrincipalName],
    }),
  ),
  run: async (call: M365Call<NewUser>): Promise<CreatedUser> => {
    const { UserPrincipalName: upn, Password } = call.params
    const mailNickname = nicknameOf(call.params)
    const { found, passwordSecret, isCreated } = await createOnce(call, {
      upn,
      password: Password,
      find: () => findUser(call, upn, IDENTITY),
      // Graph does not return the nickname by default.
      create: async (secret) => ({ ...(await create(call, secret)), mailNickname }),
      madeAt: ({ createdDateTime }) => textOrNull(createdDateTime),
      isTaken: isUpnTaken,
    })
    return { ...adopted(call.params, found, passwordSecret), Created: isCreated }
  },
})

async function create(call: M365Call<NewUser>, secret: string): Promise<JsonObject> {
  const { params, tenant, signal } = call
  const { OnPremisesImmutableId: anchor } = params
  const { body } = await tenant.graph.call({
    method: 'POST',
    path: '/users',
    body: {
      accountEnabled: params.AccountEnabled,
      displayName: params.DisplayName,
      mailNickname: nicknameOf(params),
      userPrincipalName: params.UserPrincipalName,
      ...(anchor === null ? {} : { onPremisesImmutableId: anchor }),
      passwordProfile: {
        password: secret,
        forceChangePasswordNextSignIn: params.ForceChangePasswordNextSignIn,
      },
    },
    signal,
  })
  const made = body as JsonObject
  // The next step needs it. If it stays invisible, it exists all the same.
  await retryUntilFound(call, () => findUser(call, textOf(made.id), ['id']))
  return made
}

function adopted(
  params: NewUser,
  found: JsonObject,
  passwordSecret: string | null,
): Omit<CreatedUser, 'Created'> {
  const nickname = textOf(found.mailNickname)
  const displayName = textOf(found.displayName)
  const isAlike =
    isSameText(nickname, nicknameOf(params)) && isSameText(displayName, params.DisplayName.trim())
  if (!params.AllowExisting && !(passwordSecret !== null && isAlike)) {
    throw new FunctionRefused(
      `"${params.UserPrincipalName}" belongs to an account created elsewhere (${displayName}, ${nickname}). ` +
        'If it is the right person, set AllowExisting or mark the step as done; otherwise choose another UPN.',
    )
  }
  const id = textOf(found.id)
  return {
    Id: id,
    UserId: id,
    DisplayName: displayName,
    UserPrincipalName: textOf(found.userPrincipalName),
    MailNickname: nickname,
    PasswordSecret: passwordSecret,
  }
}

const isUpnTaken = ({ status, details, message }: ApiError): boolean =>
  status === 400 &&
  (details.some(({ code, target }) => code === 'ObjectConflict' && target === UPN) ||
    /same value for property userPrincipalName already exists/i.test(message))

const UPN = 'userPrincipalName'

const renamed = z.object({
  UserId: z.string(),
  UserPrincipalName: z.string(),
  PreviousUserPrincipalName: z.string(),
  Changed: z.boolean(),
})

export const setEntraUserUpn = defineM365Function({
  name: 'Set-EntraUserUPN',
  answeredTrue: true,
  description:
    'Changes the user principal name of a user. From one federated domain to another, change it to the initial domain in between.',
  parameters: z.strictObject({
    UserId: userId,
    NewUserPrincipalName: address,
    OnPremisesImmutableId: immutableId.describe(
      'Required for a name in a federated domain, unless the user has one. Unconfirmed: whether Entra takes both in one write.',
    ),
    IfStill: ifStill,
  }),
  result: renamed,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Set-EntraUserUPN with the PreviousUserPrincipalName.',
  undoneBy: ['Set-EntraUserUPN'],
  effectOf: whenChanged((params, result) => {
    const { UserId, UserPrincipalName, PreviousUserPrincipalName: before } = result
    return by({
      target: UserPrincipalName,
      before: { UserPrincipalName: before },
      run: 'Set-EntraUserUPN',
      with: { UserId, NewUserPrincipalName: before, [IF_STILL]: { UserPrincipalName } },
      keeps: params.OnPremisesImmutableId !== null && 'The immutable id stays as it was set.',
    })
  }),
  run: async (call): Promise<z.infer<typeof renamed>> => {
    const { UserId, NewUserPrincipalName, OnPremisesImmutableId: anchor } = call.params
    const user =
      (await findNamed(call, () => findUser(call, UserId, ['id', UPN]))) ??
      (await renamedEarlier(call, UserId, NewUserPrincipalName))
    const id = textOf(user.id)
    const before = textOf(user.userPrincipalName)
    const isChange = before !== NewUserPrincipalName
    // By id: a repeated request would not find the old name.
    const change = {
      userPrincipalName: NewUserPrincipalName,
      ...(anchor === null ? {} : { onPremisesImmutableId: anchor }),
    }
    if (isChange) {
      requireStill(call.params.IfStill, { UserPrincipalName: before }, id)
      await changeUser(call, id, change)
    }
    return {
      UserId: id,
      UserPrincipalName: NewUserPrincipalName,
      PreviousUserPrincipalName: isGuid(UserId) ? before : UserId,
      Changed: isChange,
    }
  },
})

/**
 * After a rename the old name finds nobody. The user with the new name is the same person if the old name is among the
 * addresses.
 */
async function renamedEarlier(
  call: M365Call<unknown>,
  oldName: string,
  newName: string,
): Promise<JsonObject> {
  const select = ['id', UPN, 'mail', 'proxyAddresses']
  const user = isGuid(oldName) ? null : await findUser(call, newName, select)
  if (user === null) throw noUser(oldName)
  const proxies = Array.isArray(user.proxyAddresses) ? user.proxyAddresses.map(textOf) : []
  const addresses = [textOf(user.mail), ...proxies.map((text) => text.replace(/^smtp:/i, ''))]
  if (addresses.some((address) => isSameText(address, oldName))) return user
  throw new FunctionRefused(
    `The tenant has no user "${oldName}". It has "${newName}", but nothing shows that they are the same person. ` +
      'Use the object id as UserId, or mark the step as done.',
  )
}

const switched = z.object({
  UserId: z.string(),
  AccountEnabled: z.boolean(),
  Changed: z.boolean(),
})

const switchUser = (verb: 'Enable' | 'Disable') => {
  const isEnabled = verb === 'Enable'
  const opposite = isEnabled ? 'Disable-EntraUser' : 'Enable-EntraUser'
  return defineM365Function({
    name: `${verb}-EntraUser`,
    description: isEnabled
      ? 'Allows a user to sign in.'
      : 'Blocks a user from signing in. Open sessions last until Revoke-EntraUserSessions.',
    parameters: z.strictObject({ UserId: userId }),
    result: switched,
    permissions: { graph: ['User.EnableDisableAccount.All', 'User.Read.All'] },
    isIdempotent: true,
    isSensitive: true,
    effect: 'changes',
    subject: 'entra',
    undo: `${opposite}.`,
    undoneBy: [opposite],
    effectOf: whenChanged((_, { UserId }) =>
      by({
        target: UserId,
        before: { accountEnabled: !isEnabled },
        run: opposite,
        with: { UserId },
      }),
    ),
    run: async (call): Promise<z.infer<typeof switched>> => {
      const user = await readUser(call, call.params.UserId, ['id', 'accountEnabled'])
      const id = textOf(user.id)
      const isChange = user.accountEnabled !== isEnabled
      if (isChange) await changeUser(call, id, { accountEnabled: isEnabled })
      return { UserId: id, AccountEnabled: isEnabled, Changed: isChange }
    },
  })
}
export const enableEntraUser = switchUser('Enable')
export const disableEntraUser = switchUser('Disable')

const signedOut = z.object({ UserId: z.string(), Revoked: z.boolean() })

export const revokeEntraUserSessions = defineM365Function({
  name: 'Revoke-EntraUserSessions',
  description:
    'Revokes all sessions of a user, who must then sign in again. Has no effect on external users.',
  parameters: z.strictObject({ UserId: userId }),
  result: signedOut,
  permissions: { graph: ['User.RevokeSessions.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  isMomentary: true,
  undo: null,
  effectOf: (_, { UserId, Revoked }) =>
    Revoked
      ? never(UserId, 'The person must sign in again; nothing else changed.')
      : NOTHING_CHANGED,
  run: async (call): Promise<z.infer<typeof signedOut>> => {
    const { tenant, signal, params } = call
    const id = textOf((await readUser(call, params.UserId, ['id'])).id)
    const { body } = await tenant.graph.call({
      method: 'POST',
      path: pathOf`/users/${id}/revokeSignInSessions`,
      // Revoking twice has the effect of revoking once.
      isIdempotent: true,
      signal,
    })
    return { UserId: id, Revoked: (body as JsonObject | null)?.value !== false }
  },
})

const removed = z.object({ UserId: z.string().nullable(), Changed: z.boolean() })

export const removeEntraUser = defineM365Function({
  name: 'Remove-EntraUser',
  description:
    'Deletes an account, which can be restored for 30 days. Takes only the object id: a name may belong to another account by now.',
  parameters: z.strictObject({
    UserId: orNothing(objectId).describe(
      'Object id. Null or empty does nothing, as after New-EntraGuest of a guest who was there before.',
    ),
    UserPrincipalName: optional(address).describe(
      'If given, deletes the account only if it has this name.',
    ),
  }),
  result: removed,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Restore-EntraUser, within 30 days.',
  undoneBy: ['Restore-EntraUser'],
  removes: true,
  effectOf: whenChanged((_, { UserId }) =>
    by({
      target: UserId,
      before: { exists: true },
      run: 'Restore-EntraUser',
      with: { UserId },
      keeps: 'Entra restores an account for 30 days only.',
    }),
  ),
  run: async (call): Promise<z.infer<typeof removed>> => {
    const { tenant, signal, params } = call
    const { UserId, UserPrincipalName } = params
    if (UserId === null) return { UserId, Changed: false }
    const user = await findNamed(call, async () => {
      const found = await findUser(call, UserId, ['id', UPN])
      return found ?? (await findDeleted(call, UserId))
    })
    if (user === null) throw noUser(UserId)
    if (user === DELETED) return { UserId, Changed: false }
    const currentName = textOf(user.userPrincipalName)
    if (UserPrincipalName !== null && !isSameText(currentName, UserPrincipalName)) {
      throw new FunctionRefused(
        `Account ${UserId} is named "${currentName}", not "${UserPrincipalName}". It was not deleted: check both parameters.`,
      )
    }
    try {
      await tenant.graph.call({ method: 'DELETE', path: pathOf`/users/${UserId}`, signal })
    } catch (error) {
      if (!isNotFound(error)) throw error
      // The first response was lost; the second says that the account is gone.
      if ((await findDeleted(call, UserId)) === null) throw noUser(UserId)
    }
    return { UserId, Changed: true }
  },
})

const restored = z.object({
  UserId: z.string(),
  UserPrincipalName: z.string(),
  Changed: z.boolean(),
})

export const restoreEntraUser = defineM365Function({
  name: 'Restore-EntraUser',
  description: 'Restores an account that was deleted less than 30 days ago, with its mail user.',
  parameters: z.strictObject({ UserId: objectId }),
  result: restored,
  permissions: { graph: ['User.DeleteRestore.All', 'User.Read.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Remove-EntraUser, if Changed is true.',
  undoneBy: ['Remove-EntraUser'],
  effectOf: whenChanged((_, { UserId, UserPrincipalName }) =>
    by({
      target: UserPrincipalName,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId, UserPrincipalName },
    }),
  ),
  run: async (call): Promise<z.infer<typeof restored>> => {
    const { tenant, signal, params } = call
    const { UserId } = params
    const present = await findUser(call, UserId, ['id', UPN])
    if (present === null) {
      const path = pathOf`/directory/deletedItems/${UserId}/restore`
      // Repeated after a lost response, it finds no deleted account; the account is there.
      const restore = () => tenant.graph.call({ method: 'POST', path, isIdempotent: true, signal })
      await restore().catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      })
    }
    const user = present ?? (await retryUntilFound(call, () => findUser(call, UserId, ['id', UPN])))
    if (user === null)
      throw new NotFound(
        `The tenant has no user "${UserId}", and none was deleted in the last 30 days.`,
      )
    const name = textOf(user.userPrincipalName)
    return { UserId, UserPrincipalName: name, Changed: present === null }
  },
})

const DELETED: JsonObject = {}

async function findDeleted(
  { tenant, signal }: M365Call<unknown>,
  id: string,
): Promise<JsonObject | null> {
  try {
    const query = { $select: 'id' }
    const path = pathOf`/directory/deletedItems/${id}`
    await tenant.graph.call({ method: 'GET', path, query, signal })
    return DELETED
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}
