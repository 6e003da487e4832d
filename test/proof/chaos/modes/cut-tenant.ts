// The connection to the tenant is cut, silent or slow, again and again, and workers die meanwhile: the real functions over the real
// client against a sandbox behind a faulty proxy. The sandbox's journal is the judge: every change once, for every member.
import { realClock } from '../../../../src/base/run/clock.ts'
import { seeded } from '../../../kit/seeded.ts'
import { missingAcknowledged, unhealthy } from '../checks.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import {
  changesOf,
  createTenantBatch,
  inTenantWorld,
  newNicks,
  type TenantWorld,
  wrongInTenant,
} from '../tenant-world.ts'
import { brokenInvariantsOf, makeWatcher } from '../watcher.ts'
import { batchAfterBatch, type ChaosOptions, harmOf, heal, settle, type Verdict } from '../world.ts'

const clock = realClock()
const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 3_000
const CUT_MAX_MS = 8_000
const LOST_EVERY = 5
const CUTS = ['reset', 'stall', 'cut', 'trickle'] as const

/** The answer to every fifth change of each kind is lost: the worker cannot know that it was made. Returns how many so far. */
function loseAnswers({ sandbox, proxy, fleet }: TenantWorld, over: AbortSignal): () => number {
  const { journal } = sandbox
  const counts = new Map<string, number>()
  const add = journal.addEffect.bind(journal)
  let lost = 0
  journal.addEffect = (effect) => {
    add(effect)
    const count = (counts.get(effect.what) ?? 0) + 1
    counts.set(effect.what, count)
    if (over.aborted || effect.clientId === null || count % LOST_EVERY !== 0) return
    lost += 1
    // The response has not been written yet; a cut that lasts is left alone.
    proxy.dropOpen()
    const at = Date.now()
    fleet.happened.push({ at, what: `answer lost: ${effect.what}`, who: 'tenant', until: at })
  }
  return () => lost
}

async function cutTenant(
  { proxy, fleet }: TenantWorld,
  seed: number,
  over: AbortSignal,
): Promise<void> {
  const pick = seeded(seed)
  while (!over.aborted) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS), over)
    if (over.aborted) return
    const [how, ms] = [CUTS[pick(CUTS.length)]!, 500 + pick(CUT_MAX_MS)]
    const happened = { at: Date.now(), what: `${how} for ${ms} ms`, who: 'tenant', until: 0 }
    fleet.happened.push(happened)
    proxy.become(how)
    await clock.wait(ms / 2, over)
    const workers = fleet.atWork('worker')
    if (pick(2) === 0 && workers.length > 0) fleet.kill(workers[pick(workers.length)]!)
    await clock.wait(ms / 2, over)
    // A silent connection stays silent until somebody ends it; the functions would wait 100 s for it.
    proxy.become('reset')
    proxy.become('pass')
    happened.until = Date.now()
  }
}

const run = (options: ChaosOptions): Promise<Verdict> =>
  inTenantWorld(options, (cut) => cutAndHeal(options, cut))

async function cutAndHeal(options: ChaosOptions, cut: TenantWorld): Promise<Verdict> {
  const { setup, fleet, sandbox } = cut
  const { db, folder } = setup
  const startedAt = Date.now()
  const watcher = makeWatcher(db, fleet, clock)
  const [over, harmOver] = [new AbortController(), new AbortController()]
  const watching = watcher.watch(over.signal)
  const create = (members: number) => createTenantBatch(db, newNicks(members))
  const batchIds = [await create(options.members)]
  // To the end: what comes last for a member must not only run in good times.
  const answersLost = loseAnswers(cut, over.signal)
  const harming = cutTenant(cut, options.seed, harmOver.signal)
  const endsAt = startedAt + options.minutes * 60_000
  const ran = await batchAfterBatch(options, { create, watcher, batchIds, endsAt })
  harmOver.abort()
  await harming
  options.say('the tenant is reachable again; healing')
  const healed = await heal(fleet, watcher, ran.openBatchId, db)
  over.abort()
  await watching
  const findings = [
    ...ran.findings,
    ...healed,
    ...(await settle(fleet, db)),
    ...fleet.findings,
    ...watcher.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingAcknowledged(db, folder)),
    ...(await unhealthy(db)),
    ...(await wrongInTenant(db, sandbox)),
    ...readJournals(folder, 'noticed')
      .filter(({ what }) => what === 'unexpected')
      .map(({ name, message }) => `${name}: ${message}`),
  ]
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    members: batchIds.length * options.members,
    changes: changesOf(sandbox).length,
    requests: sandbox.journal.requestsMade,
    answersLost: answersLost(),
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
    invariantSamples: watcher.samples.invariants,
  }
  const { seed, minutes, members } = options
  const again = `npm run chaos -- --mode cut-tenant --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

export const cutTenantMode: ChaosMode = {
  name: 'cut-tenant',
  sabotage:
    'the connection to the tenant reset, silent, cut in the middle or slow for up to 8 s, again and again; the answer to every fifth change of each kind lost; workers killed meanwhile',
  holds:
    'every member completes, the tenant has every change exactly once, every acknowledged result is stored, all invariants, no dead letter',
  defaults: { minutes: 2, members: 40 },
  run,
}
