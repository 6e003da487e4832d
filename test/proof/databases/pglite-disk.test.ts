// The embedded database on a disk that is full, read-only or damaged: it never hangs, says what is wrong, and opens again.
import assert from 'node:assert/strict'
import fs, { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import type { MatoolkitError } from '../../../src/base/errors/errors.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { type EmbeddedOptions, openPglite } from '../../../src/db/connection/pglite.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'
import { openSmallDisk, whyNoSmallDisk } from '../../kit/small-disk.ts'

const ROWS = 10

async function openWithRows(folder: string, options?: EmbeddedOptions): Promise<Db> {
  await makeDataFolder(folder)
  const db = await openPglite(folder, options)
  await db.script('create table kept (id serial primary key, text text)')
  await db.query("insert into kept (text) select '0' from generate_series(1, $1)", [ROWS])
  return db
}

/** Only the log grows. Returns the last text that was acknowledged, and the failure. */
async function writeUntilItFails(db: Db): Promise<{ acknowledged: number; error: MatoolkitError }> {
  for (let acknowledged = 0; ; acknowledged += 1) {
    try {
      const text = String(acknowledged + 1)
      await db.transaction((tx) => tx.query('update kept set text = $1', [text]))
    } catch (error) {
      // A table that cannot grow is no harm, and no end.
      if ((error as { code?: string }).code === '53100') acknowledged -= 1
      else return { acknowledged, error: error as MatoolkitError }
    }
  }
}

/** Of the rows, which all have the same. */
async function textOf(db: Db): Promise<number> {
  const rows = await db.query<{ text: string; count: number }>(
    'select text, count(*) from kept group by text',
  )
  assert.deepEqual(rows, [{ text: rows[0]!.text, count: ROWS }])
  return Number(rows[0]!.text)
}

const full = () => Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })

describe('the embedded database and its disk', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'matoolkit-embedded-'))
  })
  afterEach(() => {
    mock.restoreAll()
    syncBuiltinESMExports()
    rmSync(folder, { recursive: true, force: true })
  })

  it('stops with a sentence when its log cannot be written, and opens again with all it acknowledged', async () => {
    const stops: string[] = []
    const db = await openWithRows(folder, { onStopped: ({ code }) => stops.push(code) })
    mock.method(fs, 'writeSync', () => {
      throw full()
    })
    const { acknowledged, error } = await writeUntilItFails(db)
    assert.equal(error.code, 'DATABASE_DISK_FULL')
    assert.match(error.message, /is full: its log could not be written\. Free some space/)
    await assert.rejects(db.query('select 1'), { code: 'DATABASE_DISK_FULL' })
    await assert.rejects(
      db.transaction((tx) => tx.query('select 1')),
      { code: 'DATABASE_DISK_FULL' },
    )
    assert.deepEqual(stops, ['DATABASE_DISK_FULL'], 'told once')
    await db.close()
    mock.restoreAll()
    const again = await openPglite(folder)
    assert.ok((await textOf(again)) >= acknowledged)
    await again.close()
  })

  it('does not open on a disk that is nearly full, and leaves the folder alone', async () => {
    const readFreeBytes = () => 47 * 1024 * 1024
    await assert.rejects(openPglite(folder, { readFreeBytes }), {
      code: 'DATABASE_DISK_FULL',
      message: /47 MB are free, and it needs 48 MB to open\. Free some space, then start again/,
    })
    assert.equal(fs.existsSync(join(folder, 'pgdata')), false)
  })

  it('says that a folder does not open, and why', async () => {
    await makeDataFolder(folder)
    writeFileSync(join(folder, 'pgdata', 'global', 'pg_control'), Buffer.alloc(8192))
    await assert.rejects(openPglite(folder), {
      code: 'DATABASE_FOLDER_LOST',
      message:
        /is broken: database files are incompatible with server\. It has no snapshot\. Restore your own/,
    })
  })

  it('says that a folder cannot be written to', async () => {
    mock.method(fs, 'openSync', () => {
      throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' })
    })
    syncBuiltinESMExports()
    await assert.rejects(openPglite(folder), {
      code: 'FOLDER_UNWRITABLE',
      message: /: the disk is read-only\. Change its permissions/,
    })
  })
})

describe('a disk that fills up under the embedded database', { skip: whyNoSmallDisk() }, () => {
  it('keeps what it acknowledged', async () => {
    const disk = openSmallDisk(130)
    try {
      const folder = join(disk.folder, 'data')
      const db = await openWithRows(folder)
      disk.fill()
      const { acknowledged, error } = await writeUntilItFails(db)
      assert.equal(error.code, 'DATABASE_DISK_FULL')
      assert.ok(acknowledged > 0)
      await db.close()
      await assert.rejects(openPglite(folder), { code: 'DATABASE_DISK_FULL' })
      disk.empty()
      const again = await openPglite(folder)
      assert.ok((await textOf(again)) >= acknowledged)
      await again.close()
    } finally {
      disk.unmount()
    }
  })
})
