// The vault as one job sees it: it remembers every value read or stored, so that none leaves with the result.
import { HiddenSecrets } from '../../hidden-secrets.ts'
import type { Secrets } from '../m365/api.ts'

export function watchedSecrets(secrets: Secrets): {
  readonly secrets: Secrets
  readonly seen: HiddenSecrets
} {
  const seen = new HiddenSecrets()
  const remember = (value: string, reference: string) => seen.add(value, `[secret ${reference}]`)
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
    seen,
  }
}
