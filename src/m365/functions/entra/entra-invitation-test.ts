// Whether a guest has accepted the invitation: only then they can sign in (externalUserState of the user resource).
import { z } from 'zod'
import { defineM365Function } from '../define.ts'
import { notThereReason, noUser } from '../failure.ts'
import { isSameText, userId } from '../parameters.ts'
import { onceIfPolled, retryUntilFound } from '../replication.ts'
import { findUser, textOf, textOrNull } from './entra-directory.ts'

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    Match: z.boolean(),
    UserId: z.string(),
    State: z.string().nullable().describe('PendingAcceptance, Accepted, or null: never invited.'),
    Reason: notThereReason,
  }),
})

export const testEntraInvitationRedeemed = defineM365Function({
  name: 'Test-EntraInvitationRedeemed',
  description: 'Tests whether an invited user has accepted the invitation.',
  parameters: z.strictObject({ UserId: userId }),
  result: tested,
  permissions: { graph: ['User.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'entra',
  undo: null,
  run: async (call): Promise<z.infer<typeof tested>> => {
    const { UserId } = call.params
    const look = () => findUser(call, UserId, ['id', 'externalUserState'])
    const user = await retryUntilFound(onceIfPolled(call), look)
    const isRedeemed = isSameText(textOf(user?.externalUserState), 'Accepted')
    const Reason = user === null ? noUser(UserId).message : null
    const State = textOrNull(user?.externalUserState)
    return { complete: isRedeemed, data: { Match: isRedeemed, UserId, State, Reason } }
  },
})
