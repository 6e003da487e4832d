// A random source, tick after tick, with random decisions in between. After every tick all invariants hold and no safeguard was
// passed; once the source rests and all reviews are decided, membership matches it.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MatoolkitError } from '../../src/base/errors/errors.ts'
import { brokenInvariants } from '../kit/invariants.ts'
import { seeded } from '../kit/seeded.ts'
import { variants } from '../kit/variants.ts'
import { at, type Programme, programme, type Row, row } from '../stories/programme.ts'
import { decideAtRandom } from './deciding.ts'

/** Seed 27 found a phase that stayed skipped for a member who had passed it in another batch, 31 a latecomer without a review. */
const SEEDS = [1, 27, 31]
const TICKS = 25
const PEOPLE = 24
const WAVES = [5, 29, 53, 400]
const CALM_TICKS = 6

type Chance = () => number
/** Person → wave, or none. */
type Whereabouts = Map<number, number>

const pick = <T>(all: readonly T[], chance: Chance): T => all[Math.floor(chance() * all.length)]!

function wander(people: Whereabouts, chance: Chance): void {
  const kind = chance()
  if (kind < 0.15) {
    // Reschedules a whole wave.
    const from = pick(WAVES, chance)
    const to = pick(WAVES, chance)
    for (const [person, wave] of people) if (wave === from) people.set(person, to)
    return
  }
  for (let changes = Math.floor(chance() * 5); changes > 0; changes -= 1) {
    const person = 1 + Math.floor(chance() * PEOPLE)
    if (chance() < 0.4) people.delete(person)
    else people.set(person, pick(WAVES, chance))
  }
}

const rowsOf = (people: Whereabouts, chance: Chance): Row[] =>
  [...people].map(([person, wave]) =>
    row(person, at(wave), chance() < 0.1 ? { Note: String(Math.floor(chance() * 3)) } : {}),
  )

/** A coded refusal is fine; anything else is a defect. */
async function decide({ db, engine }: Programme, chance: Chance): Promise<void> {
  try {
    await decideAtRandom(db, engine, chance)
  } catch (error) {
    if (!(error instanceof MatoolkitError) || error.httpStatus !== 409) throw error
  }
}

/** Removals by the source without review: never more than the safeguard within one tick. */
async function removedBy(world: Programme, actor: string): Promise<Map<number, number>> {
  const rows = await world.db.query<{ id: number; count: number }>(
    `select batch_id as id, count(*)::int as count from events
      where entity = 'member' and event = 'remove' and actor = $1 group by batch_id`,
    [actor],
  )
  return new Map(rows.map(({ id, count }) => [id, count]))
}

async function oneTick(world: Programme, rows: readonly Row[] | Error): Promise<void> {
  const before = await removedBy(world, 'scheduler')
  const sizes = await world.db.query<{ id: number; size: number }>(
    'select id, members_active + members_failed as size from batches',
  )
  await world.tick(rows)
  const after = await removedBy(world, 'scheduler')
  for (const { id, size } of sizes) {
    const removed = (after.get(id) ?? 0) - (before.get(id) ?? 0)
    assert.ok(removed <= 3 || removed * 5 <= size, `${removed} of ${size} left batch ${id} at once`)
  }
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  if (!(rows instanceof Error)) {
    const { outcome, error } = world.reports.at(-1)!
    assert.equal(outcome, 'good', String(error))
  }
}

interface Place {
  readonly person: string
  readonly isEnded: boolean
  readonly isHere: boolean
  readonly times: readonly number[]
}

/** Every membership of every person, with the hours of its batch. */
const placesOf = ({ db }: Programme): Promise<Place[]> =>
  db.query<Place>(
    `select split_part(m.key_folded, '@', 1) as person, b.ended_at is not null as is_ended, m.status <> 'removed' as is_here,
            array(select extract(epoch from t - $1::timestamptz)::float8 / 3600
                    from unnest(b.source_time || array(select source_time from batch_source_times a where a.batch_id = b.id)) as t) as times
       from batch_members m join batches b on b.id = m.batch_id`,
    [at(0)],
  )

/** Every person is where the source says, or under review with a reason. */
async function unexplained(world: Programme, people: Whereabouts): Promise<string[]> {
  const places = await placesOf(world)
  const listed = await world.db.query<{ person: string }>(
    `select split_part(key_folded, '@', 1) as person from reviews
     union select split_part(member_key, '@', 1) from source_issues`,
  )
  const isListed = new Set(listed.map(({ person }) => person))
  const groups = new Set(people.values())
  const found: string[] = []
  for (let number = 1; number <= PEOPLE; number += 1) {
    const person = `user${number}`
    const own = places.filter((place) => place.person === person && place.isHere)
    const open = own.filter(({ isEnded }) => !isEnded)
    const wave = people.get(number)
    if (open.length > 1) found.push(`${person} is in ${open.length} unfinished batches`)
    if (isListed.has(person)) continue
    const isLeft = open.some(({ times }) => times.some((time) => groups.has(time)))
    if (wave === undefined && isLeft) found.push(`${person} is in a batch and not in the source`)
    if (wave !== undefined && !own.some(({ times }) => times.includes(wave)))
      found.push(`${person} is not in the batch of hour ${wave}`)
  }
  return found
}

for (const seed of variants(SEEDS)) {
  it(`follows a random source, seed ${seed}`, () =>
    programme(async (world) => {
      const number = seeded(seed)
      const chance = () => number(1_000_000) / 1_000_000
      world.answer = () => (chance() < 0.05 ? { fail: 'by chance' } : { ok: true })
      const people: Whereabouts = new Map()
      for (let person = 1; person <= PEOPLE; person += 1) people.set(person, pick(WAVES, chance))
      for (let tick = 0; tick < TICKS; tick += 1) {
        wander(people, chance)
        const isDown = chance() < 0.1
        const flicker = chance() < 0.1
        const rows = isDown ? new Error('down') : flicker ? [] : rowsOf(people, chance)
        await oneTick(world, rows)
        if (chance() < 0.3) await decide(world, chance)
        if (chance() < 0.3) await world.pass(3600)
      }
      const rest = [...people].map(([person, wave]) => row(person, at(wave)))
      for (let tick = 0; tick < CALM_TICKS; tick += 1) await oneTick(world, rest)
      assert.deepEqual(await unexplained(world, people), [])
    }))
}
