// Two orchestrators die at a blown fuse, in each moment between the failure and the mark that people were told. Locks in the database and a
// receiver that keeps its answer back stop them in that moment, so nothing depends on luck. Their successors must tell once.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../../../src/base/run/clock.ts'
import { openPostgresBus } from '../../../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../../../src/db/connection/db.ts'
import { configureWorkers } from '../../../../src/db/state/workers.ts'
import { resumeBatch } from '../../../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../../src/engine/orders/publish.ts'
import { Worker } from '../../../../src/worker/jobs/worker.ts'
import { type Arrived, openReceiver, type Receiver } from '../../../kit/receiver.ts'
import { seeded } from '../../../kit/seeded.ts'
import { Fleet } from '../fleet.ts'
import { openJournal, readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor, type Part } from '../process.ts'
import { effectFunction, FUSE, FUSE_YAML, WORKER_ID } from '../runbooks.ts'
import { brokenInvariantsOf } from '../watcher.ts'
import { type ChaosOptions, givenUp, harmOf, LEASE_MS, openSetup, type Verdict } from '../world.ts'

const clock = realClock()

/** `looking`: in the transaction that opens or clears. `written`: before it is sent. `posting`: it arrived, without an answer. `answered`:
 *  before that is written down. */
export const MOMENTS = ['looking', 'written', 'posting', 'answered'] as const
export type Moment = (typeof MOMENTS)[number]
export interface Round {
  /** Where both die while the failure limit is told, and while its end is. */
  readonly open: Moment
  readonly cleared: Moment
}

const ORCHESTRATORS = ['orchestrator-1', 'orchestrator-2'] as const
/** A minute takes two seconds. */
const FACTOR = 30
const LOOK_EVERY_MS = 20
const LIMIT_MS = 120_000
/** Keys of the locks that stop them. */
const LOCKS = { looking: 701, written: 702, answered: 703 } as const

const GATES = `
create function chaos_gate() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(tg_argv[0]::bigint);
  return new;
end $$;
create trigger chaos_looking before insert or update on notification_conditions for each row execute function chaos_gate(${LOCKS.looking});
create trigger chaos_written before update on notifications for each row
  when (old.lease_token is distinct from new.lease_token and new.lease_token is not null) execute function chaos_gate(${LOCKS.written});
create trigger chaos_answered before update on notifications for each row
  when (new.status = 'sent') execute function chaos_gate(${LOCKS.answered});
`

interface FuseWorld {
  readonly db: Db
  readonly fleet: Fleet
  readonly receiver: Receiver
}

async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const giveUp = AbortSignal.timeout(LIMIT_MS)
  while (!(await isTrue())) {
    if (giveUp.aborted) throw new Error(`waited ${LIMIT_MS} ms until ${what}`)
    await clock.wait(LOOK_EVERY_MS)
  }
}

/** Everybody of it fails. */
async function createFuse(db: Db, members: number): Promise<number> {
  const sourceTime = clock.now()
  const { batchId } = await createBatch(chaosDoor(db, clock), {
    runbookName: FUSE,
    sourceTime,
    createdBy: 'chaos',
    members: Array.from({ length: members }, (_, index) => {
      const key = `user-${+sourceTime}-${index}@contoso.example`
      return { key, data: { Upn: key } }
    }),
  })
  return batchId
}

const waitingAt = async (db: Db, lock: number): Promise<number> => {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted and objid = $1
        and database = (select oid from pg_database where datname = current_database())`,
    [lock],
  )
  return row!.count
}

/** Both are killed once one of them has come this far; their connections end with them. Returns when nothing of them is left. */
async function dieAt(world: FuseWorld, moment: Moment, begin: () => Promise<unknown>) {
  const { db, fleet, receiver } = world
  await fleet.allReady()
  const kill = async () => {
    for (const name of ORCHESTRATORS) fleet.kill(name)
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'orchestrator%'
          and datname = current_database()`,
    )
  }
  if (moment === 'posting') {
    const before = receiver.arrived.length
    const answer = Promise.withResolvers<void>()
    receiver.before = answer.promise
    await begin()
    await until('both channels have the message', () => receiver.arrived.length === before + 2)
    await kill()
    receiver.before = null
    answer.resolve()
    return
  }
  // Both channels were told, and neither is marked.
  const waiting = moment === 'answered' ? 2 : 1
  const lock = LOCKS[moment]
  await db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1::bigint)', [lock])
    await begin()
    await until(`an orchestrator is ${moment}`, async () => (await waitingAt(db, lock)) >= waiting)
    await kill()
  })
}

