// `matoolkit db purge` and `erase` on a server, as the application: a role that cannot change events.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { createReadStream, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { verifyPack } from '../../../../src/api/evidence/verify-pack.ts'
import { setUpRole } from '../../../../src/app/upkeep/database-roles.ts'
import {
  type RetentionAct,
  type RetentionFlags,
  runRetention,
} from '../../../../src/app/upkeep/retention/commands.ts'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { setEnv } from '../../../cli/against-api.ts'
import { recordingIo } from '../../../cli/recording-io.ts'
import { openRole, type TestRole } from '../../../kit/database-roles.ts'
import { openTestPostgres } from '../../../kit/databases.ts'
import { runbook, step } from '../../../stories/looking.ts'
import { openWorld, START, type World } from '../../../stories/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-retention-'))
const archiveDir = join(folder, 'archive')
const MEMBERS = 2

interface Told {
  readonly dryRun: boolean
  readonly batches: readonly {
    readonly batchId: number
    readonly result: string
    readonly rows: number | null
    readonly file: string | null
  }[]
}

const newKeyPem = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

async function run(act: RetentionAct, flags: RetentionFlags = {}) {
  const io = recordingIo()
  await runRetention(act, { output: 'json', yes: true, ...flags }, io)
  return { exit: io.exitCode, ...(JSON.parse(io.outText()) as Told) }
}

describe('retention by hand', () => {
  let world: World
  let app: TestRole
  before(async () => {
    const database = await openTestPostgres()
    world = await openWorld({ database })
    app = await openRole(database, 'app')
    await setUpRole(database.db, { name: app.name, workerIds: [] }, START)
    await world.publish(runbook('wave', { 'cutover T-0': [step('create')] }))
    await world.batch('wave', MEMBERS)
    await world.settle()
    setEnv({ DATABASE_URL: app.url, MATOOLKIT_ARCHIVE: archiveDir })
  })
  after(async () => {
    setEnv({
      DATABASE_URL: undefined,
      MATOOLKIT_ARCHIVE: undefined,
      MATOOLKIT_EVIDENCE_KEY: undefined,
    })
    await app[Symbol.asyncDispose]()
    await world.close()
    rmSync(folder, { recursive: true })
  })
  const stepsLeft = async () => (await world.db.query('select from step_executions')).length

  it('asks which batches, and refuses those that ended a moment ago or do not exist', async () => {
    await assert.rejects(run('purge'), { code: 'USAGE', message: /--older-than 90d/ })
    await assert.rejects(run('erase', { olderThan: '3d' }), { code: 'USAGE', message: /"3d"/ })
    await assert.rejects(run('purge', { batch: ['99'] }), { code: 'REFUSED', message: /99/ })
  })

  it('a dry run tells what would happen and changes nothing', async () => {
    const { dryRun, batches } = await run('purge', { olderThan: '30d', dryRun: true })
    assert.deepEqual([dryRun, batches.map(({ result }) => result)], [true, ['would purge']])
    assert.throws(() => readdirSync(archiveDir), { code: 'ENOENT' })
    assert.equal(await stepsLeft(), MEMBERS)
  })

  it('keeps a batch without a key that signs its pack', async () => {
    const kept = await run('purge', { batch: ['1'] })
    assert.deepEqual([kept.exit, kept.batches[0]!.result], [EXIT.failed, 'failed'])
    assert.equal(await stepsLeft(), MEMBERS)
  })

  it('purges after writing a pack, and tells what was done', async () => {
    setEnv({ MATOOLKIT_EVIDENCE_KEY: newKeyPem() })
    const purged = await run('purge', { olderThan: '30d' })
    const { result, file } = purged.batches[0]!
    assert.deepEqual([purged.exit, result, await stepsLeft()], [EXIT.ok, 'purged', 0])
    const { findings, manifest } = await verifyPack(createReadStream(file!), null)
    assert.deepEqual([findings, manifest!.tables.steps], [[], MEMBERS])
    await assert.rejects(app.db.query('delete from events'), { code: '42501' })
    await assert.rejects(run('purge', { batch: ['1'] }), { code: 'REFUSED' })
  })
})
