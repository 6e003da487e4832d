// Loads the simulation with one mistake in the program: every module reached from `?mutant=name` is loaded a second time under that
// name, and one function is changed on the way. The program itself has no switches for tests. A mistake whose place is not found
// exactly once fails (place.ts).
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { editPlace, fileOf, type Place } from './place.ts'

export interface Mutant extends Place {
  readonly name: string
}

/** A name of the bug bank. */
export interface BankedMutant extends Mutant {
  /** A seed that finds it, by the check it is meant for; null if none is known. */
  readonly foundBy: number | null
}

const root = pathToFileURL(`${join(import.meta.dirname, '../../..')}/`).href
const OURS = new RegExp(`^${root.replaceAll('.', '\\.')}(?:src|test)/`)

const mutants = new Map<string, Mutant>()
const changed = new Set<string>()

const mutantOf = (url: string | undefined): string | null =>
  url === undefined ? null : new URL(url).searchParams.get('mutant')

let isRegistered = false

function register(): void {
  if (isRegistered) return
  isRegistered = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const name = mutantOf(context.parentURL)
      if (name === null || !OURS.test(resolved.url)) return resolved
      return { ...resolved, url: `${resolved.url}?mutant=${encodeURIComponent(name)}` }
    },
    load: (url, context, next) => {
      const loaded = next(url, context)
      const mutant = mutants.get(mutantOf(url.startsWith('file:') ? url : undefined) ?? '')
      if (!mutant || new URL(url).pathname !== new URL(fileOf(mutant), root).pathname) return loaded
      changed.add(mutant.name)
      return { ...loaded, source: mutate(String(loaded.source), mutant) }
    },
  })
}

export function mutate(source: string, mutant: Mutant): string {
  try {
    return editPlace(source, mutant)
  } catch (error) {
    throw new Error(`mutant "${mutant.name}": ${(error as Error).message}`)
  }
}

/** The simulation's module, over a program with this mistake. */
export async function loadWithMutant<T>(mutant: Mutant, module: string): Promise<T> {
  register()
  mutants.set(mutant.name, mutant)
  const url = new URL(module, import.meta.url)
  url.searchParams.set('mutant', mutant.name)
  const loaded = (await import(url.href)) as T
  if (!changed.has(mutant.name))
    throw new Error(`mutant "${mutant.name}": the simulation does not load ${fileOf(mutant)}`)
  return loaded
}
