// Loads the simulation with one mistake in the program: every module that is reached from `?mutant=name` is loaded a second time
// under that name, and the text of one of them is changed on the way. The program itself has no switches for tests. A mistake
// whose place is not found exactly once is refused: whoever moves that code moves the mistake with it.
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Mutant {
  readonly name: string
  /** Relative to the project. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** One of the bug bank. */
export interface BankedMutant extends Mutant {
  /** The first seed that found it when all of them were last tried, from 1 on; null when it was not looked for since the stories changed. */
  readonly foundBy: number | null
}

const root = pathToFileURL(`${join(import.meta.dirname, '..', '..')}/`).href
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
      if (!mutant || new URL(url).pathname !== new URL(mutant.file, root).pathname) return loaded
      changed.add(mutant.name)
      return { ...loaded, source: mutate(String(loaded.source), mutant) }
    },
  })
}

export function mutate(text: string, { name, file, find, replace }: Mutant): string {
  const places = text.split(find).length - 1
  if (places !== 1) {
    throw new Error(`mutant "${name}": its text stands ${places} times in ${file}, not once`)
  }
  return text.replace(find, () => replace)
}

/** The module of the simulation, over a program with this mistake. */
export async function loadWithMutant<T>(mutant: Mutant, module: string): Promise<T> {
  register()
  mutants.set(mutant.name, mutant)
  const url = new URL(module, import.meta.url)
  url.searchParams.set('mutant', mutant.name)
  const loaded = (await import(url.href)) as T
  if (!changed.has(mutant.name))
    throw new Error(`mutant "${mutant.name}": ${mutant.file} is not reached by the simulation`)
  return loaded
}
