// Versions, time zones and clocks: a runbook that changes during its waves, and nights on which clocks change.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { deactivateRunbook } from '../../src/engine/orders/publish.ts'
import { calls, phasesOf, runbook, step } from './looking.ts'
import { batchesOf, issuesOf, PHASES, programme, row, startProgramme, wave } from './programme.ts'
import { story } from './world.ts'

const WITH_CHECK = runbook('wave', {
  'prepare T-1d': [step('create'), step('tag')],
  'check T-1h': [step('verify')],
  'cutover T-0': [step('switch')],
})

it('published mid-wave with ignore: no new members are found, later phases are the new ones', () =>
  programme(async (world) => {
    await world.tick(wave(20, 1, 2))
    await world.publish(WITH_CHECK)
    await world.tick(wave(20, 1, 2, 3))
    assert.deepEqual(await batchesOf(world), ['20h active: user1, user2, user3'])
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'create user3', 'tag user3'])
    await world.tickUntil(21, 2)
    assert.equal((await phasesOf(world, 1))[0], 'prepare completed 3: 3 passed')
    assert.equal(calls(world).filter((call) => call.startsWith('verify')).length, 3)
    assert.deepEqual(await batchesOf(world), ['20h completed: user1, user2, user3'])
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['20h completed: user1, user2, user3'])
  }))

it('published mid-wave with rerun: ended phases run again for active members', () =>
  programme(async (world) => {
    await world.tick(wave(20, 1, 2))
    await world.publish(WITH_CHECK, { overdueBehavior: 'rerun' })
    await world.tick()
    assert.deepEqual(calls(world, 2).sort(), [
      'create user1',
      'create user2',
      'tag user1',
      'tag user2',
    ])
    await world.tickUntil(21, 2)
    assert.deepEqual(await batchesOf(world), ['20h completed: user1, user2'])
  }))

it('a new version leaves finished waves alone, even those still in the query', () =>
  programme(async (world) => {
    await world.tick(wave(2, 1, 2))
    await world.tickUntil(3)
    const jobs = world.jobs.length
    await world.publish(WITH_CHECK)
    await world.tick()
    await world.tick()
    assert.equal(world.jobs.length, jobs)
    assert.deepEqual(await batchesOf(world), ['2h completed: user1, user2'])
  }))

it('a deactivated runbook is not ticked, and its batches finish', () =>
  programme(async (world) => {
    await world.tick(wave(2, 1))
    await deactivateRunbook(world.engine, {
      name: 'wave',
      version: 1,
      actor: 'operator',
      reason: 'the programme is over',
    })
    const { asked } = world
    world.rows = wave(2, 1, 2)
    await world.tickUntil(3)
    assert.equal(world.asked, asked)
    assert.deepEqual(await batchesOf(world), ['2h completed: user1'])
  }))

it('on nights when clocks change every wave starts at its instant, and odd hours are reported', () =>
  story({}, async (base) => {
    const yaml = runbook('wave', PHASES).replace(
      'batch_time_column: When',
      'batch_time_column: When, time_zone: Europe/Berlin',
    )
    const world = await startProgramme(base, yaml)
    const nights: [number, string][] = [
      [1, '2026-03-29 01:30'],
      [2, '2026-03-29 02:30'],
      [3, '2026-03-29 03:30'],
      [4, '2026-10-25 01:30'],
      [5, '2026-10-25 02:30'],
      [6, '2026-10-25 02:30+02:00'],
      [7, '2026-10-25 02:30+01:00'],
      [8, '2026-10-25 03:30'],
    ]
    await world.tick(nights.map(([number, when]) => row(number, when)))
    const times = await world.db.query<{ at: Date }>(
      'select batch_start_time as at from batches order by 1',
    )
    assert.deepEqual(
      times.map(({ at }) => at.toISOString()),
      [
        '2026-03-29T00:30:00.000Z',
        '2026-03-29T01:30:00.000Z',
        '2026-10-24T23:30:00.000Z',
        '2026-10-25T00:30:00.000Z',
        '2026-10-25T01:30:00.000Z',
        '2026-10-25T02:30:00.000Z',
      ],
    )
    assert.deepEqual(await issuesOf(world), ['unusable user2', 'unusable user5'])
    await world.pass((Date.parse('2026-03-29T00:29:59Z') - +world.clock.now()) / 1000)
    assert.deepEqual(calls(world), ['create user1', 'create user3'])
    await world.pass(1)
    assert.deepEqual(calls(world, 2), ['switch user1'])
    await world.pass(3600)
    assert.deepEqual(calls(world, 3), ['switch user3'])
  }))
