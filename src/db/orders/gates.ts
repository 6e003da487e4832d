// Decisions about the gates of phases, and the facts that a gate is judged by. All of it is counted in the database, in a fixed number of
// statements however many members there are.

import type { CountedSupply } from '../../domain/decide/counted-supply.ts'
import type { GateDecisionKind, GateSubject } from '../../domain/decide/gate.ts'
import type { UnapprovedGate } from '../../domain/needs/from-work.ts'
import type { LostApproval } from '../../domain/plan/lost-approvals.ts'
import type { SupplyCount } from '../../domain/runbook/function-facts.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { ONCE_PASSED_STEPS, PASSED_STEPS, UNFINISHED_BATCHES } from '../connection/status-lists.ts'

/** Members who are not removed, as a hash of their ids in order. */
export async function hashMembers(db: Queryable, batchId: number): Promise<string> {
  const [row] = await db.query<{ hash: string }>(
    `select md5(coalesce(string_agg(id::text, ',' order by id), '')) as hash
       from batch_members where batch_id = $1 and status <> 'removed'`,
    [batchId],
  )
  return row!.hash
}

/** By phase: members who failed or left and had passed it. Few, so this reads little where counting those who are ready reads every step. */
export async function countPassedInactive(
  db: Queryable,
  batchId: number,
  phaseIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<{ phaseId: number; passed: number }>(
    `select p.id as phase_id, count(*)::int as passed
       from batch_members m cross join unnest($2::bigint[]) as p (id)
      cross join lateral (select bool_and(s.status in ${ONCE_PASSED_STEPS}) as is_passed from step_executions s
                           where s.batch_member_id = m.id and s.phase_execution_id = p.id and s.kind = 'phase') as steps
      where m.batch_id = $1 and m.status <> 'active' and steps.is_passed group by 1`,
    [batchId, idsParam(phaseIds)],
  )
  return new Map(rows.map(({ phaseId, passed }) => [phaseId, passed]))
}

/** Active members who have steps in all of these phases and have passed every one. */
export async function countReady(
  db: Queryable,
  batchId: number,
  phaseIds: readonly number[],
): Promise<number> {
  const [row] = await db.query<{ ready: number }>(
    `select count(*)::int as ready
       from batch_members m
       join (select batch_member_id as id from step_executions
              where batch_id = $1 and kind = 'phase' and phase_execution_id = any($2::bigint[])
              group by batch_member_id
             having bool_and(status in ${PASSED_STEPS}) and count(distinct phase_execution_id) = $3) as passed on passed.id = m.id
      where m.batch_id = $1 and m.status = 'active'`,
    [batchId, idsParam(phaseIds), phaseIds.length],
  )
  return row!.ready
}

export interface CountingSteps {
  readonly phaseIds: readonly number[]
  readonly stepNames: readonly string[]
  /** The function that counts; a step may have run another in an earlier version. */
  readonly functionName: string
  /** Where its result has the counts. */
  readonly supply: SupplyCount
}

/** What these steps have counted: how many of the batch's members hold each, and how many are free by the newest answer. */
export const countSupplies = (
  db: Queryable,
  batchId: number,
  { phaseIds, stepNames, functionName, supply }: CountingSteps,
): Promise<CountedSupply[]> =>
  db.query<CountedSupply>(
    `with answers as (
       select distinct on (s.batch_member_id, lower(l ->> $6)) lower(l ->> $6) as id, l ->> $7 as name,
              coalesce(l -> $9 = 'true', false) as is_held,
              case when jsonb_typeof(l -> $8) = 'number' then least((l ->> $8)::numeric, 1e9)::int else 0 end as free,
              s.completed_at
         from step_executions s join batch_members m on m.id = s.batch_member_id and m.status <> 'removed'
        cross join lateral jsonb_array_elements(
          case when jsonb_typeof(s.result_json -> $5) = 'array' then s.result_json -> $5 else '[]' end) as l
        where s.batch_id = $1 and s.kind = 'phase' and s.phase_execution_id = any($2::bigint[]) and s.status = 'succeeded'
          and lower(s.step_name) = any($3::text[]) and lower(s.function_name) = lower($4)
        order by s.batch_member_id, lower(l ->> $6), s.completed_at desc, s.id desc)
     select (array_agg(name order by completed_at desc))[1] as name, count(*) filter (where is_held)::int as held,
            (array_agg(free order by completed_at desc))[1] as free, max(completed_at) as counted_at
       from answers group by id order by 1`,
    [
      batchId,
      idsParam(phaseIds),
      stepNames.map((name) => name.toLowerCase()),
      functionName,
      supply.list,
      supply.id,
      supply.name,
      supply.free,
      supply.isHeld,
    ],
  )

