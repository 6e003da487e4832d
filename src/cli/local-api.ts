// The API that `matoolkit up` started on this machine. Its address and token file are saved in the user's folder, so that commands
// work from any folder. The token is sent to that address only.
import { readFileSync } from 'node:fs'
import { inHome, readJsonFile, writeJsonFile } from './home.ts'

export interface LocalApi {
  readonly url: string
  readonly tokenFile: string
}

const FILE = 'local.json'

export const saveLocalApi = (local: LocalApi): void => writeJsonFile(inHome(FILE), local)

export function findLocalApi(): LocalApi | null {
  const found = readJsonFile(inHome(FILE)) as Partial<LocalApi> | undefined
  const isWhole = typeof found?.url === 'string' && typeof found.tokenFile === 'string'
  return isWhole ? (found as LocalApi) : null
}

/** Null if the address is not that API's, or its token is gone. */
export function localTokenFor(apiUrl: string): string | null {
  const local = findLocalApi()
  if (!local || new URL(local.url).origin !== new URL(apiUrl).origin) return null
  try {
    return readFileSync(local.tokenFile, 'utf8').trim()
  } catch {
    return null
  }
}
