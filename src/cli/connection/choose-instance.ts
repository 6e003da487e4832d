// Which of the running instances a command means. The folder decides; without a match the only one is meant. Anything else is a guess,
// which is good enough to read from, and said, but never for a change.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { type Instance, runningInstances } from './instances.ts'

export interface ChosenInstance {
  readonly instance: Instance
  /** What to say on stderr; empty when only one could be meant. */
  readonly notice: string
  /** Why it may be another one, with the ways to choose; null when it is certain. */
  readonly doubt: string | null
}

export interface Place {
  /** The folder of the command, without links. */
  readonly folder: string
  /** The nearest folder, here or above, with data of an instance; null if there is none. */
  readonly ownFolder: string | null
}

/** The value of `--instance`, else by the folder; null if no instance runs. Throws INSTANCE_UNKNOWN. */
export async function chooseRunning(given: string | undefined): Promise<ChosenInstance | null> {
  const running = await runningInstances()
  if (given === undefined) return chooseInstance(running, placeOf(process.cwd()))
  const instance = namedInstance(running, given)
  if (instance) return { instance, notice: '', doubt: null }
  const list = running.length === 0 ? 'None runs' : `These run: ${running.map(shown).join(', ')}`
  throw new MatoolkitError('INSTANCE_UNKNOWN', { given, list })
}

export function chooseInstance(
  running: readonly Instance[],
  { folder, ownFolder }: Place,
): ChosenInstance | null {
  const [newest] = running
  if (!newest) return null
  const here = deepestAround(running, folder)
  const [instance = newest] = here
  const isSeveral = running.length > 1
  if (here.length === 1) {
    const notice = isSeveral ? `Using ${shown(instance)}; ${running.length} run here.` : ''
    return { instance, notice, doubt: null }
  }
  const why = whyUnclear(running, here, ownFolder)
  if (why === null) return { instance, notice: '', doubt: null }
  const candidates = here.length > 1 ? here : running
  const ways = candidates.map(({ url, folder: at }) => `--instance ${portOf(url)} (${at})`)
  return {
    instance,
    notice: `Reading from ${shown(instance)}: ${why}. Choose with ${ways.join(' or ')}.`,
    doubt: `${why}. Add ${ways.join(' or ')}`,
  }
}

function whyUnclear(
  running: readonly Instance[],
  here: readonly Instance[],
  ownFolder: string | null,
): string | null {
  if (here.length > 1) return `${here.length} instances were started in this folder`
  if (ownFolder !== null) return `the instance of ${ownFolder} does not run`
  if (running.length > 1) return `${running.length} instances run, none of them in this folder`
  return null
}

/** Those started in the nearest folder at or above this one. */
function deepestAround(running: readonly Instance[], folder: string): Instance[] {
  const around = running.filter((instance) => isWithin(folder, instance.folder))
  const length = Math.max(0, ...around.map((instance) => instance.folder.length))
  return around.filter((instance) => instance.folder.length === length)
}

const isWithin = (folder: string, outer: string): boolean =>
  folder === outer || folder.startsWith(outer.endsWith(sep) ? outer : outer + sep)

function namedInstance(running: readonly Instance[], given: string): Instance | undefined {
  if (/^\d{1,5}$/.test(given)) return running.find(({ url }) => portOf(url) === given)
  const [instance, second] = deepestAround(running, realFolder(resolve(given)))
  return second ? undefined : instance
}

/** Where the data of an instance lies unless MATOOLKIT_DATA_DIR says otherwise. */
const DATA = join('.matoolkit', 'data', 'pgdata')

function placeOf(cwd: string): Place {
  const folder = realFolder(cwd)
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, DATA))) return { folder, ownFolder: at }
    if (at === dirname(at)) return { folder, ownFolder: null }
  }
}

/** A folder that does not exist is compared as it is written. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}

const portOf = (url: string): string => new URL(url).port
const shown = ({ folder, url }: Instance): string =>
  `the instance in ${folder}, port ${portOf(url)}`
