// The instances of matoolkit that `matoolkit up` runs on this machine: one file each in the user's folder, readable by its owner only.
// A token is sent to the address of its own instance and nowhere else.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readPrivateFile } from '../../base/files/private-files.ts'
import { readJson } from '../../base/run/read-answer.ts'
import { homeFolder, removeFile, writeJsonFile } from './home.ts'

export interface Instance {
  /** Where it was started. */
  readonly folder: string
  readonly url: string
  readonly pid: number
  readonly tokenFile: string
  readonly startedAt: string
}

const PROBE_MS = 1_000
const ANSWER_BYTES_MAX = 10_000

const instancesFolder = (): string => join(homeFolder(), 'instances')
const fileOf = ({ pid }: Pick<Instance, 'pid'>): string => join(instancesFolder(), `${pid}.json`)

/** Returns the function that takes it off the list. */
export function registerInstance(instance: Instance): () => void {
  writeJsonFile(fileOf(instance), instance)
  return () => removeFile(fileOf(instance))
}

/** Every instance on the list, newest first. Some may have ended without a chance to say so. */
export function listedInstances(): Instance[] {
  const isFile = (name: string) => /^\d+\.json$/.test(name)
  return namesIn(instancesFolder())
    .filter(isFile)
    .map((name) => readInstance(join(instancesFolder(), name)))
    .filter((found) => found !== null)
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** Null if the file was removed meanwhile, holds something else, or is not private: others could have written it. */
function readInstance(file: string): Instance | null {
  const found = parsedNote(readPrivateFile(file))
  const texts = [found?.folder, found?.url, found?.tokenFile, found?.startedAt]
  const isWhole = typeof found?.pid === 'number' && texts.every((text) => typeof text === 'string')
  return isWhole && URL.canParse(found.url!) ? (found as Instance) : null
}

function parsedNote(text = ''): Partial<Instance> | null {
  try {
    return JSON.parse(text) as Partial<Instance> | null
  } catch {
    return null
  }
}

/** The instances that run, newest first. Those that have ended are taken off the list. */
export async function runningInstances(): Promise<Instance[]> {
  const listed = listedInstances()
  // Two entries with one address: the port was free when the newer one took it.
  const isOvertaken = ({ url }: Instance, at: number) =>
    listed.slice(0, at).some((newer) => newer.url === url)
  const states = await Promise.all(
    listed.map(
      async (instance, at) =>
        !isOvertaken(instance, at) && isAlive(instance.pid) && (await answers(instance)),
    ),
  )
  for (const [at, instance] of listed.entries()) if (!states[at]) removeFile(fileOf(instance))
  return listed.filter((_, at) => states[at])
}

/** False too if the process belongs to somebody else: the number has a new owner, because the note is ours. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** False if nothing or something else listens there: another process has the number now. A busy instance counts as running. */
async function answers({ url }: Instance): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(PROBE_MS)
    const response = await fetch(`${url}/api/health`, { redirect: 'error', signal })
    const body = (await readJson(response, ANSWER_BYTES_MAX)) as { status?: unknown } | null
    return body?.status === 'healthy'
  } catch (error) {
    return (error as Error).name === 'TimeoutError'
  }
}

/** The token of the instance at this address; null if none runs there, or its file is gone or not private. */
export function localTokenFor(apiUrl: string): string | null {
  const { origin } = new URL(apiUrl)
  const local = listedInstances().find(({ url }) => new URL(url).origin === origin)
  if (!local || !isAlive(local.pid)) return null
  return readPrivateFile(local.tokenFile)?.trim() ?? null
}
