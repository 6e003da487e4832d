// Some members of a batch as a plan shows them, and what the batch has put out.
import type { Json } from '../../domain/json.ts'
import type { SampleMember } from '../../domain/run-plan.ts'
import type { Queryable } from '../db.ts'

export function listSampleMembers(
  db: Queryable,
  batchId: number,
  most: number,
): Promise<SampleMember[]> {
  return db.query<SampleMember>(
    `select member_key as key, data_json as data, worker_data_json as outputs from batch_members
      where batch_id = $1 and status <> 'removed' order by id limit $2`,
    [batchId, most],
  )
}

export async function findBatchOutputs(
  db: Queryable,
  batchId: number,
): Promise<Readonly<Record<string, Json>>> {
  const rows = await db.query<{ outputs: Readonly<Record<string, Json>> }>(
    'select outputs_json as outputs from batches where id = $1',
    [batchId],
  )
  return rows[0]?.outputs ?? {}
}
