// How people sign in on their first day: a new password or a Temporary Access Pass. The value goes into the vault only, under a name of its
// own: having reset a password makes nobody the owner of an account. A second run makes a new value, which replaces the first everywhere.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { isPlainRefusal, pathOf } from '../../../worker/http/api.ts'
import { defineM365Function } from '../define.ts'
import { noUser, orNotFound } from '../failure.ts'
import { never } from '../inverse.ts'
import { optional, userId } from '../parameters.ts'
import { changeUser, readUser, textOf, textOrNull } from './entra-directory.ts'
import { makePassword, secretNameOf } from './password.ts'

const reset = z.object({
  UserId: z.string(),
  PasswordSecret: z.string().describe('Where the vault has it.'),
})

/** In place of a password that Entra refused. */
const NEVER_SET = 'matoolkit: this password was never set'

export const resetEntraPassword = defineM365Function({
  name: 'Reset-EntraPassword',
  description:
    "Gives a user a new password, which only the vault knows. Not for people whose passwords come from another directory. Unconfirmed: whether the app also needs the role User Administrator; Microsoft's pages differ.",
  parameters: z.strictObject({
    UserId: userId,
    ForceChangePasswordNextSignIn: z.boolean().default(true),
  }),
  result: reset,
  // The least permission for passwordProfile. The user resource type asks an app for the role User Administrator too; the page on updating a
  // user asks for the permission only.
  permissions: { graph: ['User-PasswordProfile.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'There is none: the previous password is unknown.',
  effectOf: (_, { UserId }) => never(UserId, 'The previous password is unknown.'),
  run: async (call): Promise<z.infer<typeof reset>> => {
    const { UserId, ForceChangePasswordNextSignIn } = call.params
    const { secrets } = call.tenant
    const id = textOf((await readUser(call, UserId, ['id'])).id)
    const name = secretNameOf(call, 'reset-password', id)
    const known = await secrets.find(name, call.signal)
    const before = known === null ? NEVER_SET : await secrets.get(known, call.signal)
    const password = makePassword()
    const PasswordSecret = await secrets.put(name, password, call.signal)
    try {
      const forceChangePasswordNextSignIn = ForceChangePasswordNextSignIn
      await changeUser(call, id, { passwordProfile: { password, forceChangePasswordNextSignIn } })
    } catch (error) {
      if (isPlainRefusal(error)) await secrets.put(name, before, call.signal)
      throw error
    }
    return { UserId: id, PasswordSecret }
  },
})

const MINUTES_MIN = 10
const MINUTES_MAX = 43_200

const passed = z.object({
  UserId: z.string(),
  AccessPassSecret: z.string().describe('Where the vault has it.'),
  StartDateTime: z.string().nullable(),
  LifetimeInMinutes: z.number(),
  IsUsableOnce: z.boolean(),
})

export const newEntraTemporaryAccessPass = defineM365Function({
  name: 'New-EntraTemporaryAccessPass',
  description:
    'Makes a Temporary Access Pass, which only the vault knows, in place of an earlier one. The tenant must allow the method; its policy limits the lifetime.',
  parameters: z.strictObject({
    UserId: userId,
    LifetimeInMinutes: optional(z.int().min(MINUTES_MIN).max(MINUTES_MAX)).describe(
      "10 to 43200; the policy's default if missing.",
    ),
    IsUsableOnce: z.boolean().default(false),
    StartDateTime: optional(z.iso.datetime({ offset: true })).describe('At once if missing.'),
  }),
  result: passed,
  permissions: { graph: ['UserAuthMethod-TAP.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  creates: true,
  undo: 'There is none: it expires.',
  effectOf: (_, { UserId }) => never(UserId, 'A pass expires.'),
  run: async (call): Promise<z.infer<typeof passed>> => {
    const { UserId, LifetimeInMinutes, IsUsableOnce, StartDateTime } = call.params
    const id = textOf((await readUser(call, UserId, ['id'])).id)
    const make = () =>
      call.tenant.graph.call({
        method: 'POST',
        path: pathOf`/users/${id}/authentication/temporaryAccessPassMethods`,
        body: {
          isUsableOnce: IsUsableOnce,
          ...(LifetimeInMinutes === null ? {} : { lifetimeInMinutes: LifetimeInMinutes }),
          ...(StartDateTime === null ? {} : { startDateTime: StartDateTime }),
        },
        // A pass whose value was lost with its response is replaced by the next one.
        isIdempotent: true,
        signal: call.signal,
      })
    const body = (await orNotFound(make, noUser(UserId))).body as JsonObject
    const name = secretNameOf(call, 'access-pass', id)
    const value = textOf(body.temporaryAccessPass)
    const AccessPassSecret = await call.tenant.secrets.put(name, value, call.signal)
    return {
      UserId: id,
      AccessPassSecret,
      StartDateTime: textOrNull(body.startDateTime),
      LifetimeInMinutes: Number(body.lifetimeInMinutes),
      IsUsableOnce: body.isUsableOnce === true,
    }
  },
})
