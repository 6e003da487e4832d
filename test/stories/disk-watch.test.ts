// Little space for the embedded database: everything is held before it is gone, status says so, and a person resumes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeDiskWatch } from '../../src/app/upkeep/disk-watch.ts'
import { findHold } from '../../src/db/state/holds.ts'
import { isAutomaticHold, SYSTEM } from '../../src/domain/state/holds.ts'
import { holdScope, resumeScope } from '../../src/engine/orders/holds.ts'
import { batchOf, calls, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

const WAVE = runbook('wave', { 'prepare T-1h': [step('create')] })
const MB = 1024 * 1024
const OPERATOR = { ...SYSTEM, scope: 'system', actor: 'ada', reason: 'as agreed' } as const

/** A watch whose disk has `freeMb`. */
function watching(world: World) {
  const disk = { freeMb: 10_000 }
  const said: string[] = []
  const watch = makeDiskWatch({
    engine: world.engine,
    clock: world.clock,
    folder: '/data',
    minFreeMb: 500,
    readFreeBytes: () => disk.freeMb * MB,
    onChange: (sentence) => said.push(sentence),
    onError: (error) => assert.fail(String(error)),
  })
  return { disk, said, look: watch.look }
}

const heldBecause = async ({ engine }: World) => (await findHold(engine.db, SYSTEM))?.reason ?? null

describe('the disk of the embedded database runs full', () => {
  it('holds everything below the limit, says when there is space again, and continues after a resume', () =>
    story({}, async (world) => {
      const { disk, said, look } = watching(world)
      await world.publish(WAVE)
      const batchId = await world.batch('wave', 2, { startsInMin: 120 })
      await look()
      disk.freeMb = 500
      await look()
      assert.equal(await heldBecause(world), null)

      disk.freeMb = 499
      await look()
      await look()
      const low =
        'only 499 MB are free on the disk of the embedded database, and 500 MB must stay free (MATOOLKIT_MIN_FREE_MB); free some space for "/data", then resume'
      assert.deepEqual(said, [`Everything is held: ${low}`], 'told once')
      const hold = (await findHold(world.engine.db, SYSTEM))!
      assert.deepEqual([hold.heldBy, hold.reason], ['disk watch', low])
      assert.equal(isAutomaticHold(hold.heldBy), true, 'status says that action is needed')
      await world.pass(7200)
      await world.work()
      assert.deepEqual(calls(world), [], 'nothing was sent')

      disk.freeMb = 520
      await look()
      assert.equal(await heldBecause(world), low, 'at the limit it might come and go')
      disk.freeMb = 2_000
      await look()
      await look()
      assert.equal(
        await heldBecause(world),
        'The disk of the embedded database was nearly full; 2,000 MB are free again, so you can resume',
      )
      assert.equal(said.length, 2)
      await world.pass(60)
      assert.deepEqual(calls(world), [], 'only a person resumes')

      await resumeScope(world.engine, OPERATOR)
      await look()
      assert.equal(await heldBecause(world), null)
      await world.pass(60)
      await world.work()
      await world.orchestrate()
      assert.equal((await batchOf(world, batchId)).status, 'completed')
    }))

  it('ends on hold, though the disk was full to its last byte and took no hold', () =>
    story({}, async (world) => {
      const { disk, said, look } = watching(world)
      disk.freeMb = 0
      const { db } = world.engine
      await db.script('alter table holds add constraint disk_full check (false) not valid')
      await assert.rejects(look(), /disk_full/)
      assert.equal(await heldBecause(world), null)
      await db.script('alter table holds drop constraint disk_full')
      disk.freeMb = 510
      await look()
      const full =
        'the disk of the embedded database was full, so that not even a hold could be written; 510 MB are free again'
      assert.equal(await heldBecause(world), full)
      assert.deepEqual(said, [`Everything is held: ${full}`])
      disk.freeMb = 2_000
      await look()
      assert.match((await heldBecause(world))!, /so you can resume$/)
    }))

  it('leaves a hold of an operator alone, and holds again when it is ended too early', () =>
    story({}, async (world) => {
      const { disk, said, look } = watching(world)
      await holdScope(world.engine, OPERATOR)
      disk.freeMb = 100
      await look()
      disk.freeMb = 2_000
      await look()
      assert.equal(await heldBecause(world), 'as agreed')
      disk.freeMb = 100
      await look()
      assert.deepEqual(said, [])
      await resumeScope(world.engine, OPERATOR)
      await look()
      assert.match((await heldBecause(world))!, /^only 100 MB are free/)
      await resumeScope(world.engine, OPERATOR)
      await look()
      assert.match((await heldBecause(world))!, /^only 100 MB are free/)
    }))
})
