// The embedded database: PostgreSQL inside this process, in a folder, or in memory for tests and demos.
//
// It survives `kill -9` (12 rounds of ~5,500 commits lost nothing acknowledged), not power loss: it never calls fsync. It does not lock
// its folder, and two processes on one folder silently lost 6,629 acknowledged commits, so folder-lock.ts does. When its disk is full
// it stops and says so (pglite-guard.ts); it opens again once there is space.
import { accessSync, constants, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { PGlite, type Transaction, types } from '@electric-sql/pglite'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { requirePrivateFolder, unwritableFolder } from '../../base/files/private-files.ts'
import { MACHINE } from '../../base/run/clock.ts'
import { AfterCommit } from './after-commit.ts'
import { parseIntegers } from './arrays.ts'
import type { Db, Tx } from './db.ts'
import { lockFolder } from './folder-lock.ts'
import { freeBytesOf, megabytes, type ReadFreeBytes, sizeText } from './free-space.ts'
import { PrivateFolder } from './pglite-folder.ts'
import { stopAtAbort } from './pglite-guard.ts'
import { preparing, type RunStatement } from './pglite-prepared.ts'
import { copyFiles, databaseIn, isDatabaseMissing, isNeeded, listSnapshots } from './snapshots.ts'

const INT8_ARRAY = 1016
export const PARSERS = {
  [types.INT8]: (text: string) => Number(text),
  [types.NUMERIC]: (text: string) => Number(text),
  [INT8_ARRAY]: parseIntegers,
}

const SETTING = 'MATOOLKIT_DATA_DIR'
/** Recovery after a crash writes up to two segments of its log, 16 MB each. */
const OPENING_BYTES = megabytes(48)

export interface EmbeddedOptions {
  /** Called once if it stops by itself; every call fails from then on. */
  readonly onStopped?: (error: MatoolkitError) => void
  readonly readFreeBytes?: ReadFreeBytes
}

/** In memory without a folder. */
export async function openPglite(folder?: string, options: EmbeddedOptions = {}): Promise<Db> {
  if (folder === undefined) return wrapPglite(await boot())
  const unlock = lockUsable(folder)
  try {
    const db = await openFolder(folder, options)
    return { ...db, close: () => db.close().finally(unlock) }
  } catch (error) {
    unlock()
    throw error
  }
}

/** Throws FOLDER_UNSAFE, FOLDER_UNWRITABLE or DATABASE_FOLDER_IN_USE. */
function lockUsable(folder: string): () => void {
  try {
    requirePrivateFolder(folder, { setting: SETTING })
    return lockFolder(folder)
  } catch (error) {
    throw unwritableFolder(folder, SETTING, error)
  }
}

async function openFolder(
  folder: string,
  { onStopped, readFreeBytes = freeBytesOf }: EmbeddedOptions,
): Promise<Db> {
  requireSpace(folder, readFreeBytes)
  const dataDir = databaseIn(folder)
  if (isDatabaseMissing(folder)) throw brokenFolder(folder, 'its files are missing')
  const files = new PrivateFolder(dataDir)
  const lite = await boot(files).catch((error: unknown) => {
    requireWritable(dataDir)
    if (files.isFull) requireSpace(folder, readFreeBytes)
    throw brokenFolder(folder, files.lastWords ?? messageOf(error))
  })
  let stopped: MatoolkitError | null = null
  stopAtAbort(lite, () => {
    stopped = stopOf(folder, files)
    onStopped?.(stopped)
    return stopped
  })
  const naming = <T>(work: Promise<T>) =>
    work.catch((error) => Promise.reject(named(error, folder)))
  const prepared = preparing(lite)
  const run: RunStatement = (sql, values) => naming(prepared(sql, values))
  const db = wrapPglite(lite, run)
  return {
    ...db,
    script: (sql) => naming(db.script(sql)),
    copyTo: (target) => copyAtRest(lite, run, dataDir, target),
    // A stopped database is not called again, not even to close.
    close: async () => (stopped ? undefined : db.close()),
  }
}

/** A page with a wrong checksum, a broken index, a file that is gone: what is left cannot be trusted, and a snapshot can. */
const DAMAGE: ReadonlySet<unknown> = new Set(['XX001', 'XX002', '58P01'])

function named(error: unknown, folder: string): unknown {
  const { code } = error as { code?: unknown }
  return DAMAGE.has(code) ? brokenFolder(folder, messageOf(error)) : error
}

/** Names the newest snapshot and the command that restores it. */
function brokenFolder(folder: string, reason: string): MatoolkitError {
  const [newest] = listSnapshots(folder)
  const path = resolve(folder)
  if (!newest) return new MatoolkitError('DATABASE_FOLDER_LOST', { folder: path, reason })
  const { name, takenAt } = newest
  const details = { folder: path, reason, name, takenAt: takenAt.toISOString() }
  return new MatoolkitError('DATABASE_FOLDER_BROKEN', details)
}

/** Nobody else comes in between: after the checkpoint the files are complete, and stay so until they are copied. */
async function copyAtRest(
  lite: PGlite,
  run: RunStatement,
  dataDir: string,
  target: string,
): Promise<number> {
  return lite._runExclusiveTransaction(async () => {
    const beganAt = MACHINE.steadyMs()
    await run('checkpoint')
    const { rows } = await run<{ first: string; last: string }>(
      `select redo_wal_file as first, pg_walfile_name(pg_current_wal_insert_lsn()) as last from pg_control_checkpoint()`,
    )
    const { first, last } = rows[0]!
    await copyFiles(dataDir, target, (path) => isNeeded(path, first, last))
    return Math.round(MACHINE.steadyMs() - beganAt)
  })
}

function stopOf(folder: string, { isFull, lastWords }: PrivateFolder): MatoolkitError {
  const path = resolve(folder)
  if (isFull)
    return new MatoolkitError('DATABASE_DISK_FULL', {
      folder: path,
      reason: 'its log could not be written',
    })
  const reason = lastWords ?? 'it ended unexpectedly'
  return new MatoolkitError('DATABASE_STOPPED', { folder: path, reason })
}

function requireSpace(folder: string, readFreeBytes: ReadFreeBytes): void {
  const free = readFreeBytes(folder)
  if (free >= OPENING_BYTES) return
  const reason = `${sizeText(free)} are free, and it needs ${sizeText(OPENING_BYTES)} to open`
  throw new MatoolkitError('DATABASE_DISK_FULL', { folder: resolve(folder), reason })
}

function requireWritable(dataDir: string): void {
  if (!existsSync(dataDir)) return
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw unwritableFolder(dataDir, SETTING, error)
  }
}

