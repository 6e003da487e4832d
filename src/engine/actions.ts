// What operators may do about members now: a look at the batch under its shared lock, and the decisions' own refusals. Changes nothing.
import { findMembersElsewhere, findNextBatch } from '../db/batches.ts'
import { shareBatch } from '../db/facts.ts'
import { type Candidate, candidatesFor } from '../domain/decide/actions.ts'
import type { Engine } from './engine.ts'
import { loadBatch, loadMembersWithSteps } from './loading.ts'

/** By member; most useful first. Members that are not there have no entry. */
export async function listCandidates(
  engine: Engine,
  batchId: number,
  memberIds: readonly number[],
): Promise<Map<number, Candidate[]>> {
  return engine.db.transaction(async (tx) => {
    const sharing = shareBatch(tx, batchId)
    const batchTx = await loadBatch(engine, tx, sharing, batchId, 'reader', true)
    await loadMembersWithSteps(batchTx, memberIds, { all: true })
    const elsewhere = new Map(
      (await findMembersElsewhere(tx, batchId, memberIds)).map((row) => [
        row.memberId,
        row.batchId,
      ]),
    )
    const nextBatchId = await findNextBatch(tx, batchId)
    const { draft } = batchTx
    return new Map(
      [...draft.members.values()].map((member) => {
        const facts = { activeInBatchId: elsewhere.get(member.id) ?? null, nextBatchId }
        return [member.id, candidatesFor(draft, member, facts)]
      }),
    )
  })
}
