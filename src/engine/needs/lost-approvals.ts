// Runs a change and says which approvals it makes void, from those that count before and after it. A dry run rolls the change back and
// gives the same answer.
import { listApprovals } from '../../db/orders/gates.ts'
import type { LostApproval } from '../../domain/plan/lost-approvals.ts'
import type { Engine } from '../transactions/engine.ts'

export async function withLostApprovals<T>(
  { db }: Engine,
  batchIds: readonly number[],
  change: () => Promise<T>,
): Promise<{ readonly result: T; readonly approvalsLost: LostApproval[] }> {
  const before = await listApprovals(db, batchIds)
  const result = await change()
  if (before.length === 0) return { result, approvalsLost: [] }
  const kept = new Set((await listApprovals(db, batchIds)).map(({ id }) => id))
  const lost = before.filter(({ id }) => !kept.has(id))
  return { result, approvalsLost: lost.map(({ id: _, ...approval }) => approval) }
}