/** The id of the batch's member at this place, from 1, in the order of ids and without removed ones; null when there are fewer. */
export async function findMemberAt(
  db: Queryable,
  batchId: number,
  place: number,
): Promise<number | null> {
  const rows = await db.query<{ id: number }>(
    `select id from batch_members where batch_id = $1 and status <> 'removed' order by id offset $2 limit 1`,
    [batchId, place - 1],
  )
  return rows[0]?.id ?? null
}

export interface GateDecision extends GateSubject {
  readonly id: number
  readonly phaseName: string
  readonly kind: GateDecisionKind
  readonly decidedBy: string
  readonly decidedAt: Date
  readonly reason: string
  /** Of a waiver. */
  readonly endsAt: Date | null
  /** When it was withdrawn or became void. */
  readonly endedAt: Date | null
  readonly endedBecause: string | null
  /** People who joined or left since, where the gate lets an approval survive some. */
  readonly changed: number | null
}

/** Ids on one side only: those that approval `d` was about, and those of its members now. */
const CHANGED = `(select count(*)::int from unnest(d.members) as was (id)
    full join (select id from batch_members where batch_id = d.batch_id and status <> 'removed') as there on there.id = was.id
   where was.id is null or there.id is null)`

const DECISION = `id, phase_name, kind, decided_by, decided_at, reason, ends_at,
  runbook_version, members_hash, members_present,
  members_removed, due_at, ended_at,
  ended_because, case when d.members is not null and d.ended_at is null then ${CHANGED} end as changed`

/**
 * Whether decision `d` is about phase `p` of batch `b` as they are now (`voidedBecause` in domain/decide/gate.ts). Who changed is counted
 * only where so many people are no longer there, and only for gates that let an approval survive some.
 */
const STILL_FITS = `d.ended_at is null and d.runbook_version = b.runbook_version and d.due_at is not distinct from p.due_at
  and ((d.members_present = b.members_active + b.members_failed and d.members_removed = b.members_removed)
       or (d.members is not null and ${CHANGED} <= p.gate_survives))`

/** Decisions about the batch's gates that were neither withdrawn nor void, oldest first. */
export const listOpenDecisions = (db: Queryable, batchId: number): Promise<GateDecision[]> =>
  db.query<GateDecision>(
    `select ${DECISION} from gate_decisions d where batch_id = $1 and ended_at is null order by id`,
    [batchId],
  )

/** All of them, newest first. */
export const listDecisions = (
  db: Queryable,
  batchId: number,
  limit: number,
): Promise<GateDecision[]> =>
  db.query<GateDecision>(
    `select ${DECISION} from gate_decisions d where batch_id = $1 order by id desc limit $2`,
    [batchId, limit],
  )

export interface NewGateDecision extends GateSubject {
  readonly batchId: number
  readonly phaseName: string
  readonly kind: GateDecisionKind
  readonly decidedBy: string
  readonly reason: string
  readonly endsAt: Date | null
  /** Keeps who the members are, so that those who join and leave later can be counted. */
  readonly keepsMembers: boolean
}

