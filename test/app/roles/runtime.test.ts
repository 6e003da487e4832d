// What a process opens: an embedded database from an earlier release is kept before its tables change.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openRuntime } from '../../../src/app/roles/runtime.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { readConfig } from '../../../src/base/settings/config.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'

describe('an upgrade of the embedded database', () => {
  it('comes after a snapshot of what is there, once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'matoolkit-upgrade-'))
    const read = readConfig({ MATOOLKIT_DATA_DIR: folder })
    assert.ok('config' in read)
    const versions: number[] = []
    const open = () =>
      openRuntime({
        config: read.config,
        clock: realClock(),
        roles: ['scheduler'],
        stopping: new AbortController().signal,
        onWaiting: () => {},
        beforeUpgrade: async (db) => {
          const [row] = await db.query<{ newest: number }>(
            'select max(version) as newest from schema_migrations',
          )
          versions.push(row!.newest)
        },
      })
    try {
      const older = await openPglite(folder)
      await migrate(older, new Date('2026-03-01T10:00:00Z'), migrationsOnDisk().slice(0, -1))
      await older.close()
      for (let starts = 0; starts < 2; starts += 1) await (await open()).close()
      assert.deepEqual(versions, [migrationsOnDisk().length - 1])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
