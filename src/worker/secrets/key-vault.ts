// Azure Key Vault over REST: secrets for functions, and the worker's certificate, which Key Vault also stores as a secret. The
// managed identity needs the role Key Vault Secrets Officer, or Secrets User if no function creates secrets.

import type { JsonObject } from '../../base/text/json.ts'
import { ApiError, queryText, type Secrets } from '../http/api.ts'
import { ApiClient, type ClientOptions } from '../http/client.ts'
import { objectOf, readODataRefusal } from '../http/refusal.ts'
import { Throttle } from '../http/throttle.ts'
import { requireReference, secretMissing, secretReferenceOf } from './reference.ts'

export type KeyVaultOptions = Pick<
  ClientOptions,
  'clock' | 'token' | 'policy' | 'random' | 'timeout'
> & {
  /** `https://name.vault.azure.net`. */
  readonly url: string
}

const API_VERSION = '7.4'
const TIMEOUT_MS = 20_000
const RECOVERY_WAITS_SEC: readonly number[] = [1, 2, 4, 8, 16]

/** The name belongs to a deleted secret, or to one that is being recovered (learn.microsoft.com, Key Vault soft-delete). */
const isConflict = (error: unknown): boolean => error instanceof ApiError && error.status === 409

/** The token scope: the service, which is the host without the vault's name. */
export const keyVaultScope = (url: string): string =>
  `https://${new URL(url).hostname.replace(/^[^.]+\./, '')}/.default`

export class KeyVault implements Secrets {
  readonly #url: string
  readonly #client: ApiClient
  readonly #clock: ClientOptions['clock']

  constructor({ url, ...options }: KeyVaultOptions) {
    this.#url = url.replace(/\/+$/, '')
    this.#clock = options.clock
    this.#client = new ApiClient({
      ...options,
      service: 'Key Vault',
      throttle: new Throttle({ clock: options.clock, name: 'Key Vault' }),
      timeoutMs: TIMEOUT_MS,
      readRefusal: readODataRefusal,
    })
  }

  async put(name: string, value: string, signal?: AbortSignal): Promise<string> {
    const reference = secretReferenceOf(name)
    const path = `secrets/${reference}`
    try {
      await this.#call('PUT', path, { value }, signal)
    } catch (error) {
      if (!isConflict(error)) throw error
      await this.#replaceDeleted(reference, value, signal)
    }
    return reference
  }

  /** A deleted secret keeps its name for the time of the vault's soft-delete: it is recovered, which takes seconds, and replaced. */
  async #replaceDeleted(reference: string, value: string, signal?: AbortSignal): Promise<void> {
    await this.#call('POST', `deletedsecrets/${reference}/recover`, null, signal)
    for (const waitSec of RECOVERY_WAITS_SEC) {
      await this.#clock.wait(waitSec * 1_000, signal)
      try {
        await this.#call('PUT', `secrets/${reference}`, { value }, signal)
        return
      } catch (error) {
        if (!isConflict(error) || waitSec === RECOVERY_WAITS_SEC.at(-1)) throw error
      }
    }
  }

  async get(reference: string, signal?: AbortSignal): Promise<string> {
    requireReference(reference)
    const found = await this.read(reference, signal)
    if (found === null) throw secretMissing(reference)
    return found.value
  }

  async find(name: string, signal?: AbortSignal): Promise<string | null> {
    const reference = secretReferenceOf(name)
    return (await this.read(reference, signal)) === null ? null : reference
  }

  /** Reads any secret by its vault name: for the worker itself, not for functions. */
  async read(
    name: string,
    signal?: AbortSignal,
  ): Promise<{ readonly value: string; readonly contentType: string | null } | null> {
    try {
      const { value, contentType } = objectOf(
        (await this.#call('GET', `secrets/${encodeURIComponent(name)}`, null, signal)).body,
      )
      if (typeof value !== 'string') return null
      return { value, contentType: typeof contentType === 'string' ? contentType : null }
    } catch (error) {
      if (error instanceof ApiError && error.isMissing) return null
      throw error
    }
  }

  #call(method: string, path: string, body: JsonObject | null, signal?: AbortSignal) {
    return this.#client.call({
      method,
      url: `${this.#url}/${path}${queryText({ 'api-version': API_VERSION })}`,
      body,
      headers: {},
      signal: signal ?? new AbortController().signal,
      isIdempotent: true,
      pace: async () => undefined,
    })
  }
}