const itemsOf = ({ body }: Arrived): string =>
  body.includes('Cleared: ') || body.includes('"state":"cleared"') ? 'cleared' : 'open'

const isOf =
  (batchId: number, state: string) =>
  (one: Arrived): boolean =>
    one.body.includes(`Batch ${batchId} is held: too many failures`) && itemsOf(one) === state

/** What is wrong with the messages of one channel about one state. */
function wrongMessages(arrived: readonly Arrived[], moment: Moment, what: string): string[] {
  const isTeams = what.startsWith('teams')
  const ids = new Set(
    arrived.map(({ headers }) => headers[isTeams ? 'x-matoolkit-id' : 'webhook-id']),
  )
  const isRepeated = moment === 'posting' || moment === 'answered'
  const most = isRepeated ? 2 : 1
  const again = arrived.filter(({ body }) => body.includes('Sent again')).length
  return [
    ...(ids.size === 1 ? [] : [`${what}: ${ids.size} messages, not one`]),
    ...(arrived.length === most ? [] : [`${what}: arrived ${arrived.length} times, not ${most}`]),
    ...(isTeams && again !== most - 1 ? [`${what}: ${again} say that they are sent again`] : []),
    ...(isTeams && arrived.some(({ body }) => !('attachments' in JSON.parse(body)))
      ? [`${what}: a body without attachments`]
      : []),
  ]
}

async function playRound(world: FuseWorld, round: Round, members: number): Promise<string[]> {
  const { db, receiver } = world
  let batchId = 0
  const toldOf = (state: string) => async () => {
    const [row] = await db.query<{ sent: number }>(
      `select count(*)::int as sent from notifications
        where status = 'sent' and (items->0->>'batchId')::bigint = $1 and items->0->>'state' = $2`,
      [batchId, state],
    )
    return row!.sent === 2
  }
  await dieAt(world, round.open, async () => {
    batchId = await createFuse(db, members)
  })
  await until('both channels are told', toldOf('open'))
  await dieAt(world, round.cleared, () =>
    resumeBatch(chaosDoor(db, clock), { batchId, actor: 'chaos', reason: 'go on' }),
  )
  await until('both channels are told of the end', toldOf('cleared'))
  const conditions = await db.query(
    'select 1 from notification_conditions where batch_id = $1 and cleared_at is not null',
    [batchId],
  )
  const findings = (['open', 'cleared'] as const).flatMap((state) => {
    const arrived = receiver.arrived.filter(isOf(batchId, state))
    return ['teams', 'hook'].flatMap((channel) =>
      wrongMessages(
        arrived.filter(({ path }) => path.startsWith(`/${channel}`)),
        round[state],
        `${channel}, batch ${batchId}, ${state}, killed ${round[state]}`,
      ),
    )
  })
  return conditions.length === 1
    ? findings
    : [...findings, `batch ${batchId}: ${conditions.length} conditions`]
}

const yamlOf = (folder: string): string => `
channels:
  - { name: night, type: teams, url_file: ${folder}/teams }
  - { name: pager, type: webhook, url_file: ${folder}/hook, key_file: ${folder}/key }
rules: [{ conditions: [failure_limit], channels: [night, pager] }]
`

