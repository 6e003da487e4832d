// `matoolkit snapshot list` and `restore`. A restored database comes up with everything on hold: the tenants changed without it.
import { resolve } from 'node:path'
import type { Flags } from '../cli/command-context.ts'
import type { Io } from '../cli/terminal/io.ts'
import { openShow } from '../cli/terminal/output.ts'
import { confirm } from '../cli/terminal/prompt.ts'
import type { Column, OutputFormat, Row } from '../cli/terminal/show.ts'
import { realClock } from '../clock.ts'
import { type Config, loadConfig } from '../config.ts'
import { lockFolder } from '../db/folder-lock.ts'
import { freeBytesOf, megabytes, sizeText } from '../db/free-space.ts'
import { listSnapshots, restoreSnapshot, type Snapshot } from '../db/snapshots.ts'
import type { Json } from '../domain/json.ts'
import { RESTORE } from '../domain/status.ts'
import { beginEpoch } from '../engine/restores.ts'
import { MatoolkitError } from '../errors.ts'
import { openRuntime } from './runtime.ts'

export interface SnapshotFlags {
  readonly output?: OutputFormat
  readonly yes?: true
}

const COLUMNS: readonly Column[] = [
  ['SNAPSHOT', 'name', 'whole'],
  ['TAKEN', 'takenAt'],
  ['CAUSE', 'cause'],
  ['SIZE', ({ bytes }) => sizeText(Number(bytes))],
  ['SCHEMA', 'schemaVersion'],
]

export async function showSnapshots({ output }: SnapshotFlags, io: Io): Promise<void> {
  const { dataDir } = loadConfig()
  const rows = listSnapshots(dataDir).map(rowOf)
  const empty = `There are no snapshots in "${resolve(dataDir)}".`
  await openShow(output, io).list({
    ...{ whole: { snapshots: rows as Json[] }, rows, columns: COLUMNS, empty },
  })
}

const rowOf = ({ takenAt, ...snapshot }: Snapshot): Row => ({
  ...snapshot,
  takenAt: takenAt.toISOString(),
})

export async function restoreNamed(
  name: string | undefined,
  flags: SnapshotFlags,
  io: Io,
): Promise<void> {
  const config = loadConfig()
  const dataDir = resolve(config.dataDir)
  const all = listSnapshots(dataDir)
  const snapshot = name === undefined ? all[0] : all.find((one) => one.name === name)
  if (!snapshot)
    throw new MatoolkitError('SNAPSHOT_NOT_FOUND', { name: name ?? 'newest', folder: dataDir })
  const unlock = lockFolder(dataDir)
  try {
    const takenAt = snapshot.takenAt.toISOString()
    const what = `The database in "${dataDir}" becomes what it was at ${takenAt}. What happened since then is unknown to it, and everything is held until you resume. The present files are moved aside.`
    await confirm({ io, flags: { ...flags } as Flags }, { what, members: 0 })
    requireRoom(dataDir, snapshot)
    const { movedTo } = await restoreSnapshot(dataDir, snapshot, realClock().now(), (copy) =>
      beginAnew({ ...config, databaseUrl: null, dataDir: copy }, snapshot),
    )
    const whole = { ...rowOf(snapshot), folder: dataDir, movedTo }
    await openShow(flags.output, io).one(whole as Json, RESTORED)
    io.err(
      'Everything is held. Start it, check the tenants, then run "matoolkit resume --all". The files moved aside can be deleted once all is well.',
    )
  } finally {
    unlock()
  }
}

const RESTORED: readonly Column[] = [
  ['SNAPSHOT', 'name'],
  ['TAKEN', 'takenAt'],
  ['DATABASE', 'folder'],
  ['FORMER FILES', 'movedTo'],
]

/** The copy and the recovery of the database. */
const SPARE_BYTES = megabytes(64)

function requireRoom(folder: string, { bytes }: Snapshot): void {
  const [free, needed] = [freeBytesOf(folder), bytes + SPARE_BYTES]
  if (free >= needed) return
  const reason = `${sizeText(free)} are free, and a restore needs ${sizeText(needed)}`
  throw new MatoolkitError('DATABASE_DISK_FULL', { folder, reason })
}

/** Before the copy takes the place of the database, so that it never runs without the hold and the new epoch. */
async function beginAnew(config: Config, { takenAt }: Snapshot): Promise<void> {
  const { engine, close } = await openRuntime({
    ...{ config, clock: realClock(), roles: [] },
    ...{ stopping: new AbortController().signal, onWaiting: () => {} },
  })
  try {
    await beginEpoch(engine, {
      actor: RESTORE,
      because: `the snapshot of ${takenAt.toISOString()}, by "matoolkit snapshot restore"`,
    })
  } finally {
    await close()
  }
}
