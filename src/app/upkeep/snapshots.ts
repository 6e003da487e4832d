// `matoolkit db snapshots`, `backup` and `restore`. A restored database comes up with everything on hold: the tenants changed without it.
import { join, resolve } from 'node:path'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type RealClock, realClock } from '../../base/run/clock.ts'
import { type Config, loadConfig } from '../../base/settings/config.ts'
import type { Flags } from '../../cli/program/command-context.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openShow } from '../../cli/terminal/output.ts'
import { confirm } from '../../cli/terminal/prompt.ts'
import type { Column, OutputFormat } from '../../cli/terminal/show.ts'
import { lockFolder } from '../../db/connection/folder-lock.ts'
import { freeBytesOf, megabytes, sizeText } from '../../db/connection/free-space.ts'
import {
  listSnapshots,
  restoreSnapshot,
  type Snapshot,
  takeSnapshot,
} from '../../db/connection/snapshots.ts'
import { RESTORE } from '../../domain/state/holds.ts'
import { beginEpoch } from '../../engine/orders/restores.ts'
import { openRuntime, type Runtime } from '../roles/runtime.ts'

export interface SnapshotFlags {
  readonly output?: OutputFormat
  readonly yes?: true
}

type SnapshotRow = ReturnType<typeof rowOf>

const COLUMNS: readonly Column<SnapshotRow>[] = [
  ['SNAPSHOT', 'name', 'whole'],
  ['TAKEN', 'takenAt'],
  ['CAUSE', 'cause'],
  ['SIZE', ({ bytes }) => sizeText(bytes)],
  ['SCHEMA', 'schemaVersion'],
]

export async function showSnapshots({ output }: SnapshotFlags, io: Io): Promise<void> {
  const { dataDir } = loadConfig()
  const rows = listSnapshots(dataDir).map(rowOf)
  const empty = `There are no snapshots in "${resolve(dataDir)}".`
  await openShow(output, io).list({
    whole: { snapshots: rows },
    rows,
    columns: COLUMNS,
    empty,
  })
}

const rowOf = ({ takenAt, ...snapshot }: Snapshot) => ({
  ...snapshot,
  takenAt: takenAt.toISOString(),
})

/** A snapshot now. The program must be stopped: while it runs, it takes them itself. */
export async function backUp(flags: SnapshotFlags, io: Io): Promise<void> {
  const config = loadConfig()
  requireEmbedded(config, 'pg_dump --format=custom --file=matoolkit.dump "$DATABASE_URL"')
  const dataDir = resolve(config.dataDir)
  const clock = realClock()
  const { db, close } = await openIdle(config, clock)
  try {
    const outcome = await takeSnapshot(db, {
      dataDir,
      cause: 'asked',
      now: clock.now(),
      keepFreeBytes: megabytes(config.minFreeMb),
    })
    if ('skipped' in outcome)
      throw new MatoolkitError('DATABASE_DISK_FULL', { folder: dataDir, reason: outcome.skipped })
    const { snapshot } = outcome
    const whole = { ...rowOf(snapshot), folder: join(dataDir, 'snapshots', snapshot.name) }
    await openShow(flags.output, io).one(whole, BACKED_UP)
  } finally {
    await close()
  }
}

const BACKED_UP: readonly Column<SnapshotRow & { readonly folder: string }>[] = [
  ...COLUMNS,
  ['FOLDER', 'folder', 'whole'],
]

/** A server has better means than a program of ours: consistent, parallel, and known to those who run it. */
function requireEmbedded({ databaseUrl }: Config, command: string): void {
  if (databaseUrl === null) return
  const reason = `DATABASE_URL names a server, which has its own means: ${command}. See docs/operating.md, "Back up and restore".`
  throw new MatoolkitError('USAGE', { reason })
}

export async function restoreNamed(
  name: string | undefined,
  flags: SnapshotFlags,
  io: Io,
): Promise<void> {
  const config = loadConfig()
  requireEmbedded(config, 'pg_restore --clean --if-exists --dbname="$DATABASE_URL" matoolkit.dump')
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
    await openShow(flags.output, io).one(whole, RESTORED)
    io.err(
      'Everything is held. Start it, check the tenants, then run "matoolkit resume --all". The files moved aside can be deleted once all is well.',
    )
  } finally {
    unlock()
  }
}

const RESTORED: readonly Column<
  SnapshotRow & { readonly folder: string; readonly movedTo: string | null }
>[] = [
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
  const { engine, close } = await openIdle(config, realClock())
  try {
    await beginEpoch(engine, {
      actor: RESTORE,
      because: `the snapshot of ${takenAt.toISOString()}, by "matoolkit db restore"`,
    })
  } finally {
    await close()
  }
}

/** The database without any role. */
export const openIdle = (config: Config, clock: RealClock): Promise<Runtime> =>
  openRuntime({
    config,
    clock,
    roles: [],
    stopping: new AbortController().signal,
    onWaiting: () => {},
  })