/** Plays the rounds on a migrated database of its own. Returns the findings and what was done. */
export async function dieAtFuse(
  { db, url }: { readonly db: Db; readonly url: string },
  rounds: Iterable<Round>,
  { members, seed }: Pick<ChaosOptions, 'members' | 'seed'>,
): Promise<{ findings: string[]; fleet: Fleet; rounds: number; arrived: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-chaos-'))
  const receiver = await openReceiver()
  for (const path of ['teams', 'hook']) writeFileSync(join(folder, path), `${receiver.url}/${path}`)
  writeFileSync(join(folder, 'key'), Buffer.alloc(32, 7).toString('base64'))
  await db.script(GATES)
  await configureWorkers(db, [WORKER_ID])
  const engine = chaosDoor(db, clock)
  await publishRunbook(engine, { yaml: FUSE_YAML, publishedBy: 'chaos' })
  const worker = new Worker({
    workerId: WORKER_ID,
    version: '1',
    clock,
    maxParallelism: 8,
    bus: openPostgresBus({ db, clock, newToken: randomUUID }),
    functions: [effectFunction(openJournal(folder, 'effects', 'worker'), 1)],
    onError: () => {},
  })
  const notifications = { yaml: yamlOf(folder), factor: FACTOR, sinceMs: Date.now() }
  const fleet = new Fleet(
    ORCHESTRATORS.map(
      (name): Part => ({
        name,
        roles: ['orchestrator'],
        url,
        folder,
        seed,
        leaseMs: LEASE_MS,
        statementTimeoutMs: LIMIT_MS,
        workMs: 1,
        slots: 8,
        notifications,
      }),
    ),
  )
  const findings: string[] = []
  let played = 0
  try {
    worker.start()
    await fleet.start()
    for (const round of rounds) {
      findings.push(...(await playRound({ db, fleet, receiver }, round, members)))
      played += 1
    }
    await fleet.allReady()
    for (const [name, code] of await fleet.stop())
      if (code !== 0) findings.push(`${name} was asked to stop and ended with ${code}`)
    findings.push(...fleet.findings, ...(await brokenInvariantsOf(db, clock.now)))
    const noticed = readJournals(folder, 'noticed').filter(({ what }) => what === 'unexpected')
    findings.push(...noticed.map(({ name, message }) => `${name}: ${message}`))
    return { findings, fleet, rounds: played, arrived: receiver.arrived.length }
  } finally {
    await fleet.killAll()
    await worker.stop()
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function* roundsUntil(endsAt: number, seed: number): Generator<Round> {
  const pick = seeded(seed)
  const one = () => MOMENTS[pick(MOMENTS.length)]!
  yield* MOMENTS.map((open) => ({ open, cleared: open }))
  while (Date.now() < endsAt) yield { open: one(), cleared: one() }
}

async function run(options: ChaosOptions): Promise<Verdict> {
  const { seed, minutes, members, giveUp } = options
  const startedAt = Date.now()
  const setup = await openSetup(seed)
  try {
    const rounds = roundsUntil(startedAt + minutes * 60_000, seed)
    const world = { db: setup.db, url: setup.server.url }
    const died = await Promise.race([dieAtFuse(world, rounds, options), givenUp(giveUp)])
    const figures = {
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      fuses: died.rounds,
      arrived: died.arrived,
      restarts: died.fleet.restarts,
      harm: harmOf(died.fleet.happened),
    }
    const again = `npm run chaos -- --mode notifications --seed ${seed} --minutes ${minutes} --members ${members}`
    return { figures, findings: died.findings, report: [...died.findings, again].join('\n') }
  } finally {
    await setup.close()
  }
}

export const notificationsMode: ChaosMode = {
  name: 'notifications',
  sabotage:
    'both orchestrators killed at a blown failure limit, and again when it is cleared: while they write the condition, before they send, before the answer, before they write the answer down',
  holds:
    'one condition, one message and one "cleared" for each channel; only a message without a known answer is posted again, with the same id, and says so; all invariants',
  defaults: { minutes: 1, members: 12 },
  run,
}