/** False when this person has approved already, or a waiver is in force. */
export async function insertDecision(
  tx: Tx,
  decision: NewGateDecision,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into gate_decisions (batch_id, phase_name, kind, decided_by, decided_at, reason, ends_at, runbook_version, members_hash,
                                 members_present, members_removed, due_at, members)
     values ($1, lower($2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
             case when $13 then array(select id from batch_members where batch_id = $1 and status <> 'removed' order by id) end)
         on conflict do nothing returning id`,
    [
      decision.batchId,
      decision.phaseName,
      decision.kind,
      decision.decidedBy,
      now,
      decision.reason,
      decision.endsAt,
      decision.runbookVersion,
      decision.membersHash,
      decision.membersPresent,
      decision.membersRemoved,
      decision.dueAt,
      decision.keepsMembers,
    ],
  )
  return rows.length > 0
}

export async function endDecisions(
  tx: Tx,
  ended: readonly { readonly id: number; readonly because: string }[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return
  await tx.query(
    `update gate_decisions d set ended_at = $3, ended_because = e.because
       from unnest($1::bigint[], $2::text[]) as e (id, because) where d.id = e.id and d.ended_at is null`,
    [ended.map(({ id }) => id), ended.map(({ because }) => because), now],
  )
}

/**
 * Unfinished batches with decisions that no longer fit: another version, time or number of members, or a waiver that has ended. A leaver
 * and a returner between two looks are not noticed here; the start of the phase compares the members themselves.
 */
export async function listBatchesWithStaleDecisions(
  db: Queryable,
  now: Date,
  limit: number,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select distinct b.id
       from gate_decisions d join batches b on b.id = d.batch_id
       join phase_executions p on p.batch_id = b.id and lower(p.phase_name) = d.phase_name and p.status = 'pending'
      where d.ended_at is null and b.status in ${UNFINISHED_BATCHES}
        and (d.ends_at <= $1 or not (${STILL_FITS}))
      order by b.id limit $2`,
    [now, limit],
  )
  return rows.map(({ id }) => id)
}

/** Approvals that count for phases that have not started, of these batches. */
export const listApprovals = (
  db: Queryable,
  batchIds: readonly number[],
): Promise<(LostApproval & { readonly id: number })[]> =>
  db.query<LostApproval & { readonly id: number }>(
    `select d.id, d.batch_id, p.phase_name, d.decided_by as approved_by
       from gate_decisions d join batches b on b.id = d.batch_id
       join phase_executions p on p.batch_id = b.id and lower(p.phase_name) = d.phase_name and p.status = 'pending'
      where d.batch_id = any($1::bigint[]) and d.kind = 'approval' and b.status in ${UNFINISHED_BATCHES} and ${STILL_FITS}
      order by d.batch_id, p.due_at, d.id`,
    [idsParam(batchIds)],
  )

interface GatesSought {
  /** Due after this; null: also those whose time has come. */
  readonly after: Date | null
  readonly until: Date
  /** How long before their time people hear of them. */
  readonly aheadMs: number
  readonly batchId?: number | undefined
  readonly now: Date
}

/**
 * Phases that are due until then and have fewer approvals than their gate asks for, or too many failed people for its share of ready ones,
 * the next first. An approval of another version, time
 * or number of members does not count (`voidedBecause` in domain/decide/gate.ts).
 */
export function listUnapprovedGates(
  db: Queryable,
  { after, until, aheadMs, batchId, now }: GatesSought,
  limit: number,
): Promise<UnapprovedGate[]> {
  return db.query<UnapprovedGate>(
    `select p.id as phase_id, p.phase_name, b.id as batch_id, b.runbook_name, p.due_at,
            p.gate_approvals as needed, given.count as given, asked.ready_percent, b.members_active as active,
            b.members_active + b.members_failed as present, greatest(b.detected_at, p.due_at - $3 * interval '1 second') as since
       from phase_executions p join batches b on b.id = p.batch_id
      cross join lateral (select count(*)::int as count from gate_decisions d
                           where d.batch_id = b.id and d.phase_name = lower(p.phase_name) and d.kind = 'approval'
                             and ${STILL_FITS}) as given
      cross join lateral (select case when not exists (select from gate_decisions d
                                  where d.batch_id = b.id and d.phase_name = lower(p.phase_name) and d.kind = 'waiver'
                                    and d.ends_at > $6 and ${STILL_FITS}) then p.gate_ready_percent end as ready_percent) as asked
      where p.status = 'pending' and p.due_at <= $2 and ($1::timestamptz is null or p.due_at > $1)
        and (p.gate_approvals > given.count or b.members_active * 100 < asked.ready_percent * (b.members_active + b.members_failed))
        and b.status in ${UNFINISHED_BATCHES} and ($4::bigint is null or b.id = $4)
      order by p.due_at, p.id limit $5`,
    [after, until, aheadMs / 1_000, batchId ?? null, limit, now],
  )
}
