// Functions of the customer's own: modules in a folder, found at start, held to the same contract as the worker's own. A module
// that cannot be loaded, or exports what is no function, is reported and left out; the others and the worker do not suffer.
// Modules run with all the rights of the worker: who may write into the folder may do what the worker may.
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { defineFunction, parametersSchema, resultSchema, type WorkerFunction } from './catalogue.ts'
import { ApiError, changeOfList, odataText, pathOf } from './m365/api.ts'

export interface Discovered {
  readonly functions: readonly WorkerFunction[]
  /** Sentences, one for each module or export that is not used. */
  readonly problems: readonly string[]
}

export interface CustomFunctionsOptions {
  readonly folder: string
  /** What the worker has already; their names are taken. */
  readonly standard: readonly WorkerFunction[]
  readonly clock: Clock
}

const MODULE = /^(?!\.).*(?<!\.test)(?<!\.d)\.(?:ts|mts|js|mjs)$/
const MODULES_MAX = 500
/** A module that waits for something at its top level would keep the worker from starting. */
const LOAD_TIMEOUT_MS = 30_000

/** What a module is handed, so that it needs to find nothing of ours: it may lie anywhere. */
const KIT = { defineFunction, z, ApiError, pathOf, odataText, changeOfList } as const
export type FunctionKit = typeof KIT

/** The default export of a module: gives one function or several. */
export type MakeFunctions = (kit: FunctionKit) => WorkerFunction | readonly WorkerFunction[]

export async function discoverFunctions(options: CustomFunctionsOptions): Promise<Discovered> {
  const { folder, standard, clock } = options
  const problems: string[] = []
  const functions: WorkerFunction[] = []
  const taken = new Set(standard.map(({ name }) => name.toLowerCase()))
  for (const file of await modulesIn(folder, problems)) {
    for (const one of await functionsOf(join(folder, file), file, clock, problems)) {
      const folded = one.name.toLowerCase()
      if (taken.has(folded)) problems.push(`${file}: the name ${one.name} is taken.`)
      else functions.push(one)
      taken.add(folded)
    }
  }
  return { functions, problems }
}

async function modulesIn(folder: string, problems: string[]): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    // A link too: volumes of a container are mounted as links.
    const files = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
    const modules = files.filter((name) => MODULE.test(name)).sort()
    if (modules.length > MODULES_MAX)
      problems.push(`There are ${modules.length} modules; the first ${MODULES_MAX} are used.`)
    return modules.slice(0, MODULES_MAX)
  } catch (error) {
    problems.push(`The folder "${folder}" cannot be read: ${messageOf(error)}.`)
    return []
  }
}

async function functionsOf(
  path: string,
  file: string,
  clock: Clock,
  problems: string[],
): Promise<WorkerFunction[]> {
  const loaded = await load(path, clock)
  if ('problem' in loaded) {
    problems.push(`${file}: ${loaded.problem}`)
    return []
  }
  const { made } = loaded
  return (Array.isArray(made) ? made : [made]).flatMap((value: unknown, index) => {
    const problem = whyUnfit(value)
    if (problem === null) return [value as WorkerFunction]
    problems.push(`${file}: what it gives as number ${index + 1} is no function: ${problem}.`)
    return []
  })
}

type Loaded = { readonly made: unknown } | { readonly problem: string }

async function load(path: string, clock: Clock): Promise<Loaded> {
  const done = new AbortController()
  const tooLong = clock.wait(LOAD_TIMEOUT_MS, done.signal).then(() => ({
    problem: `it was not loaded within ${LOAD_TIMEOUT_MS / 1_000} s.`,
  }))
  try {
    return await Promise.race([makeWith(path), tooLong])
  } finally {
    done.abort()
  }
}

async function makeWith(path: string): Promise<Loaded> {
  try {
    const { default: make } = (await import(pathToFileURL(resolve(path)).href)) as {
      default?: unknown
    }
    if (typeof make !== 'function') return { problem: 'its default export is no function.' }
    return { made: await make(KIT) }
  } catch (error) {
    return { problem: `it cannot be loaded: ${firstLineOf(error)}.` }
  }
}

/** A module may throw anything. */
function firstLineOf(error: unknown): string {
  try {
    return messageOf(error).split('\n')[0] ?? ''
  } catch {
    return 'it threw something unreadable'
  }
}

const NAME = /^[A-Za-z][\w-]{0,99}$/

/** Null when the value is a function as src/worker/catalogue.ts describes it. */
function whyUnfit(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return 'it is not made by defineFunction'
  try {
    const one = value as Partial<WorkerFunction>
    if (typeof one.name !== 'string' || !NAME.test(one.name)) return 'it has no usable name'
    if (typeof one.description !== 'string') return 'it has no description'
    if (typeof one.run !== 'function') return 'it has no run'
    if (typeof one.isIdempotent !== 'boolean') return 'it does not say whether it is idempotent'
    if (typeof one.permissions !== 'object' || one.permissions === null)
      return 'it does not say which permissions it needs'
    if (one.undo !== null && typeof one.undo !== 'string') return 'it does not say how to undo it'
    parametersSchema(one as WorkerFunction)
    resultSchema(one as WorkerFunction)
    return null
  } catch (error) {
    return `its parameters or its result are no schema (${firstLineOf(error)})`
  }
}
