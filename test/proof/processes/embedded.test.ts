// The embedded database of `matoolkit up` through a bad day: a snapshot at start, a folder that does not open, a restore, a full disk.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import { findHold } from '../../../src/db/state/holds.ts'
import { type Hold, SYSTEM } from '../../../src/domain/state/holds.ts'
import { start } from '../../kit/processes.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'
import { openSmallDisk, whyNoSmallDisk } from '../../kit/small-disk.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-embedded-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const env = {
  MATOOLKIT_API_PORT: '0',
  MATOOLKIT_HOME: join(folder, 'home'),
  MATOOLKIT_OUTPUT: 'table',
}

async function holdIn(dataDir: string): Promise<Hold | null> {
  const db = await openPglite(dataDir)
  const hold = await findHold(db, SYSTEM)
  await db.close()
  return hold
}

describe('matoolkit up and its database', () => {
  it('takes a snapshot at start; a broken folder names it, and it is restored on hold', async () => {
    const here = join(folder, 'here')
    const data = join(here, '.matoolkit', 'data')
    await makeDataFolder(data)
    const run = (...args: string[]) => start(args, env, here).ended
    const none = await run('db', 'restore', '--yes')
    assert.equal(none.code, EXIT.notFound)

    const up = start(['up'], env, here)
    try {
      await up.saying(/Took a snapshot of the embedded database/)
      const refused = await run('db', 'restore', '--yes')
      assert.equal(refused.code, EXIT.unavailable)
      assert.match(refused.err, /is in use by process \d+/)
    } finally {
      up.kill('SIGINT')
    }
    assert.equal((await up.ended).code, EXIT.ok)

    writeFileSync(join(data, 'pgdata', 'global', 'pg_control'), 'damaged')
    const broken = await run('up')
    assert.equal(broken.code, EXIT.unavailable)
    assert.match(broken.err, /DATABASE_FOLDER_BROKEN/)
    const [, name] = /with "matoolkit db restore (\S+)"/.exec(broken.err)!

    const unsure = await run('db', 'restore', name!)
    assert.notEqual(unsure.code, EXIT.ok, 'nothing is replaced without a word')
    const restored = await run('db', 'restore', name!, '--yes')
    assert.equal(restored.code, EXIT.ok, restored.err)
    assert.match(restored.err, /Everything is held/)
    assert.equal(readdirSync(data).filter((file) => file.startsWith('pgdata-until-')).length, 1)
    const { heldBy, reason } = (await holdIn(data))!
    assert.equal(heldBy, 'restore')
    assert.match(
      reason,
      /^restored from a backup \(the snapshot of .*, by "matoolkit db restore"\)/,
    )
  })

  it('up --restored holds everything and begins a new epoch, for a folder that was copied back', async () => {
    const here = join(folder, 'copied')
    const data = join(here, '.matoolkit', 'data')
    await makeDataFolder(data)
    const up = start(['up', '--restored'], env, here)
    try {
      await up.saying(/Everything is on hold: restored from a backup \(started with --restored\)/)
      await up.saying(/Press Ctrl-C to stop/)
    } finally {
      up.kill('SIGINT')
    }
    assert.equal((await up.ended).code, EXIT.ok)
    const { heldBy, reason } = (await holdIn(data))!
    assert.equal(heldBy, 'system')
    assert.match(reason, /^restored from a backup \(started with --restored\)/)
  })

  it('holds everything on a disk that runs full, never hangs, and opens again with space', {
    skip: whyNoSmallDisk(),
  }, async () => {
    const disk = openSmallDisk(300)
    try {
      const data = join(disk.folder, 'data')
      const settings = { ...env, MATOOLKIT_DATA_DIR: data, MATOOLKIT_MIN_FREE_MB: '100' }
      const here = join(folder, 'full')
      mkdirSync(here)
      await makeDataFolder(data)
      const up = start(['up'], settings, here)
      try {
        await up.saying(/Press Ctrl-C to stop/)
        disk.fill(60)
        await up.saying(/Everything is held: only \d+ MB are free/)
        disk.fill()
      } finally {
        up.kill('SIGINT')
      }
      // It may have to write its log to stop, and then ends for want of space.
      const { code } = await up.ended
      assert.ok(code === EXIT.ok || code === EXIT.unavailable, `ended with ${code}`)
      const refused = await start(['up'], settings, here).ended
      assert.equal(refused.code, EXIT.unavailable)
      assert.match(refused.err, /0 MB are free, and it needs 48 MB to open.*DATABASE_DISK_FULL/s)
      disk.empty()
      assert.equal((await holdIn(data))?.heldBy, 'disk watch')
    } finally {
      disk.unmount()
    }
  })
})
