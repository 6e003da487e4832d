// What can be known before anything starts: that every folder can be written to and every port is free. Each problem names the folder
// or port and the setting that chooses another.
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import {
  draftOf,
  type FolderUse,
  OWNER_ONLY,
  requirePrivateFolder,
  unwritableFolder,
} from '../../base/files/private-files.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Role } from '../../base/settings/process.ts'
import { listedInstances } from '../../cli/connection/instances.ts'

/** Throws FOLDER_UNSAFE, FOLDER_UNWRITABLE, ADDRESS_UNUSABLE or PORT_UNUSABLE. */
/** A process that is only a worker needs the database for its messages alone. */
export const isWithoutDatabase = (
  { transport }: Pick<Config, 'transport'>,
  roles: readonly Role[],
): boolean => transport !== 'postgres' && roles.every((role) => role === 'worker')

export async function requireStartable(config: Config, roles: readonly Role[]): Promise<void> {
  const { apiHost, apiPort, healthPort, dataDir, apiTokenFile } = config
  const hasApi = roles.includes('api')
  if (hasApi) await requireApiPort(apiHost, apiPort)
  else await requireHealthPort(healthPort)
  if (config.databaseUrl === null && !isWithoutDatabase(config, roles))
    requireUsable(dataDir, { setting: 'MATOOLKIT_DATA_DIR' })
  if (hasApi && config.oidcIssuers.length === 0) {
    const use = { setting: 'MATOOLKIT_API_TOKEN_FILE', mayBeListed: true }
    requireUsable(dirname(apiTokenFile), use)
  }
}

async function requireApiPort(host: string, port: number): Promise<void> {
  const reason = await whyPortUnusable(port, host)
  if (reason !== null) throw new MatoolkitError('ADDRESS_UNUSABLE', { host, port, reason })
}

async function requireHealthPort(port: number): Promise<void> {
  const reason = await whyPortUnusable(port)
  if (reason === null) return
  const [purpose, setting] = ['the health endpoints', 'MATOOLKIT_HEALTH_PORT']
  throw new MatoolkitError('PORT_UNUSABLE', { port, purpose, reason, setting })
}

/**
 * Private, and proven by writing and removing a file: permissions alone say nothing about read-only and full disks. Throws
 * FOLDER_UNSAFE or FOLDER_UNWRITABLE.
 */
export function requireUsable(folder: string, use: FolderUse): void {
  try {
    requirePrivateFolder(folder, use)
    const probe = draftOf(join(folder, 'probe'))
    writeFileSync(probe, '', { flag: 'wx', mode: OWNER_ONLY })
    rmSync(probe)
  } catch (error) {
    throw unwritableFolder(folder, use.setting, error)
  }
}

/** Null when the port can be used. Port 0 always can. */
async function whyPortUnusable(port: number, host?: string): Promise<string | null> {
  if (port === 0) return null
  const server = createServer()
  try {
    await new Promise<void>((done, failed) => {
      server.once('error', failed)
      server.listen({ port, ...(host !== undefined && { host }) }, done)
    })
    await new Promise((done) => server.close(done))
    return null
  } catch (error) {
    return portReason(error, port)
  }
}

/** The reason in words; the instance that has the port is named. */
export function portReason(error: unknown, port: number): string {
  if (codeOf(error) === 'EACCES') return 'ports below 1024 need more rights'
  if (codeOf(error) !== 'EADDRINUSE') return messageOf(error)
  const user = listedInstances().find(({ url }) => new URL(url).port === String(port))
  if (!user) return 'another program uses it'
  return `"matoolkit up" in ${user.folder} uses it (process ${user.pid})`
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
