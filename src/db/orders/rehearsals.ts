// Rehearsals that the API ran: their rows and results.

import type { Json } from '../../base/text/json.ts'
import {
  type Rehearsed,
  type RehearsedTimes,
  rehearsedTimes,
} from '../../domain/forecast/rehearsed.ts'
import type { Queryable } from '../connection/db.ts'

export const REHEARSAL_STATUSES = ['running', 'completed', 'failed', 'cancelled'] as const
export type RehearsalStatus = (typeof REHEARSAL_STATUSES)[number]

/** The newest results; older ones are deleted as new rehearsals begin. */
export const REHEARSALS_KEPT = 20

export interface RehearsalLine {
  readonly id: number
  readonly runbookName: string
  /** Of a running batch; null for a rehearsal of a runbook. */
  readonly batchId: number | null
  readonly members: number
  readonly requestedBy: string
  readonly requestedAt: Date
  readonly status: RehearsalStatus
  readonly endedAt: Date | null
  readonly because: string | null
  readonly verdict: string | null
}

const LINE = `id, runbook_name, batch_id, members, requested_by, requested_at, status,
  ended_at, because, report_json->>'verdict' as verdict`

export const listRehearsals = (db: Queryable): Promise<RehearsalLine[]> =>
  db.query<RehearsalLine>(
    `select ${LINE} from rehearsals order by id desc limit ${REHEARSALS_KEPT + 1}`,
  )

export async function findRehearsal(
  db: Queryable,
  id: number,
): Promise<(RehearsalLine & { readonly report: Json }) | undefined> {
  const rows = await db.query<RehearsalLine & { readonly report: Json }>(
    `select ${LINE}, report_json as report from rehearsals where id = $1`,
    [id],
  )
  return rows[0]
}

export interface NewRehearsal {
  readonly runbookName: string
  readonly batchId: number | null
  readonly members: number
  readonly requestedBy: string
  readonly requestedAt: Date
}

/** Deletes the oldest results. */
export async function insertRehearsal(
  db: Queryable,
  { runbookName, batchId, members, requestedBy, requestedAt }: NewRehearsal,
): Promise<number> {
  await db.query(
    `delete from rehearsals where status <> 'running' and id not in (
       select id from rehearsals order by id desc limit ${REHEARSALS_KEPT - 1})`,
  )
  const rows = await db.query<{ id: number }>(
    `insert into rehearsals (runbook_name, batch_id, members, requested_by, requested_at, status)
     values ($1, $2, $3, $4, $5, 'running') returning id`,
    [runbookName, batchId, members, requestedBy, requestedAt],
  )
  return rows[0]!.id
}

export type RehearsalEnd =
  | { readonly status: 'completed'; readonly report: Json }
  | { readonly status: 'failed' | 'cancelled'; readonly because: string }

/** Changes nothing if it has ended already. What is left of a batch gives no times of phases to forecasts. */
export async function endRehearsal(
  db: Queryable,
  id: number,
  end: RehearsalEnd,
  endedAt: Date,
): Promise<void> {
  await db.query(
    `update rehearsals set status = $2, because = $3, report_json = $4::jsonb, ended_at = $5,
            times_json = case when batch_id is null then $6::jsonb end
      where id = $1 and status = 'running'`,
    [
      id,
      end.status,
      'because' in end ? end.because : null,
      'report' in end ? JSON.stringify(end.report) : null,
      endedAt,
      timesIn(end),
    ],
  )
}

function timesIn(end: RehearsalEnd): string | null {
  const times = 'report' in end ? rehearsedTimes(end.report) : null
  return times && JSON.stringify(times)
}

/** How long phases took in the newest rehearsal of each of these runbooks, by the runbook's name. */
export async function loadRehearsed(
  db: Queryable,
  runbookNames: readonly string[],
): Promise<ReadonlyMap<string, Rehearsed>> {
  if (runbookNames.length === 0) return new Map()
  const rows = await db.query<{ name: string; at: Date; times: RehearsedTimes }>(
    `select distinct on (lower(runbook_name)) lower(runbook_name) as name, requested_at as at, times_json as times
       from rehearsals where times_json is not null and lower(runbook_name) = any($1::text[])
      order by lower(runbook_name), id desc`,
    [runbookNames.map((name) => name.toLowerCase())],
  )
  return new Map(rows.map(({ name, at, times }) => [name, { ...times, at }]))
}

/** Those that began so long ago that nobody runs them any more. */
export async function endLostRehearsals(
  db: Queryable,
  begunBefore: Date,
  endedAt: Date,
): Promise<number> {
  const rows = await db.query(
    `update rehearsals set status = 'failed', because = 'The API that ran it has ended.', ended_at = $2
      where status = 'running' and requested_at < $1 returning id`,
    [begunBefore, endedAt],
  )
  return rows.length
}

export const deleteRehearsal = async (db: Queryable, id: number): Promise<void> => {
  await db.query(`delete from rehearsals where id = $1 and status <> 'running'`, [id])
}