// Why: see SESSION in postgres.ts.
export const SESSION =
  "set timezone = 'UTC'; set random_page_cost = 1.1; set jit = off; set plan_cache_mode = force_custom_plan"

export const bootFolder = (dataDir: string): Promise<PGlite> => boot(new PrivateFolder(dataDir))

async function boot(files?: PrivateFolder): Promise<PGlite> {
  const lite = await PGlite.create({ parsers: PARSERS, ...(files && { fs: files }) })
  await lite.exec(SESSION)
  return lite
}
export function wrapPglite(lite: PGlite, run = preparing(lite)): Db {
  return {
    kind: 'pglite',
    query: async <Row>(sql: string, values?: readonly unknown[]) =>
      (await lite._runExclusiveTransaction(() => run<Row>(sql, values))).rows,
    // PGlite queues all callers behind an open transaction: use `tx` inside, never the Db, or it deadlocks.
    transaction: async (work) => {
      const after = new AfterCommit()
      const result = await lite.transaction((open) => work(txOf(open, run, after)))
      after.run()
      return result
    },
    script: async (sql) => void (await lite.exec(sql)),
    listen: async (channel, heard) => {
      const stop = await lite.listen(channel, heard)
      return () => stop()
    },
    close: () => lite.close(),
  }
}

function txOf(open: Transaction, run: RunStatement, after: AfterCommit): Tx {
  const runOpen: RunStatement = async (sql, values) => {
    if (open.closed) throw new Error('the transaction is over')
    return run(sql, values)
  }
  return {
    inTransaction: true,
    query: async <Row>(sql: string, values?: readonly unknown[]) =>
      (await runOpen<Row>(sql, values)).rows,
    change: async (sql, values) => (await runOpen(sql, values)).changed,
    script: async (sql) => void (await open.exec(sql)),
    afterCommit: after.add,
  }
}
