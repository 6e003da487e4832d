// Watches the free space of the embedded database. Well before it is gone everything is put on hold, so that nothing is half done when
// the database can write no more. An operator resumes once there is space again.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Service } from '../../base/run/service.ts'
import {
  freeBytesOf,
  megabytes,
  type ReadFreeBytes,
  sizeText,
} from '../../db/connection/free-space.ts'
import { findHold } from '../../db/state/holds.ts'
import { DISK_WATCH, SYSTEM } from '../../domain/state/holds.ts'
import { giveReason, holdScope } from '../../engine/orders/holds.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

const INTERVAL_MS = 2_000
/** Space counts as back only with some to spare: at the limit it would come and go. */
const BACK_FACTOR = 1.2

export interface DiskWatchOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly folder: string
  readonly minFreeMb: number
  readonly readFreeBytes?: ReadFreeBytes
  /** A sentence for the log, when everything is held and when there is space again. */
  readonly onChange: (sentence: string) => void
  readonly onError: (error: unknown) => void
}

export interface DiskWatch extends Service {
  /** One look at the disk. */
  look(): Promise<void>
}

export function makeDiskWatch(options: DiskWatchOptions): DiskWatch {
  const { engine, clock, folder, minFreeMb, onChange, onError } = options
  const { readFreeBytes = freeBytesOf } = options
  const least = megabytes(minFreeMb)
  /** Also at the start: the last process may have ended on a full disk. */
  let wasLow = true
  /** A disk that is full to its last byte takes no hold: it is written as soon as one fits. */
  let isUnheld = false
  const look = async () => {
    const free = readFreeBytes(folder)
    const isLow = free < least
    if (isLow || isUnheld) {
      wasLow = true
      isUnheld = true
      const reason = isLow ? lowText(folder, free, minFreeMb) : fullText(free)
      if (await holdAll(engine, reason)) onChange(`Everything is held: ${reason}`)
      isUnheld = false
    } else if (wasLow && free >= least * BACK_FACTOR) {
      const reason = backText(free)
      if (await offerResume(engine, reason)) onChange(`${reason}: matoolkit resume --all`)
      wasLow = false
    }
  }
  const loop = everyLoop({
    name: 'disk watch',
    clock,
    intervalMs: INTERVAL_MS,
    runOnce: look,
    onError,
  })
  return { ...loop, look }
}

const lowText = (folder: string, free: number, minFreeMb: number): string =>
  `only ${sizeText(free)} are free on the disk of the embedded database, and ${sizeText(megabytes(minFreeMb))} must stay free (MATOOLKIT_MIN_FREE_MB); free some space for "${folder}", then resume`

const fullText = (free: number): string =>
  `the disk of the embedded database was full, so that not even a hold could be written; ${sizeText(free)} are free again`

const backText = (free: number): string =>
  `The disk of the embedded database was nearly full; ${sizeText(free)} are free again, so you can resume`

/** False when the whole system is held already, by whomever. */
async function holdAll(engine: Engine, reason: string): Promise<boolean> {
  if (await findHold(engine.db, SYSTEM)) return false
  try {
    await holdScope(engine, { ...SYSTEM, scope: 'system', actor: DISK_WATCH, reason })
    return true
  } catch (error) {
    // An operator was quicker.
    if (error instanceof MatoolkitError && error.code === 'REFUSED') return false
    throw error
  }
}

/** Says in the hold itself that it can be ended. False when it is not ours. */
async function offerResume(engine: Engine, reason: string): Promise<boolean> {
  const hold = await findHold(engine.db, SYSTEM)
  if (hold?.heldBy !== DISK_WATCH) return false
  await giveReason(engine, { ...SYSTEM, scope: 'system', actor: DISK_WATCH, reason })
  return true
}
