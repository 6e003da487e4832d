// The disk of the embedded database runs full, again and again, and its process dies at times meanwhile. The database lies on a small
// file system of its own; what was acknowledged is written down elsewhere, and must be there when the disk has space again.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realClock } from '../../../../src/base/run/clock.ts'
import type { Db } from '../../../../src/db/connection/db.ts'
import { openPglite } from '../../../../src/db/connection/pglite.ts'
import { seeded } from '../../../kit/seeded.ts'
import { openSmallDisk, type SmallDisk, whyNoSmallDisk } from '../../../kit/small-disk.ts'
import { missingAcknowledged, missingEffects, outOfOrder, unhealthy } from '../checks.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import type { Part } from '../process.ts'
import { brokenInvariantsOf } from '../watcher.ts'
import {
  type ChaosOptions,
  createLarge,
  givenUp,
  harmOf,
  LEASE_MS,
  prepare,
  type Verdict,
} from '../world.ts'

const clock = realClock()
const NAME = 'embedded'
const DISK_MB = 600
const MIN_FREE_MB = 128
const PAUSE_MIN_MS = 2_000
const PAUSE_MAX_MS = 6_000
const FULL_MAX_MS = 15_000
const LEFT_MAX_MB = 80
const HEALING_MS_MAX = 300_000

async function fillAgainAndAgain(
  disk: SmallDisk,
  fleet: Fleet,
  seed: number,
  over: AbortSignal,
): Promise<void> {
  const pick = seeded(seed)
  for (let round = 0; !over.aborted; round += 1) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS), over)
    if (over.aborted) break
    // Every other time nothing is left at all, at once: no watch can be quick enough.
    const leftMb = round % 2 === 1 ? 0 : 1 + pick(LEFT_MAX_MB)
    const ms = 1_000 + pick(FULL_MAX_MS)
    const what = leftMb === 0 ? 'disk full' : 'disk nearly full'
    const happened = { at: Date.now(), what: `${what} for ${ms} ms`, who: 'disk', until: 0 }
    fleet.happened.push(happened)
    disk.fill(leftMb)
    await clock.wait(ms / 2, over)
    if (pick(2) === 0) fleet.kill(NAME)
    await clock.wait(ms / 2, over)
    disk.empty()
    happened.until = Date.now()
  }
  disk.empty()
}

const passedIn = (folder: string): number => {
  const ends = readJournals(folder, 'effects').filter(
    ({ what, step, passes }) => what === 'end' && step === 'check' && passes === true,
  )
  return new Set(ends.map(({ key }) => key)).size
}

async function run(options: ChaosOptions): Promise<Verdict> {
  const whyNot = whyNoSmallDisk()
  if (whyNot) throw new Error(`This mode needs a file system of its own: ${whyNot}.`)
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-chaos-'))
  const place = join(folder, 'pglite')
  mkdirSync(place, { mode: 0o700 })
  const disk = openSmallDisk(DISK_MB, place)
  const part: Part = {
    roles: ['orchestrator', 'worker', 'operators'],
    name: NAME,
    folder,
    seed: options.seed,
    leaseMs: LEASE_MS,
    statementTimeoutMs: 30_000,
    workMs: 20,
    slots: 8,
    minFreeMb: MIN_FREE_MB,
  }
  const fleet = new Fleet([part])
  try {
    const db = await openPglite(place)
    await prepare(db)
    await createLarge(db, options.members)
    await db.close()
    await fleet.start()
    const ran = fillAndHeal(options, { disk, fleet, folder })
    return await Promise.race([ran, givenUp(options.giveUp)])
  } finally {
    await fleet.killAll()
    disk.unmount()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Filled {
  readonly disk: SmallDisk
  readonly fleet: Fleet
  readonly folder: string
}

async function fillAndHeal(options: ChaosOptions, filled: Filled): Promise<Verdict> {
  const { disk, fleet, folder } = filled
  const { seed, minutes, members, say } = options
  const startedAt = Date.now()
  const over = AbortSignal.timeout(minutes * 60_000)
  await fillAgainAndAgain(disk, fleet, seed, over)
  say('the disk has space again; healing')
  await fleet.allReady()
  const giveUp = AbortSignal.timeout(HEALING_MS_MAX)
  while (passedIn(folder) < members && !giveUp.aborted) await clock.wait(250)
  const exits = [...(await fleet.stop())].filter(([, code]) => code !== 0)
  const db = await openPglite(join(folder, 'pglite'))
  try {
    const effects = readJournals(folder, 'effects')
    const findings = [
      ...fleet.findings,
      ...exits.map(([name, code]) => `${name} ended with code ${code} when asked to stop`),
      ...(passedIn(folder) < members ? [`${members - passedIn(folder)} members never passed`] : []),
      ...(await missingAcknowledged(db, folder)),
      ...(await missingEffects(db, effects)),
      ...outOfOrder(effects),
      ...(await unhealthy(db)),
      ...readJournals(folder, 'noticed')
        .filter(({ what }) => what === 'unexpected')
        .map(({ name, message }) => `${name}: ${message}`),
      ...(await brokenInvariantsOf(db, clock.now)),
    ]
    const figures = {
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      members,
      jobs: new Set(effects.filter(({ what }) => what === 'end').map(({ jobId }) => jobId)).size,
      acknowledged: readJournals(folder, 'acknowledged').length,
      heldByTheWatch: await countHolds(db),
      harm: harmOf(fleet.happened),
      restarts: fleet.restarts,
    }
    const again = `npm run chaos -- --mode disk-full --seed ${seed} --minutes ${minutes} --members ${members}`
    return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
  } finally {
    await db.close()
  }
}

async function countHolds(db: Db): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    "select count(*) from events where actor = 'disk watch' and event = 'held'",
  )
  return row!.count
}

export const diskFullMode: ChaosMode = {
  name: 'disk-full',
  sabotage:
    'the disk of the embedded database full or nearly full for up to 16 s, again and again; its process killed meanwhile (only as root: it mounts a file system)',
  holds:
    'the database opens every time, every acknowledged command and result is stored, order, all invariants, every member passes, no dead letter',
  defaults: { minutes: 2, members: 100 },
  run,
}
