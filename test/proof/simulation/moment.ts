// The state of the world at this moment, by which operators choose what to ask.
import type { World } from './world.ts'

export const STEPS = `step_executions s join batches b on b.id = s.batch_id left join batch_members m on m.id = s.batch_member_id`
export const HAS_LATE = `s.late_result_json is not null and s.status in ('failed', 'poll_timeout', 'cancelled')
   and b.status <> 'cancelled' and m.status <> 'removed'`

export const HAS_ROLLBACK = `s.kind = 'phase' and s.status = 'succeeded' and s.on_failure is not null and s.may_have_effect
   and b.status <> 'cancelled' and m.status <> 'removed'`

export type Moment = Readonly<
  Record<
    | 'isStarting'
    | 'isUndoing'
    | 'isOut'
    | 'isAsking'
    | 'isHeld'
    | 'isHeldWider'
    | 'hasFailed'
    | 'hasFailedInit'
    | 'hasLate'
    | 'hasRemoved'
    | 'hasManual'
    | 'hasRollback'
    | 'hasFailedUndo',
    boolean
  >
>

export async function momentOf({ db, workers }: World): Promise<Moment> {
  const [now] = await db.query<Omit<Moment, 'isOut'>>(
    `select exists (select from phase_executions where status = 'dispatched' and expanded_at is null) as is_starting,
            exists (select from step_executions
                     where kind = 'rollback' and status in ('pending', 'dispatched', 'polling')) as is_undoing,
            exists (select from waits w join step_executions s on s.id = w.step_id
                     where w.kind = 'job' and s.status = 'polling') as is_asking,
            exists (select from batches where held_at is not null) as is_held,
            exists (select from holds) as is_held_wider,
            exists (select from batch_members m join batches b on b.id = m.batch_id
                     where m.status = 'failed' and b.status <> 'cancelled') as has_failed,
            exists (select from batches where failed_in_init) as has_failed_init,
            exists (select from batch_members m join batches b on b.id = m.batch_id
                     where m.status = 'removed' and b.status <> 'cancelled') as has_removed,
            exists (select from batches
                     where is_manual and status in ('detected', 'init_dispatched', 'active')) as has_manual,
            exists (select from ${STEPS} where ${HAS_ROLLBACK}) as has_rollback,
            exists (select from step_executions
                     where kind in ('rollback', 'removal') and batch_member_id is not null and status = 'failed') as has_failed_undo,
            exists (select from ${STEPS} where ${HAS_LATE}) as has_late`,
  )
  return { ...now!, isOut: workers.some(({ inHand }) => inHand.length > 0) }
}
