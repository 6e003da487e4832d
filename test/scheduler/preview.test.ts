// A preview shows the changes of the next tick and makes none of them.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { previewSource } from '../../src/scheduler/preview.ts'
import {
  at,
  batchesOf,
  type Programme,
  programme,
  range,
  row,
  wave,
  YAML,
} from '../stories/programme.ts'

const previewOf = (world: Programme, yaml = YAML) =>
  previewSource({
    db: world.db,
    sources: world.options.sources,
    runbook: readRunbook(yaml).runbook!,
    now: world.clock.now(),
    stopping: new AbortController().signal,
  })

const contents = async ({ db }: Programme): Promise<unknown> => {
  const tables = [
    'batches',
    'batch_members',
    'source_absences',
    'reviews',
    'source_ticks',
    'source_states',
    'source_issues',
  ]
  return Promise.all(tables.map((table) => db.query(`select * from ${table} order by 1`)))
}

it('previews an unpublished runbook: everybody is new', () =>
  programme(async (world) => {
    world.rows = [...wave(30, 1, 2), ...wave(54, 3), row(4, 'soon')]
    const preview = await previewOf(world, YAML.replace('name: wave', 'name: draft'))
    assert.deepEqual(preview.columns, [
      { name: 'UserPrincipalName', type: 'text' },
      { name: 'When', type: 'text' },
    ])
    assert.equal(preview.rowCount, 4)
    assert.equal(preview.sample.length, 4)
    assert.deepEqual(preview.batchGroups, [
      { batchTime: new Date('2026-03-03T14:00:00Z'), memberCount: 2 },
      { batchTime: new Date('2026-03-04T14:00:00Z'), memberCount: 1 },
    ])
    assert.deepEqual([preview.groupCount, preview.problemCount, preview.durationMs], [2, 1, 0])
    assert.deepEqual(
      preview.problems.map(({ kind, key, column }) => [kind, key, column]),
      [['unusable', 'user4@contoso.example', 'When']],
    )
    assert.deepEqual(preview.nextTick.newBatches, {
      total: 2,
      first: [
        { time: '2026-03-03T14:00:00Z', members: 2, held: null },
        { time: '2026-03-04T14:00:00Z', members: 1, held: null },
      ],
    })
    assert.deepEqual(await batchesOf(world), [])
  }))

it('shows joiners, moves, leavers and reviews, and the next tick makes exactly these changes', () =>
  programme(async (world) => {
    await world.tick([...wave(30, ...range(1, 12)), ...wave(54, 20, 21, 22, 23)])
    await world.tick([...wave(30, ...range(2, 12)), ...wave(54, 20, 21, 22, 23)])
    world.rows = [
      ...wave(30, ...range(3, 12)),
      row(13, at(30)),
      ...wave(54, 2, 20).map((one) => ({ ...one, Note: 'new' })),
      ...wave(78, 30),
    ]
    const before = await contents(world)
    const { nextTick } = await previewOf(world)
    assert.deepEqual(await contents(world), before)
    const keys = (list: { first: readonly { key: string }[] }) =>
      list.first.map(({ key }) => key.split('@')[0])
    assert.deepEqual(nextTick.newBatches.first, [
      { time: '2026-03-05T14:00:00Z', members: 1, held: null },
    ])
    assert.deepEqual(keys(nextTick.joiners), ['user13'])
    assert.deepEqual(keys(nextTick.leavers), ['user1'])
    assert.deepEqual(nextTick.moves.first, [
      { batchId: 1, key: 'user2@contoso.example', toTime: '2026-03-04T14:00:00Z' },
    ])
    assert.deepEqual([nextTick.missing, nextTick.refreshed, nextTick.reviews.total], [3, 2, 0])
    const { counts } = (await world.tick())!
    assert.deepEqual(counts, {
      batches: 1,
      joined: 2,
      moved: 1,
      removed: 1,
      refreshed: 2,
      missing: 3,
    })
  }))

it('shows the reviews of a rescheduled wave with their reason', () =>
  programme(async (world) => {
    await world.tick(wave(30, 1, 2))
    world.rows = wave(54, 1, 2)
    const { nextTick } = await previewOf(world)
    assert.equal(nextTick.reviews.total, 2)
    assert.match(
      nextTick.reviews.first[0]!.reason,
      /^the source has all 2 people of batch 1 at another cut-over, and no one at the previous one$/,
    )
    assert.equal(nextTick.holds[0]!.batchId, 1)
  }))
