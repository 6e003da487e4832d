// Operators over the API in a seeded world: random actions on running batches, some as a dry run first, some by two people at once,
// while workers succeed, fail, fall silent and answer late. After each action every invariant holds, and the audit has one row per
// decision and none per refusal; a dry run changes nothing and predicts the action's answer. The same seed makes the same choices;
// the order of two concurrent actions is not fixed and must not matter.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Db } from '../../../src/db/connection/db.ts'
import { verifyAudit } from '../../../src/db/orders/audit-chain.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { type Answer, type ApiUnderTest, openApiUnderTest, routeOf } from '../../api/under-test.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import type { Job } from '../../stories/world.ts'
import { type Chance, makeChance } from '../simulation/chance.ts'
import { ACTS, type Act, formOfFile, keyOf, PEOPLE, type Scene, WEIGHTS, yamlOf } from './acts.ts'

const SEEDS = Array.from({ length: 30 }, (_, n) => n + 1)
const ACTS_PER_SEED = 20

const isDone = ({ status }: Answer): boolean => status === 200 || status === 201
/** How often each action succeeded and was refused. */
const SEEN = new Map<string, { done: number; refused: number }>()

describe('operators in the seeded world', () => {
  for (const seed of SEEDS) {
    it(`seed ${seed}`, async () => {
      const api = await openApiUnderTest()
      try {
        await live(api, makeChance(seed))
      } finally {
        await api.close()
      }
    })
  }
  after(() => {
    const never = Object.keys(ACTS).filter((name) => !SEEN.get(name)?.done)
    assert.deepEqual(never, [], 'acts that were never done')
  })
})

async function live(api: ApiUnderTest, chance: Chance): Promise<void> {
  const { world } = api
  const silent: Job[] = []
  const workers = chance.stream('workers')
  world.answer = (job) => {
    const isInit = job.functionName === 'New-Wave'
    const what = workers.weighed({ ok: 12, fail: isInit ? 6 : 3, silent: 2 })
    if (what === 'silent') silent.push(job)
    return what === 'ok' ? { ok: { id: 1 } } : what === 'fail' ? { fail: 'no' } : 'silent'
  }
  await world.publish(yamlOf(1))
  await startBatches(api)
  for (let n = 0; n < ACTS_PER_SEED; n++) {
    const scene: Scene = { api, chance, batchId: chance.pick(await listBatchIds(world.db)) }
    const name = chance.weighed(WEIGHTS)
    const act = await ACTS[name]!(scene)
    if (act) await perform(scene, name, act)
    if (chance.happens(0.4))
      for (const job of silent.splice(0)) await world.result(job, { ok: { id: 2 } })
    if (chance.happens(0.7)) await world.pass(chance.between(1, 9_000))
    await requireOrder(api)
  }
  let sealed = await sealAudit(world.db)
  while (sealed.count > 0) sealed = await sealAudit(world.db)
  const verdict = await verifyAudit(world.db, { keptDays: null, now: world.clock.now() })
  assert.deepEqual([verdict.broken, verdict.unsealed], [null, 0])
}

/** A scheduled batch with half of the people, and a manual one with the other half. */
async function startBatches({ world }: ApiUnderTest): Promise<void> {
  const all = Array.from({ length: PEOPLE }, (_, n) => {
    const key = keyOf(n + 1)
    return { key, data: { UserPrincipalName: key } }
  })
  await world.batch('ops', all.slice(0, PEOPLE / 2), { startsInMin: 1_560 })
  await world.batch('ops', all.slice(PEOPLE / 2), { manual: true })
  await world.settle()
}

async function listBatchIds(db: Db): Promise<number[]> {
  const rows = await db.query<{ id: number }>('select id from batches order by id')
  return rows.map(({ id }) => id)
}

async function requireOrder({ world }: ApiUnderTest): Promise<void> {
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
}

