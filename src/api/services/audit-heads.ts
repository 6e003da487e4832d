// Sends the heads of the audit's chain elsewhere as they are sealed: to a file, to a webhook. Who can change the database cannot change
// them there, and a check against one shows rows that were cut off. A head that could not be sent is sent with the next one.
import { appendFile } from 'node:fs/promises'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { OWNER_ONLY } from '../../base/files/private-files.ts'
import { dropBody } from '../../base/run/read-answer.ts'
import type { Config } from '../../base/settings/config.ts'
import type { ChainHead } from '../../db/orders/audit-sealing.ts'

interface SentHead {
  readonly at: string
  readonly head: ChainHead
}

type Send = (heads: readonly SentHead[], signal: AbortSignal) => Promise<unknown>

/** Each newer head covers the older ones, so a long outage costs no memory. */
const WAITING_MAX = 1_000
const WEBHOOK_TIMEOUT_MS = 10_000

/** The address of a webhook is a secret: only its host is named. Throws AUDIT_HEADS_UNSENT from `send` when a place cannot be reached; the others have got theirs. */
export function makeHeadSender({
  auditHeadsFile: file,
  auditHeadsUrl: url,
}: Pick<Config, 'auditHeadsFile' | 'auditHeadsUrl'>) {
  const places = [
    ...(file === null ? [] : [placeOf(file, (heads) => append(file, heads))]),
    ...(url === null
      ? []
      : [placeOf(new URL(url).host, (heads, signal) => post(url, heads, signal))]),
  ]
  return {
    note: ({ sealed, hash }: ChainHead, now: Date): void => {
      if (sealed === 0) return
      const sent = { at: now.toISOString(), head: { sealed, hash } }
      for (const place of places) place.waiting = [...place.waiting, sent].slice(-WAITING_MAX)
    },
    send: async (signal: AbortSignal): Promise<void> => {
      const failures: unknown[] = []
      for (const place of places)
        await deliver(place, signal).catch((error) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
  }
}

interface Place {
  readonly name: string
  readonly send: Send
  waiting: readonly SentHead[]
}

const placeOf = (name: string, send: Send): Place => ({ name, send, waiting: [] })

async function deliver(place: Place, signal: AbortSignal): Promise<void> {
  const heads = place.waiting
  if (heads.length === 0) return
  try {
    await place.send(heads, signal)
  } catch (error) {
    const details = { place: place.name, reason: messageOf(error) }
    throw new MatoolkitError('AUDIT_HEADS_UNSENT', details, { cause: error })
  }
  place.waiting = place.waiting.filter((head) => !heads.includes(head))
}

const append = (file: string, heads: readonly SentHead[]): Promise<void> =>
  appendFile(file, heads.map((head) => `${JSON.stringify(head)}\n`).join(''), {
    mode: OWNER_ONLY,
    flush: true,
  })

async function post(url: string, heads: readonly SentHead[], signal: AbortSignal): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ heads }),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_TIMEOUT_MS)]),
  })
  await dropBody(answer)
  if (!answer.ok) throw new Error(`it answered ${answer.status}`)
}
