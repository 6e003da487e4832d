// A migration programme on the hand-turned clock: the whole system of world.ts, and a source whose rows the story writes.
import { randomUUID } from 'node:crypto'
import type { Json } from '../../src/base/text/json.ts'
import type { TickReport } from '../../src/domain/sources/tick-report.ts'
import { setAutomation } from '../../src/engine/orders/automation.ts'
import { type SchedulerOptions, tickDueRunbooks } from '../../src/scheduler/scheduler.ts'
import type { OpenSource } from '../../src/scheduler/sources/source.ts'
import { runbook, step } from './looking.ts'
import { START, story, type World } from './world.ts'

export type Row = Readonly<Record<string, Json>>

export const TICK_SEC = 300
const HOUR_MS = 3_600_000

/** So many hours after the story's start, as a source writes it. */
export const at = (hours: number): string => new Date(+START + hours * HOUR_MS).toISOString()

/** `user1` to `user3` in the wave at that hour: `wave(24, 1, 2, 3)`. */
export const wave = (hours: number, ...numbers: number[]): Row[] =>
  numbers.map((number) => row(number, at(hours)))

export const row = (number: number, when: string, more: Row = {}): Row => ({
  UserPrincipalName: `user${number}@contoso.example`,
  When: when,
  ...more,
})

export const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** Prepared a day before, switched at the cut-over; leavers are cleaned up. */
export const PHASES = { 'prepare T-1d': [step('create')], 'cutover T-0': [step('switch')] }
export const YAML = runbook('wave', PHASES, `on_member_removed: [${step('revoke')}]`)

export interface Programme extends World {
  /** What the source returns from now on; an error is thrown. */
  rows: readonly Row[] | Error
  /** How often the source was read. */
  asked: number
  /** Runs before the source answers; a story may act at that moment. */
  onAsk: () => Promise<void>
  readonly reports: TickReport[]
  readonly options: SchedulerOptions
  /** Five minutes pass, everything due runs, the source is read, and everything that follows runs. */
  tick(rows?: readonly Row[] | Error): Promise<TickReport | undefined>
  /** Ticks until that hour of the story, a few hours at a time. */
  tickUntil(hours: number, every?: number): Promise<void>
  automate(name?: string): Promise<void>
}

export function openDouble(programme: Pick<Programme, 'rows' | 'onAsk' | 'asked'>): OpenSource {
  return async () => {
    programme.asked += 1
    await programme.onAsk()
    const { rows } = programme
    if (rows instanceof Error) throw rows
    const names = new Set(['UserPrincipalName', 'When', ...rows.flatMap((one) => Object.keys(one))])
    return {
      columns: [...names].map((name) => ({ name, type: 'text' as const })),
      rows: (async function* () {
        yield rows
      })(),
      close: async () => {},
    }
  }
}

/** A story over a source; checks every invariant at its end. */
export function programme(tell: (programme: Programme) => Promise<void>): Promise<void> {
  return story({}, async (world) => tell(await startProgramme(world)))
}

export async function startProgramme(world: World, yaml = YAML): Promise<Programme> {
  const reports: TickReport[] = []
  const made = Object.assign(world, {
    rows: [] as readonly Row[] | Error,
    asked: 0,
    onAsk: async () => {},
    reports,
  }) as Programme
  const options: SchedulerOptions = {
    engine: world.engine,
    clock: world.clock,
    sources: { settings: sourceSettings(world), open: openDouble(made) },
    intervalMs: TICK_SEC * 1000,
    lanes: 1,
    newToken: randomUUID,
    onTick: (report) => void reports.push(report),
    onError: (error) => {
      throw error
    },
  }
  Object.assign(made, {
    options,
    tick: async (rows?: readonly Row[] | Error) => {
      if (rows) made.rows = rows
      await made.pass(TICK_SEC)
      await tickDueRunbooks(options, new AbortController().signal)
      await made.settle()
      return reports.at(-1)
    },
    tickUntil: async (hours: number, every = 1) => {
      const endMs = +START + hours * HOUR_MS
      for (let leftMs = endMs - +world.clock.now(); leftMs > 0; leftMs -= every * HOUR_MS) {
        await made.pass(Math.max(0, Math.min(leftMs, every * HOUR_MS) / 1000 - TICK_SEC))
        await made.tick()
      }
    },
    automate: (name = 'wave') =>
      setAutomation(world.engine, { runbookName: name, isEnabled: true, actor: 'operator' }),
  })
  const { name } = await world.publish(yaml)
  await made.automate(name)
  return made
}

export const sourceSettings = ({ clock }: Pick<World, 'clock'>, folder: string | null = null) => ({
  connection: () => undefined,
  clock,
  tokens: { get: () => Promise.reject(new Error('no tokens in stories')) },
  folder,
  timeoutMs: 300_000,
})

/** `24h active: user1 active, user2 removed`, a line per batch, by time. */
export async function batchesOf({ db }: World): Promise<string[]> {
  const rows = await db.query<{ at: Date | null; status: string; held: string; members: string }>(
    `select b.source_time as at, b.status, case when b.held_at is null then '' else ' held' end as held,
            coalesce(string_agg(split_part(m.member_key, '@', 1) || case m.status when 'active' then '' else ' ' || m.status end
                                || coalesce(' to ' || m.moved_to_batch_id, ''), ', ' order by length(m.key_folded), m.key_folded), 'nobody') as members
       from batches b left join batch_members m on m.batch_id = b.id
      group by b.id order by b.source_time nulls last, b.id`,
  )
  return rows.map(({ at: time, status, held, members }) => {
    const hours = time === null ? 'manual' : `${(+time - +START) / HOUR_MS}h`
    return `${hours} ${status}${held}: ${members}`
  })
}

/** `move user1 redated`, a line each, dismissed ones in brackets. */
export async function heldOf({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string; dismissed: boolean }>(
    `select kind || ' ' || split_part(member_key, '@', 1) || ' ' || cause as said, dismissed_at is not null as dismissed
       from reviews order by kind, length(key_folded), key_folded`,
  )
  return rows.map(({ said, dismissed }) => (dismissed ? `(${said})` : said))
}

export const reviewIds = async ({ db }: World, kind: string): Promise<number[]> =>
  (
    await db.query<{ id: number }>(
      'select id from reviews where kind = $1 and dismissed_at is null order by id',
      [kind],
    )
  ).map(({ id }) => id)

/** `duplicate user1`, a line each. */
export async function issuesOf({ db }: World): Promise<string[]> {
  const rows = await db.query<{ said: string }>(
    `select kind || coalesce(' ' || split_part(member_key, '@', 1), '') as said from source_issues order by id`,
  )
  return rows.map(({ said }) => said)
}