async function perform(scene: Scene, name: string, act: Act): Promise<void> {
  const { api, chance } = scene
  const headers = await asSeen(api, act, chance)
  const how = chance.weighed({ plain: 4, tried: 3, twice: 2, another: 1 })
  if (how === 'plain') note(name, [await send(api, act, headers)])
  if (how === 'tried') await tryFirst(scene, name, act, headers)
  if (how === 'twice') {
    note(name, await Promise.all([send(api, act, headers), send(api, act, headers)]))
  }
  if (how === 'another') {
    const other = chance.weighed(WEIGHTS)
    const second = await ACTS[other]!(scene)
    const answers = await Promise.all([
      send(api, act, headers),
      ...(second ? [send(api, second, {})] : []),
    ])
    note(name, answers.slice(0, 1))
    note(other, answers.slice(1))
  }
}

/** Half of the operators send the etag they saw. */
async function asSeen(
  { call }: ApiUnderTest,
  { seenAt }: Act,
  chance: Chance,
): Promise<Record<string, string>> {
  if (seenAt === undefined || chance.happens(0.5)) return {}
  const tag = (await call('GET', seenAt)).headers.get('etag')
  return tag === null ? {} : { 'if-match': tag }
}

function note(name: string, answers: readonly Answer[]): void {
  const seen = SEEN.get(name) ?? { done: 0, refused: 0 }
  SEEN.set(name, seen)
  for (const answer of answers) seen[isDone(answer) ? 'done' : 'refused'] += 1
}

/** Sends the request and compares the audit with the answer. */
async function send(
  api: ApiUnderTest,
  act: Act,
  headers: Record<string, string>,
  isTried = false,
): Promise<Answer> {
  const { method, path, body, file } = act
  const answer = await api.call(method, isTried && file ? `${path}?dryRun=true` : path, {
    headers,
    ...(file && { form: formOfFile(file, path === '/api/batches') }),
    ...(body && { body: isTried ? { ...body, dryRun: true } : body }),
  })
  const exchange = `${method} ${path} ${JSON.stringify(body ?? file ?? {})}: ${answer.text}`
  assert.ok(isDone(answer) || [404, 409, 412, 422].includes(answer.status), exchange)
  const { action: listed, inChunks } = routeOf(method, path)!
  // A decision's row names what was decided.
  const action = listed?.replace(/decide$/, `${body?.decision}`)
  const rows = await api.world.db.query<{ action: string }>(
    'select action from audit where request_id = $1 order by id',
    [answer.headers.get('x-request-id')],
  )
  const noted = rows.map((row) => row.action)
  const begun = inChunks && !isTried ? [`${action} begun`] : []
  const isNoted = isDone(answer) && !isTried && !(act.mayBeNothing && noted.length === 0)
  assert.deepEqual(noted, isNoted ? [...begun, action] : begun, exchange)
  return answer
}

/** A dry run changes nothing, and the same call then does what it predicted. */
async function tryFirst(
  { api }: Scene,
  name: string,
  act: Act,
  headers: Record<string, string>,
): Promise<void> {
  // A hold is never tried: it must not wait.
  const canBeTried = act.method === 'POST' && act.path !== '/api/holds'
  if (!canBeTried) return note(name, [await send(api, act, headers)])
  const { db } = api.world
  const before = await everything(db)
  const tried = await send(api, act, headers, true)
  assert.deepEqual(await everything(db), before, `${act.path} was only tried`)
  const done = await send(api, act, headers)
  note(name, [done])
  const both = `${tried.text}\n${done.text}`
  // The dry run names what would start at once, so the operator can confirm it.
  if (done.body.code === 'WOULD_BE_OVERDUE') {
    assert.ok((tried.body.overdue as unknown[]).length > 0, both)
    return
  }
  assert.equal(isDone(tried), isDone(done), both)
  if (isDone(done)) assert.deepEqual(comparable(tried), comparable(done), both)
  else assert.equal(tried.body.code, done.body.code, both)
}

/** Without the dry run's own marker and the numbers it cannot know. */
function comparable({ body }: Answer): unknown {
  const { isDryRun, batchId, runbookId, actionId, ...rest } = body
  return 'clonedFrom' in rest || 'availablePhases' in rest ? { ...rest, batch: null } : rest
}

/** A hash over the rows of each table. */
async function everything(db: Db): Promise<Record<string, string | null>> {
  const tables = await db.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const hashes = tables.map(
    ({ name }) =>
      `select '${name}' as name, md5(string_agg(t::text, '|' order by t::text)) as hash from ${name} t`,
  )
  const rows = await db.query<{ name: string; hash: string | null }>(hashes.join(' union all '))
  return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]))
}
