// Where the API is that `matoolkit up` started on this machine, and its token. A note in the person's own folder says it, so that
// commands work from any folder; the token is sent to that very address and to no other.
import { readFileSync } from 'node:fs'
import { inHome, readJsonFile, writeJsonFile } from './home.ts'

export interface LocalApi {
  readonly url: string
  readonly tokenFile: string
}

const NOTE = 'local.json'

export const saveLocalApi = (local: LocalApi): void => writeJsonFile(inHome(NOTE), local)

export function findLocalApi(): LocalApi | null {
  const found = readJsonFile(inHome(NOTE)) as Partial<LocalApi> | undefined
  const isWhole = typeof found?.url === 'string' && typeof found.tokenFile === 'string'
  return isWhole ? (found as LocalApi) : null
}

/** Null when this address is not that API's, or its token is gone. */
export function localTokenFor(apiUrl: string): string | null {
  const local = findLocalApi()
  if (!local || new URL(local.url).origin !== new URL(apiUrl).origin) return null
  try {
    return readFileSync(local.tokenFile, 'utf8').trim()
  } catch {
    return null
  }
}
