// Snapshots of the embedded database: whole, checked, private, few; a restore brings one back and deletes nothing.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import {
  makeSnapshotLoop,
  type SnapshotLoopOptions,
} from '../../../src/app/upkeep/snapshot-loop.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import {
  keptSnapshots,
  listSnapshots,
  restoreSnapshot,
  type Snapshot,
  type SnapshotOptions,
  takeSnapshot,
} from '../../../src/db/connection/snapshots.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'

const AT = new Date('2026-03-01T10:00:00Z')
const later = (minutes: number) => new Date(+AT + minutes * 60_000)

describe('snapshots of the embedded database', () => {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-snapshots-'))
  const options = (more: Partial<SnapshotOptions> = {}): SnapshotOptions => ({
    dataDir: folder,
    now: AT,
    cause: 'start',
    keepFreeBytes: 0,
    ...more,
  })
  before(async () => {
    await makeDataFolder(folder)
    const db = await openPglite(folder)
    await db.script('create table kept (id integer)')
    await db.close()
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
  afterEach(() => rmSync(join(folder, 'snapshots'), { recursive: true, force: true }))

  it('is taken while others write, private, and brings back its moment', async () => {
    const db = await openPglite(folder)
    const writes: Promise<unknown>[] = []
    const write = () => writes.push(db.query('insert into kept (id) values (1)'))
    write()
    const taking = takeSnapshot(db, options())
    for (let count = 0; count < 20; count += 1) write()
    const taken = await taking
    assert.ok('snapshot' in taken)
    await Promise.all(writes)
    write()
    await db.close()
    assert.equal(taken.snapshot.name, '2026-03-01T10-00-00')
    assert.equal(taken.snapshot.schemaVersion, 4)
    assert.ok(taken.snapshot.bytes > 20_000_000)
    assert.deepEqual(listSnapshots(folder), [taken.snapshot])
    for (const path of readdirSync(join(folder, 'snapshots'), { recursive: true })) {
      const { mode } = statSync(join(folder, 'snapshots', String(path)))
      assert.equal(mode & 0o077, 0, `${path} is for its owner only`)
    }

    const control = join(folder, 'pgdata', 'global', 'pg_control')
    writeFileSync(control, 'damaged')
    await assert.rejects(openPglite(folder), {
      code: 'DATABASE_FOLDER_BROKEN',
      message:
        /Restore its newest good snapshot, of 2026-03-01T10:00:00\.000Z, with "matoolkit db restore 2026-03-01T10-00-00";/,
    })
    const { movedTo } = await restoreSnapshot(folder, taken.snapshot, later(5), async () => {})
    assert.equal(movedTo, join(folder, 'pgdata-until-2026-03-01T10-05-00.000Z'))
    assert.equal(readFileSync(join(movedTo, 'global', 'pg_control'), 'utf8'), 'damaged')
    const restored = await openPglite(folder)
    const [row] = await restored.query<{ count: number }>('select count(*) from kept')
    assert.ok(row!.count >= 1 && row!.count <= 21, `a moment of the writing: ${row!.count}`)
    await restored.close()
    assert.equal(listSnapshots(folder).length, 1, 'the snapshot is still there')
  })

  it('is not taken when it would use the last space, and says so', async () => {
    const db = await openPglite(folder)
    const outcome = await takeSnapshot(
      db,
      options({ keepFreeBytes: 500 * 1024 * 1024, readFreeBytes: () => 520 * 1024 * 1024 }),
    )
    await db.close()
    assert.ok('skipped' in outcome)
    assert.match(
      outcome.skipped,
      /it needs up to \d+ MB, and of 520 MB free space 500 MB must stay/,
    )
    assert.deepEqual(readdirSync(join(folder, 'snapshots')), [])
  })

  it('is due at start and every hour; the first one of a new database after an hour', async () => {
    const db = await openPglite(folder)
    const told = async (more: Partial<SnapshotLoopOptions> = {}) => {
      const clock = virtualClock(AT)
      const lines: string[] = []
      const write = (line: string) => void lines.push(line)
      const log = createLog({ level: 'info', format: 'json', clock, destination: { write } })
      // None fits, so each is told and none is made.
      const none = { minFreeMb: 1_000, readFreeBytes: () => 0 }
      const place = { db, clock, log, dataDir: folder, intervalMin: 60, isNew: false, ...none }
      const loop = makeSnapshotLoop({ ...place, ...more })
      loop.start()
      // A look reads files: it has ended when the loop waits for the next one.
      const looked = async () => {
        while (clock.nextWakeAt() === null) await new Promise(setImmediate)
      }
      await looked()
      for (let hours = 0; hours < 2; hours += 1) {
        await clock.advance(60 * 60_000)
        await looked()
      }
      await loop.stop(AbortSignal.timeout(5_000))
      return lines.map((line) => (JSON.parse(line) as { cause: string }).cause)
    }
    try {
      assert.deepEqual(await told(), ['start', 'hourly', 'hourly'])
      assert.deepEqual(await told({ isNew: true }), ['hourly', 'hourly'])
    } finally {
      await db.close()
    }
  })

  it('does not count when its copy is damaged, and leaves nothing behind', async () => {
    const db = await openPglite(folder)
    const damaging = {
      ...db,
      copyTo: async (target: string) => {
        const heldMs = await db.copyTo!(target)
        writeFileSync(join(target, 'global', 'pg_control'), 'damaged')
        return heldMs
      },
    }
    await assert.rejects(takeSnapshot(damaging, options()), { code: 'SNAPSHOT_FAILED' })
    await db.close()
    assert.deepEqual(readdirSync(join(folder, 'snapshots')), [])
  })

  it('a missing database is not replaced by an empty one while there are snapshots', async () => {
    const db = await openPglite(folder)
    await takeSnapshot(db, options())
    await db.close()
    const away = join(folder, 'away')
    renameSync(join(folder, 'pgdata'), away)
    await assert.rejects(openPglite(folder), {
      code: 'DATABASE_FOLDER_BROKEN',
      message: /is broken: its files are missing\. Restore its newest good snapshot/,
    })
    assert.equal(existsSync(join(folder, 'pgdata')), false)
    renameSync(away, join(folder, 'pgdata'))
  })

  it('the newest is named by the error of a statement that meets a damaged page', async () => {
    const damaged = mkdtempSync(join(tmpdir(), 'matoolkit-damaged-'))
    await makeDataFolder(damaged)
    const db = await openPglite(damaged)
    await db.script('create table pages as select g as id from generate_series(1, 1000) g')
    const [place] = await db.query<{ path: string }>("select pg_relation_filepath('pages') as path")
    await takeSnapshot(db, options({ dataDir: damaged }))
    const [{ name }] = listSnapshots(damaged) as [Snapshot]
    await db.close()
    writeFileSync(join(damaged, 'pgdata', place!.path), Buffer.alloc(8_192, 0xee))
    const again = await openPglite(damaged)
    const named = { code: 'DATABASE_FOLDER_BROKEN', message: new RegExp(`invalid page.*${name}`) }
    await assert.rejects(again.query('select count(*) from pages'), named)
    await assert.rejects(again.script('select count(*) from pages'), named)
    const work = again.transaction((tx) =>
      tx.query('select count(*) from pages where id > $1', [5]),
    )
    await assert.rejects(work, named)
    assert.deepEqual(await again.query('select 1 as one'), [{ one: 1 }])
    await again.close()
    rmSync(damaged, { recursive: true, force: true })
  })
})

describe('how many snapshots are kept', () => {
  const of = (name: string, cause: Snapshot['cause'] = 'hourly'): Snapshot => ({
    name,
    cause,
    bytes: 1,
    schemaVersion: 4,
    takenAt: new Date(`${name.slice(0, 10)}T${name.slice(11).replaceAll('-', ':')}Z`),
  })
  it('the newest three, the first of each of two days, and the newest from before an upgrade', () => {
    const all = [
      of('2026-03-03T09-00-00'),
      of('2026-03-03T08-00-00'),
      of('2026-03-03T07-00-00'),
      of('2026-03-03T06-00-00'),
      of('2026-03-03T05-00-00', 'start'),
      of('2026-03-02T12-00-00'),
      of('2026-03-02T11-00-00'),
      of('2026-03-01T11-00-00'),
      of('2026-02-01T12-00-00', 'upgrade'),
      of('2026-01-01T12-00-00', 'upgrade'),
    ]
    assert.deepEqual([...keptSnapshots(all)].sort(), [
      '2026-02-01T12-00-00',
      '2026-03-02T11-00-00',
      '2026-03-03T05-00-00',
      '2026-03-03T07-00-00',
      '2026-03-03T08-00-00',
      '2026-03-03T09-00-00',
    ])
    assert.deepEqual([...keptSnapshots([])], [])
  })
})
