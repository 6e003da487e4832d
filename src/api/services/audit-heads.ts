// Writes the heads of the audit's chain to a file as they are sealed, for a collector. Who can change the database cannot change
// them there, and a check against one shows rows that were cut off. A head that could not be sent is sent with the next one.
import { appendFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { OWNER_ONLY } from '../../base/files/private-files.ts'
import type { Config } from '../../base/settings/config.ts'
import type { ChainHead } from '../../db/orders/audit-sealing.ts'

interface SentHead {
  readonly at: string
  readonly head: ChainHead
}

/** Each newer head covers the older ones, so a long outage costs no memory. */
const WAITING_MAX = 1_000

/** Throws AUDIT_HEADS_UNSENT from `send` when the file cannot be written. */
export function makeHeadSender({ auditHeadsFile: file }: Pick<Config, 'auditHeadsFile'>) {
  let waiting: readonly SentHead[] = []
  return {
    note: ({ sealed, hash }: ChainHead, now: Date): void => {
      if (sealed === 0 || file === null) return
      const sent = { at: now.toISOString(), head: { sealed, hash } }
      waiting = [...waiting, sent].slice(-WAITING_MAX)
    },
    send: async (): Promise<void> => {
      const heads = waiting
      if (file === null || heads.length === 0) return
      try {
        const lines = heads.map((head) => `${JSON.stringify(head)}\n`).join('')
        await appendFile(file, lines, { mode: OWNER_ONLY, flush: true })
      } catch (error) {
        const details = { place: file, reason: messageOf(error) }
        throw new MatoolkitError('AUDIT_HEADS_UNSENT', details, { cause: error })
      }
      waiting = waiting.filter((head) => !heads.includes(head))
    },
  }
}
