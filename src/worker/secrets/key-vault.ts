// Azure Key Vault over REST: secrets for functions, and the worker's certificate, which Key Vault also stores as a secret. The
// managed identity needs the role Key Vault Secrets Officer, or Secrets User if no function creates secrets.

import type { JsonObject } from '../../domain/json.ts'
import type { Secrets } from '../m365/api.ts'
import { ApiClient, type ClientOptions } from '../m365/client.ts'
import { objectOf, queryText, readODataRefusal } from '../m365/graph.ts'
import { isNotFound } from '../m365/not-found.ts'
import { Throttle } from '../m365/throttle.ts'
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

/** The token scope: the service, which is the host without the vault's name. */
export const keyVaultScope = (url: string): string =>
  `https://${new URL(url).hostname.replace(/^[^.]+\./, '')}/.default`

export class KeyVault implements Secrets {
  readonly #url: string
  readonly #client: ApiClient

  constructor({ url, ...options }: KeyVaultOptions) {
    this.#url = url.replace(/\/+$/, '')
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
    await this.#call('PUT', reference, { value }, signal)
    return reference
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
      const { value, contentType } = objectOf((await this.#call('GET', name, null, signal)).body)
      if (typeof value !== 'string') return null
      return { value, contentType: typeof contentType === 'string' ? contentType : null }
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }

  #call(method: string, name: string, body: JsonObject | null, signal?: AbortSignal) {
    return this.#client.call({
      method,
      url: `${this.#url}/secrets/${encodeURIComponent(name)}${queryText({ 'api-version': API_VERSION })}`,
      body,
      headers: {},
      signal: signal ?? new AbortController().signal,
      isIdempotent: true,
      pace: async () => undefined,
    })
  }
}
