// Events of a world with a source: ticks, changes of the source, decisions about reviews, the automation switch. And its end: the
// source stands still, ticks succeed, and every person is where the source says or on a list with the reason.
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { decideAtRandom } from '../../scheduler/deciding.ts'
import { heal } from './heal.ts'
import { startOffice } from './office.ts'
import type { OperatorState } from './operators.ts'
import {
  INTERVAL_MS,
  type Programme,
  startSchedulers,
  switchAutomation,
  tickAs,
} from './scheduler.ts'
import { changeSource, hasSource, keyOf, note, openSource, PEOPLE } from './source.ts'
import { TIMES } from './source-checks.ts'
import { attempt, type World } from './world.ts'

/** Weights of these events, next to those of run.ts. */
const WEIGHTS = {
  'a scheduler ticks': 12,
  'the source changes': 8,
  'a review is decided': 30,
  'the automation is switched': 0.6,
}
/** Weight of deciding when no review is open. */
const IDLE = 0.01

export type SourceEvent = keyof typeof WEIGHTS
export const isSourceEvent = (what: string): what is SourceEvent => Object.hasOwn(WEIGHTS, what)

export async function sourceWeights({ db }: World): Promise<typeof WEIGHTS> {
  const held = await db.query('select from reviews where dismissed_at is null limit 1')
  const decide = 'a review is decided'
  return held.length > 0 ? WEIGHTS : { ...WEIGHTS, [decide]: WEIGHTS[decide] * IDLE }
}

/** Null for a seed without a source; then nothing is drawn for it either. */
export async function beginProgramme(
  world: World,
  operators: OperatorState,
): Promise<Programme | null> {
  if (!hasSource(world.seed)) return null
  const programme = startSchedulers(world, openSource(world.seed, world.clock.nowMs()), operators)
  while (world.found.length === 0 && !(await switchAutomation(world, true)));
  return programme
}

export async function sourceEvent(
  world: World,
  programme: Programme,
  what: SourceEvent,
): Promise<void> {
  const { source, schedulers } = programme
  const { chance } = source
  if (what === 'the source changes') world.log.push(`  ${changeSource(source)}`)
  else if (what === 'a review is decided') await decide(world, programme)
  else if (what === 'the automation is switched') await switchAutomation(world, chance.happens(0.6))
  else {
    if (chance.happens(0.5)) world.clock.turn(INTERVAL_MS)
    const how = chance.happens(0.5) ? 'by hand' : 'when due'
    await tickAs(world, programme, chance.below(schedulers.length), how)
  }
}

async function decide(world: World, { source }: Programme): Promise<void> {
  const { db, office, log } = world
  const end = await attempt(world, office.process, async () => {
    try {
      const done = await decideAtRandom(db, office.engine, source.chance.fraction)
      log.push(`  ${done ?? 'no review is open'}`)
      if (done) note(source, `decided: ${done}`)
    } catch (error) {
      if (!(error instanceof MatoolkitError)) throw error
      log.push(`  refused: ${error.message}`)
    }
  })
  if (end === 'crashed') startOffice(world)
}

const CALM_TICKS = 5
const ROUNDS_MAX = 5
const CHANGES = ['batches', 'joined', 'moved', 'rejoined', 'removed', 'refreshed'] as const

/** Ticks and their consequences, until ticks find nothing to do. Returns the number of events. */
export async function comeToRest(world: World, programme: Programme): Promise<number> {
  let events = 0
  await switchAutomation(world, true)
  for (let round = 1; round <= ROUNDS_MAX && world.found.length === 0; round++) {
    await tickInCalm(world, programme)
    events += CALM_TICKS
    // A job of an ended batch explains an absence too, so there is another round once it has settled.
    const open = await world.db.query(
      'select from batches where ended_at is null union all select from waits',
    )
    if (open.length === 0) return events
    if (world.found.length === 0) events += await heal(world)
  }
  if (world.found.length === 0)
    world.found.push(`P6: after ${ROUNDS_MAX} rounds ticks still open batches`)
  return events
}

/** Over a source that stands still, the last tick finds nothing to do and everybody is in place. */
async function tickInCalm(world: World, programme: Programme): Promise<void> {
  const { clock, found, log } = world
  const { reports, schedulers } = programme
  for (let number = 0; number < CALM_TICKS && found.length === 0; number++) {
    clock.turn(INTERVAL_MS)
    log.push(`calm ${clock.now().toISOString()}`)
    const before = reports.length
    await tickAs(world, programme, number % schedulers.length, 'when due')
    if (reports.length === before || reports.at(-1)!.outcome !== 'good')
      found.push('R17: nothing is wrong any more, and a tick was not good')
  }
  const { counts } = reports.at(-1)!
  const late = CHANGES.filter((what) => (counts[what] ?? 0) > 0)
  if (late.length > 0)
    found.push(`R17: the source stands still, but ticks still change something: ${late}`)
  if (!counts.postponed) found.push(...(await outOfPlace(world, programme)))
}

interface Place {
  readonly key: string
  readonly isEnded: boolean
  readonly isHere: boolean
  /** A person removed it, or its compensation is open, or a job of it is unsettled. */
  readonly isExplained: boolean
  readonly times: readonly number[]
}

const placesOf = ({ db }: World): Promise<Place[]> =>
  db.query<Place>(
    `select m.key_folded as key, b.ended_at is not null as is_ended, m.status <> 'removed' as is_here,
            (m.status = 'removed' and m.removed_by <> 'source' and m.moved_to_batch_id is null)
            or exists (select from step_executions s where s.batch_member_id = m.id and s.kind in ('rollback', 'removal')
                          and s.status in ('pending', 'dispatched', 'polling'))
            or exists (select from waits w where w.batch_member_id = m.id and w.kind = 'job') as is_explained,
            ${TIMES} as times
       from batch_members m join batches b on b.id = m.batch_id`,
  )

/** Each person is where the source says, or on a list with the reason. */
async function outOfPlace(world: World, { source }: Programme): Promise<string[]> {
  const places = Map.groupBy(await placesOf(world), ({ key }) => key)
  const listed = await world.db.query<{ key: string }>(
    'select key_folded as key from reviews union select lower(member_key) from source_issues',
  )
  const isListed = new Set(listed.map(({ key }) => key))
  const groups = new Set(
    [...source.people.values()].filter(({ spoiled }) => !spoiled).map(({ waveMs }) => waveMs),
  )
  const found: string[] = []
  for (let person = 1; person <= PEOPLE; person++) {
    const key = keyOf(person)
    const own = places.get(key) ?? []
    if (isListed.has(key) || own.some(({ isExplained }) => isExplained)) continue
    const here = own.filter(({ isHere }) => isHere)
    const standing = source.people.get(person)
    const isLeft = here.some((one) => !one.isEnded && one.times.some((time) => groups.has(time)))
    if (!standing && isLeft) found.push(`R19: ${key} is in a batch and not in the source`)
    if (standing && !here.some(({ times }) => times.includes(standing.waveMs))) {
      const wave = new Date(standing.waveMs).toISOString()
      found.push(`R17: ${key} stands in the group of ${wave}, is not in its batch and on no list`)
    }
  }
  return found
}
