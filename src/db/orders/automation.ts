// The automation switch of each runbook, with who turned it and when. A runbook without a row is off.
import type { Queryable, Tx } from '../connection/db.ts'

export interface Automation {
  readonly runbookName: string
  readonly isEnabled: boolean
  readonly enabledAt: Date | null
  readonly enabledBy: string | null
  readonly disabledAt: Date | null
  readonly disabledBy: string | null
}

const AUTOMATION = `runbook_name, automation_enabled as is_enabled, enabled_at,
  enabled_by, disabled_at, disabled_by`

/** Of these runbooks, or of all that have a switch. */
export async function listAutomation(
  db: Queryable,
  names: readonly string[] | null = null,
): Promise<Automation[]> {
  return db.query<Automation>(
    `select ${AUTOMATION} from runbook_automation_settings
      where $1::text[] is null or runbook_name = any($1::text[]) order by runbook_name`,
    [names?.map((name) => name.toLowerCase()) ?? null],
  )
}

/** Null when the switch is set like that already. */
export async function writeAutomation(
  tx: Tx,
  name: string,
  isEnabled: boolean,
  by: string,
  now: Date,
): Promise<Automation | null> {
  const rows = await tx.query<Automation>(
    `insert into runbook_automation_settings as s (runbook_name, automation_enabled, enabled_at, enabled_by, disabled_at, disabled_by)
     select lower($1), $2::bool, case when $2 then $4::timestamptz end, case when $2 then $3::text end,
            case when not $2 then $4::timestamptz end, case when not $2 then $3::text end
      where $2 or exists (select from runbook_automation_settings where runbook_name = lower($1))
     on conflict (runbook_name) do update
        set automation_enabled = $2,
            enabled_at = case when $2 then $4::timestamptz else s.enabled_at end,
            enabled_by = case when $2 then $3::text else s.enabled_by end,
            disabled_at = case when $2 then s.disabled_at else $4::timestamptz end,
            disabled_by = case when $2 then s.disabled_by else $3::text end
      where s.automation_enabled <> $2
     returning ${AUTOMATION}`,
    [name, isEnabled, by, now],
  )
  return rows[0] ?? null
}
