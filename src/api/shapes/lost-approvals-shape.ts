// Approvals that a change makes void, in the answers of every change of members, times or versions.
import { z } from 'zod'

export const approvalsLost = z
  .array(
    z.strictObject({
      batchId: z.int(),
      phaseName: z.string(),
      approvedBy: z.string(),
    }),
  )
  .meta({
    id: 'ApprovalsLost',
    description:
      'Approvals that become void, because they were about other members, another time or another version. A dry run gives the same answer.',
  })
