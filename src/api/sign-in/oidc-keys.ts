// The public keys of one issuer. Found by discovery, kept, refreshed in the background, and asked for again when a token names a
// key that is not among them (that is how keys are rotated), at most every 30 seconds. While the issuer cannot be reached the
// keys we have go on serving for a day; a key we do not know is then "not available", not "refused", so that nobody's client
// throws away a good token.
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { MatoolkitError, messageOf } from '../../errors.ts'

const FRESH_MS = 10 * 60_000
const USABLE_MS = 24 * 3_600_000
const ASK_AGAIN_MS = 30_000
const ANSWER_TIMEOUT_MS = 5_000
/** A thousand RSA keys are some 500 KB. */
const ANSWER_BYTES_MAX = 1_000_000

const discovered = z.looseObject({ issuer: z.string(), jwks_uri: z.url() })
const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })

interface Known {
  readonly find: JWTVerifyGetKey
  readonly atMs: number
}

export class IssuerKeys {
  readonly #issuer: string
  readonly #now: () => Date
  #known: Known | undefined
  #lastTryMs = Number.NEGATIVE_INFINITY
  #lastFailure: unknown
  #asking: Promise<void> | undefined

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
      await this.#askAgain()
      if (this.#lastFailure !== undefined) throw this.#unavailable()
      return await this.#known!.find(header, token)
    }
  }

  async #current(): Promise<Known> {
    const nowMs = +this.#now()
    const isUsable = this.#known !== undefined && nowMs - this.#known.atMs < USABLE_MS
    if (!isUsable) await this.#askAgain()
    else if (nowMs - this.#known!.atMs > FRESH_MS) void this.#askAgain()
    if (this.#known === undefined || nowMs - this.#known.atMs >= USABLE_MS) {
      throw this.#unavailable()
    }
    return this.#known
  }

  #unavailable(): MatoolkitError {
    return new MatoolkitError(
      'SIGN_IN_UNAVAILABLE',
      { issuer: this.#issuer, reason: messageOf(this.#lastFailure) },
      { cause: this.#lastFailure },
    )
  }

  /** Never rejects: what went wrong is kept. */
  #askAgain(): Promise<void> {
    const nowMs = +this.#now()
    if (this.#asking) return this.#asking
    if (nowMs - this.#lastTryMs < ASK_AGAIN_MS) return Promise.resolve()
    this.#lastTryMs = nowMs
    this.#asking = fetchKeys(this.#issuer)
      .then((keys) => {
        this.#known = { find: createLocalJWKSet(keys), atMs: nowMs }
        this.#lastFailure = undefined
      })
      .catch((error: unknown) => {
        this.#lastFailure = error
      })
      .finally(() => {
        this.#asking = undefined
      })
    return this.#asking
  }
}

async function fetchKeys(issuer: string): Promise<JSONWebKeySet> {
  const about = discovered.parse(
    await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`),
  )
  if (about.issuer !== issuer) throw new Error(`it calls itself "${about.issuer}"`)
  return keySet.parse(await fetchJson(about.jwks_uri)) as JSONWebKeySet
}

async function fetchJson(address: string): Promise<unknown> {
  const { protocol, hostname } = new URL(address)
  if (protocol !== 'https:' && !/^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)) {
    throw new Error('it is not reached by https')
  }
  const answer = await fetch(address, {
    redirect: 'error',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (!answer.ok || !answer.body) {
    await answer.body?.cancel()
    throw new Error(`it answered with status ${answer.status}`)
  }
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of answer.body) {
    bytes += part.byteLength
    // Leaving the loop cancels the rest of the answer.
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer has over ${ANSWER_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return JSON.parse(Buffer.concat(parts).toString('utf8'))
}
