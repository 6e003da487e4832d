// What a caller with the role HelpDesk alone may look up. Ids count upwards, so such a caller reads a person's page only with the
// reference that a search for that person gave. It is signed for the caller: another one searches again. Searches are limited, or a
// list of likely names would find everybody.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { loadReferenceKey } from '../../db/orders/reference-key.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import { type Actor, isHelpDeskOnly } from './sign-in.ts'

const KEY_BYTES = 32

/** A page of a person asks for two: the person, and where else they are. */
export const LOOK_UPS_PER_HOUR = 240

const NEEDED = 'the role Reader or Admin, or the reference that a search for this person gave you'

export class LookUps {
  readonly #db: Queryable
  readonly #limit = createRateLimit(LOOK_UPS_PER_HOUR, 'an hour')
  #key: Promise<Buffer> | null = null

  constructor(db: Queryable) {
    this.#db = db
  }

  /** Counts a search. Throws RATE_LIMITED. */
  count(by: Actor, now: Date): void {
    if (isHelpDeskOnly(by)) this.#limit.spend(by.id, now)
  }

  /** Refers to members; null for a caller who needs no references. */
  async referrer(by: Actor, now: Date): Promise<((memberId: number) => string) | null> {
    if (!isHelpDeskOnly(by)) return null
    const key = await this.#loadKey(now)
    return (memberId) => signed(key, by, memberId)
  }

  /** Throws NOT_ALLOWED, whether there is such a member or not. */
  async require(
    reference: string | undefined,
    memberId: number,
    by: Actor,
    now: Date,
  ): Promise<void> {
    const refer = await this.referrer(by, now)
    if (refer === null) return
    const [given, expected] = [Buffer.from(reference ?? ''), Buffer.from(refer(memberId))]
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw new MatoolkitError('NOT_ALLOWED', { what: NEEDED })
  }

  #loadKey(now: Date): Promise<Buffer> {
    this.#key ??= loadReferenceKey(this.#db, randomBytes(KEY_BYTES), now).catch(
      (error: unknown) => {
        this.#key = null
        throw error
      },
    )
    return this.#key
  }
}

const signed = (key: Buffer, { id }: Actor, memberId: number): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([id, memberId]))
    .digest('base64url')
