// The vault as one job sees it. It reads what the job's parameters name, which are signed, and what the job itself stored or found; it
// remembers every value read or stored, so that none leaves with the result.

import { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { ApiError, type Secrets } from '../http/api.ts'

export function watchedSecrets(
  secrets: Secrets,
  parameters: JsonObject,
): {
  readonly secrets: Secrets
  readonly seen: HiddenSecrets
} {
  const seen = new HiddenSecrets()
  const own = new Set<string>()
  const remember = (value: string, reference: string) => seen.add(value, `[secret ${reference}]`)
  return {
    secrets: {
      put: async (name, value, signal) => {
        remember(value, name)
        const reference = await secrets.put(name, value, signal)
        own.add(reference)
        return reference
      },
      get: async (reference, signal) => {
        if (!own.has(reference) && !isNamedIn(parameters, reference)) throw notNamed(reference)
        const value = await secrets.get(reference, signal)
        remember(value, reference)
        return value
      },
      find: async (name, signal) => {
        const reference = await secrets.find(name, signal)
        if (reference !== null) own.add(reference)
        return reference
      },
    },
    seen,
  }
}

function isNamedIn(value: Json | JsonObject, reference: string): boolean {
  if (typeof value === 'string') return value === reference
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => isNamedIn(inner, reference))
}

const notNamed = (reference: string): ApiError =>
  new ApiError({
    status: null,
    code: 'SecretRefused',
    message: `The job does not name the secret "${reference.slice(0, 130)}". Pass its reference in the step's params.`,
  })
