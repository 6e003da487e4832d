// What operators may do about members now: a look at the batch under its shared lock, and the decisions' own refusals. Changes nothing.

import { findNextBatch } from '../../db/state/batches.ts'
import { findMembersElsewhere } from '../../db/state/members.ts'
import {
  type Action,
  type Candidate,
  candidatesFor,
  candidatesForInit,
  shownAction,
} from '../../domain/decide/actions.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { actionsForPeople, type FailedPeople } from '../../domain/decide/group-actions.ts'
import type { Engine } from '../transactions/engine.ts'
import { loadMembersWithSteps } from '../transactions/loading.ts'
import { readBatch } from '../transactions/locking.ts'

/** By member; most useful first. Members that are not there have no entry. */
export async function listCandidates(
  engine: Engine,
  batchId: number,
  memberIds: readonly number[],
): Promise<Map<number, Candidate[]>> {
  return (await look(engine, batchId, memberIds)).candidates
}

/** People who failed in the same way; nobody for init. */
export interface FailureToLeave extends Pick<FailedPeople, 'flags' | 'isOnlyGroup'> {
  readonly memberIds: readonly number[]
  readonly isEverybody: boolean
}

/** What helps each group, in its order. */
export async function listGroupActions(
  engine: Engine,
  batchId: number,
  groups: readonly FailureToLeave[],
): Promise<Action[][]> {
  if (groups.length === 0) return []
  const memberIds = [...new Set(groups.flatMap((group) => group.memberIds))]
  const { draft, candidates } = await look(engine, batchId, memberIds)
  const ofInit = candidatesForInit(draft).filter(({ refusal }) => refusal === null)
  return groups.map(({ memberIds: ids, ...group }) => {
    if (ids.length === 0) return ofInit.map(shownAction)
    const looked = ids.map((id) => ({
      id,
      key: draft.member(id).key,
      candidates: candidates.get(id) ?? [],
    }))
    return actionsForPeople({ looked, ...group })
  })
}

interface Look {
  readonly draft: Draft
  readonly candidates: Map<number, Candidate[]>
}

function look(engine: Engine, batchId: number, memberIds: readonly number[]): Promise<Look> {
  return readBatch(engine, batchId, async (batchTx) => {
    const { tx, draft } = batchTx
    await loadMembersWithSteps(batchTx, memberIds, { all: true })
    const elsewhere = new Map(
      (await findMembersElsewhere(tx, batchId, memberIds)).map((row) => [
        row.memberId,
        row.batchId,
      ]),
    )
    const nextBatchId = await findNextBatch(tx, batchId)
    const candidates = new Map(
      [...draft.members.values()].map((member) => {
        const facts = { activeInBatchId: elsewhere.get(member.id) ?? null, nextBatchId }
        return [member.id, candidatesFor(draft, member, facts)]
      }),
    )
    return { draft, candidates }
  })
}
