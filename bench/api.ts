// How long an operator waits: lists, searches and the summary of a batch of 100,000 members and 500,000 steps on PostgreSQL,
// requested by twenty clients at once over HTTP, sign-in and audit included. All questions run one after the other, in several
// rounds. Memory is measured after a collection before the first round and after each: growth in the first round is warm-up,
// further growth is a leak. The API and the server have their own processes; processor time per request is reported too, because a
// busy machine lengthens only the wait.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MACHINE, realClock } from '../src/base/run/clock.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { migrate } from '../src/db/schema/migrate.ts'
import { createBatch } from '../src/engine/orders/create.ts'
import { publishRunbook } from '../src/engine/orders/publish.ts'
import { startPostgres } from '../test/kit/postgres-server.ts'
import type { Memory } from './api-process.ts'
import { type Bench, round, timeMs } from './bench.ts'
import { canMeasureCpu, cpuOfProcessUs, cpuOfServerUs } from './cpu.ts'
import { benchDoor } from './engine-process.ts'

const MEMBERS = 100_000
const STEPS = 5
/** Per hundred members. */
const FAILED_PERCENT = 2
const CLIENTS = 20
const ROUNDS = 4
const REQUESTS_PER_CLIENT = 10
const clock = realClock()

const YAML = `
name: bench
data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When, time_zone: UTC }
phases:
  - name: prepare
    offset: T-1d
    steps:
${Array.from({ length: STEPS }, (_, n) => `      - { name: step${n}, worker_id: bench, function: Noop, params: { A: "{{Upn}}" } }`).join('\n')}
  - { name: cutover, offset: T-0, steps: [{ name: switch, worker_id: bench, function: Noop }] }
`

/** The path of the n-th request: another page or key each time, as different people would ask. */
type Question = (n: number) => string
const batch = '/api/batches/1'
const QUESTIONS: Readonly<Record<string, Question>> = {
  batches: () => '/api/batches',
  batch: () => batch,
  summary: () => `${batch}/summary`,
  members: (n) => `${batch}/members?limit=100&cursor=${cursorAfter((n * 7919) % MEMBERS)}`,
  membersByKey: (n) => `${batch}/members?sort=key&limit=100&key=user${(n * 13) % 1000}`,
  membersSearchedByMany: (n) => `${batch}/members?limit=100&search=${(n * 37) % 100}@`,
  membersSearchedByOne: (n) => `${batch}/members?limit=100&search=r${(n * 7919) % MEMBERS}@`,
  membersSearchedByNone: (n) => `${batch}/members?limit=100&search=example${n}`,
  personByAddress: (n) => `/api/members?text=person${(n * 7919) % MEMBERS}@fabrikam.example`,
  personSimilar: (n) => `/api/members?text=person${(n * 7919) % MEMBERS}@nowhere.example`,
  membersFailed: () => `${batch}/members?status=failed`,
  membersByError: (n) => `${batch}/members?status=failed&error=quota%20${n % 10}`,
  steps: (n) => `${batch}/steps?limit=100&cursor=${cursorAfter((n * 7919) % MEMBERS)}`,
  stepsFailed: () => `${batch}/steps?status=failed`,
  member: (n) => `${batch}/members/${((n * 7919) % MEMBERS) + 1}`,
  events: () => `${batch}/events`,
  needs: () => '/api/needs?batchId=1',
  now: () => '/api/now',
  grid: (n) => `${batch}/grid?from=${(n * 7919) % MEMBERS}`,
  gridOverview: () => `${batch}/grid/overview`,
  failuresOfAll: () => '/api/failures',
  failures: () => `${batch}/failures`,
  workers: () => '/api/workers',
}

const cursorAfter = (id: number): string =>
  Buffer.from(JSON.stringify(['id', null, id])).toString('base64url')

