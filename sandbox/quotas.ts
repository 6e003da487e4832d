// Quotas as Microsoft scopes them: the directory per app and tenant, invitations per tenant, mail per mailbox, Exchange per tenant. Sources:
// learn.microsoft.com/graph/throttling-limits for Graph (token buckets, headers, 4 requests at once to a mailbox). Exchange publishes
// nothing: only its message tells of a cap on concurrent requests; that it refuses just the calls above the cap, and the meaning of its
// `Rate-Limit-*` headers, are unconfirmed.
import { z } from 'zod'
import type { SandboxResponse } from './call.ts'
import type { TokenAudience } from './token-service.ts'

const seconds = z.number().min(0).max(86_400)
const calls = z.int().min(1).max(1_000_000)

/** Without a quota there is none. A call that exceeds one is answered with 429 and the service's headers, at once. */
export const quotasSchema = z.strictObject({
  /** Microsoft documents 3,500, 5,000 or 8,000 by the size of the tenant. */
  directoryUnitsPer10Sec: calls.optional(),
  /** Microsoft documents 3,000. */
  directoryWritesPer150Sec: calls.optional(),
  /** Microsoft documents 150. */
  invitationsPer5Sec: calls.optional(),
  /** Microsoft documents 4. */
  mailboxConcurrency: calls.optional(),
  exchangeConcurrency: calls.optional(),
  exchangePerMin: calls.optional(),
  /** How long every call takes that is not refused. */
  callSec: seconds.default(0),
  /** Retry-After when one is exceeded. */
  retryAfterSec: seconds.default(5),
})

type Quotas = z.output<typeof quotasSchema>

const MAIL =
  /^\/(?:v1\.0|beta)\/users\/([^/]+)\/(?:sendMail|messages|mailFolders|mailboxSettings|events|calendar|contacts|photo)(?:\/|$)/i
const INVITATIONS = /^\/(?:v1\.0|beta)\/invitations$/i
/** Sent with POST, yet they change nothing. */
const READS = /\/(?:checkMember\w+|getMember\w+|getByIds)$/i

export type Workload = 'exchange' | 'directory' | 'invitations' | `mail ${string}`

/** What is throttled together. */
export function workloadOf(api: TokenAudience, path: string): Workload {
  if (api === 'exchange') return 'exchange'
  const mailbox = MAIL.exec(path)?.[1]
  if (mailbox !== undefined) return `mail ${mailbox.toLowerCase()}`
  return INVITATIONS.test(path) ? 'invitations' : 'directory'
}

/** Graph tells of its use from 80 % to 180 %. */
const TOLD_FROM = 0.8
const TOLD_TO = 1.8

export type ExceededQuota = 'units' | 'writes' | 'rate' | 'concurrency'

export interface QuotaCall {
  readonly workload: Workload
  readonly tenantId: string
  readonly method: string
  readonly path: string
}

/** A call that counts. Leave when it ends. */
interface Admitted {
  leave(): void
  /** Counts what the answer cost and returns the headers that tell of it. */
  charge(response: SandboxResponse): Record<string, string>
}

export type Admission = { readonly exceeded: ExceededQuota } | Admitted

interface Bucket {
  readonly name: ExceededQuota
  readonly size: number
  readonly perSec: number
}

interface Fill {
  used: number
  atMs: number
}

export class QuotaUse {
  readonly #calls = new Map<string, number>()
  readonly #fills = new Map<string, Fill>()

  admit(call: QuotaCall, quotas: Quotas, now: Date): Admission {
    const scope = `${call.workload} ${call.tenantId}`
    const underWay = this.#calls.get(scope) ?? 0
    if (underWay >= concurrencyOf(call.workload, quotas)) return { exceeded: 'concurrency' }
    const buckets = bucketsOf(call, quotas)
    const fillOf = (bucket: Bucket) => this.#fill(`${scope} ${bucket.name}`, bucket, now)
    const full = buckets.find((bucket) => fillOf(bucket).used >= bucket.size)
    if (full) return { exceeded: full.name }
    this.#calls.set(scope, underWay + 1)
    return {
      leave: () => {
        const left = (this.#calls.get(scope) ?? 1) - 1
        if (left > 0) this.#calls.set(scope, left)
        else this.#calls.delete(scope)
      },
      charge: (response) => {
        const shares = buckets.map((bucket) => {
          const fill = fillOf(bucket)
          fill.used += bucket.name === 'units' ? unitsIn(response) : 1
          return fill.used / bucket.size
        })
        return headersOf(call.workload, buckets, Math.max(0, ...shares), now)
      },
    }
  }

  /** Refilled evenly up to now. */
  #fill(key: string, { perSec }: Bucket, now: Date): Fill {
    const fill = this.#fills.get(key) ?? { used: 0, atMs: +now }
    fill.used = Math.max(0, fill.used - ((+now - fill.atMs) / 1_000) * perSec)
    fill.atMs = +now
    this.#fills.set(key, fill)
    return fill
  }
}

const unitsIn = ({ headers }: SandboxResponse): number =>
  Number(headers?.['x-ms-resource-unit'] ?? 1)

function concurrencyOf(workload: Workload, quotas: Quotas): number {
  if (workload === 'exchange') return quotas.exchangeConcurrency ?? Infinity
  return workload.startsWith('mail ') ? (quotas.mailboxConcurrency ?? Infinity) : Infinity
}

function bucketsOf({ workload, method, path }: QuotaCall, quotas: Quotas): Bucket[] {
  const isWrite = method !== 'GET' && !READS.test(path)
  const all: [isMeant: boolean, name: ExceededQuota, size: number | undefined, sec: number][] = [
    [workload === 'directory', 'units', quotas.directoryUnitsPer10Sec, 10],
    [workload === 'directory' && isWrite, 'writes', quotas.directoryWritesPer150Sec, 150],
    [workload === 'invitations', 'rate', quotas.invitationsPer5Sec, 5],
    [workload === 'exchange', 'rate', quotas.exchangePerMin, 60],
  ]
  return all.flatMap(([isMeant, name, size, sec]) =>
    isMeant && size !== undefined ? [{ name, size, perSec: size / sec }] : [],
  )
}

function headersOf(
  workload: Workload,
  [bucket]: readonly Bucket[],
  share: number,
  now: Date,
): Record<string, string> {
  if (workload === 'exchange' && bucket) {
    const left = Math.max(0, Math.floor(bucket.size * (1 - share)))
    const resetMs = +now + ((bucket.size * share) / bucket.perSec) * 1_000
    return {
      'rate-limit-remaining': String(left),
      'rate-limit-reset': new Date(resetMs).toISOString(),
    }
  }
  if (workload !== 'directory' || share < TOLD_FROM) return {}
  return { 'x-ms-throttle-limit-percentage': Math.min(share, TOLD_TO).toFixed(2) }
}
