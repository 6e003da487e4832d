// How secrets are named. A reference is the name in the vault, and all of ours begin alike: nothing else in the vault can be had
// by a reference, so that a runbook that asks for the worker's own certificate asks in vain. Where a runbook writes
// `{{secret:ref}}` the job carries a marker, `{ "$secret": ["text", { "ref": "…" }] }`, which only the resolving of templates
// makes and which no value of a member can be (src/domain/template.ts refuses it); here the markers get their values.
import { createHash } from 'node:crypto'
import type { Json } from '../../domain/json.ts'
import { SECRET_MARK, type SecretPart } from '../../domain/template.ts'
import { ApiError, type JsonObject, type Secrets } from '../m365/api.ts'

const PREFIX = 'matoolkit-'
/** What Key Vault allows, less the prefix. */
const NAME = /^[0-9a-zA-Z-]{1,110}$/

/** The reference of a name; a name that a vault would refuse gets the digest of it. */
export function secretReferenceOf(name: string): string {
  const fits = NAME.test(name)
  return PREFIX + (fits ? name : createHash('sha256').update(name).digest('hex'))
}

/** Throws unless the reference is one that this worker may use. */
export function requireReference(reference: string): void {
  if (reference.startsWith(PREFIX) && NAME.test(reference.slice(PREFIX.length))) return
  throw new ApiError({
    status: null,
    code: 'SecretRefused',
    message: `"${reference.slice(0, 130)}" cannot be the name of a secret. Names begin with "${PREFIX}" and have letters, digits and hyphens only.`,
  })
}

export const secretMissing = (reference: string): ApiError =>
  new ApiError({
    status: 404,
    code: 'SecretNotFound',
    message: `There is no secret "${reference}" in the worker's vault. Put it there, or correct the reference.`,
  })

/** Puts values where the runbook wrote references. The rest of the parameters is left as it is. */
export async function resolveSecrets(
  value: Json,
  secrets: Pick<Secrets, 'get'>,
  signal: AbortSignal,
): Promise<Json> {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return Promise.all(value.map((item) => resolveSecrets(item, secrets, signal)))
  const parts = markedParts(value)
  if (parts) {
    const texts = parts.map((part) =>
      typeof part === 'string' ? part : secrets.get(part.ref, signal),
    )
    return (await Promise.all(texts)).join('')
  }
  const entries = Object.entries(value).map(
    async ([key, item]) => [key, await resolveSecrets(item, secrets, signal)] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}

function markedParts(value: JsonObject): readonly SecretPart[] | null {
  const keys = Object.keys(value)
  const parts = value[SECRET_MARK]
  if (keys.length !== 1 || !Array.isArray(parts)) return null
  return parts.every(isPart) ? (parts as SecretPart[]) : null
}

const isPart = (part: Json): boolean =>
  typeof part === 'string' ||
  (typeof part === 'object' &&
    part !== null &&
    !Array.isArray(part) &&
    typeof part.ref === 'string')

/** Shorter ones would cut holes into every sentence. */
const HIDDEN_CHARS_MIN = 4

/**
 * A vault for one job, which remembers every value that went through it, so that none of them leaves with the answer: a service
 * that quotes a password in its refusal is all it takes.
 */
export function watchedSecrets(secrets: Secrets): {
  readonly secrets: Secrets
  hide<T extends Json>(value: T): T
} {
  const seen = new Map<string, string>()
  const remember = (value: string, reference: string) => {
    if (value.length < HIDDEN_CHARS_MIN) return
    // As it is, inside JSON that was quoted, and inside an address.
    for (const form of [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)])
      seen.set(form, `[secret ${reference}]`)
  }
  return {
    secrets: {
      put: async (name, value, signal) => {
        remember(value, name)
        return secrets.put(name, value, signal)
      },
      get: async (reference, signal) => {
        const value = await secrets.get(reference, signal)
        remember(value, reference)
        return value
      },
      find: (name, signal) => secrets.find(name, signal),
    },
    hide: (value) => (seen.size === 0 ? value : (hidden(value, [...seen]) as typeof value)),
  }
}

function hidden(value: Json, seen: readonly (readonly [string, string])[]): Json {
  if (typeof value === 'string')
    return seen.reduce((text, [secret, instead]) => text.replaceAll(secret, instead), value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => hidden(item, seen))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [hidden(key, seen), hidden(item, seen)]),
  )
}
