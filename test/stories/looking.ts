// How a story checks its members: short lines to compare with, and an operator's actions.
import { type BatchOrder, requireAccepted } from '../../src/engine/orders/batch-actions.ts'
import { moveMembers } from '../../src/engine/orders/moves.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'
import type { World } from './world.ts'

export const memberId = async ({ db }: World, batchId: number, number: number): Promise<number> => {
  const rows = await db.query<{ id: number }>(
    `select id from batch_members where batch_id = $1 and key_folded = $2`,
    [batchId, `user${number}@contoso.example`],
  )
  return rows[0]!.id
}

export interface BatchLook {
  readonly status: string
  readonly active: number
  readonly failed: number
  readonly removed: number
  readonly held: string | null
}

export async function batchOf({ db }: World, batchId: number): Promise<BatchLook> {
  const rows = await db.query<BatchLook>(
    `select status, members_active as active, members_failed as failed, members_removed as removed,
            held_reason as held from batches where id = $1`,
    [batchId],
  )
  return rows[0]!
}

/** `prepare completed 3: 2 passed, 1 failed`, a line per phase, in time order; counts of 0 are left out. */
export async function phasesOf({ db }: World, batchId: number): Promise<string[]> {
  const rows = await db.query<Record<string, string | number>>(
    `select phase_name as name, status, members_total as total, members_passed as passed, members_failed as failed,
            members_stopped as stopped, members_removed as removed
       from phase_executions where batch_id = $1 order by offset_minutes desc, phase_index`,
    [batchId],
  )
  return rows.map(({ name, status, total, ...counts }) => {
    const shown = Object.entries(counts).filter(([, count]) => count !== 0)
    const tail = shown.map(([word, count]) => `${count} ${word}`).join(', ')
    return `${name} ${status} ${total}${tail && `: ${tail}`}`
  })
}

/** The batch's phase rows in the order of creation: `prepare 1 completed`. */
export async function rowsOf({ db }: World, batchId: number): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select phase_name || ' ' || runbook_version || ' ' || status || coalesce(' ' || skipped_because, '') as line
       from phase_executions where batch_id = $1 order by id`,
    [batchId],
  )
  return rows.map(({ line }) => line)
}

export async function versionOf({ db }: World, batchId: number): Promise<number> {
  const rows = await db.query<{ version: number }>(
    'select runbook_version as version from batches where id = $1',
    [batchId],
  )
  return rows[0]!.version
}

/** `create succeeded`, a line per step of the member, in order; compensation last. */
export async function stepsOf({ db }: World, member: number): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select case s.kind when 'phase' then '' else s.kind || ' ' end || s.step_name || ' ' || s.status as line
       from step_executions s left join phase_executions p on p.id = s.phase_execution_id
      where s.batch_member_id = $1
      order by s.kind <> 'phase', p.offset_minutes desc, p.phase_index, s.origin_attempt, s.removal_number, s.step_index, s.id`,
    [member],
  )
  return rows.map(({ line }) => line)
}

export async function stepId({ db }: World, member: number, name: string): Promise<number> {
  const rows = await db.query<{ id: number }>(
    `select id from step_executions where batch_member_id = $1 and step_name = $2 order by id desc limit 1`,
    [member, name],
  )
  return rows[0]!.id
}

/** An event's reasons, oldest first. */
export async function because({ db }: World, event: string): Promise<string[]> {
  const rows = await db.query<{ because: string }>(
    'select because from events where event = $1 order by id',
    [event],
  )
  return rows.map((row) => row.because)
}

/** Every settled job: `step-1 succeeded`, oldest first. */
export async function attemptsOf({ db }: World): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select job_id || ' ' || outcome as line from attempts order by id`,
  )
  return rows.map(({ line }) => line)
}

/** What waits, for what, and for how many more seconds: `create retry 30`. */
export async function waitsOf({ db, clock }: World): Promise<string[]> {
  const rows = await db.query<{ line: string }>(
    `select s.step_name || ' ' || w.kind || coalesce(' ' || extract(epoch from w.wake_at - $1)::int, '') as line
       from waits w join step_executions s on s.id = w.step_id order by s.id`,
    [clock.now()],
  )
  return rows.map(({ line }) => line)
}

export const jobIds = ({ jobs }: World, after = 0): string[] =>
  jobs.slice(after).map(({ jobId }) => jobId)

/** `Set-Tag user1`, a line per job, for runbooks whose steps take `Upn`. */
export const calls = ({ jobs }: World, after = 0): string[] =>
  jobs
    .slice(after)
    .map(
      ({ functionName, parameters }) => `${functionName} ${String(parameters.Upn).split('@')[0]}`,
    )

export const order = (batchId: number) => ({ batchId, actor: 'operator', reason: 'as agreed' })

/** Moves one member to an existing batch. Throws the refusal. */
export async function moveMember(
  engine: Engine,
  { memberId: member, toBatchId, ...base }: BatchOrder & { memberId: number; toBatchId: number },
): Promise<void> {
  const moved = { ...base, memberIds: [member], to: { batchId: toBatchId } }
  const { refused } = await moveMembers(engine, moved)
  requireAccepted(refused[0]?.reason ?? null)
}

const source = (more: string) =>
  `data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }\n${more}`

/** A step whose only parameter is the member's name. */
export const step = (name: string, more = ''): string =>
  `{ name: ${name}, worker_id: w1, function: ${name}, params: { Upn: "{{UserPrincipalName}}" }${more && `, ${more}`} }`

/** A runbook of phases: `{ 'prepare T-1h': [steps], 'cutover T-0 soak: 1h': [steps] }`, and its other parts. */
export function runbook(
  name: string,
  phases: Readonly<Record<string, readonly string[]>>,
  more = '',
): string {
  const lines = Object.entries(phases).map(([head, steps]) => {
    const [phase, offset, ...keys] = head.split(' ')
    const others = keys.length === 0 ? '' : `, ${keys.join(' ')}`
    return `  - { name: ${phase}, offset: ${offset}${others}, steps: [${steps.join(', ')}] }`
  })
  return `name: ${name}\n${source(more)}\nphases:\n${lines.join('\n')}\n`
}
