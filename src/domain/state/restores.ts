// A restore from a backup, as people are told about it: what it found, what it means, and what to do next.
import { durationText } from '../../base/text/duration.ts'
import type { Json } from '../../base/text/json.ts'

/** Where PostgreSQL ran: cluster, database and timeline, as database_sign() in sql/001_state.sql writes them. */
interface Sign {
  readonly cluster: string
  readonly database: string
  readonly timeline: string
}

function signOf(sign: string): Sign {
  const [cluster = '', database = '', timeline = ''] = sign.split('/')
  return { cluster, database, timeline }
}

/** Only the timeline differs: a standby took over, or the server was recovered to a point in time. */
export function isOtherTimeline(before: string, now: string): boolean {
  const [a, b] = [signOf(before), signOf(now)]
  return a.cluster === b.cluster && a.database === b.database && a.timeline !== b.timeline
}

/** Why the database counts as restored. Without a full stop. */
export function tellMoved(before: string, now: string): string {
  const [a, b] = [signOf(before), signOf(now)]
  if (a.cluster !== b.cluster) return 'the database is now on another PostgreSQL server'
  if (a.database !== b.database) return 'the database was created again on its server'
  return 'the server was recovered to a point in time, or a standby took over'
}

/** Why a running process knows it: what it has seen is gone. Without a full stop. */
export const tellWentBack = (eventId: number): string =>
  `event ${eventId} was in the database and is gone`

/** The reason of the hold. */
export const restoreReason = (because: string, backupAt: Date, now: Date): string =>
  `restored from a backup (${because}); its newest record is ${durationText(+now - +backupAt)} old: see "matoolkit db restored --list" before you resume`

/** Why a result of an earlier epoch changes nothing. */
export const beforeRestore = (jobId: string): string =>
  `job ${jobId} was sent before the database was restored from a backup; its result changes nothing`

/** What ran after the backup and is lost to the database: a result that tells of it. */
interface LostResult {
  readonly status: 'Success' | 'Failure'
  readonly functionName?: string | null | undefined
  readonly workerId?: string | null | undefined
  readonly timestamp?: string | null | undefined
}

export const detailsOfLost = (result: LostResult): Json => ({
  status: result.status,
  functionName: result.functionName ?? null,
  workerId: result.workerId ?? null,
  endedAt: result.timestamp ?? null,
})
