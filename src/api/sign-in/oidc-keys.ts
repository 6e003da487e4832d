// The public keys of one issuer: found by discovery, cached, refreshed in the background, and fetched again when a token names an
// unknown key (key rotation), at most every 30 seconds. If the issuer is unreachable, cached keys serve for a day; an unknown key is
// then SIGN_IN_UNAVAILABLE, not TOKEN_REFUSED, so that clients keep a good token.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { dropBody, readJson } from '../../base/run/read-answer.ts'

const FRESH_MS = 10 * 60_000
const USABLE_MS = 24 * 3_600_000
const FETCH_INTERVAL_MS = 30_000
const ANSWER_TIMEOUT_MS = 5_000
/** A thousand RSA keys have about 500 KB. */
const ANSWER_BYTES_MAX = 1_000_000

const discovered = z.looseObject({ issuer: z.string(), jwks_uri: z.url() })
const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

interface CachedKeys {
  readonly find: JWTVerifyGetKey
  readonly atMs: number
}

export class IssuerKeys {
  readonly #issuer: string
  readonly #now: () => Date
  #cached: CachedKeys | undefined
  #lastTryMs = Number.NEGATIVE_INFINITY
  #lastFailure: unknown
  #refreshing: Promise<void> | undefined

  constructor(issuer: string, now: () => Date) {
    this.#issuer = issuer
    this.#now = now
  }

  /** For `jwtVerify`. */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    const known = await this.#current()
    try {
      return await known.find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await this.#refresh()
      if (this.#lastFailure !== undefined) throw this.#unavailable()
      return await this.#cached!.find(header, token)
    }
  }

  async #current(): Promise<CachedKeys> {
    const nowMs = +this.#now()
    const isUsable = this.#cached !== undefined && nowMs - this.#cached.atMs < USABLE_MS
    if (!isUsable) await this.#refresh()
    else if (nowMs - this.#cached!.atMs > FRESH_MS) void this.#refresh()
    if (this.#cached === undefined || nowMs - this.#cached.atMs >= USABLE_MS) {
      throw this.#unavailable()
    }
    return this.#cached
  }

  #unavailable(): MatoolkitError {
    return new MatoolkitError(
      'SIGN_IN_UNAVAILABLE',
      { issuer: this.#issuer, reason: messageOf(this.#lastFailure) },
      { cause: this.#lastFailure },
    )
  }

  /** Never rejects; keeps the error for `#unavailable`. */
  #refresh(): Promise<void> {
    const nowMs = +this.#now()
    if (this.#refreshing) return this.#refreshing
    if (nowMs - this.#lastTryMs < FETCH_INTERVAL_MS) return Promise.resolve()
    this.#lastTryMs = nowMs
    this.#refreshing = fetchKeys(this.#issuer)
      .then((keys) => {
        this.#cached = { find: createLocalJWKSet(keys), atMs: nowMs }
        this.#lastFailure = undefined
      })
      .catch((error: unknown) => {
        this.#lastFailure = error
      })
      .finally(() => {
        this.#refreshing = undefined
      })
    return this.#refreshing
  }
}

async function fetchKeys(issuer: string): Promise<JSONWebKeySet> {
  const metadata = discovered.parse(
    await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
  )
  if (metadata.issuer !== issuer) throw new Error(`it names itself "${metadata.issuer}"`)
  return keySet.parse(await fetchJson(metadata.jwks_uri)) as JSONWebKeySet
}

async function fetchJson(address: string): Promise<unknown> {
  const { protocol, hostname } = new URL(address)
  if (protocol !== 'https:' && !/^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)) {
    throw new Error('its address is not https')
  }
  const answer = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (!answer.ok || !answer.body) {
    await dropBody(answer)
    throw new Error(`it answered with status ${answer.status}`)
  }
  return readJson(answer, ANSWER_BYTES_MAX)
}