export const apiBench: Bench = {
  name: 'api',
  about: `lists, searches and summary of ${MEMBERS} members for ${CLIENTS} clients at once, on PostgreSQL`,
  run: async (say) => {
    const server = await startPostgres({ durable: true })
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bench-'))
    const db = await openPostgres({ url: server.url, poolSize: 2 })
    try {
      const fillMs = await timeMs(() => fillBatch(db, MEMBERS))
      say(`${MEMBERS} members and ${MEMBERS * STEPS} steps made in ${Math.round(fillMs / 1_000)} s`)
      return await measure(db, server.url, join(folder, 'private', 'token'), say)
    } finally {
      await db.close()
      server.destroy()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The batch in the middle of its first phase: most members have passed, some failed in ten ways, the last step is running. */
export async function fillBatch(db: Db, members: number): Promise<void> {
  await migrate(db, clock.now())
  const engine = benchDoor(db)
  await publishRunbook(engine, { yaml: YAML, publishedBy: 'bench' })
  const people = Array.from({ length: members }, (_, n) => {
    const key = `user${n}@contoso.example`
    return { key, data: { Upn: key, NewUpn: `person${n}@fabrikam.example`, Office: 'Berlin' } }
  })
  await createBatch(engine, {
    runbookName: 'bench',
    sourceTime: null,
    members: people,
    createdBy: 'bench',
  })
  await db.script(`
    update batches set status = 'active', activated_at = detected_at, batch_start_time = detected_at,
      members_active = ${members * (1 - FAILED_PERCENT / 100)}, members_failed = ${(members * FAILED_PERCENT) / 100};
    update phase_executions set status = 'dispatched', dispatched_at = b.detected_at, expanded_at = b.detected_at,
      members_total = ${members}, steps_succeeded = ${members * (STEPS - 1)}, steps_dispatched = 1000
      from batches b where b.id = batch_id and phase_name = 'prepare';
    update batch_members set status = 'failed', failed_at = added_at where id % 100 < ${FAILED_PERCENT};
    insert into step_executions (batch_id, kind, phase_execution_id, batch_member_id, runbook_version, step_name, step_index,
        worker_id, is_poll_step, max_retries, retry_interval_sec, retry_backoff, timeout_sec, status, attempt, function_name,
        params_json, job_id, may_have_effect, dispatched_at, deadline_at, completed_at, result_json, error_message)
      select 1, 'phase', p.id, m.id, 1, 'step' || n, n, 'bench', false, 0, 0, 'fixed', 3600,
             case when n < ${STEPS - 1} then 'succeeded' when m.status = 'failed' then 'failed' else 'pending' end, 0, 'Noop',
             jsonb_build_object('A', m.member_key), 'step-' || m.id || '-' || n, true, m.added_at, m.added_at,
             case when n < ${STEPS - 1} or m.status = 'failed' then m.added_at end, '{"value": 1}',
             case when n = ${STEPS - 1} and m.status = 'failed'
                  then 'mailbox ' || m.member_key || ' is over quota ' || (m.id / 100 % 10) end
        from batch_members m cross join generate_series(0, ${STEPS - 1}) as n
        join phase_executions p on p.phase_name = 'prepare' order by m.id, n;
    insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since)
      select id, 1, batch_member_id, 'bench', 'slot', 1, dispatched_at from step_executions where status = 'pending';
    insert into events (at, batch_id, batch_member_id, step_id, entity, event, from_status, to_status, actor, because)
      select dispatched_at, 1, batch_member_id, id, 'step', 'succeed', 'dispatched', status, 'orchestrator', 'its result came'
        from step_executions order by id;
    analyze;`)
}

async function measure(
  db: Db,
  databaseUrl: string,
  tokenFile: string,
  say: (line: string) => void,
) {
  const child = fork(new URL('api-process.ts', import.meta.url), [databaseUrl, tokenFile], {
    execArgv: ['--expose-gc'],
  })
  try {
    const [{ url }] = (await once(child, 'message')) as [{ url: string }]
    const token = readFileSync(tokenFile, 'utf8')
    for (const ask of Object.values(QUESTIONS)) await get(url, token, ask(1))
    const memory = [await memoryOf(child)]
    const asked = Object.fromEntries(Object.keys(QUESTIONS).map((name) => [name, noneAsked()]))
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, ask] of Object.entries(QUESTIONS)) {
        const before = await cpuMsOf(db, child)
        const { tookMs, ms } = await askAll(url, token, (n) => ask(n * ROUNDS + round))
        const after = await cpuMsOf(db, child)
        const one = asked[name]!
        one.tookMs.push(...tookMs)
        one.ms += ms
        one.apiMs += after.api - before.api
        one.postgresMs += after.postgres - before.postgres
      }
      memory.push(await memoryOf(child))
      say(`round ${round + 1}: ${JSON.stringify(memory.at(-1))}`)
    }
    const questions = Object.fromEntries(
      Object.entries(asked).map(([name, one]) => [name, figuresOf(one)]),
    )
    for (const [name, figures] of Object.entries(questions))
      say(`${name.padEnd(22)} ${JSON.stringify(figures)}`)
    return { members: MEMBERS, steps: MEMBERS * STEPS, clients: CLIENTS, questions, memory }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

interface Asked {
  /** Per request. */
  readonly tookMs: number[]
  ms: number
  apiMs: number
  postgresMs: number
}

const noneAsked = (): Asked => ({ tookMs: [], ms: 0, apiMs: 0, postgresMs: 0 })

function figuresOf({ tookMs, ms, apiMs, postgresMs }: Asked) {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.floor(sorted.length * share)]!)
  const each = (cpuMs: number) => round(cpuMs / sorted.length)
  return {
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    maxMs: round(sorted.at(-1)!),
    perSec: Math.round((sorted.length / ms) * 1_000),
    cpuMs: { api: each(apiMs), postgres: each(postgresMs) },
  }
}

/** Processor time so far; a busy machine does not change it. */
async function cpuMsOf(db: Db, { pid }: ChildProcess) {
  if (!canMeasureCpu()) return { api: Number.NaN, postgres: Number.NaN }
  return { api: cpuOfProcessUs(pid!) / 1_000, postgres: (await cpuOfServerUs(db)) / 1_000 }
}

async function memoryOf(child: ChildProcess) {
  child.send('memory')
  const [{ heapMb, rssMb }] = (await once(child, 'message')) as [Memory]
  return { heapMb: round(heapMb), rssMb: round(rssMb) }
}

async function askAll(url: string, token: string, ask: Question) {
  const tookMs: number[] = []
  const client = async (which: number) => {
    for (let n = 0; n < REQUESTS_PER_CLIENT; n++) {
      tookMs.push(await timeMs(() => get(url, token, ask(which * REQUESTS_PER_CLIENT + n))))
    }
  }
  const start = MACHINE.steadyMs()
  await Promise.all(Array.from({ length: CLIENTS }, (_, which) => client(which)))
  return { tookMs, ms: MACHINE.steadyMs() - start }
}

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })

function get(url: string, token: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    request(`${url}${path}`, { agent, headers }, (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200
          ? resolve()
          : reject(new Error(`${path}: ${response.statusCode}`)),
      )
      response.on('error', reject)
    })
      .on('error', reject)
      .end()
  })
}
