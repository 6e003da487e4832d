// Invites somebody the tenant does not know yet. Looks for the address first: a guest who has it is returned and not invited again, and an
// account of the tenant itself is refused, so that nobody's account is taken over.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError } from '../../../worker/http/api.ts'
import { odataText } from '../../client/tenant.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { FunctionRefused } from '../failure.ts'
import { by, whenCreated } from '../inverse.ts'
import { address, isSameText, nameParameter, optional } from '../parameters.ts'
import { type ReplicationContext, retryUntilFound } from '../replication.ts'
import { findUser, textOf, textOrNull } from './entra-directory.ts'
import { invitationParameters, sendInvitation } from './invitation.ts'

const newcomer = z.strictObject({
  InvitedUserEmailAddress: address.describe('In a domain that is not one of this tenant.'),
  DisplayName: optional(nameParameter.max(256)),
  ...invitationParameters,
})
type Newcomer = z.infer<typeof newcomer>

const welcomed = z.object({
  UserId: z.string(),
  UserPrincipalName: z.string().nullable(),
  InvitedUserEmailAddress: z.string(),
  State: z.string().nullable().describe('PendingAcceptance or Accepted.'),
  InviteRedeemUrl: z
    .string()
    .nullable()
    .describe('Known only to the run that sent the invitation.'),
  CreatedUserId: z
    .string()
    .nullable()
    .describe('For Remove-EntraUser; null when the guest was there before.'),
  Created: z.boolean(),
})
type Welcomed = z.infer<typeof welcomed>

const GUEST = ['id', 'userPrincipalName', 'mail', 'userType', 'externalUserState', 'creationType']
const LIST_UNITS = 2

export const newEntraGuest = defineM365Function({
  name: 'New-EntraGuest',
  description:
    'Invites a person as a guest, or returns the guest who has the address; refuses the address of an account. Wait with Test-EntraInvitationRedeemed.',
  parameters: newcomer,
  result: welcomed,
  permissions: { graph: ['User.Invite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  creates: true,
  undo: 'Remove-EntraUser with the CreatedUserId, which is null for a guest who was there before.',
  undoneBy: ['Remove-EntraUser'],
  effectOf: whenCreated((_, { CreatedUserId, InvitedUserEmailAddress }) =>
    by({
      target: InvitedUserEmailAddress,
      before: { exists: false },
      run: 'Remove-EntraUser',
      with: { UserId: CreatedUserId },
      keeps: 'The invitation was sent.',
      creates: [CreatedUserId, InvitedUserEmailAddress],
    }),
  ),
  run: async (call: M365Call<Newcomer>): Promise<Welcomed> => {
    const known = await guestWith(call)
    if (known !== null) return { ...welcomeOf(call.params, known), ...NOT_CREATED }
    try {
      return await inviteNewcomer(call)
    } catch (error) {
      if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
      const made = await retryUntilFound(call, () => guestWith(call))
      if (made === null) throw error
      const welcome = welcomeOf(call.params, made)
      return { ...welcome, CreatedUserId: welcome.UserId, Created: true }
    }
  },
})

const NOT_CREATED = { CreatedUserId: null, Created: false }

/** Guests and converted guests; Graph has the state only of people who were invited. */
const isInvited = (user: JsonObject): boolean =>
  Boolean(user.externalUserState) || isSameText(textOf(user.creationType), 'Invitation')

/** Who has the address: the guest, or null. An account of the tenant with that address is refused. */
async function guestWith(call: M365Call<Newcomer>): Promise<JsonObject | null> {
  const { tenant, signal, params } = call
  const email = odataText(params.InvitedUserEmailAddress)
  const query = {
    $filter: `mail eq ${email} or otherMails/any(other:other eq ${email})`,
    $select: GUEST.join(','),
  }
  let own: JsonObject | null = null
  for await (const user of tenant.graph.list({
    path: '/users',
    query,
    signal,
    units: LIST_UNITS,
  })) {
    if (isInvited(user)) return user
    own ??= user
  }
  if (own === null) return null
  throw new FunctionRefused(
    `"${params.InvitedUserEmailAddress}" is the address of "${textOf(own.userPrincipalName)}", an account of this tenant. ` +
      'No one was invited. To let that person sign in from another tenant, use New-EntraB2BInvitation; otherwise correct the address.',
  )
}

const welcomeOf = (
  params: Newcomer,
  user: JsonObject,
): Omit<Welcomed, keyof typeof NOT_CREATED> => ({
  UserId: textOf(user.id),
  UserPrincipalName: textOrNull(user.userPrincipalName),
  InvitedUserEmailAddress: params.InvitedUserEmailAddress,
  State: textOrNull(user.externalUserState),
  InviteRedeemUrl: null,
})

async function inviteNewcomer(call: M365Call<Newcomer>): Promise<Welcomed> {
  const { params } = call
  const { DisplayName } = params
  const named = DisplayName === null ? {} : { invitedUserDisplayName: DisplayName }
  const made = await sendInvitation(call, params, named)
  const id = textOf((made.invitedUser as JsonObject | undefined)?.id)
  const user = await seen(call, id)
  return {
    ...welcomeOf(params, user ?? { id }),
    State: textOrNull(user?.externalUserState) ?? textOrNull(made.status),
    InviteRedeemUrl: textOrNull(made.inviteRedeemUrl),
    CreatedUserId: id,
    Created: true,
  }
}

/** The next step needs the guest. One who stays invisible exists all the same. */
const seen = (call: ReplicationContext, id: string): Promise<JsonObject | null> =>
  retryUntilFound(call, () => findUser(call, id, GUEST))
