// `matoolkit db backup` and `restore`: snapshots of the embedded database by hand; a server has its own means.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { backUp, restoreNamed } from '../../../src/app/upkeep/snapshots.ts'
import { openPglite } from '../../../src/db/connection/pglite.ts'
import { findHold } from '../../../src/db/state/holds.ts'
import { SYSTEM } from '../../../src/domain/state/holds.ts'
import { setEnv } from '../../cli/against-api.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { makeDataFolder } from '../../kit/schema-copies.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-backup-'))
const dataDir = join(folder, 'data')
after(() => {
  setEnv({ DATABASE_URL: undefined, MATOOLKIT_DATA_DIR: undefined })
  rmSync(folder, { recursive: true, force: true })
})

it('backs the embedded database up, and brings it back on hold', async () => {
  await makeDataFolder(dataDir)
  setEnv({ MATOOLKIT_DATA_DIR: dataDir })
  const io = recordingIo()
  await backUp({ output: 'json' }, io)
  const { name, cause, folder: at } = JSON.parse(io.outText()) as Record<string, string>
  assert.deepEqual([cause, at], ['asked', join(dataDir, 'snapshots', name!)])
  await restoreNamed(name, { output: 'json', yes: true }, recordingIo())
  assert.equal(readdirSync(dataDir).filter((file) => file.startsWith('pgdata-until-')).length, 1)
  const db = await openPglite(dataDir)
  const hold = await findHold(db, SYSTEM)
  await db.close()
  assert.match(hold!.reason, /^restored from a backup \(the snapshot of /)
})

it('leaves a server to its own means, with the command', async () => {
  setEnv({ DATABASE_URL: 'postgres://nobody@localhost:1/none' })
  await assert.rejects(backUp({}, recordingIo()), {
    code: 'USAGE',
    message: /pg_dump --format=custom/,
  })
  const restored = restoreNamed(undefined, { yes: true }, recordingIo())
  await assert.rejects(restored, { code: 'USAGE', message: /pg_restore --clean/ })
})
